"""Tenants with a detector, a threshold or an explainer of their own, in one pipeline."""

from collections.abc import Iterator
from typing import Any

import pytest

from groundwire import Detector, Outcome, Pipeline
from groundwire.config import parse
from groundwire.engine.reader import Reader
from groundwire.errors import ConfigError, DetectionError, ModelError, UnknownModelError
from groundwire.pipeline.detector_pool import Judges
from groundwire.pipeline.explaining import LazyExplainer
from groundwire.policy.detector_selection import Detectors
from groundwire.policy.policy import Action, OnError, Overrides, Policy
from tests.fixed_judge import FixedJudge
from tests.pipeline.chats import FACTS, QUESTION, WRONG, asked, judged, sent

OFF = "gate: {enabled: false}\n"
SAME = "The tower is made of iron and stands in Paris."
OTHER = "Bananas are yellow and grow in warm countries."


class Counted:
    """Loads detectors that doubt one word each, and counts; or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        self.loaded: list[str] = []
        self.fails = fails

    def __call__(self, name: str) -> Detector:
        self.loaded.append(name)
        if self.fails:
            raise ModelError("It is broken.")
        return Detector(FixedJudge(doubtful={"red": 0.9}, name=name), threads=1)


def pipeline_of(make: Counted, **tenants: Overrides) -> Pipeline:
    first = Detector(FixedJudge(doubtful={"blue": 0.9}, name="reader"), threads=1)
    policy = Policy(action=Action.BLOCK, on_error=OnError.AUTO)
    judges = Judges(first, known=Detectors(), make=make)
    return Pipeline(first, judges=judges, policy=policy, tenants=tenants)


def outcome(pipeline: Pipeline, tenant: str, answer: str) -> Outcome:
    return pipeline.check(pipeline.open(sent("red, blue"), tenant=tenant), answer).outcome


def test_another_detector_is_loaded_when_a_tenant_first_needs_it_and_once() -> None:
    make = Counted()
    pipeline = pipeline_of(make, acme=Overrides(detector="similarity"))
    assert make.loaded == []
    assert outcome(pipeline, "other", "It is red.") == "grounded"
    assert make.loaded == []
    context = pipeline.open(sent("red, blue"), tenant="acme")
    assert make.loaded == ["similarity"]  # as it is opened: what comes after is waited for
    assert pipeline.check(context, "It is red.").outcome == "hallucinated"
    assert outcome(pipeline, "acme", "It is blue.") == "grounded"
    assert make.loaded == ["similarity"]


def test_the_context_says_which_one_judges() -> None:
    pipeline = pipeline_of(Counted(), acme=Overrides(detector="similarity:neural"))
    assert pipeline.open(sent("red, blue")).detector == "reader"
    assert pipeline.open(sent("red, blue"), tenant="acme").detector == "similarity"


def test_nothing_is_loaded_where_nothing_is_checked() -> None:
    make = Counted()
    own = Overrides(detector="similarity", enabled=False)
    pipeline = pipeline_of(make, acme=own)
    assert outcome(pipeline, "acme", "It is red.") == "skipped"
    assert make.loaded == []


def test_one_that_cannot_be_loaded_makes_the_check_unavailable() -> None:
    make = Counted(fails=True)
    pipeline = pipeline_of(make, acme=Overrides(detector="similarity"))
    for _ in range(2):
        context = pipeline.open(sent("red, blue"), tenant="acme")
        checked = pipeline.check(context, "It is fine.")
        assert (checked.outcome, checked.action) == ("unavailable", "block")
        assert checked.reason == "ModelError"
        with pipeline.stream(context) as flow:
            flow.feed("It is fine. ")
            assert flow.review().clear_to == 0
            assert flow.finish().outcome == "unavailable"
    assert make.loaded == ["similarity"]  # a failure is remembered


@pytest.mark.parametrize(
    "own",
    [
        Overrides(detector="gone/model"),
        Overrides(similarity_threshold=0.5),
        Overrides(detector="similarity", operating_point=0.5),
        Overrides(operating_point="unheard-of"),
        Overrides(operating_point=7),
    ],
)
def test_what_is_no_longer_possible_makes_the_check_unavailable(own: Overrides) -> None:
    pipeline = pipeline_of(Counted(), acme=own)
    context = pipeline.open(sent("red, blue"), tenant="acme")
    checked = pipeline.check(context, "It is fine.")
    assert (checked.outcome, checked.reason) == ("unavailable", "UnusableOverridesError")
    assert context.detector in ("", "reader", "similarity")
    answer = pipeline.open_answer(tenant="acme")
    with pytest.raises(DetectionError, match="A tenant cannot have this"):
        pipeline.detect(answer, "It is fine.")


def test_tenants_may_change_while_the_pipeline_is_there() -> None:
    tenants: dict[str, Overrides] = {}
    first = Detector(judged(), threads=1)
    with Pipeline(first, tenants=tenants) as pipeline:
        before = pipeline.open(asked(QUESTION, FACTS), tenant="acme")
        tenants["acme"] = Overrides(action=Action.BLOCK, max_sources=1)
        after = pipeline.open(asked(QUESTION, FACTS), tenant="acme")
        tenants["acme"] = Overrides(enabled=False)
        assert not pipeline.may_check(tenant="acme")
        # A request keeps what it began with.
        assert pipeline.check(before, WRONG).action is Action.LOG
        assert pipeline.check(after, WRONG).action is Action.BLOCK


# What is refused beforehand.


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        (Overrides(detector="gone/model"), "one of reader, similarity, similarity:neural, simil"),
        (Overrides(similarity_threshold=0.5), "reader gives probabilities"),
        (Overrides(operating_point="best"), r"one of precision, balanced, recall, for the det"),
        (
            Overrides(detector="similarity", operating_point="precision"),
            r"one of balanced, recall, for the detector similarity; or set similarity_threshold",
        ),
        (
            Overrides(detector="similarity:hash", operating_point="recall"),
            r"must be one of balanced, for the detector similarity:hash",
        ),
    ],
)
def test_overrides_are_checked_with_what_is_possible_and_without_loading(
    own: Overrides, problem: str
) -> None:
    make = Counted()
    first = Detector(
        FixedJudge(
            doubtful={},
            name="reader",
            operating_points={"precision": 0.8, "balanced": 0.5, "recall": 0.2},
        ),
        threads=1,
    )
    pipeline = Pipeline(first, judges=Judges(first, known=Detectors(), make=make))
    with pytest.raises(ConfigError, match=problem):
        pipeline.check_overrides(own)
    for fine in (
        Overrides(),
        Overrides(operating_point="recall"),
        Overrides(operating_point=0.4),
        Overrides(detector="similarity", operating_point="recall"),
        Overrides(detector="similarity", similarity_threshold=0.4),
        Overrides(detector="similarity:hash", operating_point="balanced"),
    ):
        pipeline.check_overrides(fine)
    assert make.loaded == []


# With the embedded ones.


@pytest.fixture
def loaded() -> Iterator[tuple[Pipeline, dict[str, Overrides]]]:
    tenants: dict[str, Overrides] = {}
    settings = f"{OFF}explain: {{enabled: false}}\ndetector: {{threads: 2}}"
    with Pipeline.load(parse(settings, name=""), tenants=tenants) as pipeline:
        yield pipeline, tenants


def judge_of(pipeline: Pipeline, tenant: str, answer: str = SAME) -> Any:  # noqa: ANN401
    checked = pipeline.check(pipeline.open(sent(SAME), tenant=tenant), answer)
    assert checked.detection is not None
    return checked.detection


def test_detectors_side_by_side_share_threads_and_cache(
    loaded: tuple[Pipeline, dict[str, Overrides]],
) -> None:
    pipeline, tenants = loaded
    tenants["neural"] = Overrides(detector="similarity")
    tenants["hash"] = Overrides(detector="similarity:hash")
    names = {tenant: judge_of(pipeline, tenant).detector.name for tenant in ("", *tenants)}
    assert names == {"": "reader", "neural": "similarity", "hash": "similarity:hash"}
    detectors = [pipeline._judges.get(each) for each in names.values()]
    judges: list[Any] = [each.backend for each in detectors]
    assert len({id(each.shared) for each in judges}) == 1
    assert len({each.cache for each in detectors}) == 1  # what it counts is of all


def test_another_threshold_loads_nothing_and_counts(
    loaded: tuple[Pipeline, dict[str, Overrides]],
) -> None:
    pipeline, tenants = loaded
    tenants["near"] = Overrides(detector="similarity:hash", similarity_threshold=0.999)
    tenants["far"] = Overrides(detector="similarity:hash", similarity_threshold=0.001)
    tenants["precise"] = Overrides(operating_point="precision")
    near, far = (judge_of(pipeline, each, f"{SAME[:-1]} today.") for each in ("near", "far"))
    assert [str(each.outcome) for each in (near, far)] == ["hallucinated", "grounded"]
    assert (near.detector.threshold, far.detector.threshold) == (0.999, 0.001)
    first = pipeline._judges.get("similarity:hash").backend
    assert pipeline._judges.get("similarity:hash").backend is first
    precise = judge_of(pipeline, "precise").detector
    assert (precise.name, precise.operating_point) == ("reader", "precision")


def test_a_tenant_does_not_find_what_another_has_read(
    loaded: tuple[Pipeline, dict[str, Overrides]],
) -> None:
    pipeline, tenants = loaded
    own = Overrides(detector="similarity")
    tenants.update({"a": own, "b": own})
    n_embedded = []
    for tenant in ("a", "a", "b"):
        judge_of(pipeline, tenant)
        n_embedded.append(pipeline._judges.get("similarity").work["texts_embedded"])
    first, again, other = n_embedded
    assert (again - first, other - again) == (0, 1)


def test_all_are_closed_with_the_pipeline_and_by_the_first_alone() -> None:
    with Detector.load(threads=1) as first:
        other = first.beside("similarity:hash")
        assert other.detect(sources=[SAME], answer=SAME).outcome == "grounded"
        other.close()
        with pytest.raises(DetectionError, match="This detector is closed"):
            other.detect(sources=[SAME], answer=SAME)
        assert first.detect(sources=[SAME], answer=SAME).outcome == "grounded"
        last = first.beside("similarity:hash")
    with pytest.raises(DetectionError, match="This detector is closed"):
        last.detect(sources=[SAME], answer=SAME)
    with pytest.raises(DetectionError, match="This detector is closed"):
        first.beside("similarity:hash")


def test_only_embedded_detectors_stand_beside_another() -> None:
    with Detector.load("similarity:hash", threads=1) as first:
        for name in ("x/y", ".", "minilm"):
            with pytest.raises(UnknownModelError):
                first.beside(name)


# The explainer.


def test_explanations_are_there_for_tenants_that_come_to_want_them(
    loaded: tuple[Pipeline, dict[str, Overrides]],
) -> None:
    pipeline, tenants = loaded
    context = pipeline.open(asked(QUESTION, FACTS), tenant="acme")
    assert pipeline.check(context, WRONG).explanations == ()
    tenants["acme"] = Overrides(explain=True)
    context = pipeline.open(asked(QUESTION, FACTS), tenant="acme")
    assert len(pipeline.check(context, WRONG).explanations) == 2


def test_where_the_configured_detector_compares_the_explainer_comes_when_it_is_needed() -> None:
    tenants: dict[str, Overrides] = {}
    settings = f"{OFF}explain.enabled: false\ndetector: {{name: 'similarity:hash', threads: 1}}"
    with Pipeline.load(parse(settings, name=""), tenants=tenants) as pipeline:
        assert isinstance(pipeline.explainer, LazyExplainer)
        tenants["acme"] = Overrides(explain=True)
        tenants["best"] = Overrides(explain=True, detector="reader")
        for tenant, n in (("acme", 1), ("best", 2)):
            context = pipeline.open(asked(QUESTION, FACTS), tenant=tenant)
            checked = pipeline.check(context, WRONG)
            assert len(checked.explanations) == n, tenant
            assert checked.unexplained is None


def test_an_explainer_that_cannot_be_loaded_leaves_findings_unexplained() -> None:
    def fail() -> Any:  # noqa: ANN401
        raise ModelError("It is broken.")

    first = Detector(judged(), threads=1)
    pipeline = Pipeline(first, explainer=LazyExplainer(fail), policy=Policy(action=Action.BLOCK))
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG)
    assert (checked.outcome, checked.unexplained) == ("hallucinated", "ModelError")


def test_what_is_explained_for_one_tenant_is_kept_for_none() -> None:
    settings = f"{OFF}detector: {{name: 'similarity:hash', threads: 1}}"
    with Pipeline.load(parse(settings, name="")) as pipeline:
        reader = pipeline._judges.get("reader").backend
        assert isinstance(reader, Reader)
        n_read = []
        for tenant in ("a", "b", "a"):
            context = pipeline.open(asked(QUESTION, FACTS), tenant=tenant)
            assert pipeline.check(context, OTHER).explanations
            n_read.append(reader.work["texts_read"])
        first, second, third = n_read
        assert second - first == third - second == first > 0

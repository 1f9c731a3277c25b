"""The explainer with a model: what is dropped, what stays, and what a failure leaves."""

from dataclasses import replace
from pathlib import Path

import pytest

from groundwire import Detector
from groundwire.detection.example import Example, Source
from groundwire.detection.values import Coverage, Detection, Entailment, EvidenceRef, Label, Outcome
from groundwire.engine.models import find_model
from groundwire.errors import InvalidSourceError, SettingError, UnknownModelError
from groundwire.explain import Category, Explained, Explainer
from groundwire.explain.explainer import without_spans
from tests.explain.marked import CONTRADICTED, ENTAILED, NEUTRAL, claim_of, detected, refs
from tests.explain.marked import detection as detection_of

LINES = ("On Sundays the shop is closed.", "The tower was opened in 1889.")


def two(*, coverage: Coverage | None = None) -> tuple[Detection, tuple[Source, ...]]:
    """A claim that is marked without need, and one that is wrong."""
    evidence = refs(*LINES)
    right = claim_of("The shop is ⟦closed on Sundays⟧.", evidence[:1], label=Label.UNSUPPORTED)
    wrong = claim_of("It opened in ⟦1950⟧.", evidence[1:], start=len(right.text) + 1)
    found = detection_of(f"{right.text} {wrong.text}", [right, wrong])
    given = tuple(Source(text=line, id=f"S{i}") for i, line in enumerate(LINES))
    return replace(found, coverage=coverage or found.coverage), given


def entails_all(hypothesis: str, evidence: object) -> Entailment:
    del hypothesis, evidence
    return ENTAILED


def test_what_the_evidence_entails_is_dropped_and_what_differs_stays() -> None:
    found, given = two()
    explained = Explainer(entails_all).explain(found, given)
    assert [span.text for span in explained.detection.spans] == ["1950"]
    assert [each.start for each in explained.explanations] == [found.spans[1].start]
    (dropped,) = explained.dropped
    assert (dropped.start, dropped.is_false_positive) == (found.spans[0].start, True)
    assert explained.detection.outcome is Outcome.HALLUCINATED
    assert [claim.label for claim in explained.detection.claims] == [
        Label.SUPPORTED,
        Label.CONTRADICTED,
    ]
    assert found.claims[0].label is Label.UNSUPPORTED  # the detection itself is as it was


def test_what_a_rule_found_is_never_dropped() -> None:
    found, given = detected("The shop is ⟦closed on Sundays⟧.", LINES[0])
    (span,) = found.spans
    one = replace(found.claims[0], spans=(replace(span, conflict="negation"),))
    found = replace(found, claims=(one,))
    explained = Explainer(entails_all).explain(found, given)
    assert (explained.detection, explained.dropped) == (found, ())
    assert explained.explanations[0].severity == 3  # the explainer says otherwise


def test_an_answer_whose_every_span_is_dropped_is_grounded() -> None:
    found, given = detected("The shop is ⟦closed on Sundays⟧.", LINES[0])
    explained = Explainer(entails_all).explain(found, given)
    assert explained.detection.outcome is Outcome.GROUNDED
    assert explained.explanations == ()


def test_it_is_never_grounded_if_something_was_not_read() -> None:
    found, given = detected("The shop is ⟦closed on Sundays⟧.", LINES[0])
    unread = Coverage(
        offered_chars=9, indexed_chars=8, attended_chars=8, answer_chars=1, read_chars=1
    )
    explained = Explainer(entails_all).explain(replace(found, coverage=unread), given)
    assert explained.detection.outcome is Outcome.PARTIAL


def test_dropping_can_be_turned_off() -> None:
    found, given = two()
    explained = Explainer(entails_all, drops_entailed=False).explain(found, given)
    assert explained.detection == found
    assert [each.is_false_positive for each in explained.explanations] == [True, False]
    assert explained.dropped == ()


@pytest.mark.parametrize(("p", "n_dropped"), [(0.75, 1), (0.7499, 0)])
def test_three_quarters_are_enough_and_less_is_not(p: float, n_dropped: int) -> None:
    found, given = two()
    verdict = Entailment(entailment=p, neutral=1 - p, contradiction=0.0)
    assert len(Explainer(lambda *_: verdict).explain(found, given).dropped) == n_dropped


def test_a_model_that_fails_leaves_all_marked_and_unexplained() -> None:
    def fails(*_: object) -> Entailment:
        raise ConnectionError("the answer is: secret")

    found, given = two()
    explained = Explainer(fails).explain(found, given)
    assert explained.detection == found
    assert explained.reason == "ConnectionError"
    assert all(each.text.startswith("Unexplained") for each in explained.explanations)
    assert "secret" not in str(explained.to_dict())


def test_whatever_else_fails_leaves_all_marked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("groundwire.explain.explanations.explain", fails)
    found, given = two()
    explained = Explainer(entails_all).explain(found, given)
    assert explained.detection == found
    assert [each.text for each in explained.explanations] == [
        'Unexplained (ZeroDivisionError). The sources do not say "closed on Sundays".',
        'Unexplained (ZeroDivisionError). The answer says "1950"; the sources say otherwise.',
    ]
    assert [each.severity for each in explained.explanations] == [2, 4]


def test_a_claim_that_failed_does_not_take_the_others_with_it() -> None:
    def fails_once(hypothesis: str, evidence: object) -> Entailment:
        del evidence
        if "shop" in hypothesis:
            raise TimeoutError
        return CONTRADICTED

    explained = Explainer(fails_once).explain(*two())
    assert [each.reason for each in explained.explanations] == ["TimeoutError", None]
    assert explained.reason == "TimeoutError"


def test_sources_are_of_every_kind_that_a_detector_takes() -> None:
    found, given = detected("It is ⟦green⟧.", "It is red.")
    explainer = Explainer(lambda *_: NEUTRAL)
    assert explainer.explain(found, [{"text": "It is red."}]) == explainer.explain(found, given)
    with pytest.raises(InvalidSourceError, match="its type is int"):
        explainer.explain(found, [7])  # type: ignore[list-item]


def test_without_a_span_there_is_nothing_to_explain() -> None:
    found, given = detected("The shop is closed.", LINES[0])
    clean = replace(found, outcome=Outcome.GROUNDED)
    assert Explainer(entails_all).explain(clean, given) == Explained(
        detection=clean, explanations=()
    )


def test_what_a_detector_said_of_a_claim_stands_where_it_is_taken() -> None:
    found, given = detected("The tower is ⟦green⟧.", "The tower is tall.")
    said = replace(found, claims=(replace(found.claims[0], entailment=NEUTRAL),))
    own = Explainer(entails_all, takes_detectors=True).explain(said, given)
    other = Explainer(entails_all).explain(said, given)
    assert own.explanations[0].entailment == NEUTRAL
    assert other.dropped[0].entailment == ENTAILED
    # A detector that says nothing of claims leaves it to the model.
    assert Explainer(entails_all, takes_detectors=True).explain(found, given).dropped


def test_labels_and_outcome_follow_from_what_stays() -> None:
    found, _ = two()
    assert without_spans(found, [False, False]) == found
    nothing = without_spans(found, [True, True])
    assert (nothing.outcome, nothing.spans) == (Outcome.GROUNDED, ())


@pytest.mark.parametrize("name", ["threshold", "entailment_threshold"])
@pytest.mark.parametrize("value", [0, 1.1, float("nan"), "high", True])
def test_a_threshold_out_of_range_is_refused(name: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"^{name} = "):
        Explainer.load(**{name: value})  # type: ignore[arg-type]


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownModelError):
        Explainer.load(tmp_path / "nothing")


# The embedded sentence head.


@pytest.fixture(scope="module")
def explainer() -> Explainer:
    return Explainer.load(threads=1)


@pytest.mark.parametrize("name", [None, "reader", "embedded", "models/halugate-explainer"])
def test_the_embedded_head_has_its_names(name: str | None) -> None:
    assert Explainer.load(name, threads=1).name == "reader"


def test_the_embedded_head_is_pinned_by_its_weights(explainer: Explainer) -> None:
    assert explainer.revision == find_model().revision


@pytest.fixture(scope="module")
def tower() -> tuple[Detection, tuple[Source, ...]]:
    facts = {"name": "Eiffel Tower", "built": "1887-1889", "height": "330 meters"}
    example = Example.of(
        sources=[{**facts, "location": "Paris, France"}],
        question="When was the Eiffel Tower built?",
        answer=(
            "The Eiffel Tower was built in 1950 and stands at 500 meters tall in Paris, France."
        ),
    )
    with Detector.load(threads=1) as detector:
        found = detector.detect(
            sources=example.sources, question=example.question, answer=example.answer
        )
    return found, example.sources


def test_the_documented_example_has_two_contradictions_of_severity_four(
    explainer: Explainer, tower: tuple[Detection, tuple[Source, ...]]
) -> None:
    explained = explainer.explain(*tower)
    assert [span.text for span in explained.detection.spans] == ["1950", "500 meters"]
    assert [each.category for each in explained.explanations] == [Category.CONTRADICTION] * 2
    assert [each.counterpart and each.counterpart.text for each in explained.explanations] == [
        "1887-1889",
        "330 meters",
    ]
    assert explained.reason is None


def test_the_readers_own_verdict_on_the_claim_is_taken_and_nothing_is_read_again(
    explainer: Explainer, tower: tuple[Detection, tuple[Source, ...]]
) -> None:
    found, given = tower
    (claim,) = found.claims
    for each in explainer.explain(found, given).explanations:
        assert each.entailment == claim.entailment
    assert claim.entailment is not None
    assert claim.entailment.is_calibrated


def test_where_another_detector_judged_the_head_reads_the_claim_and_its_lines(
    explainer: Explainer, tower: tuple[Detection, tuple[Source, ...]]
) -> None:
    found, given = tower
    bare = replace(found, claims=tuple(replace(c, entailment=None) for c in found.claims))
    explained = explainer.explain(bare, given)
    assert explained.reason is None
    for each in explained.explanations:
        assert each.entailment is not None
        assert each.entailment.is_calibrated
        assert each.entailment.contradiction > 0.5


@pytest.mark.parametrize("text", ["Она стоит в Париже.", "It is tall."])
def test_what_the_head_cannot_read_is_unexplained(explainer: Explainer, text: str) -> None:
    found, given = detected("⟦Он высокий⟧." if text.isascii() else "It is ⟦tall⟧.", text)
    explained = explainer.explain(found, given)
    assert explained.detection == found
    assert explained.reason == "UnreadableError"


def test_the_three_probabilities_are_independent(explainer: Explainer) -> None:
    """No probability follows from another, as those of an old system did."""
    line = EvidenceRef(source_id="S0", start=0, end=9, text="The tower is 330 m tall and red.")
    claims = ("The tower is 330 m tall.", "The tower is 500 m tall.", "The baker sells bread.")
    found = [explainer.judge(claim, (line,)) for claim in claims]
    for each in found:
        assert each.entailment + each.neutral + each.contradiction == pytest.approx(1, abs=1e-5)
        assert len({each.entailment, each.neutral, each.contradiction}) == 3
    assert found[0].entailment > max(found[1].entailment, found[2].entailment)
    assert found[1].contradiction > max(found[0].contradiction, found[2].contradiction)
    assert found[2].neutral > max(found[0].neutral, found[1].neutral)


def test_as_json(explainer: Explainer, tower: tuple[Detection, tuple[Source, ...]]) -> None:
    explained = explainer.explain(*tower)
    data = explained.to_dict()
    assert list(data) == ["detection", "explanations", "dropped", "reason", "timing_ms"]
    assert data["detection"] == explained.detection.to_dict()
    assert data["explanations"] == [each.to_dict() for each in explained.explanations]

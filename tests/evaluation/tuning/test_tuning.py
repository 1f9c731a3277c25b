"""Thresholds by target and group, what they cost, and the configuration that runs them."""

from dataclasses import replace

import numpy as np
import pytest

from groundwire import config
from groundwire.detection import DetectorInfo
from groundwire.errors import SettingError
from groundwire.evaluation.judged import Header
from groundwire.evaluation.tuning.sample import sample_of
from groundwire.evaluation.tuning.snippet import tenant_field, to_yaml
from groundwire.evaluation.tuning.table import to_text
from groundwire.evaluation.tuning.target import Aim, Target
from groundwire.evaluation.tuning.tuning import Tuning, tune
from tests.evaluation import reference
from tests.evaluation.made_results import READER, SIMILARITY, Row, judged


def rows(n: int = 400, *, seed: int = 5) -> list[Row]:
    """Hallucinated answers score high, with some overlap."""
    rng = np.random.default_rng(seed)
    so = rng.random(n) < 0.5
    scores = np.clip(rng.normal(np.where(so, 0.8, 0.2), 0.1), 0.0, 1.0)
    return [
        Row(
            score=float(score),
            hallucinated=bool(is_so),
            context=str(i),
            columns={"tenant": ("acme", 'bolt "x"\u2028')[i % 8 == 0]},
        )
        for i, (score, is_so) in enumerate(zip(scores, so, strict=True))
    ]


def tuned(
    target: str,
    *,
    given: list[Row] | None = None,
    info: DetectorInfo = READER,
    by: str | None = None,
    confidence: float = 0.95,
) -> Tuning:
    header = Header(detector=info, data={"d.jsonl": "a" * 64})
    sample = sample_of(judged(rows() if given is None else given, info), info.score, by=by)
    return tune(header, sample, Target.parse(target), by=by, confidence=confidence)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("fpr=0.01", Target(Aim.FPR, 0.01)),
        (" Precision = 0.9", Target(Aim.PRECISION, 0.9)),
        ("recall=.8", Target(Aim.RECALL, 0.8)),
        ("f1", Target(Aim.F1)),
    ],
)
def test_a_target_is_read(text: str, target: Target) -> None:
    assert Target.parse(text) == target


@pytest.mark.parametrize(
    "text", ["", "f1=0.5", "fpr", "fpr=", "fpr=0", "fpr=1", "fpr=nan", "recall=80", "auc=0.5"]
)
def test_what_is_no_target_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(SettingError, match=r"such as fpr=0\.01"):
        Target.parse(text)


@pytest.mark.parametrize("confidence", [0.5, 1, 95])
def test_what_is_no_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(SettingError, match=r"below 1, such as 0\.95"):
        tuned("f1", confidence=confidence)


@pytest.mark.parametrize("target", ["fpr=0.05", "precision=0.9", "recall=0.9", "f1"])
def test_what_a_threshold_costs_is_counted_on_all_answers(target: str) -> None:
    found = tuned(target).groups[0]
    assert found.threshold is not None
    assert found.cost is not None
    flagged = [row for row in rows() if row.score is not None and row.score >= found.threshold]
    n_both = sum(bool(row.hallucinated) for row in flagged)
    assert (found.cost.counts.n_flagged, found.cost.counts.n_both) == (len(flagged), n_both)
    assert found.cost.precision.value == n_both / len(flagged)
    assert found.cost.precision.low <= found.cost.precision.value <= found.cost.precision.high


def test_f1_is_the_highest_and_told_by_thresholds_that_other_contexts_chose() -> None:
    found = tuned("f1").groups[0]
    assert found.cost is not None
    assert found.crossed is not None
    assert found.cost.f1.value == max(point["f1"] or 0 for point in found.curve)
    assert found.crossed.f1.value <= found.cost.f1.value
    assert found.guarantee is None


def test_the_threshold_of_the_highest_f1_is_the_middle_of_a_gap() -> None:
    given = [Row(score=0.2, context="a"), Row(score=0.8, hallucinated=True, context="b")]
    assert tuned("f1", given=given).groups[0].threshold == pytest.approx(0.5, abs=0.01)


def test_without_hallucinated_answers_there_is_no_f1() -> None:
    found = tuned("f1", given=[Row(score=0.2)])
    assert (found.is_held, to_yaml(found)) == (False, "")
    assert "no answer is hallucinated" in to_text(found)


def test_the_curve_has_a_point_wherever_something_changes() -> None:
    given = [
        Row(score=0.2, context="a"),
        Row(score=0.6, hallucinated=True, context="b"),
        Row(score=0.6, context="c"),
    ]
    points = tuned("f1", given=given).groups[0].curve
    assert [(point["n_flagged"], point["recall"], point["fpr"]) for point in points] == [
        (0, 0, 0),
        (2, 1, 0.5),
        (3, 1, 1),
    ]
    assert [point["threshold"] for point in points] == [1, 0.6, 0.2]


def test_the_curve_counts_a_failed_check_as_a_miss_or_not_at_all() -> None:
    given = [replace(row, score=None) if i % 3 == 0 else row for i, row in enumerate(rows(60))]
    for point in tuned("f1", given=given).groups[0].curve:
        assert point["threshold"] is not None
        expected = reference.decisions(
            [
                (
                    row.score is not None and row.score >= point["threshold"],
                    bool(row.hallucinated),
                    row.score is None,
                )
                for row in given
            ]
        )
        for name in ("recall", "fpr", "f1"):
            assert point[name] == pytest.approx(expected[name])


def test_what_a_threshold_costs_leaves_out_grounded_answers_whose_check_failed() -> None:
    checked = [*rows(60), *(Row(score=0.95, context=f"y{i}") for i in range(5))]
    given = [*checked, *(Row(score=None, context=f"x{i}") for i in range(60))]
    one, other = (tuned("f1", given=each).groups[0].cost for each in (checked, given))
    assert one is not None
    assert other is not None
    assert one.fpr.value > 0
    assert (one.fpr.value, one.f1.value) == (other.fpr.value, other.f1.value)


def test_where_every_check_failed_there_is_no_f1() -> None:
    found = tuned("f1", given=[Row(score=None, hallucinated=True, context="a"), Row(score=None)])
    assert found.groups[0].threshold is None
    assert "every check failed, so there is no F1" in to_text(found)


def test_answers_that_nobody_checked_promise_nothing() -> None:
    grounded = [
        Row(score=0.0, context=f"g{n}", outcome="unverified", reason="no_evidence")
        for n in range(310)
    ]
    wrong = [Row(score=0.9, hallucinated=True, context=f"h{n}") for n in range(5)]
    found = tuned("fpr=0.01", given=[*grounded, *wrong])
    assert not found.is_held
    assert "needs at least 299 grounded contexts" in to_text(found)
    assert "there are 0" in to_text(found)


def test_each_group_has_a_promise_of_its_own_or_says_what_it_takes() -> None:
    found = tuned("fpr=0.05", by="tenant")
    whole, acme, bolt = found.groups
    assert (whole.group, acme.group) == ("all", "acme")
    assert whole.counts.n == acme.counts.n + bolt.counts.n
    assert acme.threshold is not None
    assert (bolt.threshold, found.is_held) == (None, False)
    assert "not enough data: needs at least 59 grounded contexts for fpr=0.05 at 95 %, " in (
        to_text(found)
    )


def test_what_can_be_promised_can_be_asked_for_as_it_is_printed() -> None:
    given = rows(60)
    told = to_text(tuned("fpr=0.01", given=given))
    best = told.rpartition("the best that can be promised is ")[2].split()[0]
    assert best.startswith("fpr=0.")
    assert tuned(best, given=given).is_held


def test_a_promise_is_for_an_answer_of_a_random_context_and_says_so() -> None:
    found = tuned("fpr=0.05")
    assert found.to_dict()["promised_for"] == "an answer drawn from a context drawn at random"
    assert (
        "all: fpr is at most 0.05 for an answer drawn from a context drawn at random, with 95 %"
    ) in to_text(found)


def test_a_target_that_only_contexts_keep_says_what_all_answers_do() -> None:
    given = [Row(score=0.0, context=str(n)) for n in range(100)]
    given += [Row(score=1.0, context="large") for _ in range(50)]
    found = tuned("fpr=0.1", given=given)
    assert not found.is_held
    assert (
        "1 of 101 grounded contexts are flagged, and 33.3 % of all grounded answers; the best that "
        "can be promised is fpr=0.334"
    ) in to_text(found)


@pytest.mark.parametrize("target", ["fpr=0.05", "fpr=0.001", "precision=0.9"])
def test_a_confidence_is_told_to_be_that_of_what_was_fixed_before_looking(target: str) -> None:
    assert "a target and a seed fixed before looking" in to_text(tuned(target))
    assert "fixed before looking" not in to_text(tuned("f1"))  # nothing is promised


def test_scores_that_never_reach_a_target_say_so() -> None:
    given = [Row(score=0.2, hallucinated=True, context=str(n)) for n in range(99)]
    found = tuned("recall=0.5", given=given, info=replace(READER, threshold=0.34))
    assert "no threshold has recall=0.5 at 95 %: at 0.34, where the answers were judged" in (
        to_text(found)
    )
    assert "nothing can be promised with them" in to_text(found)


def test_a_name_in_the_table_acts_on_no_terminal() -> None:
    given = [Row(score=0.2, hallucinated=True, columns={"team": "\x1b[2J"})]
    assert "\x1b" not in to_text(tuned("f1", given=given, by="team"))


# The configuration.


def test_the_configuration_runs_the_threshold() -> None:
    found = tuned("fpr=0.05")
    read = config.parse(to_yaml(found), name="tuned", environ={})
    assert read.detector.operating_point == found.groups[0].threshold


@pytest.mark.parametrize("name", ["similarity", "similarity:hash"])
def test_the_configuration_of_a_detector_that_compares_has_its_threshold(name: str) -> None:
    given = [replace(row, score=1 - (row.score or 0)) for row in rows()]
    found = tuned("recall=0.5", given=given, info=replace(SIMILARITY, name=name))
    read = config.parse(to_yaml(found), name="tuned", environ={})
    assert read.detector.name == "similarity"
    assert read.similarity.threshold == found.groups[0].threshold
    assert read.similarity.embedder == ("hash" if name.endswith("hash") else "neural")


def test_the_configuration_of_a_loaded_model_names_it_and_its_commit() -> None:
    info = replace(READER, name='org/mo"del\u2028: #', revision="a" * 40)
    read = config.parse(to_yaml(tuned("f1", info=info)), name="tuned", environ={})
    assert (read.detector.name, read.detector.revision) == (info.name, info.revision)


def test_the_configuration_of_tenants_has_a_threshold_for_each() -> None:
    found = tuned("f1", by="tenant")
    read = config.parse(to_yaml(found), name="tuned", environ={})
    wanted = {each.group: each.threshold for each in found.groups[1:]}
    field = tenant_field(READER.score)
    assert {name: getattr(each, field) for name, each in read.tenants.items()} == wanted

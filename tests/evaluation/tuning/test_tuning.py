"""Thresholds by target and group, what they cost, and the configuration that runs them."""

from dataclasses import replace

import numpy as np
import pytest

from groundwire import config
from groundwire.detection.values import DetectorInfo
from groundwire.engine.models import find_model
from groundwire.errors import SettingError
from groundwire.evaluation.judged_row import Header
from groundwire.evaluation.no_verdict import RowCounts
from groundwire.evaluation.tuning.sample import sample_of
from groundwire.evaluation.tuning.snippet import tenant_field, to_yaml
from groundwire.evaluation.tuning.table import to_text
from groundwire.evaluation.tuning.target import Aim, TuningTarget
from groundwire.evaluation.tuning.tuning import Tuning, default_threshold, tune
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
    read = sample_of(header, judged(rows() if given is None else given, info), by=by)
    return tune(read, TuningTarget.parse(target), confidence=confidence)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("fpr=0.01", TuningTarget(Aim.FPR, 0.01)),
        (" Precision = 0.9", TuningTarget(Aim.PRECISION, 0.9)),
        ("recall=.8", TuningTarget(Aim.RECALL, 0.8)),
        ("f1", TuningTarget(Aim.F1)),
    ],
)
def test_a_target_is_read(text: str, target: TuningTarget) -> None:
    assert TuningTarget.parse(text) == target


@pytest.mark.parametrize(
    "text", ["", "f1=0.5", "fpr", "fpr=", "fpr=0", "fpr=1", "fpr=nan", "recall=80", "auc=0.5"]
)
def test_what_is_no_target_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(SettingError, match=r"such as fpr=0\.01"):
        TuningTarget.parse(text)


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
    precision = found.cost.scores["precision"]
    assert precision.value == n_both / len(flagged)
    assert precision.low <= precision.value <= precision.high


def test_the_default_threshold_is_counted_on_the_same_answers() -> None:
    info = replace(READER, revision=find_model("reader").revision)
    default = find_model("reader").operating_points["balanced"]
    found = tuned("f1", info=info)
    assert found.default == default
    assert found.groups[0].default is not None
    flagged = [row for row in rows() if row.score is not None and row.score >= default]
    assert found.groups[0].default.counts.n_flagged == len(flagged)
    lines = to_text(found).splitlines()
    assert lines[4].split()[:5] == ["by", "default", f"{default:g}", f"{len(flagged)}", "92.1"]
    assert found.to_dict()["default_threshold"] == default
    assert found.to_dict()["at_default"]["n_flagged"] == len(flagged)


@pytest.mark.parametrize(
    ("info", "default"),
    [
        (replace(SIMILARITY, operating_point="balanced", threshold=0.7), 0.7),
        (replace(SIMILARITY, operating_point="custom", threshold=0.9), None),  # not this revision
        (READER, None),
        (replace(READER, revision=find_model("reader").revision, threshold=0.8), None),
    ],
)
def test_a_default_threshold_is_that_of_the_same_weights_and_not_below_the_judged_one(
    info: DetectorInfo, default: float | None
) -> None:
    assert default_threshold(info) == default
    assert tuned("f1", info=info).groups[0].to_dict()["at_default"] is None or default is not None


def test_why_a_score_has_no_interval_is_told() -> None:
    info = replace(READER, revision=find_model("reader").revision)
    few = to_text(tuned("f1", info=info, given=rows(8)))
    assert (
        "(- to -)\nNo interval: under 10 contexts (different sources), or all scores are equal.\n"
        in few
    )


def test_f1_is_the_highest_and_told_by_thresholds_that_other_contexts_chose() -> None:
    found = tuned("f1").groups[0]
    assert found.cost is not None
    assert found.crossed is not None
    assert found.cost.scores["f1"].value == max(point["f1"] or 0 for point in found.curve)
    assert found.crossed.scores["f1"].value <= found.cost.scores["f1"].value
    assert found.guarantee is None


def test_all_scores_of_f1_are_by_thresholds_that_other_contexts_chose() -> None:
    rng = np.random.default_rng(2)
    given = [replace(row, score=float((row.score or 0) + rng.random()) / 2) for row in rows(60)]
    found = tuned("f1", given=given).groups[0]
    assert found.crossed is not None
    assert found.cost is not None
    own, others = (each.counts.precision_at(0.05) for each in (found.cost, found.crossed))
    assert f"{100 * own:.1f}" != f"{100 * others:.1f}"
    text = to_text(tuned("f1", given=given))
    assert f"hallucinated: 1 %: {100 * found.crossed.counts.precision_at(0.01):.1f}," in text
    assert f" 5 %: {100 * others:.1f}," in text


def test_the_first_line_says_what_judged_the_answers_and_at_which_threshold() -> None:
    info = replace(SIMILARITY, name="similarity:hash", revision="hash-1")
    assert to_text(tuned("f1", info=info)).startswith("similarity:hash hash-1, judged at 0.5, f1\n")


# Thresholds below the one that answers were judged at.

HIGH = replace(READER, threshold=0.34)
UNKNOWN = "judged at 0.34, and a lower threshold, of which nothing is known, may be better"


@pytest.mark.parametrize(
    ("target", "info", "is_cut_off"),
    [
        # The last that is known is taken, so the one after it may keep the target too.
        ("fpr=0.9", HIGH, True),
        ("precision=0.2", HIGH, True),
        ("fpr=0.99", READER, True),
        ("fpr=0.05", HIGH, False),
        # The highest that finds as much is what is looked for.
        ("recall=0.2", HIGH, False),
        # F1 has no order.
        ("f1", HIGH, True),
        ("f1", READER, False),
    ],
)
def test_a_threshold_says_whether_a_lower_one_might_be_better(
    target: str, info: DetectorInfo, is_cut_off: bool
) -> None:
    found = tuned(target, info=info)
    assert found.is_held
    assert found.to_dict()["is_cut_off"] is is_cut_off
    assert ("of which nothing is known, may be better" in to_text(found)) is is_cut_off
    assert (UNKNOWN in to_text(found)) is (is_cut_off and info is HIGH)


def test_where_a_lower_threshold_might_be_better_the_next_step_is_told() -> None:
    step = "judge them again with a lower --operating-point"
    assert f"{step}, such as 0.05, or give --data" in to_text(tuned("f1", info=HIGH))
    told = to_text(tuned("fpr=0.99"))
    assert step in told
    assert "such as 0.05" not in told


def test_of_similarity_all_thresholds_are_known() -> None:
    given = [replace(row, score=1 - (row.score or 0)) for row in rows()]
    for target in ("f1", "fpr=0.9"):
        assert not tuned(target, given=given, info=SIMILARITY).groups[0].is_cut_off


# What is set aside.


def test_contexts_that_say_where_to_begin_are_counted_in_what_it_takes() -> None:
    given = [Row(score=0.9, hallucinated=True, context=str(n)) for n in range(20)]
    assert (
        "not enough data: needs at least 44 flagged contexts for precision=0.9 at 95 % (a third of "
        "them says where to begin, the others test), there are 20;"
    ) in to_text(tuned("precision=0.9", given=given))


def test_the_trials_of_a_precision_are_those_that_test() -> None:
    given = [Row(score=0.9, hallucinated=True, context=str(n)) for n in range(90)]
    assert "(0 of 60 flagged contexts that test are grounded)" in (
        to_text(tuned("precision=0.9", given=given))
    )


@pytest.mark.parametrize("n_grounded", [0, 1, 5])
def test_what_it_takes_is_more_than_there_is_only_where_too_few_test(n_grounded: int) -> None:
    """The draw says which contexts test, so the same number may be enough or not."""
    for n in range(36, 54):
        given = [Row(score=0.9, hallucinated=i >= n_grounded, context=str(i)) for i in range(n)] + [
            Row(score=0.01, context=f"u{i}") for i in range(30)
        ]
        held = tuned("precision=0.9", given=given).groups[0].guarantee
        assert held is not None
        assert held.n_available == n
        assert (held.n >= 29) is (held.n_needed <= held.n_available)


# Rows that tell of no threshold.


def test_rows_that_tell_of_no_threshold_are_told() -> None:
    failures = [
        {"row": n, "id": f"i{n}", "type": "RowError", "message": f"bad {n}"} for n in range(1, 8)
    ]
    told = RowCounts(n=20, n_unreadable=6, n_failed_checks=1, n_unlabelled=3, _failures=failures)
    read = sample_of(Header(detector=READER, data={}), judged(rows()))
    found = tune(replace(read, rows=told), TuningTarget(Aim.F1))
    text = to_text(found)
    assert "6 rows could not be read" in text
    assert "1 check failed" in text
    assert "3 rows have no label" in text
    assert "  row 5, id i5: bad 5\n  and 2 more\n" in text
    data = found.to_dict()
    assert (data["n"], data["n_failed"], data["n_unreadable"]) == (20, 7, 6)
    assert data["failures"] == failures


def test_the_threshold_of_the_highest_f1_is_the_middle_of_a_gap() -> None:
    given = [
        Row(score=0.8 if is_wrong else 0.2, hallucinated=is_wrong, context=f"{is_wrong}{i}")
        for is_wrong in (False, True)
        for i in range(5)
    ]
    assert tuned("f1", given=given).groups[0].threshold == pytest.approx(0.5, abs=0.01)
    found = tuned("f1", given=given[1:])
    assert (found.is_held, to_yaml(found)) == (False, "")
    assert "a threshold takes at least 10 contexts, and there are 9" in to_text(found)


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
    assert one.scores["fpr"].value > 0
    for name in ("fpr", "f1"):
        assert one.scores[name].value == other.scores[name].value


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


def test_a_confidence_is_told_to_be_that_of_what_was_fixed_before_looking() -> None:
    assert "a target and a seed fixed before looking" in to_text(tuned("fpr=0.001"))
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


def test_the_configuration_names_the_reader_that_was_tuned() -> None:
    info = replace(READER, revision=find_model("reader").revision)
    read = config.parse(to_yaml(tuned("f1", info=info)), name="tuned", environ={})
    assert read.detector.name == "reader-small"
    base = to_yaml(tuned("f1", info=replace(READER, name="reader-base")))
    assert "name" not in base  # it is the default

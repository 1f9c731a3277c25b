"""The metrics of benchmarks, against numbers worked out by hand and scikit-learn's."""

from dataclasses import replace
from math import isnan

import numpy as np
import pytest

from groundwire.evaluation.benches.metric import (
    Metric,
    Statistic,
    accuracy,
    auroc,
    balanced_accuracy,
    characters_f1,
    characters_iou,
    f1,
)
from groundwire.evaluation.columns import Columns
from groundwire.evaluation.confusion import ComparedAnswer
from groundwire.evaluation.metrics import Overlap


def judged(
    flagged: bool,
    hallucinated: bool,
    *,
    task: str = "a",
    context: str = "",
    probability: float = 0.0,
    characters: tuple[int, int, int] = (0, 0, 0),
    has_spans: bool = True,
    error: str = "",
) -> ComparedAnswer:
    both, predicted, gold = characters
    overlap = Overlap(both=both, predicted=predicted, gold=gold)
    return ComparedAnswer(
        row=0,
        id="",
        task=task,
        context_id=context,
        is_hallucinated=hallucinated,
        is_flagged=flagged,
        probability=probability,
        characters=overlap,
        pairs=overlap,
        n_clean_claims=0,
        n_clean_passed=0,
        is_complete=True,
        has_spans=has_spans,
        error=error,
    )


def columns(*answers: ComparedAnswer) -> Columns:
    return Columns.of(replace(each, row=row) for row, each in enumerate(answers, 1))


#: Two right and one wrong of task a; one right and one wrong of task b.
SOME = (
    judged(True, True, context="1", probability=0.9),
    judged(False, False, context="2", probability=0.2),
    judged(True, False, context="3", probability=0.6),
    judged(False, True, task="b", context="4", probability=0.4),
    judged(False, False, task="b", context="5", probability=0.1),
)


def value(metric: Metric, *answers: ComparedAnswer) -> float:
    return metric.of(columns(*answers)).value


@pytest.mark.parametrize(
    ("name", "of_all", "of_a", "mean"),
    [
        ("F1", 1 / 2, 2 / 3, (2 / 3 + 0) / 2),
        ("accuracy", 3 / 5, 2 / 3, (2 / 3 + 1 / 2) / 2),
        ("balanced accuracy", (1 / 2 + 2 / 3) / 2, 3 / 4, (3 / 4 + 1 / 2) / 2),
        ("AUROC", 5 / 6, 1.0, 1.0),
    ],
)
def test_a_metric_is_of_all_answers_of_a_task_or_the_mean_of_tasks(
    name: str, of_all: float, of_a: float, mean: float
) -> None:
    assert value(Metric.parse(name), *SOME) == pytest.approx(of_all)
    assert value(Metric.parse(f"{name}, pooled"), *SOME) == pytest.approx(of_all)
    assert value(Metric.parse(f"{name}, a"), *SOME) == pytest.approx(of_a)
    assert value(Metric.parse(f"mean {name}"), *SOME) == pytest.approx(mean)


def test_balanced_accuracy_and_accuracy_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    said, so = rng.random(200) < 0.4, rng.random(200) < 0.3
    answers = [
        judged(bool(a), bool(b), context=str(i))
        for i, (a, b) in enumerate(zip(said, so, strict=True))
    ]
    found = value(Metric(name="m", statistic=balanced_accuracy), *answers)
    assert found == pytest.approx(metrics.balanced_accuracy_score(so, said))
    found = value(Metric(name="m", statistic=accuracy), *answers)
    assert found == pytest.approx(metrics.accuracy_score(so, said))


def test_scores_of_characters_count_answers_whose_characters_are_known() -> None:
    answers = (
        judged(True, True, context="1", characters=(2, 4, 2)),
        judged(False, False, context="2"),
        judged(True, True, context="3", has_spans=False),
    )
    iou = Metric.parse("characters IoU")
    found = iou.of(columns(*answers))
    assert found.value == pytest.approx((2 / 4 + 1) / 2)
    assert found.n == 2
    both = Metric.parse("characters F1")
    assert value(both, *answers) == pytest.approx(2 * 2 / 6)


def test_an_interval_holds_the_score_and_draws_each_task_by_itself() -> None:
    rng = np.random.default_rng(2)
    answers = [
        judged(bool(rng.random() < 0.7), True, task=task, context=f"{task}{i}")
        for task in "ab"
        for i in range(100)
    ]
    answers += [
        judged(False, False, task=task, context=f"{task}x{i}") for task in "ab" for i in range(9)
    ]
    metric = Metric(name="m", statistic=balanced_accuracy, is_mean_of_tasks=True)
    found = metric.of(columns(*answers))
    assert found.low < found.value < found.high
    # The mean of two tasks varies less than either of them.
    one = Metric.parse("balanced accuracy, a").of(columns(*answers))
    assert found.high - found.low < one.high - one.low
    assert metric.of(columns(*answers)) == found


def test_what_is_undefined_is_nothing() -> None:
    only_right = judged(False, False)
    assert isnan(value(Metric(name="m", statistic=auroc), only_right))
    assert Metric.parse("F1, c").of(columns(*SOME)).n == 0


@pytest.mark.parametrize(
    "statistic", [f1, accuracy, balanced_accuracy, auroc, characters_f1, characters_iou]
)
def test_no_metric_gains_by_a_failed_check_of_a_grounded_answer(statistic: Statistic) -> None:
    metric = Metric(name="m", statistic=statistic)
    failed = [judged(False, False, context=f"x{i}", error="it failed") for i in range(9)]
    assert value(metric, *SOME, *failed) == pytest.approx(value(metric, *SOME), nan_ok=True)
    assert isnan(value(metric, *failed))
    assert isnan(value(metric, judged(False, True, error="it failed", characters=(0, 0, 3))))


def test_flagging_everything_needs_no_detector() -> None:
    answers = columns(*SOME)

    def of_all(metric: Metric) -> float | None:
        found = metric.of_flagging_all(answers)
        return None if found is None else found.value

    assert of_all(Metric(name="m", statistic=f1)) == pytest.approx(4 / 7)
    assert of_all(Metric(name="m", statistic=accuracy)) == pytest.approx(2 / 5)
    assert of_all(Metric(name="m", statistic=balanced_accuracy)) == 0.5
    assert of_all(Metric(name="m", statistic=auroc)) == 0.5
    spans = Metric.parse("characters F1")
    assert spans.of_flagging_all(answers) is None

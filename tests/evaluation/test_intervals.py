"""Intervals: whole contexts are resampled."""

from collections.abc import Sequence
from math import isnan

import numpy as np
import pytest

from groundwire.evaluation.intervals import Bootstrap, Replicates, ScoreInterval, difference, wilson
from groundwire.evaluation.metrics import Floats, Ranking, f1_of, ratios


def mean_of(sums: Floats) -> Floats:
    """The mean, of sums of values and of how many there are."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def replicates_of_mean(values: list[float], contexts: list[str], seed: int = 0) -> Replicates:
    """The mean, resampled."""
    columns = np.column_stack([values, np.ones(len(values))])
    return Bootstrap.of(contexts, seed=seed).of_sums(columns, mean_of)


@pytest.fixture(scope="module")
def values() -> list[float]:
    """400 draws from a normal distribution with standard deviation 1."""
    return [float(value) for value in np.random.default_rng(7).normal(size=400)]


def test_the_interval_of_a_mean_is_the_one_known_from_theory(values: list[float]) -> None:
    interval = replicates_of_mean(values, [str(i) for i in range(400)]).interval()
    mean, deviation = np.mean(values), np.std(values) / np.sqrt(400)
    assert interval.value == pytest.approx(mean)
    assert interval.low == pytest.approx(mean - 1.96 * deviation, abs=0.15 * deviation)
    assert interval.high == pytest.approx(mean + 1.96 * deviation, abs=0.15 * deviation)


def test_copies_of_an_answer_in_its_context_tell_nothing_new(values: list[float]) -> None:
    contexts = [str(i) for i in range(400)]
    once = replicates_of_mean(values, contexts)
    copied = replicates_of_mean(values * 4, contexts * 4)
    assert copied.draws == pytest.approx(once.draws)


def test_answers_of_one_context_widen_the_interval(values: list[float]) -> None:
    # Four equal answers each: taken for independent, they would halve the interval.
    contexts = [str(i) for i in range(400)]
    together = replicates_of_mean(values * 4, contexts * 4).interval()
    apart = replicates_of_mean(values * 4, [str(i) for i in range(1600)]).interval()
    assert together.high - together.low == pytest.approx(2 * (apart.high - apart.low), rel=0.15)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    contexts = np.repeat([str(i) for i in range(60)], 3).tolist()
    n_held = 0
    for seed in range(100):
        of_context = rng.normal(size=60)
        answers = (np.repeat(of_context, 3) + 0.3 * rng.normal(size=180)).tolist()
        columns = np.column_stack([answers, np.ones(180)])
        bootstrap = Bootstrap.of(contexts, n_resamples=200, seed=seed)
        interval = bootstrap.of_sums(columns, mean_of).interval()
        n_held += interval.low <= 0 <= interval.high
    assert 86 <= n_held <= 99


def test_a_seed_reproduces_and_another_does_not(values: list[float]) -> None:
    contexts = [str(i // 2) for i in range(400)]
    first = replicates_of_mean(values, contexts, seed=1)
    again = replicates_of_mean(values, contexts, seed=1)
    other = replicates_of_mean(values, contexts, seed=2)
    assert first.interval() == again.interval()
    assert first.interval() != other.interval()


def test_sums_and_weights_give_the_same(values: list[float]) -> None:
    contexts = [str(i % 30) for i in range(400)]
    bootstrap = Bootstrap.of(contexts, n_resamples=50)
    (by_weights,) = bootstrap.of_weights(lambda rows: rows @ values / rows.sum(axis=1))
    columns = np.column_stack([values, np.ones(400)])
    assert by_weights.draws == pytest.approx(bootstrap.of_sums(columns, mean_of).draws)
    assert by_weights.value == pytest.approx(np.mean(values))


def test_a_resample_is_what_scoring_its_answers_would_give() -> None:
    # Of the definition: draw contexts, take all of their answers, score these.
    contexts, marks = ["a", "a", "b", "c"], np.array([[1, 1, 1], [0, 1, 0], [0, 0, 1], [2, 3, 2]])
    found = Bootstrap.of(contexts, n_resamples=20, seed=5).of_sums(marks, f1_of).draws
    rng = np.random.default_rng(5)
    for draw in found:
        chosen = rng.integers(3, size=3)
        rows = [marks[i] for k in chosen for i in range(4) if contexts[i] == "abc"[k]]
        assert draw == pytest.approx(float(f1_of(np.sum(rows, axis=0))), nan_ok=True)


def test_resamples_without_a_score_are_left_out() -> None:
    ranking = Ranking.of([0.9, 0.1], [True, False])
    (found,) = Bootstrap.of(["a", "b"], n_resamples=400).of_weights(ranking.aurocs)
    interval = found.interval()
    assert isnan(interval.low)  # those that are left all agree


def share_of(marks: Sequence[tuple[int, int]], contexts: list[str]) -> ScoreInterval:
    """What part of the second is the first."""
    sums = Bootstrap.of(contexts).sums(marks)
    return sums.of_share(lambda each: ratios(each[..., 0], each[..., 1])).interval()


@pytest.mark.parametrize("value", [0, 1])
def test_a_share_of_none_or_all_has_wilsons_interval_of_the_contexts_that_count(
    value: int,
) -> None:
    # Two answers to each of 40 contexts, and ten contexts in which there is nothing to count.
    marks = [(value, 1)] * 80 + [(0, 0)] * 10
    found = share_of(marks, [str(i // 2) for i in range(80)] + [f"x{i}" for i in range(10)])
    expected = wilson(40 * value, 40)
    assert (found.value, found.low, found.high) == (value, expected.low, expected.high)
    assert found.high - found.low > 0.05


def test_a_share_in_between_is_resampled() -> None:
    marks, contexts = [(i % 3 == 0, 1) for i in range(60)], [str(i // 2) for i in range(60)]
    expected = Bootstrap.of(contexts).of_sums(marks, lambda s: s[..., 0] / s[..., 1]).interval()
    assert share_of(marks, contexts) == expected


def test_a_score_that_all_resamples_agree_on_has_no_interval() -> None:
    found = Bootstrap.of([str(i) for i in range(40)]).of_sums([[1, 1, 1]] * 40, f1_of).interval()
    assert found.value == 1
    assert isnan(found.low)
    assert isnan(found.high)


@pytest.mark.parametrize(("n_contexts", "has_interval"), [(2, False), (9, False), (10, True)])
def test_few_contexts_give_no_interval(n_contexts: int, has_interval: bool) -> None:
    """However many answers they have: what is known of few contexts is not what holds of all."""
    values = [float(i % n_contexts) for i in range(500)]
    interval = replicates_of_mean(values, [str(i % n_contexts) for i in range(500)]).interval()
    assert interval.value == pytest.approx(np.mean(values))
    assert isnan(interval.low) is isnan(interval.high) is not has_interval


@pytest.mark.parametrize(("n_counted", "has_interval"), [(9, False), (10, True)])
def test_of_a_share_those_contexts_count_that_have_anything_to_count(
    n_counted: int, has_interval: bool
) -> None:
    marks = [(i % 3 == 0, 1) for i in range(n_counted)] + [(0, 0)] * 50
    found = share_of(marks, [str(i) for i in range(n_counted + 50)])
    assert isnan(found.low) is not has_interval


def test_one_context_gives_no_interval() -> None:
    interval = replicates_of_mean([0.0, 1.0], ["a", "a"]).interval()
    assert interval.value == 0.5
    assert isnan(interval.low)
    assert isnan(interval.high)


def test_a_paired_difference_is_narrower_than_what_it_compares(values: list[float]) -> None:
    contexts = [str(i) for i in range(400)]
    better = [value + 0.02 + 0.001 * (i % 2) for i, value in enumerate(values)]
    first, second = replicates_of_mean(better, contexts), replicates_of_mean(values, contexts)
    gap = difference(first, second).interval()
    assert 0.02 < gap.low < gap.high < 0.021
    assert first.interval().low < second.interval().high  # unpaired, nothing could be said


def test_only_what_was_resampled_alike_pairs() -> None:
    first = replicates_of_mean([0.0, 1.0], ["a", "b"])
    with pytest.raises(ValueError, match="resampled differently"):
        difference(first, replicates_of_mean([0.0, 1.0], ["a", "b"], seed=1))
    with pytest.raises(ValueError, match="resampled differently"):
        difference(first, replicates_of_mean([0.0, 1.0], ["b", "a"]))


def test_of_no_answers_there_is_no_interval() -> None:
    with pytest.raises(ValueError, match="there are no answers"):
        Bootstrap.of([]).of_weights(np.sum)


def test_few_trials_without_a_mistake_are_no_proof() -> None:
    found = wilson(5, 5)
    assert found.value == 1
    assert found.low == pytest.approx(0.566, abs=1e-3)  # 1 / (1 + 1.96² / 5)
    assert found.high == 1


def test_the_interval_of_a_share_is_symmetric_in_right_and_wrong() -> None:
    one, other = wilson(3, 10), wilson(7, 10)
    assert one.low == pytest.approx(1 - other.high)
    assert (one.low, one.high) == pytest.approx((0.1078, 0.6032), abs=1e-4)


def test_of_no_trials_nothing_is_known() -> None:
    assert isnan(wilson(0, 0).value)

"""What is promised holds as often as it says, over many sets of data drawn from known ones."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, norm

from groundwire.evaluation.metrics import Bools, Floats
from groundwire.evaluation.tuning.guarantee import (
    Guarantee,
    flagged_losses,
    guarantee,
    one_of_each,
)
from groundwire.evaluation.tuning.sample import Ints, LabelledSample, ThresholdCandidates
from groundwire.evaluation.tuning.target import TuningTarget
from tests.evaluation.made_results import READER

THRESHOLDS = ThresholdCandidates.of(READER)
ALPHA = 0.1
N_SETS = 250
#: If each had the probability ALPHA, more would happen once in a thousand times.
MOST = int(binom.ppf(0.999, N_SETS, ALPHA))


def sample(contexts: Ints, scores: Floats, hallucinated: Bools) -> LabelledSample:
    nothing = np.zeros(len(contexts), np.bool_)
    return LabelledSample(contexts, scores, hallucinated, nothing, np.full(len(contexts), ""))


def promised(
    data: LabelledSample, target: str, *, alpha: float = ALPHA, seed: int = 0
) -> Guarantee:
    entries = THRESHOLDS.entries(data.scores)
    k = len(THRESHOLDS.values)
    return guarantee(data, entries, k, TuningTarget.parse(target), alpha=alpha, seed=seed)


def chosen(found: Guarantee) -> float | None:
    return None if found.index is None else float(THRESHOLDS.values[found.index])


def correlated(
    rng: np.random.Generator, n_contexts: int, n_answers: int, share: float
) -> tuple[Ints, Floats]:
    """Scores that are each uniform, and alike within a context."""
    contexts = np.repeat(np.arange(n_contexts), n_answers)
    common = np.repeat(rng.standard_normal(n_contexts), n_answers)
    own = rng.standard_normal(len(contexts))
    return contexts, norm.cdf(np.sqrt(share) * common + np.sqrt(1 - share) * own)


def violations(
    draw: Callable[[np.random.Generator], LabelledSample],
    target: str,
    is_wrong: Callable[[float], bool],
) -> tuple[int, int]:
    """In how many sets the promise is wrong, and in how many there is one."""
    rng, n_wrong, n_made = np.random.default_rng(8), 0, 0
    for seed in range(N_SETS):
        threshold = chosen(promised(draw(rng), target, seed=seed))
        if threshold is not None:
            n_made += 1
            n_wrong += is_wrong(threshold)
    return n_wrong, n_made


@pytest.mark.merge
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_the_false_block_rate_is_kept_as_often_as_stated(share: float) -> None:
    def draw(rng: np.random.Generator) -> LabelledSample:
        contexts, scores = correlated(rng, 150, 4, share)
        return sample(contexts, scores, np.zeros(len(contexts), np.bool_))

    # Uniform scores: at t, 1 - t of the grounded answers are flagged.
    n_wrong, n_made = violations(draw, "fpr=0.05", lambda threshold: 1 - threshold > 0.05 + 1e-9)
    assert n_made > 0.9 * N_SETS
    assert 0.2 * ALPHA * N_SETS < n_wrong <= MOST  # kept, and not by asking for far too much


@pytest.mark.merge
def test_answers_taken_for_trials_of_their_own_would_break_the_promise() -> None:
    def draw(rng: np.random.Generator) -> LabelledSample:
        contexts, scores = correlated(rng, 150, 6, 0.9)
        return sample(np.arange(len(contexts)), scores, np.zeros(len(contexts), np.bool_))

    n_wrong, _ = violations(draw, "fpr=0.05", lambda threshold: 1 - threshold > 0.05 + 1e-9)
    assert n_wrong > MOST


@pytest.mark.merge
def test_the_recall_is_kept_as_often_as_stated() -> None:
    def draw(rng: np.random.Generator) -> LabelledSample:
        contexts, scores = correlated(rng, 120, 3, 0.5)
        # Grounded answers stand beside the others and change nothing.
        return sample(contexts, scores, np.arange(len(contexts)) % 3 != 0)

    n_wrong, n_made = violations(draw, "recall=0.8", lambda threshold: 1 - threshold < 0.8 - 1e-9)
    assert n_made > 0.9 * N_SETS
    assert 0.2 * ALPHA * N_SETS < n_wrong <= MOST


def precision_at(threshold: float) -> float:
    """Of the answers below: it first rises with the threshold, and falls at the end."""
    edges, shares = (0.0, 0.6, 0.99, 1.0), (0.3, 0.97, 0.5)
    widths = [max(0.0, high - max(low, threshold)) for low, high in pairwise(edges)]
    return float(np.dot(widths, shares) / sum(widths))


@pytest.mark.merge
@pytest.mark.parametrize("n_copies", [1, 4])
def test_the_precision_is_kept_as_often_as_stated(n_copies: int) -> None:
    def draw(rng: np.random.Generator) -> LabelledSample:
        scores = rng.random(400)
        share = np.select([scores < 0.6, scores < 0.99], [0.3, 0.97], 0.5)
        so = rng.random(400) < share
        # Answers to one context that are alike in all count no more than one of them.
        contexts = np.repeat(np.arange(400), n_copies)
        return sample(contexts, np.repeat(scores, n_copies), np.repeat(so, n_copies))

    assert precision_at(0.995) < 0.9 < precision_at(0.7)
    n_wrong, n_made = violations(
        draw, "precision=0.9", lambda threshold: precision_at(threshold) < 0.9 - 1e-9
    )
    assert n_made > 0.5 * N_SETS
    assert 0 < n_wrong <= MOST


# Contexts of unequal sizes: what holds for an answer of a random context need not for all answers.


def unequal(scores: tuple[float, float], hallucinated: tuple[bool, bool]) -> LabelledSample:
    """270 contexts with one answer of the first kind; 30 with 14 of them and 6 of the other."""
    contexts = np.concatenate([np.arange(270), np.repeat(np.arange(270, 300), 20)])
    is_other = np.concatenate([np.zeros(270, np.bool_), np.tile(np.arange(20) < 6, 30)])
    return sample(
        contexts, np.where(is_other, *scores[::-1]), np.where(is_other, *hallucinated[::-1])
    )


@pytest.mark.parametrize(
    ("target", "scores", "hallucinated", "threshold"),
    [
        # At 0.5 about 3 % of the contexts go wrong, and 180 of 870 answers.
        ("fpr=0.1", (0.2, 0.5), (False, False), 0.501),
        ("recall=0.9", (0.9, 0.5), (True, True), 0.5),
        ("precision=0.9", (0.9, 0.5), (True, False), 0.501),
    ],
)
def test_where_all_answers_do_not_keep_the_target_no_threshold_is_taken(
    target: str, scores: tuple[float, float], hallucinated: tuple[bool, bool], threshold: float
) -> None:
    found = promised(unequal(scores, hallucinated), target)
    assert chosen(found) == threshold
    assert found.answers_lost == 0


def test_a_target_that_only_contexts_keep_is_not_promised() -> None:
    found = promised(unequal((0.0, 1.0), (False, False)), "fpr=0.1")  # flagged at all thresholds
    assert found.index is None
    assert found.n_losses / found.n < 0.06
    assert found.answers_lost == pytest.approx(180 / 870)
    assert found.best == pytest.approx(180 / 870)


# How trials are drawn.


def test_of_the_answers_that_count_the_first_by_rank_stands_for_a_context() -> None:
    contexts, counts = np.array([0, 0, 1, 1, 2]), np.array([True, True, False, True, False])
    assert one_of_each(contexts, counts, np.array([3, 1, 0, 2, 4])).tolist() == [1, 3]


def slow_losses(
    contexts: Ints, entries: Ints, is_loss: Bools, rank: Ints, k: int
) -> Iterator[tuple[int, int]]:
    for i in range(k):
        drawn = one_of_each(contexts, entries <= i, rank)
        yield int(is_loss[drawn].sum()), len(drawn)


def test_at_each_threshold_one_flagged_answer_of_each_context_is_drawn() -> None:
    rng = np.random.default_rng(1)
    contexts, entries = rng.integers(9, size=60), rng.integers(12, size=60)
    is_loss, rank = rng.random(60) < 0.5, rng.permutation(60)
    losses, trials = flagged_losses(contexts, entries, is_loss, rank, 11)
    pairs = list(zip(losses.tolist(), trials.tolist(), strict=True))
    assert pairs == list(slow_losses(contexts, entries, is_loss, rank, 11))


# What is told where nothing can be promised.


def test_with_too_few_contexts_it_says_how_many_it_takes_and_what_they_can_promise() -> None:
    data = sample(np.arange(100), np.full(100, 0.2), np.zeros(100, np.bool_))
    found = promised(data, "fpr=0.01", alpha=0.05)
    assert (found.index, found.n_needed, found.n_available) == (None, 299, 100)
    assert found.best is not None
    assert found.best == pytest.approx(1 - 0.05**0.01)
    assert chosen(promised(data, f"fpr={found.best + 1e-6:.6f}", alpha=0.05)) == 0.201


def test_the_lowest_threshold_that_keeps_the_false_block_rate_is_chosen() -> None:
    scores = np.concatenate([np.full(299, 0.2), np.full(50, 0.9)])
    so = np.arange(349) >= 299
    assert chosen(promised(sample(np.arange(349), scores, so), "fpr=0.01", alpha=0.05)) == 0.201


def test_the_highest_threshold_that_keeps_the_recall_is_chosen() -> None:
    data = sample(np.arange(50), np.full(50, 0.7), np.ones(50, np.bool_))
    assert chosen(promised(data, "recall=0.8")) == 0.7


def test_a_failed_check_is_a_miss_and_no_grounded_answer_that_passed() -> None:
    n = 400
    data = LabelledSample(
        np.arange(n),
        np.full(n, np.nan),
        np.arange(n) < n // 2,
        np.ones(n, np.bool_),
        np.full(n, ""),
    )
    missed = promised(data, "recall=0.5")
    assert (missed.index, missed.n_losses, missed.n) == (None, 200, 200)
    assert promised(data, "fpr=0.5").n_available == 0


def test_nothing_is_promised_of_nothing() -> None:
    data = sample(np.arange(5), np.full(5, 0.5), np.ones(5, np.bool_))
    found = promised(data, "fpr=0.1")
    assert (found.index, found.best, found.n_available) == (None, None, 0)

"""Thresholds with a statistical guarantee, by Learn then Test.

Each threshold is a hypothesis, "here the rate is worse than the target", that labelled answers may
reject. Thresholds are tested one after the other, from where the target is easiest to meet to the
first that is not rejected. So none of them costs the others any of the error that is allowed: with
the stated confidence, all thresholds that were passed meet the target (Angelopoulos et al. 2021,
https://arxiv.org/abs/2110.01052, fixed-sequence testing). The share of losses need not change with
the threshold in any orderly way, and precision does not.

Answers to one context share its difficulties, and a test that took each for a trial of its own
would be surer than it may be. So a context is one trial: of its answers that count, one is drawn.
Losses are then binomial, and the test is exact. (Means over all answers of a context, with the
bound of Hoeffding and Bentkus, are valid too. That bound is not exact, and in simulations it
mostly allowed less.)

So what is promised is the rate of an answer drawn from a context drawn at random. The rate of all
answers is another where contexts with many answers are harder than those with few, and nothing can
be proved of it as long as nobody knows how many answers a context may have. So of the thresholds
that passed, only one is taken at which all answers, as counted, keep the target too. (Any of those
that passed may be: the promise holds of all of them at once.)
"""

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from groundwire.evaluation.metrics import Bools, Floats
from groundwire.evaluation.tuning.binomial import (
    least_trials,
    lower_tail,
    most_losses,
    upper_bound,
)
from groundwire.evaluation.tuning.sample import Ints, LabelledSample
from groundwire.evaluation.tuning.target import Aim, TuningTarget

#: Share of contexts that choose where the tests begin; the others test.
CHOOSING_SHARE = 1 / 3

#: Tolerance for rounding: a rate of exactly the limit is allowed.
_SLACK = 1e-9

#: The population for which a guarantee holds.
DRAWN = "an answer drawn from a context drawn at random"

#: The unit of a trial.
UNITS = {
    Aim.FPR: "grounded contexts",
    Aim.RECALL: "hallucinated contexts",
    Aim.PRECISION: "flagged contexts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """A threshold with its guarantee.

    Attributes:
        index: The threshold, or ``None`` if nothing can be promised.
        n_needed: Trials without a loss that would be enough, those that are set aside included.
        n: Trials at the threshold; without one, where the test began.
        n_losses: Number of those that went wrong: grounded and flagged, or hallucinated and passed.
        n_available: The most trials that there are at any threshold, counted alike.
        answers_lost: The share that goes wrong there if each answer counts, not one of a context:
            an estimate, of which nothing is promised; ``nan`` if there is none.
        best: The best value of the target that these trials can promise; ``None`` without any.
    """

    index: int | None
    n_needed: int
    n: int
    n_losses: int
    n_available: int
    answers_lost: float
    best: float | None


def guarantee(
    sample: LabelledSample,
    entries: Ints,
    n_thresholds: int,
    target: TuningTarget,
    *,
    alpha: float,
    seed: int,
) -> Guarantee:
    """Find the threshold that flags most (for recall: least) and still meets the target.

    Args:
        sample: Answers.
        entries: The first threshold that flags each answer; see :class:`.sample.Thresholds`.
        n_thresholds: How many there are.
        target: The target; not ``f1``.
        alpha: How often the promise may be wrong, in (0, 1).
        seed: Seed of the random draws.
    """
    assert target.value is not None
    rng = np.random.default_rng(seed)
    rank = rng.permutation(len(sample))
    if target.aim is Aim.PRECISION:
        is_choosing = _chosen_contexts(sample, rng)
        choosing, testing = (
            flagged_losses(
                sample.contexts[part],
                entries[part],
                ~sample.hallucinated[part],
                rank[part],
                n_thresholds,
            )
            for part in (is_choosing, ~is_choosing)
        )
        start = _easiest(*choosing, 1 - target.value)
        flagged = flagged_at(entries, n_thresholds)
        lost = shares(flagged_at(entries[~sample.hallucinated], n_thresholds), flagged)
        found = _test(*testing, lost, np.arange(start, n_thresholds), target, alpha)
        return _with_set_aside(found, len(np.unique(sample.contexts[entries < n_thresholds])))
    # An answer without a verdict: a hallucinated one was missed, a grounded one does not count.
    counts = (
        sample.hallucinated if target.aim is Aim.RECALL else ~sample.hallucinated & ~sample.failed
    )
    drawn = one_of_each(sample.contexts, counts, rank)
    flagged = flagged_at(entries[drawn], n_thresholds)
    trials = np.full(n_thresholds, len(drawn))
    order = np.arange(n_thresholds)
    share = shares(flagged_at(entries[counts], n_thresholds), np.full(n_thresholds, counts.sum()))
    if target.aim is Aim.RECALL:
        return _test(trials - flagged, trials, 1 - share, order[::-1], target, alpha)
    return _test(flagged, trials, share, order, target, alpha)


def flagged_at(entries: Ints, n_thresholds: int) -> Ints:
    """Count the answers that each threshold flags, shape ``(n_thresholds,)``."""
    return np.cumsum(np.bincount(entries, minlength=n_thresholds + 1))[:n_thresholds]


def shares(part: Ints, whole: Ints) -> Floats:
    """Divide; ``nan`` where the whole is 0."""
    ratios: Floats = np.full(len(whole), np.nan)
    return np.divide(part, whole, out=ratios, where=whole > 0)


def one_of_each(contexts: Ints, counts: Bools, rank: Ints) -> Ints:
    """Choose from each context the counted answer of the lowest rank."""
    among = np.flatnonzero(counts)
    among = among[np.argsort(rank[among], kind="stable")]
    _, first = np.unique(contexts[among], return_index=True)
    return among[first]


def flagged_losses(
    contexts: Ints, entries: Ints, is_loss: Bools, rank: Ints, n_thresholds: int
) -> tuple[Ints, Ints]:
    """Count trials and losses at each threshold, with one flagged answer of each context.

    As the threshold falls answers become flagged, and one of a lower rank takes the place of the
    one that stood for its context: at each threshold every flagged one is equally likely to.

    Returns:
        Losses and trials, shape ``(n_thresholds,)`` each.
    """
    losses, trials = np.zeros(n_thresholds + 1, np.intp), np.zeros(n_thresholds + 1, np.intp)
    stands: dict[int, int] = {}
    for i in np.lexsort((rank, entries)).tolist():
        entry, context = entries[i], int(contexts[i])
        before = stands.get(context)
        if before is None:
            trials[entry] += 1
            losses[entry] += is_loss[i]
        elif rank[i] < rank[before]:
            losses[entry] += int(is_loss[i]) - int(is_loss[before])
        else:
            continue
        stands[context] = i
    return np.cumsum(losses)[:-1], np.cumsum(trials)[:-1]


def _test(
    losses: Ints,
    trials: Ints,
    answers_lost: Floats,
    order: Ints,
    target: TuningTarget,
    alpha: float,
) -> Guarantee:
    """Test thresholds in this order, until one is not rejected.

    Of those before it, the last is taken at which all answers keep the target too.
    """
    assert target.value is not None
    rate = target.value if target.aim is Aim.FPR else 1 - target.value
    passed: int | None = None
    allowed: dict[int, int] = {}
    for i in order.tolist():
        n = int(trials[i])
        if n not in allowed:
            allowed[n] = most_losses(n, rate, alpha)
        if losses[i] > allowed[n]:
            break
        if answers_lost[i] <= rate + _SLACK:
            passed = i
    told = passed if passed is not None else int(order[0]) if len(order) else None
    n, n_losses = (0, 0) if told is None else (int(trials[told]), int(losses[told]))
    bound = upper_bound(int(losses[order[0]]), int(trials[order[0]]), alpha) if n else None
    if bound is not None:
        bound = max(bound, float(answers_lost[order[0]]))
    return Guarantee(
        index=passed,
        n_needed=least_trials(rate, alpha),
        n=n,
        n_losses=n_losses,
        n_available=int(trials.max(initial=0)),
        answers_lost=float("nan") if told is None else float(answers_lost[told]),
        best=bound if bound is None or target.aim is Aim.FPR else 1 - bound,
    )


def _with_set_aside(found: Guarantee, n_flagged: int) -> Guarantee:
    """Convert numbers of testing contexts to numbers of all contexts.

    Args:
        found: By those that test.
        n_flagged: Number of those with an answer that is flagged at any threshold.
    """
    n_needed = ceil(round(found.n_needed / (1 - CHOOSING_SHARE), 9))
    # The contexts that test are drawn at random, so the number needed is approximate.
    is_enough = found.n_available >= found.n_needed
    n_needed = min(n_needed, n_flagged) if is_enough else max(n_needed, n_flagged + 1)
    return replace(found, n_needed=n_needed, n_available=n_flagged)


def _easiest(losses: Ints, trials: Ints, rate: float) -> int:
    """Find the threshold where the target seems easiest to meet."""
    if not len(trials):
        return 0
    pairs, which = np.unique(np.column_stack([losses, trials]), axis=0, return_inverse=True)
    tails = np.array([lower_tail(lost, n, rate) for lost, n in pairs.tolist()])
    return int(tails[which.ravel()].argmin())


def _chosen_contexts(sample: LabelledSample, rng: np.random.Generator) -> Bools:
    """Select the answers of the contexts that choose where to begin."""
    known = np.unique(sample.contexts)
    n = round(len(known) * CHOOSING_SHARE)
    return np.isin(sample.contexts, rng.permutation(known)[:n])

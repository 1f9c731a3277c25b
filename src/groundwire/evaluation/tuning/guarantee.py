"""Thresholds with a statistical guarantee, found with the method "Learn then Test".

A loss is a grounded answer that is flagged or, for recall, a hallucinated answer that is not
flagged. For each threshold there is a hypothesis, "here the rate of losses is higher than the
target allows", which labelled answers can reject. Thresholds are tested in a fixed order that
begins where the target is easiest to meet, and testing stops at the first hypothesis that is not
rejected. This way every test can use the whole error probability that is allowed: with the stated
confidence, all thresholds whose hypothesis was rejected meet the target (Angelopoulos et al. 2021,
https://arxiv.org/abs/2110.01052, fixed-sequence testing). The method does not assume that the rate
of losses rises or falls steadily with the threshold; for precision, the rate may do neither.

Answers to the same context (the same sources) tend to fail together, so a test that counted each
answer as an independent trial would be overconfident. A trial is therefore a context: one answer is
drawn from those of its answers that count (for recall, the hallucinated ones). The number of losses
is then binomial, and the test is exact. (A test of the mean over all answers of each context, with
the bound of Hoeffding and Bentkus, would be valid too. In simulations it mostly allowed fewer
losses.)

The guarantee is therefore about an answer drawn from a context that is drawn at random. The rate of
losses over all answers differs from the guaranteed rate if contexts with many answers are harder
than those with few. The rate over all answers cannot be guaranteed without a bound on the number of
answers to a context. As a precaution, a threshold is chosen only if the rate over all labelled
answers meets the target too.
"""

from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from groundwire.evaluation.metrics import Bools, Floats, ratios
from groundwire.evaluation.scores import defined
from groundwire.evaluation.tuning.binomial import least_trials, lower_tail, most_losses, upper_bound
from groundwire.evaluation.tuning.sample import Ints, LabelledSample
from groundwire.evaluation.tuning.target import Aim, TuningTarget

#: For precision, the share of contexts with which the first threshold to test is chosen; the other
#: contexts are used for the tests.
CHOOSING_SHARE = 1 / 3

#: Tolerance for rounding errors: a rate that is exactly at the limit is allowed.
_SLACK = 1e-9

#: The population for which a guarantee holds, as text.
DRAWN = "an answer drawn from a context drawn at random"

#: Aim of a target → what its trials are called in messages.
UNITS = {
    Aim.FPR: "grounded contexts",
    Aim.RECALL: "hallucinated contexts",
    Aim.PRECISION: "flagged contexts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """A threshold with its guarantee, or numbers that show why there is none.

    Attributes:
        index: Index of the threshold; ``None`` if nothing can be guaranteed.
        n: Number of trials at the threshold; without a guarantee, at the first threshold tested.
        n_losses: Number of these trials that are losses: a grounded answer is flagged or, for
            recall, a hallucinated answer is not flagged.
        n_available: Highest number of trials at any threshold. For precision, contexts that are
            used to choose the first threshold are included.
        n_needed: Number of trials that would be enough for a guarantee if none of them were a loss.
            For precision, contexts that are used to choose the first threshold are included.
        answers_lost: Share of losses among all answers that count, not only among the one answer
            that is drawn for each context. The share is an estimate, without a guarantee, at the
            threshold at which ``n`` is counted; ``nan`` if no answer counts.
        best: The best value of the target that could be guaranteed at the first threshold tested;
            ``None`` if there are no trials.
    """

    index: int | None
    n: int
    n_losses: int
    n_available: int
    n_needed: int
    answers_lost: float
    best: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as JSON data; ``holds`` says whether there is one."""
        numbers = asdict(self)
        is_held = numbers.pop("index") is not None
        return {"holds": is_held, **numbers, "answers_lost": defined(self.answers_lost)}


def guarantee(
    sample: LabelledSample,
    entries: Ints,
    n_thresholds: int,
    target: TuningTarget,
    *,
    alpha: float,
    seed: int,
) -> Guarantee:
    """Find a threshold that is guaranteed to meet the target, if there is one.

    Of several such thresholds, the one that flags the most answers is chosen; for recall, the one
    that flags the fewest. A threshold at which the rate of losses over all labelled answers misses
    the target is not chosen. Call this only for a target other than ``f1``.

    ``entries`` comes from :meth:`.sample.ThresholdCandidates.entries`. ``alpha`` is the highest
    allowed probability that the guarantee is wrong, in (0, 0.5).
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
        lost = ratios(flagged_at(entries[~sample.hallucinated], n_thresholds), flagged)
        found = _test(*testing, lost, np.arange(start, n_thresholds), target, alpha)
        return _with_set_aside(found, len(np.unique(sample.contexts[entries < n_thresholds])))
    # Without a verdict, a hallucinated answer counts as missed, and a grounded one does not count.
    counts = (
        sample.hallucinated if target.aim is Aim.RECALL else ~sample.hallucinated & ~sample.failed
    )
    drawn = one_of_each(sample.contexts, counts, rank)
    flagged = flagged_at(entries[drawn], n_thresholds)
    trials = np.full(n_thresholds, len(drawn))
    order = np.arange(n_thresholds)
    share = ratios(flagged_at(entries[counts], n_thresholds), np.full(n_thresholds, counts.sum()))
    if target.aim is Aim.RECALL:
        return _test(trials - flagged, trials, 1 - share, order[::-1], target, alpha)
    return _test(flagged, trials, share, order, target, alpha)


def flagged_at(entries: Ints, n_thresholds: int) -> Ints:
    """Count the answers that each threshold flags: shape ``(n_thresholds,)``.

    ``entries`` has, for each answer, the index of the first threshold that flags the answer;
    ``n_thresholds`` if none does.
    """
    return np.cumsum(np.bincount(entries, minlength=n_thresholds + 1))[:n_thresholds]


def one_of_each(contexts: Ints, counts: Bools, rank: Ints) -> Ints:
    """Choose one answer of each context: the one with the lowest rank among those that count.

    ``counts`` is the mask of the answers that count. If no answer of a context counts, none of its
    answers is chosen.

    Returns:
        The indices of the chosen answers.
    """
    among = np.flatnonzero(counts)
    among = among[np.argsort(rank[among], kind="stable")]
    _, first = np.unique(contexts[among], return_index=True)
    return among[first]


def flagged_losses(
    contexts: Ints, entries: Ints, is_loss: Bools, rank: Ints, n_thresholds: int
) -> tuple[Ints, Ints]:
    """Count losses and trials at each threshold, where a trial is one flagged answer of a context.

    If several answers of a context are flagged, the one with the lowest rank is the trial. Because
    ranks are random, each flagged answer of the context is equally likely to be the trial.

    The first four arguments have an entry for each answer. ``is_loss`` says whether the answer
    would be a loss if it were flagged.

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
    """Test thresholds in order until one fails, and choose the last suitable one that passed.

    A threshold is suitable if its share of losses among all answers, ``answers_lost``, meets the
    target too. If no threshold that passed is suitable, none is chosen.

    ``losses``, ``trials`` and ``answers_lost`` have an entry for each threshold. ``order`` has the
    indices of the thresholds to test.
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
    reported = passed if passed is not None else int(order[0]) if len(order) else None
    n, n_losses = (0, 0) if reported is None else (int(trials[reported]), int(losses[reported]))
    bound = upper_bound(int(losses[order[0]]), int(trials[order[0]]), alpha) if n else None
    if bound is not None:
        bound = max(bound, float(answers_lost[order[0]]))
    return Guarantee(
        index=passed,
        n_needed=least_trials(rate, alpha),
        n=n,
        n_losses=n_losses,
        n_available=int(trials.max(initial=0)),
        answers_lost=float("nan") if reported is None else float(answers_lost[reported]),
        best=bound if bound is None or target.aim is Aim.FPR else 1 - bound,
    )


def _with_set_aside(found: Guarantee, n_flagged: int) -> Guarantee:
    """Change ``n_needed`` and ``n_available`` of a guarantee to counts of all contexts.

    In ``found``, these counts leave out the contexts that were used to choose the first threshold.
    ``n_flagged`` is the number of all contexts with an answer that is flagged at any threshold.
    """
    n_needed = ceil(round(found.n_needed / (1 - CHOOSING_SHARE), 9))
    # Contexts for tests are drawn at random, so this number is approximate. The final ``n_needed``
    # must be above ``n_available`` if, and only if, there were too few contexts for the tests.
    is_enough = found.n_available >= found.n_needed
    n_needed = min(n_needed, n_flagged) if is_enough else max(n_needed, n_flagged + 1)
    return replace(found, n_needed=n_needed, n_available=n_flagged)


def _easiest(losses: Ints, trials: Ints, rate: float) -> int:
    """Find the index of the threshold at which the target is easiest to meet.

    This is the threshold with the lowest p value; the index is 0 if there are no thresholds.
    """
    if not len(trials):
        return 0
    pairs, which = np.unique(np.column_stack([losses, trials]), axis=0, return_inverse=True)
    tails = np.array([lower_tail(lost, n, rate) for lost, n in pairs.tolist()])
    return int(tails[which.ravel()].argmin())


def _chosen_contexts(sample: LabelledSample, rng: np.random.Generator) -> Bools:
    """Draw contexts with which to choose the first threshold; return a mask of their answers."""
    known = np.unique(sample.contexts)
    n = round(len(known) * CHOOSING_SHARE)
    return np.isin(sample.contexts, rng.permutation(known)[:n])

"""Estimates, from reviewers' labels of a random sample, the share of right answers that is blocked.

A budget is the greatest share of right answers that may be blocked. Labels support a budget if they
show with 95 % confidence that it is kept. Thresholds are tested as ``groundwire tune`` tests them
with the target ``fpr``: the answers to one request are alike, so tests and intervals count one
answer of each request, drawn at random.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from itertools import compress
from math import inf, nan, sqrt

import numpy as np

from groundwire.control.verdicts import AnswerReview, CheckFacts, agreed_spans, by_answer
from groundwire.detection.values import DetectorInfo, Label, Score
from groundwire.evaluation.metrics import Bools
from groundwire.evaluation.tuning.binomial import most_losses, upper_bound
from groundwire.evaluation.tuning.sample import ThresholdCandidates

#: 1 minus the confidence of the tests and intervals, which is 95 %.
ALPHA = 0.05

#: ``FalseBlocks.n_more`` returns ``None`` if this many requests with right answers, or more, are
#: needed to show that a budget is kept.
_MAX_TRIALS = 100_000

#: ``has_changed`` reports differences above this many standard deviations (p < 0.001).
_CHANGED = 3.3


class Support(StrEnum):
    """How far reviewers' labels support a budget at the threshold of a detector."""

    UNSET = "unset"  # there is no budget
    HOLDS = "holds"  # with 95 % confidence, no more right answers are blocked than allowed
    OPEN = "open"  # too few labels to decide
    DISPUTED = "disputed"  # holds without the disputed answers, but not if they count as right
    AGAINST = "against"  # more right answers are blocked than allowed, perhaps by chance
    BROKEN = "broken"  # with 95 % confidence, more right answers are blocked than allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of answers, ``n`` out of ``of``, with its exact 95 % confidence interval."""

    n: int
    of: int

    @property
    def value(self) -> float:
        """The share; ``nan`` if there are no answers."""
        return self.n / self.of if self.of else nan

    @property
    def low(self) -> float:
        """The lower end of the interval (Clopper & Pearson 1934)."""
        return 1 - upper_bound(self.of - self.n, self.of, ALPHA / 2) if self.n else 0.0

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return upper_bound(self.n, self.of, ALPHA / 2) if self.of else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AtThreshold:
    """The shares of labelled answers that a threshold blocks, counting one answer of each request.

    ``blocked`` is the share among the right answers, ``caught`` among the wrong ones.
    """

    threshold: float
    blocked: Share
    caught: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedAnswer:
    """A labelled answer of the sample.

    ``is_right`` says whether its reviewers found it right; ``None`` if they disagree. ``lot`` is a
    pseudo-random value that never changes; of the answers to one request, the one with the highest
    lot is drawn.
    """

    facts: CheckFacts
    is_right: bool | None
    lot: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseBlocks:
    """Labels of a sample of answers, with which a detector and its threshold are judged.

    Attributes:
        detector: The detector, with the threshold in use.
        answers: The labelled answers about which the reviewers agree, the oldest first.
        disputed: The labelled answers about which the reviewers disagree.
        n_other: The number of labelled answers that are not used: they were drawn at another rate
            than the newest, or the scores of their check are not known or not comparable.
        blocking: The labels and severities of the findings for which an answer is blocked.
        blocks_incomplete: Whether answers whose check was incomplete count as blocked too.
    """

    detector: DetectorInfo
    answers: tuple[ReviewedAnswer, ...]
    disputed: tuple[ReviewedAnswer, ...]
    n_other: int
    blocking: frozenset[tuple[Label, int]]
    blocks_incomplete: bool

    @classmethod
    def of(
        cls,
        reviews: Sequence[AnswerReview],
        detector: DetectorInfo,
        *,
        blocking: Collection[tuple[Label, int]],
        blocks_incomplete: bool,
    ) -> "FalseBlocks":
        """Select the labels that apply to a detector and its threshold.

        ``reviews`` are labels of randomly drawn answers; the other arguments become attributes.
        """
        usable: list[ReviewedAnswer] = []
        n_other = 0
        # The ids of events begin with the time, so the oldest answers come first.
        for id_, of_answer in sorted(by_answer(reviews).items()):
            facts, spans = of_answer[0].facts, agreed_spans(of_answer)
            if facts is None or not _applies_to(facts, detector):
                n_other += 1
            else:
                is_right = None if spans is None else not spans
                lot = sha256(id_.encode()).digest()
                usable.append(ReviewedAnswer(facts=facts, is_right=is_right, lot=lot))
        # Answers that were drawn with different probabilities are no random sample together.
        same = [each for each in usable if each.facts.sample == usable[-1].facts.sample]
        return cls(
            detector=detector,
            answers=tuple(each for each in same if each.is_right is not None),
            disputed=tuple(each for each in same if each.is_right is None),
            n_other=n_other + len(usable) - len(same),
            blocking=frozenset(blocking),
            blocks_incomplete=blocks_incomplete,
        )

    @property
    def _right(self) -> list[ReviewedAnswer]:
        return [each for each in self.answers if each.is_right]

    @property
    def now(self) -> AtThreshold:
        """The shares of labelled answers that the threshold in use blocks."""
        return self.at(self.detector.threshold)

    def at(self, threshold: float) -> AtThreshold:
        """Return the shares of labelled answers that a threshold blocks."""
        wrong = [each for each in self.answers if not each.is_right]
        return AtThreshold(
            threshold=threshold,
            blocked=self._share(_drawn(self._right), threshold),
            caught=self._share(_drawn(wrong), threshold),
        )

    def _share(self, answers: Sequence[ReviewedAnswer], threshold: float) -> Share:
        return Share(n=int(self._blocks(answers, threshold).sum()), of=len(answers))

    def _blocks(self, answers: Sequence[ReviewedAnswer], threshold: float) -> Bools:
        """Return for each answer whether a threshold blocks it."""
        scores = np.array([self._worst(each) for each in answers], np.float64)
        only = ThresholdCandidates(np.array([threshold]), self.detector.score)
        return np.asarray(only.entries(scores) == 0, np.bool_)

    def _worst(self, answer: ReviewedAnswer) -> float:
        """Return the worst score of an answer's findings that can block it.

        ``nan`` if no threshold blocks the answer; ``inf`` (``-inf`` for similarities) if every
        threshold does.
        """
        is_similarity = self.detector.score is Score.SIMILARITY
        if self.blocks_incomplete and not answer.facts.is_complete:
            return -inf if is_similarity else inf
        scores = [each.score for each in answer.facts.worst if each[:2] in self.blocking]
        return (min if is_similarity else max)(scores, default=nan)

    def kept_by(self, budget: float) -> float | None:
        """Return a tested threshold that keeps a budget with 95 % confidence; ``None`` without one.

        If several of the tested thresholds keep the budget, the result is the one that blocks the
        most answers. It keeps the budget even if all disputed answers that it blocks are right.
        """
        fixed = ThresholdCandidates.of(self.detector)
        values = np.unique([*fixed.values, self.detector.threshold])
        least_first = values if fixed.score is Score.SIMILARITY else values[::-1]
        # Thresholds are tested in a fixed order up to the first that fails, so each test may use
        # the whole ALPHA. Later thresholds block more answers and fail too, so a binary search is
        # enough.
        n_kept = bisect_left(least_first, x=True, key=lambda x: not self._keeps(budget, x))
        return float(least_first[n_kept - 1]) if n_kept else None

    def _keeps(self, budget: float, threshold: float) -> bool:
        """Return whether, with 95 % confidence, a threshold keeps a budget.

        Disputed answers that the threshold blocks count as right.
        """
        blocked = compress(self.disputed, self._blocks(self.disputed, threshold))
        counted = [*self._right, *blocked]
        tested = self._share(_drawn(counted), threshold)
        if tested.n > most_losses(tested.of, budget, ALPHA):
            return False
        # As in ``groundwire tune``, the budget must also hold if all answers to each request count.
        # Then the share may be higher, since requests with many answers may be harder.
        return self._share(counted, threshold).value <= budget

    def support(self, budget: float | None) -> Support:
        """Return how far the labels support a budget at the detector's threshold.

        ``budget`` is the greatest share of right answers that may be blocked; ``None``: there is no
        budget.
        """
        if budget is None:
            return Support.UNSET
        now = self.detector.threshold
        if self._breaks(budget):
            return Support.BROKEN
        if self._keeps(budget, now):
            return Support.HOLDS
        if replace(self, disputed=())._keeps(budget, now):
            return Support.DISPUTED
        shares = self.now.blocked, self._share(self._right, now)
        return Support.AGAINST if any(each.value > budget for each in shares) else Support.OPEN

    @property
    def n_disputed_blocked(self) -> int:
        """The number of disputed answers that the threshold in use blocks."""
        return self._share(self.disputed, self.detector.threshold).n

    def _breaks(self, budget: float) -> bool:
        """Return whether, with 95 % confidence, more right answers are blocked than allowed."""
        blocked = self.now.blocked
        if not blocked.of:
            return False
        return 1 - upper_bound(blocked.of - blocked.n, blocked.of, ALPHA) > budget

    def n_more(self, budget: float) -> int | None:
        """Estimate how many more labelled answers it takes to show that a budget is kept.

        The threshold is the one in use. The estimate assumes that no further right answer is
        blocked, and that the share of right answers, and the number of answers to a request, stay
        the same. The result is ``None`` if it takes 100,000 requests with right answers, or more.
        """
        right = self.now.blocked
        n_needed = bisect_left(
            range(_MAX_TRIALS), x=True, key=lambda n: most_losses(n, budget, ALPHA) >= right.n
        )
        if n_needed >= _MAX_TRIALS:
            return None
        per_request = len(self.answers) / right.of if right.of else 1.0
        return max(0, round((n_needed - right.of) * per_request))

    def warnings(self, budget: float, support: Support) -> Iterator[str]:
        """Yield at most one warning about the newest quarter of the labelled answers.

        There is a warning if a budget holds without these answers but not with them, or if these
        answers alone break the budget but all answers together do not. ``support`` is the result of
        ``self.support(budget)``.
        """
        n_new = len(self.answers) // 4
        if not n_new:
            return
        older = replace(self, answers=self.answers[:-n_new])
        newer = replace(self, answers=self.answers[-n_new:])
        if support is not Support.HOLDS and older.support(budget) is Support.HOLDS:
            yield f"The {n_new} newest labelled answers broke the budget: without them it held."
        elif support is not Support.BROKEN and newer._breaks(budget):
            yield (
                f"Of the {n_new} newest labelled answers alone, more are blocked than the budget "
                "allows: the traffic may have changed."
            )


def _drawn(answers: Sequence[ReviewedAnswer]) -> list[ReviewedAnswer]:
    """Return one answer of each request: the one with the highest lot, which is pseudo-random."""
    in_order = sorted(answers, key=lambda each: each.lot)
    return list({each.facts.trace_id: each for each in in_order}.values())


def _applies_to(facts: CheckFacts, detector: DetectorInfo) -> bool:
    """Return whether the scores of a check can be compared with a detector's threshold.

    A detector of probabilities may read a claim again if the claim's score reaches the threshold.
    So a check at a higher threshold may have other scores.
    """
    is_same = (facts.detector, facts.revision) == (detector.name, detector.revision)
    return is_same and (detector.score is Score.SIMILARITY or facts.threshold <= detector.threshold)


def has_changed(before: Share, after: Share) -> bool:
    """Return whether two shares of answers differ by more than chance explains."""
    if not before.of or not after.of:
        return False
    both = (before.n + after.n) / (before.of + after.of)
    deviation = sqrt(both * (1 - both) * (1 / before.of + 1 / after.of))
    return deviation > 0 and abs(before.value - after.value) > _CHANGED * deviation

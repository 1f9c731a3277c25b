"""Estimates, from the labels of a random sample, the share of right answers that is blocked.

A budget is the greatest share of right answers that may be blocked, with 95 % confidence.
Thresholds are tested as ``groundwire tune`` tests them with the target ``fpr``.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, nan, sqrt
from operator import ge, gt, lt

import numpy as np

from groundwire.control.verdicts import CheckFacts, Review, agreed_spans, by_answer
from groundwire.detection.values import DetectorInfo, Label, Score
from groundwire.evaluation.tuning.binomial import most_losses, upper_bound
from groundwire.evaluation.tuning.guarantee import guarantee
from groundwire.evaluation.tuning.sample import LabelledSample, ThresholdCandidates
from groundwire.evaluation.tuning.target import Aim, TuningTarget

#: 1 minus the confidence of the tests and intervals, which is 95 %.
ALPHA = 0.05

#: ``FalseBlocks.n_more`` gives no number if a budget needs this many requests with right answers.
_MAX_TRIALS = 100_000

#: ``has_changed`` reports differences above this many standard deviations (p < 0.001).
_CHANGED = 3.3


class Support(StrEnum):
    """Whether labels support a budget."""

    UNSET = "unset"  # there is no budget
    HOLDS = "holds"  # with 95 % confidence, no more right answers are blocked than allowed
    OPEN = "open"  # too few labels to decide
    DISPUTED = "disputed"  # holds only if the disputed answers that are blocked are wrong
    AGAINST = "against"  # of the right labelled answers, more are blocked than the budget allows
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
    """The shares of labelled answers that a threshold blocks.

    ``blocked`` is the share among the right answers, ``caught`` among the wrong ones.
    """

    threshold: float
    blocked: Share
    caught: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """A labelled answer of the sample.

    ``is_right`` says whether its reviewers found it right; ``None`` if they disagree.
    """

    facts: CheckFacts
    is_right: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseBlocks:
    """What reviewers found about a sample of answers, to judge a detector and its threshold.

    Attributes:
        detector: The detector, with the threshold in use.
        answers: The labelled answers about which the reviewers agree, the oldest first.
        disputed: The labelled answers about which the reviewers disagree.
        n_other: The number of labelled answers that are not used: they were drawn at another rate
            than the newest, or the scores of their check are not known or not comparable.
        blocking: The labels and severities of the findings that count as blocked.
        blocks_incomplete: Whether answers whose check was incomplete count as blocked too.
    """

    detector: DetectorInfo
    answers: tuple[LabelledAnswer, ...]
    disputed: tuple[LabelledAnswer, ...]
    n_other: int
    blocking: frozenset[tuple[Label, int]]
    blocks_incomplete: bool

    @classmethod
    def of(
        cls,
        reviews: Sequence[Review],
        detector: DetectorInfo,
        *,
        blocking: Collection[tuple[Label, int]],
        blocks_incomplete: bool,
    ) -> "FalseBlocks":
        """Select the labels that apply to a detector and its threshold.

        ``reviews`` are labels of randomly drawn answers; the other arguments become attributes.
        """
        usable: list[LabelledAnswer] = []
        n_other = 0
        # The ids of events begin with the time, so the oldest answers come first.
        for _, of_answer in sorted(by_answer(reviews).items()):
            facts, spans = of_answer[0].facts, agreed_spans(of_answer)
            if facts is None or not _applies_to(facts, detector):
                n_other += 1
            else:
                usable.append(
                    LabelledAnswer(facts=facts, is_right=None if spans is None else not spans)
                )
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
    def n_right(self) -> int:
        """The number of labelled answers that are right."""
        return sum(bool(each.is_right) for each in self.answers)

    @property
    def now(self) -> AtThreshold:
        """The shares of labelled answers that the threshold in use blocks."""
        return self.at(self.detector.threshold)

    def at(self, threshold: float) -> AtThreshold:
        """Return the shares of labelled answers that a threshold blocks."""
        blocked = [each for each in self.answers if self._blocks(each, threshold)]
        n_right = sum(bool(each.is_right) for each in blocked)
        return AtThreshold(
            threshold=threshold,
            blocked=Share(n=n_right, of=self.n_right),
            caught=Share(n=len(blocked) - n_right, of=len(self.answers) - self.n_right),
        )

    def _blocks(self, answer: LabelledAnswer, threshold: float) -> bool:
        is_blocking = lt if self.detector.score is Score.SIMILARITY else ge
        return bool(is_blocking(self._worst(answer), threshold))

    def _worst(self, answer: LabelledAnswer) -> float:
        """Return the worst score of an answer's findings that can block it.

        ``nan`` if no threshold blocks the answer; infinite if every threshold does.
        """
        is_similarity = self.detector.score is Score.SIMILARITY
        if self.blocks_incomplete and not answer.facts.is_complete:
            return -inf if is_similarity else inf
        scores = [each.score for each in answer.facts.worst if each[:2] in self.blocking]
        return (min if is_similarity else max)(scores, default=nan)

    def kept_by(self, budget: float) -> float | None:
        """Return a threshold that keeps a budget with 95 % confidence; ``None`` if there is none.

        Of several such thresholds, it is the one that blocks the most answers.
        """
        candidates = self._candidates()
        numbers: dict[str, int] = {}
        contexts = [numbers.setdefault(x.facts.trace_id, len(numbers)) for x in self.answers]
        sample = LabelledSample(
            contexts=np.array(contexts, np.intp),
            scores=np.array([self._worst(each) for each in self.answers], np.float64),
            hallucinated=np.array([not each.is_right for each in self.answers], np.bool_),
            failed=np.zeros(len(self.answers), np.bool_),
            groups=np.empty(0, np.str_),
        )
        found = guarantee(
            sample,
            candidates.entries(sample.scores),
            len(candidates.values),
            TuningTarget(Aim.FPR, budget),
            alpha=ALPHA,
            seed=0,
        )
        return None if found.index is None else float(candidates.values[found.index])

    def _candidates(self) -> ThresholdCandidates:
        """Return the thresholds that the labels can judge, including the threshold in use."""
        now = self.detector.threshold
        fixed = ThresholdCandidates.of(self.detector)
        if fixed.score is Score.SIMILARITY:
            return ThresholdCandidates(np.unique([*fixed.values, now]), fixed.score)
        lowest = max((each.facts.threshold for each in self.answers), default=now)
        values = np.unique([*(x for x in fixed.values if x >= lowest), now])
        return ThresholdCandidates(values[::-1], fixed.score)

    def support(self, budget: float | None) -> Support:
        """Return whether the labels support a budget at the threshold in use."""
        if budget is None:
            return Support.UNSET
        if self._breaks(budget):
            return Support.BROKEN
        kept = self.kept_by(budget)
        finds_more = gt if self.detector.score is Score.SIMILARITY else lt
        if kept is not None and not finds_more(self.detector.threshold, kept):
            return Support.DISPUTED if self.n_disputed_blocked(budget) else Support.HOLDS
        return Support.AGAINST if self.now.blocked.value > budget else Support.OPEN

    def n_disputed_blocked(self, budget: float) -> int:
        """Return the number of disputed answers that are blocked.

        The result is 0 if the budget holds even with all these answers counted as right.
        """
        n = sum(self._blocks(each, self.detector.threshold) for each in self.disputed)
        blocked = self.now.blocked
        return n if upper_bound(blocked.n + n, blocked.of + n, ALPHA) > budget else 0

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
        the same. ``None`` if it takes a hundred thousand requests with right answers.
        """
        right = [each for each in self.answers if each.is_right]
        blocked = [each for each in right if self._blocks(each, self.detector.threshold)]
        # The test counts requests, since the answers to one request are alike.
        n_requests, n_lost = (len({each.facts.trace_id for each in x}) for x in (right, blocked))
        n_needed = bisect_left(
            range(_MAX_TRIALS), x=True, key=lambda n: most_losses(n, budget, ALPHA) >= n_lost
        )
        if n_needed >= _MAX_TRIALS:
            return None
        per_request = len(self.answers) / n_requests if n_requests else 1.0
        return max(0, round((n_needed - n_requests) * per_request))

    def warnings(self, budget: float, support: Support) -> Iterator[str]:
        """Yield a warning if the newest quarter of the labelled answers speaks against a budget.

        ``support`` is the result of ``support(budget)``.
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


def _applies_to(facts: CheckFacts, detector: DetectorInfo) -> bool:
    """Return whether the scores of a check can be compared with a detector's threshold.

    A detector of probabilities reads a claim again if its score reaches the threshold. So a check
    at a higher threshold may have other scores.
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

"""Labels that reviewers give to recorded answers, and how far the reviewers agree."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple, Self

from groundwire.control.store.moments import now
from groundwire.detection.values import Label


class ReviewVerdict(StrEnum):
    """A reviewer's verdict: whether the detector was right about a stretch (part) of an answer."""

    RIGHT = "right"  # a finding, and the sources do not support the stretch
    WRONG = "wrong"  # a finding, but the sources support the stretch: a false alarm
    MISSED = "missed"  # no finding, although the sources do not support the stretch


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A stretch of an answer with a reviewer's verdict.

    ``start`` and ``end`` are offsets in the text of the answer that the audit trail keeps. For a
    finding, ``label`` is the label of the finding; for a missed stretch, it is ``unsupported``.
    """

    start: int
    end: int
    label: Label
    verdict: ReviewVerdict

    @property
    def place(self) -> tuple[int, int]:
        """The stretch as ``(start, end)``: offsets in the answer's text, the end not included."""
        return self.start, self.end


class WorstScore(NamedTuple):
    """The highest probability among an answer's findings with one label and severity.

    If the detector's score is a similarity, ``score`` is instead the lowest similarity of any
    claim, and ``label`` is ``contradicted``.
    """

    label: Label
    severity: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFacts:
    """Facts about the check of an answer, to estimate the share of right answers that are blocked.

    The facts are stored with the labels, because the details of the check may be removed
    before the labels.

    Attributes:
        detector: The name of the detector.
        revision: The revision of the detector's weights.
        score: The kind of the detector's score: ``probability`` or ``similarity``.
        threshold: The threshold at which the answer was judged.
        worst: The highest probability of the findings of each label and severity, since a policy
            may block only some labels or severities; for similarities, only the lowest similarity
            of a claim.
        is_complete: Whether everything was read and checked: the coverage of the check lists
            no reasons.
        sample: The probability with which the answer was drawn at random; ``None`` unless the event
            that recorded the answer is ``ANSWER_SAMPLED``.
        trace_id: The id of the request.
        checked_at: The timestamp of the event that recorded the answer, as text.
    """

    detector: str
    revision: str
    score: str
    threshold: float
    worst: tuple[WorstScore, ...]
    is_complete: bool
    sample: float | None
    trace_id: str
    checked_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReview:
    """The labels that one reviewer gave to one answer.

    Attributes:
        event_id: The id of the event that recorded the answer.
        account: The name of the reviewer.
        tenant: The tenant of the answer.
        marks: A mark for each finding, and one for each stretch that was missed.
        facts: Facts about the check of the answer; ``None`` if they were not stored.
    """

    event_id: str
    account: str
    tenant: str
    marks: tuple[Mark, ...]
    facts: CheckFacts | None = None
    labelled_at: datetime = field(default_factory=now)

    @property
    def missed(self) -> frozenset[Mark]:
        """The marks of the stretches that the detector missed."""
        return frozenset(each for each in self.marks if each.verdict is ReviewVerdict.MISSED)

    @property
    def verdicts(self) -> dict[tuple[int, int], ReviewVerdict]:
        """``(start, end)`` of a finding in the answer → the reviewer's verdict on the finding."""
        return {x.place: x.verdict for x in self.marks if x.verdict is not ReviewVerdict.MISSED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The agreement of two reviewers on the findings that both have judged.

    Attributes:
        n: The number of findings that both have judged.
        n_same: The number of these findings on which they agree.
        kappa: Cohen's kappa; ``None`` if both reviewers called all findings right, or all wrong.
    """

    reviewers: tuple[str, str]
    n: int
    n_same: int
    kappa: float | None

    @classmethod
    def of(cls, reviewers: tuple[str, str], verdicts: Sequence[tuple[bool, bool]]) -> Self:
        """Compute the agreement of two reviewers who have judged at least one finding in common.

        ``verdicts`` says for each such finding whether the first and whether the second reviewer
        called it right.
        """
        n, n_same = len(verdicts), sum(one is other for one, other in verdicts)
        first, second = (sum(each) / n for each in zip(*verdicts, strict=True))
        by_chance = first * second + (1 - first) * (1 - second)
        kappa = None if by_chance == 1 else (n_same / n - by_chance) / (1 - by_chance)
        return cls(reviewers=reviewers, n=n, n_same=n_same, kappa=kappa)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How many answers are labelled and disputed, and how far the reviewers agree.

    Attributes:
        n_answers: The number of labelled answers.
        n_disputed: The number of these answers about which the reviewers disagree.
        agreements: The agreement of each pair of reviewers who have judged a finding in common.
    """

    n_answers: int
    n_disputed: int
    agreements: tuple[Agreement, ...]

    @classmethod
    def of(cls, reviews: Iterable[AnswerReview]) -> Self:
        """Count the labelled answers, and compare the reviewers."""
        answers = by_answer(reviews)
        pairs: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
        for of_answer in answers.values():
            of_answer.sort(key=lambda review: review.account)
            for one, other in combinations(of_answer, 2):
                mine, theirs = one.verdicts, other.verdicts
                pairs[one.account, other.account] += [
                    (mine[place] is ReviewVerdict.RIGHT, theirs[place] is ReviewVerdict.RIGHT)
                    for place in mine.keys() & theirs.keys()
                ]
        return cls(
            n_answers=len(answers),
            n_disputed=sum(agreed_spans(each) is None for each in answers.values()),
            agreements=tuple(Agreement.of(who, found) for who, found in pairs.items() if found),
        )


def by_answer(reviews: Iterable[AnswerReview]) -> dict[str, list[AnswerReview]]:
    """Group reviews by the id of the event that recorded the answer."""
    found: dict[str, list[AnswerReview]] = defaultdict(list)
    for each in reviews:
        found[each.event_id].append(each)
    return found


def agreed_spans(reviews: Sequence[AnswerReview]) -> tuple[Mark, ...] | None:
    """Return the unsupported stretches of an answer; ``None`` if its reviewers disagree.

    Reviewers disagree if they judge a finding differently, or if only some of them say that words
    were missed. They need not mark the same missed words: every stretch that anybody has marked as
    missed is returned.
    """
    first = reviews[0]
    for each in reviews[1:]:
        if each.verdicts != first.verdicts or bool(each.missed) != bool(first.missed):
            return None
    found = {x for each in reviews for x in each.marks if x.verdict is not ReviewVerdict.WRONG}
    return tuple(sorted(found, key=lambda mark: mark.place))

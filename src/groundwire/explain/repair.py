"""Repairs an answer: replaces or takes out words that the evidence does not support.

No language model writes anything. The words of the evidence are ranked by how well they fit in the
place of a marked span (:mod:`groundwire.explain.ranking`). The detector then reads the claim with
each of the best replacements. A replacement is made if it is probably the right one. If none is
made, the sentence or its last clause may be taken out (:mod:`groundwire.explain.removal`).
:func:`repair` checks the repaired answer again as a whole.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import chain, product, zip_longest
from math import inf, isclose, log
from time import monotonic
from typing import Any, TypeAlias

from groundwire.detection.any_detector import AnyDetector
from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.comparison.words import content_of, words_of
from groundwire.detection.example import Example, SourceLike
from groundwire.detection.values import (
    Claim,
    Detection,
    EvidenceRef,
    JsonRecord,
    Outcome,
    Span,
    fields_as_data,
)
from groundwire.errors import GroundwireError
from groundwire.explain.nearby import SourceLines
from groundwire.explain.ranking import Ranker, shipped_ranker
from groundwire.explain.removal import in_order, removable, stands_after
from groundwire.explain.replacements import Replacement
from groundwire.text.quantities import Quantity, QuantityKind, quantities

#: A claim with more marked spans than the first number is not repaired by replacements. The second
#: number limits the replacements of each span that are combined, and the combinations of a claim
#: that the detector reads.
_MOST_SPANS, _MOST_READ = 3, 9
#: A replacement is made only if the probability that it is the right one is at least this.
_SURE = 0.86
#: Lowest lead (see :func:`features_of`) at which a replacement is made. A lead above the second
#: number counts as the second number.
_MIN_GAP, _MOST_GAP = 2.0, 6.0


#: Type of a function that checks examples in order, and yields a detection or an error for each.
Read: TypeAlias = Callable[[Iterable[Example]], Iterable[Detection | GroundwireError]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit(JsonRecord):
    """A change of the answer: ``answer[start:end] == old``, which becomes ``new``.

    Attributes:
        start: Offset of the first changed character in the answer before the repair.
        end: Offset after the last changed character.
        old: The words that are taken out.
        new: The words that are put in.
        evidence: The places of the new words in the sources.
    """

    start: int
    end: int
    old: str
    new: str
    evidence: tuple[EvidenceRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair(JsonRecord):
    """The result of a repair: the changes, and the detections before and after them.

    Attributes:
        before: The detection of the answer as it was.
        after: The detection of the repaired answer, always ``grounded``; ``None`` if nothing
            changed.
        edits: The changes in reading order; empty if nothing changed.
    """

    before: Detection
    after: Detection | None = None
    edits: tuple[Edit, ...] = ()

    @property
    def answer(self) -> str:
        """The repaired answer, or the answer as it was if nothing changed."""
        return (self.after or self.before).answer

    def to_dict(self) -> dict[str, Any]:
        """Return the repair as JSON data, with the answer."""
        return {"answer": self.answer} | fields_as_data(self)


def repair(
    detector: AnyDetector,
    *,
    sources: Iterable[SourceLike],
    answer: str,
    question: str | None = None,
) -> Repair:
    """Check an answer, and repair it if something in it is not supported.

    Args:
        detector: The detector. If it gives no probabilities, nothing is repaired.
        sources: The sources, of any kind that :meth:`groundwire.Detector.detect` takes.
        answer: The text to check and to repair.
        question: The user's question.

    Returns:
        The repair. Nothing is changed if the answer is not ``hallucinated``, if one of its marked
        claims cannot be repaired, or if the repaired answer is not ``grounded``.

    Raises:
        ModelError: If the cross-encoder of ``reader-base`` is needed, and is not installed.
        GroundwireError: If :meth:`groundwire.Detector.detect` raises it.
    """
    example = Example.of(sources=sources, answer=answer, question=question)
    before = detector.detect(sources=example.sources, answer=answer, question=question)
    return repair_detected(detector, example, before)


def repair_detected(detector: AnyDetector, example: Example, before: Detection) -> Repair:
    """Repair an answer that has already been checked; see :func:`repair`.

    Args:
        detector: The detector that checked the answer.
        example: The sources, the question and the answer.
        before: The detection of the answer as it was.
    """
    mender = Mender(detector.detect_batch, example)
    edits = mender.repairs(before)
    after = mender.repaired(example.answer, edits) if edits else None
    return Repair(before=before, after=after, edits=edits if after else ())


def edited(text: str, edits: Iterable[Edit], *, start: int = 0) -> str:
    """Return a text with the changes of a repair.

    Args:
        text: The answer, or a part of it.
        edits: The changes in the answer, in reading order. If ``text`` has only the end of a
            change, the old words are taken out and no new ones put in: the part of the answer
            before ``text`` has the new words.
        start: Offset of the part in the answer.
    """
    end, at, out = start + len(text), start, ""
    for edit in edits:
        if edit.start < end and edit.end > start:
            out += text[at - start : max(edit.start - start, 0)]
            out += edit.new if edit.start >= start else ""
            at = min(edit.end, end)
    return out + text[at - start :]


@dataclass(frozen=True, slots=True)
class Fit:
    """A combination of replacements, one for each span of a claim, with their scores.

    Attributes:
        changes: The replacements, in the order of the spans.
        scores: The scores of the replacements; the higher, the better.
    """

    changes: tuple[Replacement, ...]
    scores: tuple[float, ...]


def features_of(
    best: Fit, others: Iterable[Fit], span: Span, *, index: int = 0
) -> tuple[float, ...]:
    """Return the features from which the probability that a replacement is right is computed.

    These are the score of the replacement, its lead, the log-odds of the span's probability,
    whether a value (a number, time or date) replaces a value, whether words with a capital letter
    replace such words, and by how much the number of words changes.

    The lead is the sum of the scores of ``best`` minus the highest such sum of a rival, at most 6;
    it is 6 if there is no rival. A combination in ``others`` is a rival unless the words of its
    replacement for the span contain the words of the judged replacement, or are contained in them.

    Args:
        best: The combination with the replacement to judge.
        others: The other combinations after which nothing in the claim is marked.
        span: The marked span; without a probability, it counts as certain.
        index: Index of the replacement to judge in ``best.changes``.
    """
    change = best.changes[index]
    words, old = _words(change.text), _words(change.old)
    rivals = (
        sum(best.scores) - sum(other.scores)
        for other in others
        if words not in (each := _words(other.changes[index].text)) and each not in words
    )
    return (
        best.scores[index],
        min((_MOST_GAP, *rivals)),
        log_odds(1.0 if span.probability is None else span.probability),
        bool(quantities(change.old) and quantities(change.text)),
        change.old.lower() != change.old and change.text.lower() != change.text,
        abs(words.count(" ") - old.count(" ")),
    )


def _words(text: str) -> str:
    """Return the words of a text, in lower case, with spaces around each.

    Because of the spaces, a search for one such text in another finds whole words only.
    """
    return f" {' '.join(word.lower for word in words_of(text))} "


def log_odds(probability: float) -> float:
    """Return the log-odds of a probability; below 0.01 it counts as 0.01, above 0.99 as 0.99."""
    p = min(max(probability, 0.01), 0.99)
    return log(p / (1 - p))


class Mender:
    """Finds the changes that repair an answer: replacements of marked words, and removals.

    One mender reads the sources' lines once for all spans, and repairs each claim once, even if a
    streamed answer is reviewed many times.
    """

    def __init__(self, read: Read, example: Example, ranker: Ranker | None = None) -> None:
        """Prepare to repair an answer.

        Args:
            read: Function that checks changed texts, with the threshold that holds for the answer.
            example: The sources and the question; the answer of the example is not used.
            ranker: Ranks the replacements. The default is the ranker of ``reader-base``, which is
                opened when it is first needed.
        """
        self._read, self._example = read, example
        self._ranker: Callable[[], Ranker] = (lambda: ranker) if ranker else shipped_ranker
        self._lines = SourceLines(example.sources)
        self._known: dict[tuple[int, str], list[Edit]] = {}

    def read(self, texts: Sequence[str]) -> list[Detection | GroundwireError]:
        """Check each text as an answer of its own to the question."""
        return list(self._read(replace(self._example, answer=text) for text in texts))

    def repaired(self, answer: str, edits: Iterable[Edit]) -> Detection | None:
        """Make the changes of a repair and check the result; ``None`` unless it is ``grounded``."""
        found = self.read([edited(answer, edits)])[0]
        if isinstance(found, Detection) and found.outcome is Outcome.GROUNDED:
            return found
        return None

    def repairs(
        self,
        detection: Detection,
        *,
        asks: Callable[[Claim], bool] = lambda claim: bool(claim.spans),
        seconds: float = inf,
    ) -> tuple[Edit, ...]:
        """Return the changes after which the claims to repair have no marks.

        The result is empty if the answer is not ``hallucinated``, if a span has no probability, or
        if one of these claims cannot be repaired. If a claim has no replacement, the claim or its
        last clause is taken out, provided that it surely has no support and that the rest of the
        answer does not need it (:mod:`groundwire.explain.removal`). The changed answer is not
        checked as a whole.

        Args:
            detection: The detection of the answer as it was, or of its beginning.
            asks: Function that returns whether a claim is to be repaired; by default, every claim
                with marks is.
            seconds: After this time, no further claim is repaired. The result is then empty if a
                claim is still to be repaired.
        """
        end = monotonic() + seconds
        is_unknown = any(span.probability is None for span in detection.spans)
        if is_unknown or detection.outcome is not Outcome.HALLUCINATED:
            return ()
        found: list[Edit] = []
        removed: tuple[int, int] | None = None
        for part in (*in_order(detection), None):
            if removed and not stands_after(removed, part, detection.answer):
                return ()
            removed = None
            if isinstance(part, Claim) and asks(part):
                key = part.start, part.text
                if key not in self._known:
                    if monotonic() > end:
                        return ()
                    self._known[key] = self.edits(part) or _removal(detection, part)
                if not self._known[key]:
                    return ()
                found += self._known[key]
                removed = None if found[-1].new else (found[-1].start, found[-1].end)
        return tuple(found)

    def edits(self, claim: Claim) -> list[Edit]:
        """Return edits after which nothing in a claim is marked, if each edit is probably right.

        The result is empty if there are no such edits, if the new words are from a line that seems
        to be about something else, or if the claim has more than three marked spans.
        """
        # Ranking reads the claim once for each span, so claims with many spans are not ranked.
        fits = self.fits(claim) if len(claim.spans) <= _MOST_SPANS else []
        if not fits or not all(
            _is_related(claim.text, fits[0].changes[n])
            and self._is_right(features_of(fits[0], fits[1:], span, index=n))
            for n, span in enumerate(claim.spans)
        ):
            return []
        return [
            Edit(
                start=claim.start + change.start,
                end=claim.start + change.end,
                old=change.old,
                new=change.text,
                evidence=(change.place,) if change.place else (),
            )
            for change in dict.fromkeys(fits[0].changes)
        ]

    def fits(self, claim: Claim) -> list[Fit]:
        """Return the combinations of replacements after which nothing in a claim is marked.

        The best come first. Only the nine combinations with the highest scores are checked.
        """
        found_by: dict[str, Fit] = {}
        ranked = [self._ranked(claim, span) for span in claim.spans]
        if not (ranked and all(ranked)):
            return []
        # A range such as "1950 to 1952" may be replaced as a whole, for both of its ends.
        first, last = claim.spans[0].start - claim.start, claim.spans[-1].end - claim.start
        whole = (each for each in chain(*ranked) if each[0].start <= first < last <= each[0].end)
        for each in chain(product(*ranked), ([each] * len(ranked) for each in whole)):
            fit = Fit(tuple(change for change, _ in each), tuple(score for _, score in each))
            if (text := _applied(claim.text, fit.changes)) is not None:
                found_by.setdefault(text, fit)
        best = nlargest(_MOST_READ, found_by.items(), key=lambda each: sum(each[1].scores))
        return [
            fit
            for (_, fit), found in zip(best, self.read([text for text, _ in best]), strict=True)
            if isinstance(found, Detection) and found.outcome is Outcome.GROUNDED
        ]

    def _is_right(self, seen: tuple[float, ...]) -> bool:
        """Return whether a replacement is probably right, and no other fits nearly as well.

        ``seen`` has the features of the replacement, from :func:`features_of`.
        """
        odds = float(self._ranker().weights.decision @ (1.0, *seen))
        return odds >= log_odds(_SURE) and seen[1] >= _MIN_GAP

    def _ranked(self, claim: Claim, span: Span) -> list[tuple[Replacement, float]]:
        """Return the best replacements of a span that change the claim, best first, with scores.

        The result is empty if the span may follow from other numbers or dates.
        """
        held = self._lines.held(span, claim, ComparedText(claim.text))
        if _may_follow(held, self._example.question or ""):
            return []
        best: dict[str, tuple[Replacement, float]] = {}
        for change, score in self._ranker().ranked(held, self._example.question or ""):
            text = change.applied(claim.text)
            if len(best) < _MOST_READ and not _is_same(claim.text, text):
                best.setdefault(text, (change, score))
        return [*best.values()]


def _is_related(claim: str, change: Replacement) -> bool:
    """Return whether the new words are from a line that seems to be about the same as the claim.

    This is so if the line has a content word of the rest of the claim; or if two content words
    stay, as in "10 May 2024" for "20 May 2024"; or if the line has only numbers and short words
    beside the new words, like a value of JSON data.
    """
    texts = claim, change.old, change.text, change.line
    whole, old, new, line = (content_of(words_of(text)) for text in texts)
    is_bare = all(len(word) < 3 or word.isdigit() for word in line - new)
    return is_bare or bool((whole - old) & line) or len(old & new) > 1


def _removal(detection: Detection, claim: Claim) -> list[Edit]:
    places = filter(None, [removable(detection, claim)])
    return [Edit(start=a, end=b, old=detection.answer[a:b], new="") for a, b in places]


def _is_same(old: str, new: str) -> bool:
    """Return whether two claims are the same but for forms of words, as "fungi" and "fungus"."""
    pairs = zip_longest(words_of(old), words_of(new))
    return all(a and b and (a.lower == b.lower or _are_forms(a.text, b.text)) for a, b in pairs)


def _are_forms(one: str, other: str) -> bool:
    n_same = max(4, len(one) - 2, len(other) - 2)
    return one[:n_same] == other[:n_same] and (one + other).islower() and not quantities(one)


def _may_follow(held: Held, question: str) -> bool:
    """Return whether a number or date of a span may follow from others, and so be right.

    A number follows if it is a sum, difference, product or quotient of two others, at least one of
    which the claim or the question states: "With 10 seats, it is $120" follows from "$12 per seat".
    A date follows if it is before or after a date of the evidence by about a duration that the
    evidence states.
    """
    own = [q for q in held.claim.quantities if q.start < held.end and q.end > held.start]
    said = [q for q in held.claim.quantities if q not in own] + list(quantities(question))
    stated = [q for line in held.lines for q in line.quantities]
    days = [_day(q) for q in stated if _day(q)]
    lengths = [q.value / 86_400 for q in stated if q.unit == "s" and isinstance(q.value, float)]
    return any(
        _is_result(q.number, a.number, b.number)
        # Among more numbers, some pair almost always gives the result by chance.
        for q, a, b in product(own, said[:12], said[:12] + stated[:12])
        if a != b and q.kind is a.kind is b.kind is QuantityKind.NUMBER
    ) or any(
        isclose(abs(_day(q) - day), length, rel_tol=0.02, abs_tol=3)
        for q, day, length in product(own, days, lengths)
        if _day(q)
    )


def _day(quantity: Quantity) -> float:
    """Return roughly how many days a date is after the year 0.

    The result is 0 for a quantity that is not a date, and for a date that is not complete.
    """
    year, month, day = quantity.value if isinstance(quantity.value, tuple) else (None,) * 3
    return 365.25 * year + 30.4 * month + day if year and month and day else 0.0


def _is_result(number: float, a: float, b: float) -> bool:
    results = [a + b, abs(a - b), a * b, *([a / b, b / a] if a and b else ())]
    return any(isclose(number, each, rel_tol=0.005) for each in results)


def _applied(claim: str, changes: Iterable[Replacement]) -> str | None:
    """Return the claim with several replacements; ``None`` if two different ones overlap.

    If both ends of a range are marked, both spans may have the same replacement, which is for the
    whole range. It is then made once.
    """
    before = len(claim)
    for change in sorted({*changes}, key=lambda each: -each.start):
        if change.end > before:
            return None
        claim, before = change.applied(claim), change.start
    return claim

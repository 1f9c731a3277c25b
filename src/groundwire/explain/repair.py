"""Repairs an answer by the smallest changes that make it true to its evidence.

No language model writes anything. Wrong words are replaced by words of the evidence, or the clause
or sentence with them is taken out. The detector reads each changed claim. A change counts only if
the detector finds nothing wrong with it, and if no other words fit as well. The repaired answer is
checked again as a whole.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.example import Example, SourceLike
from groundwire.detection.values import (
    Claim,
    Detection,
    EvidenceRef,
    JsonRecord,
    Label,
    Outcome,
    Span,
    fields_as_data,
)
from groundwire.errors import GroundwireError
from groundwire.explain.nearby import SourceLines
from groundwire.explain.replacements import (
    LEANING,
    Replacement,
    deletions,
    quotes,
    replacements,
)

#: The most replacements of one span that the detector reads.
_MOST_READ = 8
#: Least worth of a replacement.
_MIN_WORTH = 0.7
#: A replacement counts if the doubt that is left is below the first share of the detector's
#: threshold; another change, if it is below the second.
_SURE, _SURER = 0.7, 0.5
#: The doubt that is left is also at most this share of the doubt before.
_LESS = 1 / 3
#: Replacements worth this much less than the best one do not count. Of the others, the best one is
#: doubted this many times less than any other.
_MARGIN, _TIMES = 0.3, 1.5
#: Only values that the evidence lacks are replaced whenever they are marked. Other words need at
#: least this P(not supported), for too many marked words with less are right.
_WRONG = 0.65
#: The most changes of one claim.
_MOST_CHANGES = 3


class Checks(Protocol):
    """The methods of a detector that a repair uses."""

    def detect(  # noqa: D102
        self, *, sources: Iterable[SourceLike], answer: str, question: str | None = None
    ) -> Detection: ...

    def detect_batch(  # noqa: D102
        self, examples: Iterable[Example]
    ) -> Iterator[Detection | GroundwireError]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit(JsonRecord):
    """A change of the answer: ``answer[start:end] == old``, which becomes ``new``.

    Attributes:
        start: Offset of the first changed character in the answer before the repair.
        end: Offset after the last changed character.
        old: The words that are taken out; empty if words are only put in.
        new: The words that are put in; empty if words are only taken out.
        evidence: The places of the new words in the sources.
    """

    start: int
    end: int
    old: str
    new: str
    evidence: tuple[EvidenceRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair(JsonRecord):
    """The result of a repair.

    Attributes:
        before: The check of the answer as it was.
        after: The check of the repaired answer, always ``grounded``; ``None`` if nothing changed.
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
    detector: Checks,
    *,
    sources: Iterable[SourceLike],
    answer: str,
    question: str | None = None,
) -> Repair:
    """Check an answer, and repair it if something in it is not supported.

    Args:
        detector: The detector. With one that gives no probabilities, nothing is repaired.
        sources: See :meth:`groundwire.Detector.detect`, as for the other arguments.
        answer: The text to check and to repair.
        question: The user's question.

    Returns:
        The repair. Nothing is changed if the answer is not ``hallucinated``, if one of its claims
        cannot be repaired, or if the repaired answer is not ``grounded``.

    Raises:
        GroundwireError: As :meth:`groundwire.Detector.detect` does.
    """
    example = Example.of(sources=sources, answer=answer, question=question)
    before = detector.detect(sources=example.sources, answer=answer, question=question)
    return repair_detected(detector, example, before)


def repair_detected(detector: Checks, example: Example, before: Detection) -> Repair:
    """Repair an answer that is checked already; see :func:`repair`.

    Args:
        detector: The detector that checked the answer.
        example: The sources, the question and the answer.
        before: The check.
    """

    def read(texts: Sequence[str]) -> list[Detection | GroundwireError]:
        return list(detector.detect_batch([replace(example, answer=text) for text in texts]))

    failed = Repair(before=before)
    if before.outcome is not Outcome.HALLUCINATED:
        return failed
    mender = _Mender(read, SourceLines(example.sources), before)
    edits: list[Edit] = []
    for index, claim in enumerate(before.claims):
        if claim.spans:
            edit = mender.edit(claim)
            if edit is None and _is_sure(claim.spans):
                edit = mender.removal(index)
            if edit is None:
                return failed
            edits.append(edit)
    repaired = "".join(_pieces(example.answer, edits))
    if not repaired.strip():
        return failed
    (after,) = read([repaired])
    if not isinstance(after, Detection) or after.outcome is not Outcome.GROUNDED:
        return failed
    return Repair(before=before, after=after, edits=tuple(edits))


def _pieces(answer: str, edits: Iterable[Edit]) -> Iterable[str]:
    at = 0
    for edit in edits:
        yield answer[at : edit.start] + edit.new
        at = edit.end
    yield answer[at:]


@dataclass(frozen=True, slots=True)
class _Mender:
    """Finds the changes of claims.

    Attributes:
        read: Function that checks some texts as answers of their own.
        lines: The lines of the sources.
        before: The check of the answer.
    """

    read: Callable[[Sequence[str]], list[Detection | GroundwireError]]
    lines: SourceLines
    before: Detection

    def edit(self, claim: Claim) -> Edit | None:
        """Return the change that leaves no doubt in a claim; ``None`` if there is none."""
        current, places = claim, []
        for _ in range(_MOST_CHANGES):
            found = self._change(current)
            if found is None:
                return None
            change, current = found
            places += [change.place] if change.place else []
            if not current.spans:
                return _edit(claim, current.text, places)
        return None

    def removal(self, index: int) -> Edit | None:
        """Return the change that takes out a claim; ``None`` if other claims may lean on it."""
        claims, answer = self.before.claims, self.before.answer
        claim = claims[index]
        following = claims[index + 1].text if index + 1 < len(claims) else ""
        if len(claims) < 2 or LEANING.match(following):
            return None
        start, end = claim.start, claim.end
        line = answer.rfind("\n", 0, start) + 1
        if not any(letter.isalnum() for letter in answer[line:start]):
            # The first claim of a line: with it goes a list marker, if the line has no other claim.
            is_alone = not answer[end:].split("\n", 1)[0].strip()
            start = max(0, line - 1) if is_alone else start
            end = end if is_alone else end + len(answer[end:]) - len(answer[end:].lstrip(" "))
        else:
            start -= len(answer[:start]) - len(answer[:start].rstrip(" "))
        return Edit(start=start, end=end, old=answer[start:end], new="")

    def _change(self, claim: Claim) -> tuple[Replacement, Claim] | None:
        """Find the change that repairs the first span of a claim; return it with the new claim."""
        span = claim.spans[0]
        held = self.lines.held(span, claim, ComparedText(claim.text))
        if not held.span_words:
            return None
        is_sure = _is_sure([span])
        fitting = [
            each
            for each in replacements(held)
            if each.worth >= _MIN_WORTH and (each.is_plain or is_sure)
        ][:_MOST_READ]
        passing = self._passing(claim, fitting, _SURE)
        if best := _only(passing):
            return best
        if not is_sure:
            return None
        rest = [*quotes(held), *deletions(held)]
        if span.label is not Label.CONTRADICTED or _n_clauses(held) > 1:
            rest = [*deletions(held), *quotes(held)]
        is_said = any(each.text in self.before.answer for each in quotes(held))
        if passing or claim.citations or is_said:
            rest = deletions(held)
        return next(iter(self._passing(claim, rest, _SURER)), None)

    def _passing(
        self, claim: Claim, changes: Sequence[Replacement], sure: float
    ) -> list[tuple[Replacement, Claim]]:
        """Return the changes after which the detector is sure of the changed words."""
        limit = sure * self.before.detector.threshold
        limit = min(limit, _LESS * (claim.spans[0].probability or 0.0))
        passing = []
        readings = self.read([each.applied(claim.text) for each in changes])
        for change, found in zip(changes, readings, strict=True):
            if not isinstance(found, Detection) or not found.claims:
                continue
            start, end = change.start, change.start + len(change.text)
            doubt = max(
                1.0 if each.probability is None else each.probability for each in found.claims
            )
            left = [span for span in found.spans if span.end < start or end < span.start]
            is_read = found.outcome in (Outcome.GROUNDED, Outcome.HALLUCINATED)
            is_better = len(left) == len(found.spans) < len(claim.spans)
            if is_read and is_better and (left or doubt < limit):
                text = change.applied(claim.text)
                changed = replace(
                    claim, start=0, end=len(text), text=text, spans=found.spans, probability=doubt
                )
                passing.append((change, changed))
        return passing


def _only(passing: Sequence[tuple[Replacement, Claim]]) -> tuple[Replacement, Claim] | None:
    """Return the change that fits best, if no other change fits nearly as well."""
    if not passing:
        return None
    most = passing[0][0].worth
    near = [each for each in passing if most - each[0].worth < _MARGIN]
    # Of changes that are doubted about as much, the smallest.
    best = min(near, key=lambda each: (round(each[1].probability or 0.0, 1), each[0].n_chars))
    doubt = _TIMES * (best[1].probability or 0.0)
    rivals = (each for each in near if best[0].text.casefold() not in each[0].text.casefold())
    return best if all((changed.probability or 0.0) >= doubt for _, changed in rivals) else None


def _is_sure(spans: Iterable[Span]) -> bool:
    """Return whether spans are doubted so much that they are likely wrong."""
    return all((span.probability or 0.0) >= _WRONG for span in spans)


def _n_clauses(held: Held) -> int:
    return 1 + sum(held.claim.text.count(mark) for mark in (", ", "; ", " and ", " but "))


def _edit(claim: Claim, text: str, places: Sequence[EvidenceRef]) -> Edit:
    """Return the change of a claim to another text, without the words that both have."""
    old = claim.text
    start = _n_common(old, text)
    while _splits(old, start) or _splits(text, start):
        start -= 1
    same = min(_n_common(old[::-1], text[::-1]), len(old) - start, len(text) - start)
    while same and (_splits(old, len(old) - same) or _splits(text, len(text) - same)):
        same -= 1
    return Edit(
        start=claim.start + start,
        end=claim.start + len(old) - same,
        old=old[start : len(old) - same],
        new=text[start : len(text) - same],
        evidence=tuple(places),
    )


def _n_common(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _splits(text: str, place: int) -> bool:
    """Return whether a place lies within a word."""
    return text[max(0, place - 1) : place].isalnum() and text[place : place + 1].isalnum()

"""Finds the words of the evidence that could correct a span."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from groundwire.detection.comparison.aligned_span import ComparedText, Held, Lines
from groundwire.detection.comparison.differences import differing_quantities, is_year
from groundwire.detection.comparison.finding import Subtype
from groundwire.detection.comparison.subtype import (
    differing_calendar,
    differing_names,
    opposites_in,
)
from groundwire.detection.comparison.words import Word, around, likeness
from groundwire.detection.values import EvidenceRef
from groundwire.text.quantities import Match, Quantity, QuantityIndex, QuantityKind
from groundwire.text.vocabulary import HEDGES, MONTHS, WEEKDAYS

#: Words of a line may correct a span only if their score is at least this. Each content word near
#: both the words and the span adds 1 / (the sum of its two distances) to the score: 0.5 if it is
#: right beside both, 0.2 if the sum is five.
MIN_LIKENESS = 0.2
#: Added to the score for each side on which the same word is right beside both.
_BESIDE = 0.25
#: A span that has, besides a wrong name, more content words than this gets no counterpart: the span
#: probably has other faults too.
_MOST_BESIDE = 2
_RANGE = re.compile(r"[ ]?(?:[-–—]|to|until|till|through)[ ]?")
# "between 1887 and 1889" is one range; "1887 and 1889" are two years.
_BETWEEN, _AND = re.compile(r"\bbetween $", re.IGNORECASE), " and "
_OTHER = frozenset({Match.ABSENT, Match.DATE_ABSENT, Match.TIME_ABSENT})


class _Candidate(NamedTuple):
    """Words of a line that may correct a span, and their score."""

    line: ComparedText
    start: int
    end: int
    score: float

    @property
    def text(self) -> str:
        return self.line.text[self.start : self.end]


def counterpart(held: Held, subtype: Subtype) -> EvidenceRef | None:
    """Find the words of the evidence that could correct a span.

    A date or a number is corrected by a value or a range of the same kind (a date, a time, the same
    measure), a name by another name, a day or a month by another day or month, "will" by a hedge
    such as "may", and "increased" by "decreased". The words around the correction must resemble the
    words around the span; for a name, the resemblance must be closer.

    Returns:
        The place of the words in their source; ``None`` if no words qualify, different words are
        equally good, or the place is not known.
    """
    find: Callable[[Held], Iterable[_Candidate]] | None = {
        Subtype.NUMBER: _quantities,
        Subtype.QUANTITY_UNIT: _quantities,
        Subtype.DATE_TIME: _dates,
        Subtype.ENTITY: _names,
        Subtype.CERTAINTY: _hedges,
        Subtype.RELATION: _opposites,
    }.get(subtype)
    return None if find is None else _best(find(held))


def _best(candidates: Iterable[_Candidate]) -> EvidenceRef | None:
    """Return the place of the best candidate.

    The result is ``None`` if no score reaches ``MIN_LIKENESS``, if different words have the best
    score, or if the place of the line is not known.
    """
    likely = [found for found in candidates if found.score >= MIN_LIKENESS]
    most = max((found.score for found in likely), default=0.0)
    best = [found for found in likely if found.score == most]
    place = best[0].line.place if best else None
    if place is None or len({found.text.casefold() for found in best}) > 1:
        return None
    start, end = place.start + best[0].start, place.start + best[0].end
    return EvidenceRef(source_id=place.source_id, start=start, end=end, text=best[0].text)


def _dates(held: Held) -> list[_Candidate]:
    if differing_quantities(held, of_claim=False):
        return _quantities(held)
    return other_days(held.claim, differing_calendar(held)[0], held.lines)


def _quantities(held: Held) -> list[_Candidate]:
    wrong, *_ = differing_quantities(held, of_claim=False)
    others = QuantityIndex.of(q for q in held.claim.quantities if q != wrong)
    context = held.claim.near(wrong.start, wrong.end)
    return [
        _Candidate(line, start, end, likeness(context, line.near(start, end)))
        for line in held.lines
        for start, end, members in quantity_ranges(line)
        if any(same_kind(wrong, held.claim.text, other, line.text) for other in members)
        # A value that the claim states elsewhere does not correct the wrong one.
        and any(others.match(other) in _OTHER for other in members)
    ]


def _joins(text: str, start: int, end: int, following: int) -> bool:
    """Return whether two quantities are one range, such as "1887-1889" or "between 5 and 7"."""
    is_between = _BETWEEN.search(text[max(0, start - 8) : start]) is not None
    between = text[end:following]
    return _RANGE.fullmatch(between) is not None or (is_between and between == _AND)


def quantity_ranges(line: ComparedText) -> list[tuple[int, int, list[Quantity]]]:
    """Return start, end and members of each range ("1887-1889") or lone quantity of a line."""
    found: list[tuple[int, int, list[Quantity]]] = []
    for quantity in line.quantities:
        if found and _joins(line.text, found[-1][0], found[-1][1], quantity.start):
            start, _, members = found[-1]
            members.append(quantity)
            found[-1] = (start, quantity.end, members)
        else:
            found.append((quantity.start, quantity.end, [quantity]))
    return found


def same_kind(one: Quantity, one_text: str, other: Quantity, other_text: str) -> bool:
    """Return whether two quantities are of one kind.

    Dates and years are of one kind, times are of one kind, and so are numbers with the same unit or
    without units; ordinals such as "5th" are a kind of their own. Equal numbers with different
    units are of one kind as well, since one of them may have the wrong unit.
    """
    dates = [
        q.kind is QuantityKind.DATE or is_year(q, t)
        for q, t in ((one, one_text), (other, other_text))
    ]
    if any(dates):
        return all(dates)
    if one.kind is not other.kind:
        return False
    if one.kind is QuantityKind.TIME:
        return True
    is_same_number = one.unit is not None and other.unit is not None and one.number == other.number
    return (one.unit == other.unit and (one.name == "th") == (other.name == "th")) or is_same_number


def other_days(claim: ComparedText, day: Word, lines: Lines) -> list[_Candidate]:
    """Score the days of the week in some lines by how well each fits in the place of ``day``.

    If ``day`` is a month, the months in the lines are scored. Days and months that the claim also
    has are left out.
    """
    kind = WEEKDAYS if day.lower in WEEKDAYS else MONTHS
    said = {word.lower.removesuffix("s") for word in claim.words}
    return [
        _beside(claim, day, line, word)
        for line in lines
        for word in line.words
        if word.lower in kind
        and word.text[0].isupper()
        and word.lower.removesuffix("s") not in said
    ]


def _names(held: Held) -> list[_Candidate]:
    wrong = differing_names(held)[0]
    beside = [w for w in held.span_words if w.is_content and not _inside(w, wrong)]
    if len(beside) > _MOST_BESIDE:
        return []
    is_first = wrong.start == 0
    return [
        candidate
        for line in held.lines
        for name in _names_in(line, with_first=is_first)
        # A name that the claim has elsewhere does not correct the wrong one.
        if not {word.stem for word in line.words if _inside(word, name)} <= held.rest_content
        and (candidate := _beside(held.claim, wrong, line, name)).score >= _BESIDE + MIN_LIKENESS
    ]


def _names_in(line: ComparedText, *, with_first: bool) -> list[Word]:
    """Return the names in a line.

    With ``with_first``, a capitalised first word of the line counts as a name too.
    """
    first = [word for word in line.words[:1] if word.is_content and word.text[0].isupper()]
    is_new = with_first and first and first[0].start not in {name.start for name in line.names}
    return [*first, *line.names] if is_new else line.names


def _inside(word: Word, name: Word) -> bool:
    return name.start <= word.start and word.end <= name.end


def _beside(claim: ComparedText, wrong: Word, line: ComparedText, other: Word) -> _Candidate:
    return _Candidate(line, other.start, other.end, round(alike(claim, wrong, line, other), 6))


def alike(claim: ComparedText, place: Word, line: ComparedText, other: Word) -> float:
    """Score how well some words of a line fit in the place of some words of a claim.

    Each content word near both places raises the score. Any word that is right beside both, on the
    same side, raises it too.
    """
    ours, theirs = _neighbours(claim, place), _neighbours(line, other)
    n_same = sum(one == two != "" for one, two in zip(ours, theirs, strict=True))
    context = claim.near(place.start, place.end)
    return likeness(context, line.near(other.start, other.end)) + _BESIDE * n_same


def _neighbours(text: ComparedText, place: Word) -> tuple[str, str]:
    """Return the stems of the words right before and after ``place``; empty if there is none."""
    before, after = around(text.words, place.start, place.end, 1)
    return (before[0].stem if before else "", after[0].stem if after else "")


def _hedges(held: Held) -> list[_Candidate]:
    inside = {word.lower for word in held.span_words}
    hedges = (
        (line, word)
        for line in held.relevant
        for word in line.words
        if word.lower in HEDGES and word.text != "May" and word.lower not in inside
    )
    return _near_span(held, hedges)


def _opposites(held: Held) -> list[_Candidate]:
    return _near_span(held, opposites_in(held))


def _near_span(held: Held, found: Iterable[tuple[ComparedText, Word]]) -> list[_Candidate]:
    """Score words of lines by the content words near them that are in the span or near it."""
    context = held.claim.near(held.start, held.end)
    context |= {word.stem: 1 for word in held.span_words if word.is_content}
    return [
        _Candidate(line, word.start, word.end, likeness(context, line.near(word.start, word.end)))
        for line, word in found
    ]

"""Finds words of the evidence that may stand in the place of wrong words.

A run of a few words in a line of evidence is a candidate for a part of a span, if the two fit
together (:func:`_fitting`). The part that is replaced may also have a few words beside the span, or
be a whole name that the span touches. :mod:`groundwire.explain.ranking` says which candidate is the
best.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.comparison.counterpart import quantity_ranges, same_kind
from groundwire.detection.comparison.words import Word, content_of
from groundwire.detection.values import EvidenceRef
from groundwire.text.quantities import Quantity

#: The features of a candidate, in the order of the columns of :attr:`Candidates.features`.
FEATURES = (
    "more words",
    "fewer words",
    "values of one kind",
    "share of the span",
    "words beyond the span",
)
#: A run of words of the evidence may have at most this many words more than the words that it
#: replaces.
_MORE_WORDS = 3
#: Limits on the words of a run and of a line that are considered: long lines would take minutes.
_MOST_IN_RUN, _MOST_IN_LINE = 12, 200
#: Number of words before the span, and of words after it, that may be replaced together with it.
_BEFORE, _AFTER = 1, 2
#: A part of a span may be replaced alone only if the span has at most this many words, or if the
#: part is a name.
_MOST_PARTS = 6
#: Classes of words: a function word, another word, a word of a value (a number, time or date).
_FUNCTION, _OTHER, _VALUE = range(3)
#: Matches words of data that do not fit into a sentence.
_DATA = re.compile(r"true|false|null|none|\S*_\S*", re.IGNORECASE)
#: Matches words of a bound, such as "above" in "above $500".
_BOUND = re.compile(r"\b(?:above|over|below|under|than|at least|at most|exceed\w*|up to)\b", re.I)
#: Matches one of the marks ``.;:!?`` with white space after it; or a line break, a bar, a double
#: quotation mark or a bracket. A run of words may have these only within a name or a value, as in
#: "St. Pancras".
_BETWEEN_CLAUSES = re.compile(r"[.;:!?]\s|[\n|\"“”(){}\[\]<>]")


@dataclass(frozen=True, slots=True)
class Replacement:
    """One change of a claim: ``claim[start:end]`` becomes ``text``.

    Attributes:
        start: Offset of the first replaced character in the claim.
        end: Offset after the last replaced character.
        old: The words that are replaced.
        text: The new words, from the evidence. They may be equal to the replaced words, if the
            evidence has these too.
        line: The line with the new words.
        place: The place of the new words in a source; ``None`` if it is not known.
    """

    start: int
    end: int
    old: str
    text: str
    line: str
    place: EvidenceRef | None

    def applied(self, claim: str) -> str:
        """Return the changed claim."""
        return claim[: self.start] + self.text + claim[self.end :]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The possible replacements of a span, with their features and the places of their words.

    Attributes:
        replacements: The replacements.
        features: A row for each replacement, shape ``(n, len(FEATURES))``.
        places: The first and the last word of each replacement, and the first and the last word of
            the claim that it replaces, shape ``(n, 4)``. The words of the claim are numbered from
            1. Those of the lines are numbered from 1 through all lines, and between two lines one
            number is left out.
    """

    replacements: list[Replacement]
    features: NDArray[np.float32]
    places: NDArray[np.intp]

    @classmethod
    def of(cls, held: Held) -> Self:
        """Find the runs of words of the lines that may stand in the place of a span's words."""
        claim = _Text(held.claim)
        parts = _parts(claim, held)
        longest = min(max((p.n_words for p in parts), default=0) + _MORE_WORDS, _MOST_IN_RUN)
        lines = [_Text(line) for line in held.lines]
        before = accumulate((len(line.words) + 1 for line in lines), initial=1)
        found: list[Replacement] = []
        features: list[tuple[float, ...]] = []
        places: list[tuple[int, int, int, int]] = []
        span = set(_indices(claim, held.start, held.end))
        of_parts = [_features_of_part(part, span) for part in parts]
        for start, line in zip(before, lines, strict=False):
            runs = line.runs(longest)
            for part, of_part in zip(parts, of_parts, strict=True):
                for run in _fitting(runs, line, claim, part):
                    found.append(_replacement(claim, part, line, run))
                    features.append((*_features_of_run(claim, part, line, run), *of_part))
                    places.append(
                        (start + run.first, start + run.last, part.first + 1, part.last + 1)
                    )
        return cls(
            found,
            np.array(features, np.float32).reshape(-1, len(FEATURES)),
            np.array(places, np.intp).reshape(-1, 4),
        )


def _replacement(claim: "_Text", part: "_Run", line: "_Text", run: "_Run") -> Replacement:
    text, place = line.text[run.start : run.end], line.compared.place
    if place is not None:
        start, end = place.start + run.start, place.start + run.end
        place = EvidenceRef(source_id=place.source_id, start=start, end=end, text=text)
    if part.start == 0 and claim.text[:1].isupper() and line.words[run.first].text.islower():
        text = text[:1].upper() + text[1:]
    old = claim.text[part.start : part.end]
    return Replacement(part.start, part.end, old, text, line.text, place)


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive words of a text: the indices of the first and the last word, and the offsets.

    ``values`` has the quantities in the run; of a range that is only partly in the run, both ends.
    ``content`` has the stems of the content words. ``counted`` has the stems of those content words
    that are not part of a quantity, such as "jurors" in "nine jurors"; it is empty if the run has
    no quantity. ``is_bound`` is true if the run has a quantity, and words such as "above" are in
    the run or just before it.
    """

    first: int
    last: int
    start: int
    end: int
    values: list[Quantity]
    content: frozenset[str]
    counted: frozenset[str]
    is_bound: bool

    @property
    def n_words(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True)  # no slots: cached_property needs a __dict__
class _Text:
    """A claim or a line, with its names and values, and the classes of its words."""

    compared: ComparedText

    @property
    def text(self) -> str:
        return self.compared.text

    @property
    def words(self) -> list[Word]:
        return self.compared.words

    @cached_property
    def values(self) -> list[tuple[int, int, list[Quantity]]]:
        return quantity_ranges(self.compared)

    @cached_property
    def names(self) -> frozenset[tuple[int, int]]:
        return frozenset((name.start, name.end) for name in self.compared.names)

    @cached_property
    def classes(self) -> list[int]:
        """The class of each word: function word, other word, or word of a value."""
        return [self._class(word) for word in self.words]

    def _class(self, word: Word) -> int:
        if any(start < word.end and word.start < end for start, end, _ in self.values):
            return _VALUE
        return _OTHER if word.is_content else _FUNCTION

    def run(self, first: int, last: int) -> _Run:
        """Return the run from one word to another, given by their indices.

        If the first or last word is in a value, the run's offsets cover all of the value.
        """
        start, end = self.words[first].start, self.words[last].end
        found = [value for value in self.values if value[0] < end and start < value[1]]
        if self.classes[first] == _VALUE:
            start = min(start, found[0][0])
        if self.classes[last] == _VALUE:
            end = max(end, found[-1][1])
        values = [each for value in found for each in value[2]]
        content = content_of(self.words[first : last + 1])
        beside = (n for n in range(first, last + 1) if values and self.classes[n] == _OTHER)
        counted = content_of(self.words[n] for n in beside)
        is_bound = bool(values) and bool(_BOUND.search(self.text, max(0, start - 12), end))
        return _Run(first, last, start, end, values, content, counted, is_bound)

    def runs(self, longest: int) -> list[_Run]:
        """Return the runs of at most ``longest`` words within a clause.

        A word of data alone, such as "null", is left out, and so are words after the first 200.
        """
        found = []
        n_words = min(len(self.words), _MOST_IN_LINE)
        for first in range(n_words):
            for last in range(first, min(first + longest, n_words)):
                run = self.run(first, last)
                marks = _BETWEEN_CLAUSES.finditer(self.text, run.start, run.end)
                if not all(self._is_within(mark.start()) for mark in marks):
                    break
                if not _DATA.fullmatch(self.text, run.start, run.end):
                    found.append(run)
        return found

    def _is_within(self, place: int) -> bool:
        """Return whether the mark at an offset is in a name or a value, as in "St. Pancras"."""
        either = [*self.names, *(value[:2] for value in self.values)]
        return any(start <= place < end - 1 for start, end in either)


def _parts(claim: _Text, held: Held) -> list[_Run]:
    """Return the runs of words of a claim that may be replaced in order to correct a span."""
    inside = _indices(claim, held.start, held.end)
    if not inside:
        return []
    a, b, n_words = inside[0], inside[-1], len(claim.words)
    starts, ends = range(max(0, a - _BEFORE), a + 1), range(b, min(b + _AFTER + 1, n_words))
    pairs = {(first, last) for first in starts for last in ends}
    if b - a < _MOST_PARTS:
        pairs |= {(first, last) for first in inside for last in inside if first <= last}
    for start, end in claim.names:
        name = _indices(claim, start, end)
        if name[0] <= b and a <= name[-1]:
            pairs.add((name[0], name[-1]))
    runs = [claim.run(first, last) for first, last in sorted(pairs)]
    return list({(run.start, run.end): run for run in runs}.values())


def _indices(text: _Text, start: int, end: int) -> list[int]:
    return [n for n, word in enumerate(text.words) if word.start < end and word.end > start]


def _fitting(runs: list[_Run], line: _Text, claim: _Text, part: _Run) -> list[_Run]:
    """Return the runs of a line that may replace ``part`` of a claim.

    Such a run has at most three words more than ``part``. It begins with a function word only if
    ``part`` begins with one, and ends with one only if ``part`` ends with one. If the run has
    content words, the rest of the claim must lack at least one of them. A single word that is a
    value can be replaced only by a value, and words without a value only by words that do not both
    begin and end with a value. A value that is a bound in the line, as in "above $500", must be a
    bound in the claim too. A run has at least as many values as ``part``: a single value does not
    replace a range, since it may lie within the range. A number of things ("nine jurors") is not
    replaced by a number of other things ("11 votes").
    """
    theirs, ours = line.classes, claim.classes
    is_function = ours[part.first] == _FUNCTION, ours[part.last] == _FUNCTION
    is_value = part.n_words == 1 and ours[part.first] == _VALUE
    rest = content_of(claim.words[: part.first] + claim.words[part.last + 1 :])
    return [
        run
        for run in runs
        if run.n_words - part.n_words <= _MORE_WORDS
        and (is_function[0] or theirs[run.first] != _FUNCTION)
        and (is_function[1] or theirs[run.last] != _FUNCTION)
        and (
            not is_value
            if theirs[run.first] != _VALUE or theirs[run.last] != _VALUE
            else is_value or part.values
        )
        and not (run.content and run.content <= rest)
        and not (part.counted and run.counted and part.counted.isdisjoint(run.counted))
        and run.is_bound <= part.is_bound
        and len(run.values) >= len(part.values)
    ]


def _features_of_run(
    claim: _Text, part: _Run, line: _Text, run: _Run
) -> tuple[float, float, float]:
    """Return the first three features, which compare a run with the part that it replaces."""
    more = run.n_words - part.n_words
    is_of_kind = any(
        same_kind(one, claim.text, other, line.text)
        for one in part.values[:1]
        for other in run.values
    )
    return max(more, 0), max(-more, 0), is_of_kind


def _features_of_part(part: _Run, span: set[int]) -> tuple[float, float]:
    """Return the last two features, which depend only on the part that is replaced."""
    n_shared = len(span.intersection(range(part.first, part.last + 1)))
    return n_shared / max(1, len(span)), part.n_words - n_shared

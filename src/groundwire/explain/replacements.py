"""Ranks words of the evidence by how well they would stand in the place of wrong words.

Every run of a few words in the lines of evidence is a candidate. Its score is a weighted sum of
features that compare it with the words that it would replace: the words around both, how alike the
words are, whether both are values of one kind or names. The weights are learned from answers whose
wrong words are known (``training/src/groundwire_training/replacements.py``).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.comparison.counterpart import quantity_ranges, same_kind
from groundwire.detection.comparison.words import Word, content_of, likeness
from groundwire.detection.values import EvidenceRef
from groundwire.engine.architecture import VOCABULARY
from groundwire.engine.cross_encoder import CROSS_WORDS
from groundwire.engine.models import READER_BASE, find_model, find_reader
from groundwire.engine.tokenizer import WordPieces
from groundwire.text.quantities import Quantity

Vectors = NDArray[np.float32]
#: The features of a candidate, in the order of the columns of :attr:`Candidates.features`.
FEATURES = (
    "words around",
    "word before",
    "word after",
    "first word",
    "last word",
    "begins with a function word",
    "same class of last word",
    "more words",
    "fewer words",
    "share of the claim in the line",
    "words said elsewhere in the claim",
    "words of the replaced part",
    "values of one kind",
    "share of the span",
    "words beyond the span",
    "whole names",
    "part of a name",
    "commas or brackets",
)
#: A run of words of the evidence may have this many words more than the words that it replaces.
_MORE_WORDS = 3
#: The most words of a run, and of a line, that are considered: long lines would take minutes.
_MOST_IN_RUN, _MOST_IN_LINE = 12, 200
#: Number of words before the span, and of words after it, that may be replaced together with it.
_BEFORE, _AFTER = 1, 2
#: A part of a span may be replaced alone only if the span has at most this many words.
_MOST_PARTS = 6
#: Classes of words: a function word, another word, a word of a name, a word of a value.
_FUNCTION, _OTHER, _NAME, _VALUE = range(4)
#: Ends of clauses and other marks, which a run of words contains only within a name or a value.
_BETWEEN_CLAUSES = re.compile(r"[.;:!?]\s|[\n|\"{}\[\]<>]")
_BREAK_BEFORE = re.compile(r"(?:^|[.,;:()|\"\n])\s*$")
_BREAK_AFTER = re.compile(r"\s*(?:$|[.,;:()|\"\n])")


@dataclass(frozen=True, slots=True)
class Replacement:
    """One change of a claim: ``claim[start:end]`` becomes ``text``.

    Attributes:
        start: Offset of the first replaced character in the claim.
        end: Offset after the last replaced character.
        text: The new words, from the evidence. They equal the replaced words if the evidence has
            these too.
        place: The place of these words in a source; ``None`` if it is not known.
    """

    start: int
    end: int
    text: str
    place: EvidenceRef | None

    def applied(self, claim: str) -> str:
        """Return the changed claim."""
        return claim[: self.start] + self.text + claim[self.end :]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The replacements that are possible, and the features of each.

    Attributes:
        replacements: The replacements.
        features: A row for each replacement, shape ``(n, len(FEATURES))``.
    """

    replacements: list[Replacement]
    features: NDArray[np.float64]

    @classmethod
    def of(cls, held: Held, vectors: "WordVectors") -> Self:
        """Find the runs of words of the lines that may stand in the place of a span's words."""
        claim = _Text(held.claim, vectors)
        parts = _parts(claim, held)
        longest = min(max((p.n_words for p in parts), default=0) + _MORE_WORDS, _MOST_IN_RUN)
        found: list[Replacement] = []
        features = [np.empty((0, len(FEATURES)))]
        for line in (_Text(line, vectors) for line in held.lines if line.words):
            runs = _Runs(line, line.runs(longest))
            for part in parts:
                chosen = runs.fitting(claim, part)
                features.append(chosen.features(claim, part, held))
                found += [_replacement(claim, part, line, run) for run in chosen.runs]
        return cls(found, np.concatenate(features))


def _replacement(claim: "_Text", part: "_Run", line: "_Text", run: "_Run") -> Replacement:
    text, place = line.text[run.start : run.end], line.compared.place
    if place is not None:
        start, end = place.start + run.start, place.start + run.end
        place = EvidenceRef(source_id=place.source_id, start=start, end=end, text=text)
    if part.start == 0 and claim.text[:1].isupper():
        text = text[:1].upper() + text[1:]
    return Replacement(part.start, part.end, text, place)


class WordVectors:
    """Vectors of words, each of length 1, from the cross-encoder's embeddings of word pieces."""

    def __init__(self, table: NDArray[np.int8], pieces: WordPieces) -> None:
        """Make the vectors from a table of embeddings, of shape ``(VOCABULARY, width)``."""
        self._table, self._pieces = table, pieces
        self.of = lru_cache(10_000)(self._of)

    @classmethod
    def load(cls) -> Self:
        """Open the embeddings of ``reader-base``.

        Raises:
            ModelError: If ``reader-base`` is not installed.
        """
        base = find_reader(READER_BASE)
        assert base is not None  # READER_BASE is the name of a reader
        table = np.memmap(base.folder / CROSS_WORDS, np.int8, "r")
        pieces = WordPieces(find_model().folder / "tokenizer.json")
        return cls(table.reshape(VOCABULARY, -1), pieces)

    def _of(self, word: str) -> Vectors:
        rows = self._table[self._pieces.encode(word).ids].astype(np.float32)
        return _unit(_unit(rows).sum(0))

    def of_words(self, words: Sequence[Word]) -> Vectors:
        """Return the vectors of some words, shape ``(n, width)``."""
        return np.stack([self.of(word.lower) for word in words])


def _unit(vectors: Vectors) -> Vectors:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-9), np.float32)


@dataclass(frozen=True, slots=True)
class _Run:
    """Some words of a text in a row: the indices of the first and the last, and the place.

    ``values`` has the quantities in the run; of a range that is only partly in the run, both ends.
    """

    first: int
    last: int
    start: int
    end: int
    values: list[Quantity]

    @property
    def n_words(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True)  # no slots: cached_property needs a __dict__
class _Text:
    """A claim or a line, with its names and values, and the vectors and classes of its words."""

    compared: ComparedText
    vectors: WordVectors

    @property
    def text(self) -> str:
        return self.compared.text

    @property
    def words(self) -> list[Word]:
        return self.compared.words

    @cached_property
    def matrix(self) -> Vectors:
        """The vectors of the words, one a row."""
        return self.vectors.of_words(self.words)

    @cached_property
    def values(self) -> list[tuple[int, int, list[Quantity]]]:
        return quantity_ranges(self.compared)

    @cached_property
    def names(self) -> frozenset[tuple[int, int]]:
        return frozenset((name.start, name.end) for name in self.compared.names)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The class of each word."""
        return np.array([self._class(word) for word in self.words])

    def _class(self, word: Word) -> int:
        if any(start < word.end and word.start < end for start, end, _ in self.values):
            return _VALUE
        if any(start <= word.start < end for start, end in self.names):
            return _NAME
        return _OTHER if word.is_content else _FUNCTION

    def run(self, first: int, last: int) -> _Run:
        """Return the run from one word to another, with all of a number or date at its ends."""
        start, end = self.words[first].start, self.words[last].end
        found = [value for value in self.values if value[0] < end and start < value[1]]
        if self.classes[first] == _VALUE:
            start = min(start, found[0][0])
        if self.classes[last] == _VALUE:
            end = max(end, found[-1][1])
        return _Run(first, last, start, end, [each for value in found for each in value[2]])

    def runs(self, longest: int) -> list[_Run]:
        """Return all runs of at most ``longest`` words that lie within a clause."""
        found = []
        n_words = min(len(self.words), _MOST_IN_LINE)
        for first in range(n_words):
            for last in range(first, min(first + longest, n_words)):
                run = self.run(first, last)
                marks = _BETWEEN_CLAUSES.finditer(self.text, run.start, run.end)
                if not all(self._is_within(mark.start()) for mark in marks):
                    break
                found.append(run)
        return found

    def _is_within(self, place: int) -> bool:
        """Return whether the mark at an offset is in a name or a value, as in "St. Pancras"."""
        values = [(start, end) for start, end, _ in self.values]
        return any(start <= place < end - 1 for start, end in [*self.names, *values])

    def breaks(self, run: _Run) -> tuple[bool, bool]:
        """Return whether a mark such as a comma, or the text's end, is before a run and after it.

        The result has one boolean for the place right before the run, and one for that after it.
        """
        before = _BREAK_BEFORE.search(self.text[max(0, run.start - 4) : run.start])
        return before is not None, _BREAK_AFTER.match(self.text, run.end) is not None


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


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of words of one line."""

    line: _Text
    runs: list[_Run]

    def fitting(self, claim: _Text, part: _Run) -> "_Runs":
        """Return the runs that may replace ``part`` of a claim.

        They have at most three words more than ``part``, and begin or end with a function word only
        if ``part`` does. A single word that is a value can be replaced only by a value, and another
        single word only by something else.
        """
        theirs, ours = self.line.classes, claim.classes
        is_function = ours[part.first] == _FUNCTION, ours[part.last] == _FUNCTION
        is_value = part.n_words == 1 and ours[part.first] == _VALUE
        chosen = [
            run
            for run in self.runs
            if run.n_words - part.n_words <= _MORE_WORDS
            and (is_function[0] or theirs[run.first] != _FUNCTION)
            and (is_function[1] or theirs[run.last] != _FUNCTION)
            and (part.n_words > 1 or is_value == (theirs[run.first] == theirs[run.last] == _VALUE))
        ]
        return _Runs(self.line, chosen)

    def features(self, claim: _Text, part: _Run, held: Held) -> NDArray[np.float64]:
        """Return the features of the runs as replacements of ``part`` of a claim.

        The shape is ``(n, len(FEATURES))`` for ``n`` runs.
        """
        line, n = self.line, len(self.runs)
        if not n:
            return np.empty((0, len(FEATURES)))
        first, last = (np.array([getattr(r, end) for r in self.runs]) for end in ("first", "last"))
        inside = set(range(part.first, part.last + 1))
        rest = content_of(word for i, word in enumerate(claim.words) if i not in inside)
        own = content_of(claim.words[i] for i in inside)
        stems = [content_of(line.words[run.first : run.last + 1]) for run in self.runs]
        span = set(_indices(claim, held.start, held.end))
        around = claim.compared.near(part.start, part.end)
        breaks = np.array([line.breaks(run) for run in self.runs])
        is_broken = claim.breaks(part)
        more = last - first + 1 - part.n_words
        is_name = np.array([(run.start, run.end) in line.names for run in self.runs])
        classes = line.classes[first], line.classes[last]
        in_name = (classes[0] == _NAME) | (classes[1] == _NAME)
        columns = (
            [likeness(around, line.compared.near(run.start, run.end)) for run in self.runs],
            self._beside(claim, part.first - 1, first - 1, is_broken[0], breaks[:, 0]),
            self._beside(claim, part.last + 1, last + 1, is_broken[1], breaks[:, 1]),
            line.matrix[first] @ claim.matrix[part.first],
            line.matrix[last] @ claim.matrix[part.last],
            np.full(n, claim.classes[part.first] == _FUNCTION),
            classes[1] == claim.classes[part.last],
            np.maximum(more, 0),
            np.maximum(-more, 0),
            np.full(n, len(line.compared.content & rest) / max(1, len(rest))),
            [len(each & rest) / max(1, len(each)) for each in stems],
            [len(each & own) / max(1, len(each)) for each in stems],
            [self._is_of_kind(claim, part, run) for run in self.runs],
            np.full(n, len(span & inside) / max(1, len(span))),
            np.full(n, len(inside - span)),
            is_name & ((part.start, part.end) in claim.names),
            in_name & ~is_name,
            [any(mark in line.text[run.start : run.end] for mark in ",()") for run in self.runs],
        )
        return np.array(columns, np.float64).T

    def _is_of_kind(self, claim: _Text, part: _Run, run: _Run) -> bool:
        texts = claim.text, self.line.text
        return any(
            same_kind(one, texts[0], other, texts[1])
            for one in part.values[:1]
            for other in run.values
        )

    def _beside(
        self,
        claim: _Text,
        index: int,
        indices: NDArray[np.int64],
        is_broken: bool,
        breaks: NDArray[np.bool_],
    ) -> NDArray[np.float64]:
        """Return how alike the word beside a part and the word beside each run are, shape ``(n,)``.

        The likeness is 1 if neither the part nor the run has a word beside it in the same clause,
        and 0 if only one of them has none.
        """
        n_words = len(self.line.words)
        breaks = breaks | (indices < 0) | (indices >= n_words)
        if is_broken or not 0 <= index < len(claim.words):
            return breaks.astype(np.float64)
        alike = self.line.matrix[indices.clip(0, n_words - 1)] @ claim.matrix[index]
        return np.where(breaks, 0.0, alike.astype(np.float64))

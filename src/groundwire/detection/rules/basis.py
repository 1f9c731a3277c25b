"""The evidence of a claim as rules read it: lines, clauses, fields and rows of tables."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.comparison.words import Word, content_of, words_of
from groundwire.detection.rules.clauses import Clause, clauses_of
from groundwire.text.quantities import Quantity, QuantityIndex
from groundwire.text.vocabulary import words

#: Matches the name or path of a data field at the beginning of a line, with the colon after it.
_FIELD = re.compile(r"[\w .'()/-]{1,80}: ")
#: Words that show that a text is English: nearly every English text has some of them, and most
#: other languages lack them.
_ENGLISH = words("the of is are and")
#: Characters at both ends of a claim or line that are ignored when the two are compared whole.
_OUTER = " \t\r\n."
#: Number of first letters by which :meth:`Basis.has` finds a long word: "Italian" if the lines have
#: "Italy".
_ROOT = 4
#: A word counts as long in :meth:`Basis.has` if it has at least this many letters.
_MIN_ROOTED = 6
#: Limit on the lines that ``find`` compares a claim with: those that have most in common with it.
#: Some rules look at the other lines too, in the :class:`Basis`.
MAX_LINES = 8
#: Limit on the places in a claim or a line, such as numbers, that some rules look at. It keeps the
#: rules fast on long texts.
MAX_PLACES = 64


class Basis:
    """The evidence that a claim is compared with: the lines of some passages.

    Attributes:
        question: The question, or an empty text.
        readings: The lines, as the model reads them, equal lines once.
        stated: An index of the quantities of all lines.
        text: Function that returns a line as a :class:`.ComparedText`, made once for each line.
        clauses: Function that returns the clauses of a :class:`.ComparedText`, found once for each
            text.
    """

    def __init__(self, readings: Sequence[str], stated: QuantityIndex, question: str = "") -> None:
        """Take the lines, the quantities of all lines, and the question.

        The question is no evidence, but may name a row of a table.
        """
        self.question = question
        self.readings = tuple(dict.fromkeys(readings))
        self.stated = stated
        self.text: Callable[[str], ComparedText] = cache(ComparedText)
        self.clauses: Callable[[ComparedText], list[Clause]] = cache(clauses_of)

    def has(self, word: Word) -> bool:
        """Return whether the lines contain a word, or the first letters of a long word.

        A match inside a longer word counts. An "s" or "ss" at the end of ``word`` is ignored.
        """
        lower = word.lower
        has_root = len(lower) >= _MIN_ROOTED and lower[:_ROOT] in self._lower
        return has_root or singular(lower) in self._lower

    def has_line(self, claim: str) -> bool:
        """Return whether a claim is one of the lines, but for outer white space and full stops."""
        return claim.strip(_OUTER) in self._whole

    def mentions(self, words: str) -> bool:
        """Return whether a line contains a text; case is ignored."""
        return words.casefold() in self._lower

    @cached_property
    def all_text(self) -> str:
        """All lines as one text."""
        return "\n".join(self.readings)

    @cached_property
    def _whole(self) -> frozenset[str]:
        return frozenset(reading.strip(_OUTER) for reading in self.readings)

    @cached_property
    def _lower(self) -> str:
        return self.all_text.casefold()

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all content words in the lines."""
        return frozenset().union(*(content_of(words_of(reading)) for reading in self.readings))

    @cached_property
    def is_english(self) -> bool:
        """Whether the lines contain one of a few common English words."""
        lowers = {word.lower for reading in self.readings for word in words_of(reading)}
        return not _ENGLISH.isdisjoint(lowers)

    @cached_property
    def rows(self) -> tuple[Mapping[str, str], ...]:
        """The table rows, such as "Name: Foo; Price: $49", as maps from column names to cells."""
        rows = (dict(_cells(reading)) for reading in self.readings if "; " in reading)
        return tuple(row for row in rows if len(row) > 1)


def is_field(reading: str) -> bool:
    """Return whether a line begins like a field or a row: with a name and a colon."""
    return _FIELD.match(reading) is not None


def quantities_in(text: ComparedText) -> tuple[Quantity, ...]:
    """Return the quantities of a claim or a line, at most ``MAX_PLACES``."""
    return text.quantities[:MAX_PLACES]


def overlap(claim: ComparedText, line: ComparedText) -> float:
    """Return the share of a claim's content words that a line has; 0 if the claim has none."""
    return len(claim.content & line.content) / len(claim.content) if claim.content else 0.0


def singular(lower: str) -> str:
    """Return a word without the "s" or "ss" at its end."""
    return lower.rstrip("s")


def _cells(reading: str) -> Iterator[tuple[str, str]]:
    for part in reading.split("; "):
        name, colon, cell = part.partition(": ")
        if colon and name.strip():
            yield name.strip(), cell.strip()

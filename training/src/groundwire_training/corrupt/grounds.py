"""Analyses the sources of a record, to decide whether an edited answer is surely wrong."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from groundwire.text.quantities import Quantity, QuantityIndex, quantities
from groundwire_training.corrupt.names import names_of
from groundwire_training.corrupt.wording import FIGURE, WORD, plain, stems
from groundwire_training.sets import LabelledContext


class Grounds:
    """The sources of a record, analysed once for all its answers.

    Args:
        sources: Texts of the sources.
        strangers: Other records, from which foreign names and sentences are taken.
    """

    def __init__(self, sources: Sequence[str], strangers: Sequence[LabelledContext] = ()) -> None:
        self.text = "\n".join(sources)
        self.strangers = tuple(strangers)
        self.has_data = any(source.lstrip().startswith(("{", "[")) for source in sources)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the sources, in lower case."""
        return frozenset(WORD.findall(self.text.lower()))

    @cached_property
    def _plain(self) -> str:
        return plain(self.text)

    @cached_property
    def _lines(self) -> list[tuple[str, frozenset[str]]]:
        """The sentences and data fields of the sources, each in plain words and as its stems."""
        lines = re.split(r"(?<=[.!?])\s+|\n+|[{}\[\]]|, (?=['\"])", self.text)
        return [(plain(line), stems(line)) for line in lines if line]

    @cached_property
    def found(self) -> tuple[Quantity, ...]:
        """Quantities of the sources: numbers, times and dates."""
        return quantities(self.text)

    @cached_property
    def index(self) -> QuantityIndex:
        """An index of the quantities, which finds those that match a quantity of an answer."""
        return QuantityIndex.of(self.found)

    @cached_property
    def numbers(self) -> list[float]:
        """All numbers of the sources, in figures or words, as written and in base units, sorted."""
        figures = {float(f.replace(",", "")) for f in FIGURE.findall(self.text) if len(f) < 300}
        read = {n for q in self.found if isinstance(q.value, float) for n in (q.number, q.value)}
        return sorted(figures | read)

    @cached_property
    def names(self) -> dict[str, str]:
        """The names in the sources with their kinds, as :func:`names_of` finds them."""
        return names_of(self.text)

    def says(self, words: str) -> bool:
        """Return whether the sources have these words, one after the other, in any case."""
        return plain(words) in self._plain

    def has_number_near(self, value: float, spread: float) -> bool:
        """Return whether the sources have a number within ``spread`` of a value."""
        place = bisect_left(self.numbers, value - spread)
        return place < len(self.numbers) and self.numbers[place] <= value + spread

    def tells(self, words: str, sentence: str, *, share: float) -> bool:
        """Return whether a line of the sources has certain words and is similar to a sentence.

        Args:
            words: The words, which the line must have one after the other.
            sentence: The sentence. Its stems except those of ``words`` are compared with the line.
            share: The least share of these stems that the line must have, in [0, 1].
        """
        wanted, needle = stems(sentence) - stems(words), plain(words)
        return any(
            needle in line and len(wanted & its_stems) >= share * len(wanted)
            for line, its_stems in self._lines
        )

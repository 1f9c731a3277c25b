"""What the sources of a record say: the measure of what would be wrong."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from groundwire.evaluation.datasets.sets import LabelledContext
from groundwire.text.quantities import Quantity, QuantityIndex, quantities
from groundwire_training.corrupt.names import names_of
from groundwire_training.corrupt.wording import FIGURE, WORD, plain, stems


class Grounds:
    """What the sources of a record say, read once for all its answers.

    Args:
        sources: Their texts.
        strangers: Other records, whose names and sentences do not belong here.
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
        """Sentences, and fields of what is data, with their stems."""
        lines = re.split(r"(?<=[.!?])\s+|\n+|[{}\[\]]|, (?=['\"])", self.text)
        return [(plain(line), stems(line)) for line in lines if line]

    @cached_property
    def found(self) -> tuple[Quantity, ...]:
        """Numbers, times and dates of the sources."""
        return quantities(self.text)

    @cached_property
    def index(self) -> QuantityIndex:
        """The same, to compare with."""
        return QuantityIndex.of(self.found)

    @cached_property
    def numbers(self) -> list[float]:
        """Every number in figures or words, before and after conversion, ascending."""
        figures = {float(f.replace(",", "")) for f in FIGURE.findall(self.text) if len(f) < 300}
        read = {n for q in self.found if isinstance(q.value, float) for n in (q.number, q.value)}
        return sorted(figures | read)

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of the sources, each with what it seems to name."""
        return names_of(self.text)

    def says(self, words: str) -> bool:
        """Whether some words stand in the sources one after the other."""
        return plain(words) in self._plain

    def has_number_near(self, value: float, spread: float) -> bool:
        """Whether a number within ``spread`` of a value stands anywhere in the sources."""
        place = bisect_left(self.numbers, value - spread)
        return place < len(self.numbers) and self.numbers[place] <= value + spread

    def tells(self, words: str, sentence: str, *, share: float) -> bool:
        """Whether a line with some words has a share of the sentence's other content words."""
        wanted, needle = stems(sentence) - stems(words), plain(words)
        return any(
            needle in line and len(wanted & its_stems) >= share * len(wanted)
            for line, its_stems in self._lines
        )

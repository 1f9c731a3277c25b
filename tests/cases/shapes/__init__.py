"""Answers in the shapes that language models write, with the parts that claim nothing marked.

``answers.toml`` has right ones: ``«...»`` marks what claims nothing. In ``hostile.toml`` it marks
wrong facts that stand where usually nothing is claimed. Each has a twin by another author, who had
not seen how asides are found. ``by_a_third_hand.toml`` and ``by_a_fourth_hand.toml`` were
counted before anybody read them.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

_MARK = re.compile("[«»]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """An answer with its sources and marked stretches, ``[start, end)``."""

    id: str
    sources: tuple[str, ...]
    answer: str
    marked: tuple[tuple[int, int], ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the sources, as they are given."""
        return tuple(f"S{at}" for at in range(len(self.sources)))

    def is_marked(self, start: int, end: int) -> bool:
        """Whether all letters and digits of a stretch are marked."""
        return all(
            any(first <= at < last for first, last in self.marked)
            for at in range(start, end)
            if self.answer[at].isalnum()
        )


def read(name: str) -> tuple[Shape, ...]:
    """Read the answers of a file."""
    data = tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
    return tuple(
        _shape(f"{key}-{at}", tuple(data["sources"][key]), text)
        for key, texts in data["answers"].items()
        for at, text in enumerate(texts)
    )


def _shape(id_: str, sources: tuple[str, ...], text: str) -> Shape:
    # Each mark before a place moves it by one.
    places = [match.start() - n for n, match in enumerate(_MARK.finditer(text))]
    marked = tuple(zip(places[::2], places[1::2], strict=True))
    return Shape(id=id_, sources=sources, answer=_MARK.sub("", text), marked=marked)

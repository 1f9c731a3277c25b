"""Edits of an answer's text, which keep its spans in place."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from groundwire.evaluation.datasets.slots import MarkedAnswer

#: Labels, as in ``groundwire.evaluation.datasets.slots``.
UNSUPPORTED, CONTRADICTED = 1, 2

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit: ``answer[start:end]`` becomes ``text``, which is marked without outer spaces."""

    start: int
    end: int
    text: str
    label: int = CONTRADICTED

    def with_article(self, answer: str) -> "Edit":
        """The edit, extended to correct an article "a" or "an" before it."""
        article = re.search(r"\b([Aa])(n?) $", answer[: self.start])
        is_vowel = re.match(r"[aeioAEIO]|un(?!i)|8|11(?!\d)|18(?!\d)", self.text) is not None
        if not article or self.start == self.end or is_vowel == bool(article[2]):
            return self
        text = f"{article[1]}{'n' if is_vowel else ''} {self.text}"
        return replace(self, start=article.start(), text=text)


#: Proposed mistakes, in random order. Most are one edit; a swap is two.
Mistakes = Iterator[tuple[Edit, ...]]


def shuffled(values: Sequence[_T], rng: random.Random) -> list[_T]:
    """The values in random order."""
    return rng.sample(values, len(values))


def applied(answer: MarkedAnswer, edits: Sequence[Edit]) -> MarkedAnswer:
    """Apply edits that touch neither each other nor a span."""
    text, at = "", 0
    spans = []
    moves: list[tuple[int, int]] = []  # positions from which text moves, and how far
    for edit in sorted(edits, key=lambda edit: edit.start):
        text += answer.text[at : edit.start]
        start = len(text) + len(edit.text) - len(edit.text.lstrip())
        spans.append((start, len(text) + len(edit.text.rstrip()), edit.label))
        text += edit.text
        at = edit.end
        moves.append((at, len(text) - at))
    for start, end, label in answer.spans:
        shift = next((by for place, by in reversed(moves) if start >= place), 0)
        spans.append((start + shift, end + shift, label))
    return MarkedAnswer(text + answer.text[at:], tuple(sorted(spans)))


def is_free(answer: MarkedAnswer, edits: Sequence[Edit]) -> bool:
    """Whether at least one character lies between any two edits, and between edits and spans."""
    ordered = sorted(edits, key=lambda edit: edit.start)
    return all(a.end < b.start for a, b in pairwise(ordered)) and not any(
        edit.start <= end and start <= edit.end for edit in edits for start, end, _ in answer.spans
    )

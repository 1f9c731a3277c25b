"""Edits of an answer's text that keep its spans on the same words."""

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
    """An edit that replaces ``answer[start:end]`` by ``text``.

    ``text`` is marked as a span with ``label``, without spaces at its ends.
    """

    start: int
    end: int
    text: str
    label: int = CONTRADICTED

    def with_article(self, answer: str) -> "Edit":
        """Return the edit, extended to an article "a" or "an" before it if that has to change."""
        article = re.search(r"\b([Aa])(n?) $", answer[: self.start])
        is_vowel = re.match(r"[aeioAEIO]|un(?!i)|8|11(?!\d)|18(?!\d)", self.text) is not None
        if not article or self.start == self.end or is_vowel == bool(article[2]):
            return self
        text = f"{article[1]}{'n' if is_vowel else ''} {self.text}"
        return replace(self, start=article.start(), text=text)


#: Proposed mistakes, in random order. Most consist of one edit, swaps of two.
Mistakes = Iterator[tuple[Edit, ...]]


def shuffled(values: Sequence[_T], rng: random.Random) -> list[_T]:
    """Return a list of the values in random order."""
    return rng.sample(values, len(values))


def applied(answer: MarkedAnswer, edits: Sequence[Edit]) -> MarkedAnswer:
    """Return the answer with edits applied and marked; they must pass :func:`is_free`."""
    text, at = "", 0
    spans = []
    moves: list[tuple[int, int]] = []  # old positions, and by how much later text is moved
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
    """Return whether edits are apart from each other and from spans, by a character or more."""
    ordered = sorted(edits, key=lambda edit: edit.start)
    return all(a.end < b.start for a, b in pairwise(ordered)) and not any(
        edit.start <= end and start <= edit.end for edit in edits for start, end, _ in answer.spans
    )

"""Answers in the shapes that language models write, with the parts that claim nothing marked.

``answers.toml`` has right ones: ``«...»`` marks what claims nothing. In ``hostile.toml`` it marks
wrong facts that stand where usually nothing is claimed. Each has a twin by another author, who had
not seen how asides are found. ``by_a_third_hand.toml`` and the two after it were counted before
anybody read them. ``python -m tests.cases --shapes`` prints what is flagged, and
what fails verification.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from groundwire import Detector, detect_hallucination
from groundwire.engine.sentence import has_statement
from groundwire.text.segment import segment
from groundwire.verify.local import LocalVerifier

#: The files with right answers, by five hands.
RIGHT_FILES = (
    "answers",
    "by_another_hand",
    "by_a_third_hand",
    "by_a_fourth_hand",
    "by_a_fifth_hand",
)
#: The files with wrong facts in the places of what claims nothing.
HOSTILE_FILES = ("hostile", "hostile_by_another_hand")
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


class Part(NamedTuple):
    """A part of an answer, with the answer's id and the reason why it is counted."""

    id: str
    why: str
    text: str


@dataclass(slots=True)
class Counts:
    """The counts of some answers; a part is a sentence-sized segment with words.

    Attributes:
        n_marked, n_others: Parts with marked letters and digits alone, and all other parts.
        flagged, others_flagged: Those in which the detector flags a word.
        failed, others_failed: Those that the local verifier fails, with all sources as evidence.
        left_out: Parts with letters that are not marked, which the verifier reads as no claims.
        marked_left_out: Marked parts that it reads as no claims.
    """

    n_marked: int = 0
    n_others: int = 0
    flagged: list[Part] = field(default_factory=list)
    others_flagged: list[Part] = field(default_factory=list)
    failed: list[Part] = field(default_factory=list)
    others_failed: list[Part] = field(default_factory=list)
    left_out: list[Part] = field(default_factory=list)
    marked_left_out: list[Part] = field(default_factory=list)


def count(detector: Detector, some: Iterable[Shape]) -> Counts:
    """Count what a detector flags, and the local verifier fails, in some answers."""
    counts, verifier = Counts(), LocalVerifier.of(detector)
    for shape in some:
        answer = shape.answer
        sources = [{"id": i, "text": t} for i, t in zip(shape.ids, shape.sources, strict=True)]
        spans = detector.detect(sources=sources, answer=answer).spans
        for part in segment(answer, known=shape.ids):
            if not has_statement(answer, part):
                continue
            is_marked = shape.is_marked(part.start, part.end)
            counts.n_marked += is_marked
            counts.n_others += not is_marked
            scores = [s.probability for s in spans if s.start < part.end and part.start < s.end]
            if scores:
                group = counts.flagged if is_marked else counts.others_flagged
                text = answer[part.start : part.end]
                group.append(Part(shape.id, f"{max(each or 0 for each in scores):.2f}", text))
        report = detect_hallucination(answer, sources, verifier=verifier, context_mode="all")
        failed = [(str(e.status), e.claim.raw_text) for e in report.details if e.status != "passed"]
        asides = [(str(kind), text) for kind, text in report.setup.asides]
        for found, marked, others in (
            (failed, counts.failed, counts.others_failed),
            (asides, counts.marked_left_out, counts.left_out),
        ):
            end = 0
            for why, text in sorted(found, key=lambda each: answer.index(each[1])):
                start = answer.find(text, end)
                start = answer.index(text) if start < 0 else start
                end = start + len(text)
                group = marked if shape.is_marked(start, end) else others
                group.append(Part(shape.id, why, text))
    return counts


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

"""Labelled answers, the form that all datasets are read into."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from groundwire.detection.example import Example, Source
from groundwire.detection.values import Label


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldSpan:
    """A stretch of an answer that people marked as hallucinated.

    Attributes:
        start: First character of the answer.
        end: One past the last.
        label: ``unsupported`` or ``contradicted``.
        kind: The dataset's own label, such as ``Subtle Conflict``.
        implicit_true: Whether it is true all the same, and only not in the sources.
        due_to_null: Whether it stands for a value that the sources leave open.
    """

    start: int
    end: int
    label: Label
    kind: str = ""
    implicit_true: bool = False
    due_to_null: bool = False


class Known(StrEnum):
    """How much of an answer is labelled."""

    SPANS = "spans"  # which stretches are hallucinated, if any
    ANSWER = "answer"  # whether the answer as a whole is
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """An example with labels that say what is hallucinated.

    Attributes:
        id: Names it within its set.
        task: The kind of question, such as ``QA``: scores are also computed by task.
        context_id: Names its sources: answers to one context are resampled together.
        example: Sources, question and answer.
        spans: Marked stretches as annotated, which may overlap.
        quality: ``good``, or what is wrong with the answer besides.
        model: The model that wrote it; empty if unknown.
        known: How much is labelled. Scores of characters need labelled spans.
        label: Whether the answer as a whole is hallucinated, where that is said; ``None`` if its
            spans say it.
        columns: Other columns of its row, to group results by.
    """

    id: str
    task: str
    context_id: str
    example: Example
    spans: tuple[GoldSpan, ...]
    quality: str = "good"
    model: str = ""
    known: Known = Known.SPANS
    label: bool | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_hallucinated(self) -> bool:
        """Whether the answer is labelled so; without a label, whether anything is marked."""
        return bool(self.spans) if self.label is None else self.label


def context_of(sources: Iterable[Source]) -> str:
    """Hash sources, to serve as the id of their context."""
    digest = sha256()
    for source in sources:
        digest.update(f"{len(source.text)}:{source.text}".encode())
    return digest.hexdigest()[:16]

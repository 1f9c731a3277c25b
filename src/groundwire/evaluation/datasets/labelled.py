"""Labelled answers: the form into which all labelled data are converted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from groundwire.detection.example import Example, Source
from groundwire.detection.values import Label


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldSpan:
    """A part of an answer that is labelled as hallucinated.

    Attributes:
        start: Index of the part's first character in the answer.
        end: Index one past the part's last character.
        label: ``unsupported`` or ``contradicted``.
        kind: The dataset's own label, such as ``Subtle Conflict``; may be empty.
    """

    start: int
    end: int
    label: Label
    kind: str = ""


class Known(StrEnum):
    """How much of an answer is labelled."""

    SPANS = "spans"  # the labels say which parts are hallucinated, if any
    ANSWER = "answer"  # the label says only whether the answer as a whole is hallucinated
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """An answer with its sources and its labels.

    Attributes:
        id: Id of the answer, unique within the data.
        task: The kind of question, such as ``QA``; scores are also computed for each task.
        context_id: Id of the sources; the bootstrap draws all answers to one context together.
        example: Sources, question and answer.
        spans: Parts that are labelled as hallucinated; they may overlap.
        known: How much of the answer is labelled.
        label: Whether the answer as a whole is hallucinated; ``None`` without this label.
        columns: Further columns of the row in the data, by name; results can be grouped by them.
    """

    id: str
    task: str
    context_id: str
    example: Example
    spans: tuple[GoldSpan, ...]
    known: Known = Known.SPANS
    label: bool | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_hallucinated(self) -> bool:
        """Whether the answer is hallucinated, by its label or, without one, by having spans.

        The value is false if nothing is labelled.
        """
        return bool(self.spans) if self.label is None else self.label


def context_of(sources: Iterable[Source]) -> str:
    """Hash the texts of sources into a context id."""
    digest = sha256()
    for source in sources:
        digest.update(f"{len(source.text)}:{source.text}".encode())
    return digest.hexdigest()[:16]

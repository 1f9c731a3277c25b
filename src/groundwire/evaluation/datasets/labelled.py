"""What every set of labelled answers becomes."""

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
        kind: The set's own word for it, such as ``Subtle Conflict``.
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
    """What is known of an answer."""

    SPANS = "spans"  # which stretches are hallucinated, if any
    ANSWER = "answer"  # whether the answer as a whole is
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """An example of which is known what is hallucinated.

    Attributes:
        id: Names it within its set.
        task: What was asked for, such as ``QA``: scores are also told by task.
        context_id: Names its sources: answers to one context are resampled together.
        example: Sources, question and answer.
        spans: What is marked, as annotated: spans may overlap.
        quality: ``good``, or what is wrong with the answer besides.
        model: What wrote it; empty if that is not known.
        known: What is known of it. Scores of characters count those alone whose spans are.
        label: Whether the answer as a whole is hallucinated, where that is said; ``None`` if its
            spans say it.
        columns: What else its row says, by name: results can be told apart by it.
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
    """What stands for sources without a name: answers to the same ones are resampled together."""
    digest = sha256()
    for source in sources:
        digest.update(f"{len(source.text)}:{source.text}".encode())
    return digest.hexdigest()[:16]

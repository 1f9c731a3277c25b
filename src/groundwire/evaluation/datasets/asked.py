"""A question for a language model, with its sources."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from groundwire.detection.example import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question for a language model, with the sources that its answer may rest on.

    Attributes:
        id: Id of the question, unique within the data.
        task: The kind of question; the rate of hallucinated answers is also computed for each task.
        context_id: Id of the sources; the bootstrap draws all questions about one context together.
        text: The text of the question.
        sources: The sources; may be empty.
        columns: Further columns of the row in the data, by name.
    """

    id: str
    task: str
    context_id: str
    text: str
    sources: tuple[Source, ...]
    columns: Mapping[str, str] = field(default_factory=dict)

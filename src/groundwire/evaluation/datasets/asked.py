"""A question with its sources, to be put to a language model."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from groundwire.detection.example import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question for a language model, with the sources that its answer may rest on.

    Attributes:
        id: Names it within its set.
        task: The kind of question; rates are computed for each.
        context_id: Names its sources: questions about one context are resampled together.
        text: The question.
        sources: The sources, of which there may be none.
        columns: Other columns of its row.
    """

    id: str
    task: str
    context_id: str
    text: str
    sources: tuple[Source, ...]
    columns: Mapping[str, str] = field(default_factory=dict)

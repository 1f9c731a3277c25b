"""A question with its sources, to be put to a language model."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from groundwire.detection.example import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """What a language model is asked, and what it may rest its answer on.

    Attributes:
        id: Names it within its set.
        task: What kind of question it is: rates are told for each.
        context_id: Names its sources: questions about one context are resampled together.
        text: What is asked.
        sources: What the answer may rest on; there may be none.
        columns: What else its row says, by name.
    """

    id: str
    task: str
    context_id: str
    text: str
    sources: tuple[Source, ...]
    columns: Mapping[str, str] = field(default_factory=dict)

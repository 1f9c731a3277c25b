"""The parts that a prompt is divided into: they ask, instruct or inform."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from groundwire.pipeline.conversation.wording import Wording


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPart:
    """One part of a prompt.

    Attributes:
        does: Whether the part asks, instructs or informs.
        start: Offset of the part in the prompt.
        end: End of the part in the prompt.
        is_marked: Whether something sets the part apart, such as a label or a paragraph of its own.
            If nothing does, only the wording tells what the part does.
        attributes: The attributes of the tag whose whole text is the part; empty for other parts.
    """

    does: Wording
    start: int
    end: int
    is_marked: bool = False
    attributes: str = ""


def joined(parts: Iterable[PromptPart], text: str) -> list[PromptPart]:
    """Join neighbouring parts that do the same, and are all marked or all unmarked.

    Parts with text between them, or with attributes, stay apart.
    """
    found: list[PromptPart] = []
    for part in parts:
        if found and _belong_together(text, found[-1], part):
            found[-1] = replace(found[-1], end=part.end)
        else:
            found.append(part)
    return found


def _belong_together(text: str, one: PromptPart, other: PromptPart) -> bool:
    return (
        one.does is other.does
        and one.is_marked == other.is_marked
        and not (one.attributes or other.attributes)
        and not text[one.end : other.start].strip()
    )

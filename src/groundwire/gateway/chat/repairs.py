"""Puts repairs into JSON data, and finds what quotes the words that a repair has replaced."""

from collections.abc import Iterable
from typing import Any

from groundwire.explain.repair import Edit, edited
from groundwire.pipeline import Checked

#: Fields of a body that hold the text of an answer; each holds the whole text, or one part of it.
_TEXTS = frozenset(("content", "text", "output_text"))
#: Fields that spell out a text, or count in it.
_ABOUT_TEXT = frozenset(("logprobs", "token_ids", "annotations"))


def repaired_text(checked: Checked) -> str:
    """Return the text of an answer with its edits."""
    return edited(checked.answer.text, checked.edits)


def repaired_data(data: Any, checked: Checked) -> Any:  # noqa: ANN401 - JSON data
    """Return JSON data with the repaired text of an answer wherever the whole text is.

    Fields beside it that spell the text out, such as log probabilities, become empty. If the text
    is in several parts, it is nowhere as a whole, and nothing changes.
    """
    old, new = checked.answer.text, repaired_text(checked)

    def change(value: Any) -> Any:  # noqa: ANN401 - JSON data
        if isinstance(value, list):
            return [change(each) for each in value]
        if not isinstance(value, dict):
            return value
        changed = {
            key: new if key in _TEXTS and each == old else change(each)
            for key, each in value.items()
        }
        return value if changed == value else without_spelling(changed)

    return change(data)


def without_spelling(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object in which the fields that spell out a text, or count in it, are empty."""
    present = _ABOUT_TEXT & value.keys()
    return value | {key: [] if isinstance(value[key], list) else None for key in present}


def quotes_old(data: Any, edits: Iterable[Edit], text: str) -> bool:  # noqa: ANN401 - JSON data
    """Return whether a string in JSON data has words that edits take out of an answer.

    ``text`` is the repaired answer: words that are still in it do not count.
    """
    gone = {edit.old for edit in edits if edit.old not in text}

    def has_any(value: Any) -> bool:  # noqa: ANN401 - JSON data
        if isinstance(value, dict):
            return any(map(has_any, value.values()))
        if isinstance(value, list):
            return any(map(has_any, value))
        return isinstance(value, str) and any(old in value for old in gone)

    return has_any(data)

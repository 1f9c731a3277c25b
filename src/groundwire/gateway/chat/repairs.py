"""Puts repairs into JSON data, and finds what may repeat the words that a repair has replaced."""

from collections.abc import Mapping
from typing import Any

from groundwire.explain.repair import edited
from groundwire.pipeline import Checked
from groundwire.pipeline.conversation.known_fields import may_hold_text
from groundwire.text.vocabulary import words

#: Fields of a body that may hold the text of an answer, or a part of this text.
_TEXTS = frozenset(("content", "text", "output_text"))
#: Fields that spell out a text, such as its tokens, or hold offsets in it.
_ABOUT_TEXT = frozenset(("logprobs", "token_id", "token_ids", "annotations"))
#: Fields of bodies and chunks that may hold the text of an answer, or lead to this text.
_STRUCTURE = _TEXTS.union(("choices", "message", "delta"))
#: Fields that hold no words of an answer, unless they are objects or lists with text.
_PLAIN = words(
    "id object created created_at model system_fingerprint service_tier usage obfuscation index"
    " role type status finish_reason native_finish_reason stop_reason stop_sequence matched_stop"
    " content_filter_result content_filter_results prompt_filter_results encrypted_content"
    " content_filter_offsets provider request_id x_groq timings time_info prompt_logprobs"
    " prompt_token_ids phase p seed"
)


def repaired_text(checked: Checked) -> str:
    """Return the text of an answer with its edits."""
    return edited(checked.answer.text, checked.edits)


def repaired_data(data: Any, checked: Checked) -> Any:  # noqa: ANN401 - JSON data
    """Return JSON data in which the repaired text of an answer replaces copies of its text.

    Only a field of ``_TEXTS`` that holds the whole text is changed. Fields that spell out a
    replaced text, such as log probabilities, become empty.
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
    """Return an object in which fields that spell out a text, or hold its offsets, are empty."""
    present = _ABOUT_TEXT & value.keys()
    return value | {key: [] if isinstance(value[key], list) else None for key in present}


def holds_more(data: Mapping[str, Any], text: str, *, position: int = 0) -> bool:
    """Return whether a body or chunk may hold anything about an answer besides its text.

    An answer's reasoning, calls or citations may repeat words that a repair has replaced.

    Args:
        data: The body or chunk. In a Responses body, only ``output`` is examined, because many of
            the other fields repeat the request.
        text: The answer, as it is in the body; empty for a chunk without text.
        position: The position of the answer's choice in ``choices``, from 0.
    """
    if data.get("choices"):
        return _has_more({**data, "choices": data["choices"][position]}, text)
    is_response = isinstance(data.get("output"), list) and not data.get("content")
    return _has_more(data["output"] if is_response else data, text)


def _has_more(value: Any, text: str) -> bool:  # noqa: ANN401 - JSON data
    match value:
        case list():
            return any(_has_more(each, text) for each in value)
        case Mapping():
            return any(_is_more(key, each, text) for key, each in value.items())
        case str():
            return value not in ("", text)
    return bool(value) and not isinstance(value, bool)


def _is_more(key: str, value: Any, text: str) -> bool:  # noqa: ANN401 - JSON data
    if key in _PLAIN:
        return isinstance(value, (Mapping, list)) and may_hold_text(value)
    # In a field outside of _STRUCTURE, even a copy of the answer's text counts as more.
    return _has_more(value, text if key in _STRUCTURE else "")

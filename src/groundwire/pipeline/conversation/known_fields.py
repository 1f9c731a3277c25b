"""Finds the fields of a response that may hold unchecked text.

The lists below name the known fields. If a checked response has an unknown field that may hold
text, the outcome is at best ``partial``. While an answer is held back, this field is not sent.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

#: Field of a chunk or event that only the gateway may set.
OURS = "groundwire"
#: Fields whose values are the same in all chunks of a response.
HEAD = ("id", "object", "created", "model", "system_fingerprint", "service_tier")
#: Fields that a chunk may have if its ``choices`` are missing or ``null``. They hold no text of an
#: answer.
WITHOUT_ANSWERS = frozenset(
    (*HEAD, "choices", "usage", "error", "prompt_filter_results", "obfuscation", OURS)
)
#: Known fields of a response or chunk; text in other fields is counted as unchecked. Citations are
#: known, but are not checked.
KNOWN = WITHOUT_ANSWERS.union(
    ("citations", "search_results", "provider", "request_id", "metadata", "timings", "time_info"),
    ("x_groq", "extra_content", "kv_transfer_params", "prompt_logprobs", "prompt_token_ids"),
)
#: Known fields of a choice; text in other fields is counted as unchecked.
OF_CHOICE = frozenset(
    ("index", "message", "delta", "text", "finish_reason", "native_finish_reason", "stop_reason")
).union(
    ("matched_stop", "logprobs", "token_ids", "content_filter_results", "content_filter_result")
)
#: Known fields of a message or delta; text in other fields is counted as unchecked. Reasoning and
#: citations are known, but are not checked.
OF_MESSAGE = frozenset(
    ("role", "content", "refusal", "tool_calls", "function_call", "audio", "name", "annotations")
).union(
    ("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks", "citations"),
    ("context", "extra_content", "provider_specific_fields"),
)
_OF_PART = ("type", "text", "refusal", "annotations", "citations", "logprobs")
#: Types of parts that are read. A part of another type counts as one unread part.
_READ_PARTS = ("text", "output_text", "refusal")
#: Known fields of log probabilities: tokens, and their probabilities and offsets.
_LOGPROBS = frozenset(
    ("content", "refusal", "tokens", "token_logprobs", "top_logprobs", "text_offset")
)
#: Matches a name, which here means a string of at most 128 ASCII letters, digits and a few marks,
#: such as an id, a version, a single word, or a short text in base64.
_NAME = re.compile(r"[A-Za-z0-9_.:/@+=~-]{0,128}")

#: Fields of an error body whose strings describe the error, and are not answers.
_ERROR = frozenset(
    ("error", "errors", "detail", "message", "code", "param", "type", "object", "request_id")
)
#: Response headers that are sent whatever they hold, since clients need them to read or cache a
#: response.
_HEADERS = ("content-type", "content-language", "cache-control", "vary")
#: Fields that hold the text of an answer in at least one API.
_ANSWERS = ("choices", "output", "content", "completion", "text", "delta", "output_text")


def may_hold_text(value: object) -> bool:
    """Return whether a JSON value may hold text.

    A string counts as text, unless it is a name (see ``_NAME``), such as an id. But two or more
    strings in a list count as text, since they may be the words of a sentence. Keys and nested
    values are examined too.

    >>> may_hold_text("resp_1a2b"), may_hold_text("It was built"), may_hold_text(["It", "was"])
    (False, True, True)
    """
    if isinstance(value, str):
        return not _NAME.fullmatch(value)
    if value is None or isinstance(value, (int, float)):  # tested early to save time
        return False
    match value:
        case Mapping():
            return any(map(may_hold_text, (*value, *value.values())))
        case list():
            names = sum(isinstance(each, str) for each in value)
            return names > 1 or any(map(may_hold_text, value))
    return False


def has_strings(value: object) -> bool:
    """Return whether a JSON value has a string that is not empty, or a key that may hold text."""
    match value:
        case Mapping():
            return any(map(may_hold_text, value)) or any(map(has_strings, value.values()))
        case list():
            return any(map(has_strings, value))
    return isinstance(value, str) and value != ""


def count_unread(data: object, known: Collection[str]) -> int:
    """Count the fields of an object that are not in ``known`` and may hold text.

    A field whose key is not a name, such as a key with spaces, is counted too.
    """
    if not isinstance(data, Mapping) or not (unknown := data.keys() - known):
        return 0
    return sum(may_hold_text({key: data[key]}) for key in unknown)


def unread_in(message: Mapping[str, Any]) -> int:
    """Count the unknown fields that may hold text in a message or delta.

    Unknown fields in the parts of ``_READ_PARTS`` are counted too.
    """
    content, n_unread = message.get("content"), count_unread(message, OF_MESSAGE)
    if not isinstance(content, list):
        return n_unread
    read = (p for p in content if isinstance(p, Mapping) and p.get("type") in _READ_PARTS)
    return n_unread + sum(count_unread(part, _OF_PART) for part in read)


def without_text(data: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the fields of a JSON object that may be sent while the answer is held back.

    Args:
        data: The object.
        names: Keys of the fields that may be sent unless their value may hold text (see
            :func:`may_hold_text`). Any other field may be sent only if it has no strings (see
            :func:`has_strings`) and its key cannot hold text, because even a single word could be a
            part of the answer.
    """
    return {
        key: value
        for key, value in data.items()
        if not (may_hold_text(value) if key in names else may_hold_text(key) or has_strings(value))
    }


def headers_without_text(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers of a stream that may be sent before an answer has passed its check."""
    return [
        (name, value)
        for name, value in headers
        if name in _HEADERS or name.startswith("access-control-") or not may_hold_text(value)
    ]


def is_error_body(data: object, known: Collection[str] = ()) -> bool:
    """Return whether JSON data has an error of an upstream, and no answer beside the error.

    Args:
        data: The body of a response, or the data of an event.
        known: Fields that may have any value beside the error.
    """
    if not isinstance(data, Mapping):
        return False
    says_so = data.get("error") or data.get("errors") or data.get("detail")
    if not says_so and "error" not in (data.get("object"), data.get("type")):
        return False
    if any(data.get(name) for name in _ANSWERS if name not in known):
        return False
    # Other text beside the error could be an answer, which would not be checked.
    return not any(_is_foreign(key, value) for key, value in data.items() if key not in known)


def _is_foreign(key: str, value: object) -> bool:
    """Return whether a field beside an error may hold text other than an error message."""
    if key in ("error", "errors", "detail"):
        return False
    if isinstance(value, (Mapping, list)):
        return has_strings(value)
    return key not in _ERROR and may_hold_text({key: value})


def are_of(logprobs: object, text: str) -> bool:
    """Return whether the tokens of log probabilities make up exactly this text.

    The result is true if there are no log probabilities. It is false if ``logprobs`` has an unknown
    field, or tokens of a refusal.
    """
    if not logprobs:
        return True
    if isinstance(logprobs, Mapping):
        if not _LOGPROBS.issuperset(logprobs) or logprobs.get("refusal"):
            return False
        logprobs = logprobs.get("content") or logprobs.get("tokens") or []
    if not isinstance(logprobs, list):
        return False
    tokens = [each.get("token") if isinstance(each, Mapping) else each for each in logprobs]
    return "".join(map(str, tokens)) == text

"""Finds the fields of a response that may hold unchecked text.

One rule for all dialects. Each dialect lists the fields that it knows. A field that nobody knows
and that may hold text makes the outcome at best ``partial``; while an answer is held back, it does
not leave before the answer has passed.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

#: Fields of log probabilities: the tokens and their numbers.
_LOGPROBS = frozenset(
    ("content", "refusal", "tokens", "token_logprobs", "top_logprobs", "text_offset")
)
#: Strings that are no prose: ids, names, versions, enumerations, short base64.
_NAME = re.compile(r"[A-Za-z0-9_.:/@+=~-]{0,128}")

#: What an error has in the APIs that relay it; its messages are meant for people.
_ERROR = frozenset(
    ("error", "errors", "detail", "message", "code", "param", "type", "object", "request_id")
)
#: Headers that may hold more than a name: how a response is read and kept.
_HEADERS = ("content-type", "content-language", "cache-control", "vary")
#: Fields that have the text of an answer in some dialect.
_ANSWERS = ("choices", "output", "content", "completion", "text", "delta", "output_text")


def may_hold_text(value: object) -> bool:
    """Whether a value of JSON may hold text: a string that is no name, or several in a row.

    >>> may_hold_text("resp_1a2b"), may_hold_text("It was built"), may_hold_text(["It", "was"])
    (False, True, True)
    """
    match value:
        case str():
            return not _NAME.fullmatch(value)
        case Mapping():
            return any(map(may_hold_text, (*value, *value.values())))
        case list():
            names = sum(isinstance(each, str) for each in value)
            return names > 1 or any(map(may_hold_text, value))
    return False


def has_strings(value: object) -> bool:
    """Whether a value of JSON has any string in it, but for empty ones."""
    match value:
        case Mapping():
            return any(map(may_hold_text, value)) or any(map(has_strings, value.values()))
        case list():
            return any(map(has_strings, value))
    return isinstance(value, str) and value != ""


def count_unread(data: object, known: Collection[str]) -> int:
    """Count the unknown fields of an object that may hold text.

    The name of a field is text as well if it is no name.
    """
    if not isinstance(data, Mapping):
        return 0
    return sum(may_hold_text({key: value}) for key, value in data.items() if key not in known)


def without_text(data: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The fields of an object that may leave while its answer is held back.

    Args:
        data: The object.
        names: Fields that may leave with names in them. Of all others only numbers and the like
            may, for a name can be a word of the answer.
    """
    return {
        key: value
        for key, value in data.items()
        if not may_hold_text(key)
        and not (may_hold_text(value) if key in names else has_strings(value))
    }


def headers_without_text(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers of a stream that may leave before its answer has passed."""
    return [
        (name, value)
        for name, value in headers
        if name in _HEADERS or name.startswith("access-control-") or not may_hold_text(value)
    ]


def is_error_body(data: object, known: Collection[str] = ()) -> bool:
    """Whether JSON data are an error of an upstream and nothing else.

    Args:
        data: The body of a response, or the data of an event.
        known: Fields that may stand beside the error, whatever they hold.
    """
    if not isinstance(data, Mapping):
        return False
    if any(data.get(name) for name in _ANSWERS if name not in known):
        return False
    says_so = any(data.get(name) for name in ("error", "errors", "detail"))
    if not says_so and "error" not in (data.get("object"), data.get("type")):
        return False
    # Text beside the error would not be checked.
    return not any(_is_foreign(key, value) for key, value in data.items() if key not in known)


def _is_foreign(key: str, value: object) -> bool:
    """Whether a field may hold more than an error does."""
    if key in ("error", "errors", "detail"):
        return False
    if isinstance(value, (Mapping, list)):
        return has_strings(value)
    return key not in _ERROR and may_hold_text({key: value})


def are_of(logprobs: object, text: str) -> bool:
    """Whether log probabilities are those of a text, and say nothing of words to come."""
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

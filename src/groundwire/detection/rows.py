"""Makes examples from rows, which are JSON objects or rows of a table.

A row has sources, an answer, and perhaps a question and an id.
"""

import json
import math
from ast import literal_eval
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, NoReturn, TypeAlias

from groundwire.detection.example import Example, text_of
from groundwire.errors import InputError
from groundwire.text.spelling import did_you_mean

#: Field of an example → the keys that the field may have in a row, best first. Some are the keys of
#: Ragas and DeepEval.
ROW_KEYS: Mapping[str, tuple[str, ...]] = {
    "sources": (
        *("sources", "context", "source", "contexts", "passages", "documents"),
        *("retrieved_contexts", "retrieval_context"),
    ),
    "question": ("question", "query", "user_input"),
    "answer": ("answer", "response", "output", "actual_output"),
}
_SHOWN_KEYS, _SHOWN_CHARS = 10, 40

#: Type of the id of a row; ``None`` for a row without an id.
RowId: TypeAlias = str | int | float | None


class RowError(InputError):
    """A row cannot be read."""


class MissingColumnError(RowError):
    """A row lacks a required column, such as the column of the answer."""


class ConstantError(ValueError):
    """A number is NaN or an infinity, which are not valid JSON."""


def parse_row(text: str) -> Mapping[str, Any]:
    """Parse the JSON text of a row.

    Raises:
        RowError: If the text is not a JSON object, is nested too deeply, or has a number of too
            many digits.
    """
    try:
        data = json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise RowError(f"The row is not JSON: {error.msg} at character {error.pos:,}.") from error
    except RecursionError as error:
        raise RowError("The row is not JSON that can be read: it is nested too deeply.") from error
    except ConstantError as error:
        raise RowError(f"The row is not JSON: {error}. Write null in its place.") from error
    except ValueError as error:  # Python's message would advise raising the limit on digits
        raise RowError("The row is not JSON that can be read: a number is too long.") from error
    return as_row(data)


def as_row(data: object) -> Mapping[str, Any]:
    """Return JSON data as a row, if it is an object.

    Raises:
        RowError: If the data is not an object.
    """
    if not isinstance(data, dict):
        raise RowError(f"The row is a JSON {json_kind(data)}. It must be an object with an answer.")
    return data


def row_id(data: Mapping[str, Any], key: str = "id") -> RowId:
    """Read the id of a row under the key that :func:`find_key` finds; ``None`` without an id.

    Raises:
        RowError: If the id is neither a text, nor a finite number, nor ``null``.
    """
    match data.get(find_key(data, (key,)) or key):
        case (None | str()) as name:
            return name
        case int() as number if not isinstance(number, bool):
            return number
        case float() as number if math.isfinite(number):
            return number
        case other:
            raise RowError(f"The id is a JSON {json_kind(other)}. It must be a text or a number.")


def row_example(data: Mapping[str, Any]) -> Example:
    """Make an example from the sources, the answer and the question of a row.

    Raises:
        RowError: If the answer or the sources are missing.
        InputError: If :meth:`groundwire.Example.of` raises it.
    """
    keys = {field: key_of(data, field) for field in ROW_KEYS}
    if keys["sources"] is None:
        step = 'To check without any source, say "sources": [].'
        raise RowError(f"The row cannot be read: {lacking(data, 'sources', what='key')} {step}")
    if keys["answer"] is None:
        raise RowError(f"The row cannot be read: {lacking(data, 'answer', what='key')}")
    return Example.of(**{field: data[key] for field, key in keys.items() if key is not None})


def listed(value: object) -> Any:  # noqa: ANN401 - a list of JSON data, or the value
    """Parse a text that is a list of documents or texts; return any other value unchanged.

    The list may be JSON, or in Python's notation, which pandas writes into a CSV. A list is data if
    it has items but no document or text among them, or an item that is neither a text nor an
    object. The text of such a list is returned unchanged.

    >>> listed('[{"text": "Paris is big.", "metadata": {"page": 3}}]')
    [{'text': 'Paris is big.', 'metadata': {'page': 3}}]
    >>> listed('[{"name": "Paris", "rank": 1}]')
    '[{"name": "Paris", "rank": 1}]'
    """
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    for parse in (json.loads, literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            parsed = parse(value.strip())
            return parsed if _are_sources(parsed) else value
    return value  # no list, but a text that begins with a bracket, such as "[1] Paris is..."


def _are_sources(values: Collection[object]) -> bool:
    # If one item is a text or a document, objects without a text are taken as documents too.
    is_any = any(isinstance(each, str) or text_of(each) is not None for each in values)
    return not values or (is_any and all(isinstance(each, str | Mapping) for each in values))


def key_of(data: Mapping[str, Any], field: str) -> str | None:
    """Return the key under which a row has a field of an example; ``None`` if it lacks the field.

    ``field`` is ``sources``, ``question`` or ``answer``.
    """
    return find_key(data, ROW_KEYS[field])


def find_key(data: Collection[str], wanted: Collection[str]) -> str | None:
    """Return the first of the wanted keys that a row has, as the row spells it; ``None`` if none.

    If no key of the row is equal to a wanted key, the keys of the row are compared in lower case,
    without outer white space, and with ``_`` in place of each space.
    """
    exact = next((key for key in wanted if key in data), None)
    if exact is not None:
        return exact
    named = {str(key).strip().lower().replace(" ", "_"): key for key in data}
    return next((named[key] for key in wanted if key in named), None)


def lacking(data: Mapping[str, Any], field: str, *, what: str, wanted: Collection[str] = ()) -> str:
    """Return the error message for a row without a field; it lists keys that the row has.

    Args:
        data: The row.
        field: The field of the example that the row lacks.
        what: ``key`` or ``column``: the word for a key in the message.
        wanted: The keys of which the row should have one; by default all keys of the field.
    """
    looked_for = wanted or ROW_KEYS[field]
    names = [str(key)[:_SHOWN_CHARS] for key in data]
    shown = ", ".join(map(repr, names[:_SHOWN_KEYS])) or "none"
    more = f" and {len(names) - _SHOWN_KEYS} more" if len(names) > _SHOWN_KEYS else ""
    hints = (did_you_mean(each, names) for each in looked_for)
    return (
        f"there is no {what} {' or '.join(map(repr, looked_for))} for the {field}. "
        f"{what.capitalize()}s here: {shown}{more}.{next(filter(None, hints), '')}"
    )


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and infinities; to be passed to :func:`json.loads` as ``parse_constant``.

    Raises:
        ConstantError: Always.
    """
    raise ConstantError(f"{name} is not valid JSON")


def json_kind(value: object) -> str:
    """Return the name of a value's type in JSON, such as ``array``."""
    names = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string"}
    return "array" if isinstance(value, list) else names.get(type(value), "object")

"""Reads the rows of a batch, which are JSON objects, as examples.

A row has sources (a list; or ``source`` or ``context``), an answer, and perhaps a question and an
id. Other keys are ignored.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn, TypeAlias

from groundwire.detection.example import Example
from groundwire.errors import InputError

_SOURCE_KEYS = ("sources", "context", "source")

#: Types of the id of a row.
RowId: TypeAlias = str | int | float | None


class RowError(InputError):
    """A row of a batch cannot be read."""


class ConstantError(ValueError):
    """A number is NaN or an infinity, which are not valid JSON."""


def parse_row(text: str) -> Mapping[str, Any]:
    """Read the text of a row.

    Raises:
        RowError: If it is no JSON object.
    """
    try:
        return as_row(json.loads(text, parse_constant=refuse_constant))
    except json.JSONDecodeError as error:
        raise RowError(f"The row is not JSON: {error.msg} at character {error.pos:,}.") from error
    except RowError:
        raise
    except RecursionError as error:
        raise RowError("The row is not JSON that can be read: it is nested too deeply.") from error
    except ConstantError as error:
        raise RowError(f"The row is not JSON: {error}. Write null in its place.") from error
    except ValueError as error:  # Python's words advise to lift a limit
        raise RowError("The row is not JSON that can be read: a number is too long.") from error


def as_row(data: object) -> Mapping[str, Any]:
    """Return data as a row.

    Raises:
        RowError: If it is no object.
    """
    if not isinstance(data, dict):
        raise RowError(f"The row is a JSON {json_kind(data)}. It must be an object with an answer.")
    return data


def row_id(data: Mapping[str, Any]) -> RowId:
    """Read the id of a row; ``None`` if it has none.

    Raises:
        RowError: If that is neither a text nor a number.
    """
    match data.get("id"):
        case (None | str()) as name:
            return name
        case (int() | float()) as number if not isinstance(number, bool) and math.isfinite(number):
            return number
        case other:
            raise RowError(f"The id is a JSON {json_kind(other)}. It must be a text or a number.")


def row_example(data: Mapping[str, Any]) -> Example:
    """Read the example of a row.

    Raises:
        RowError: If the answer or the sources are missing, or the sources are no list.
        InputError: As :meth:`groundwire.Example.of`.
    """
    sources = _sources(data)  # first, so that missing sources are told before a missing answer
    return Example.of(sources=sources, question=data.get("question"), answer=_answer(data))


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and infinities, as ``parse_constant`` of :func:`json.loads`.

    Raises:
        ConstantError: Always.
    """
    raise ConstantError(f"{name} is no JSON value")


def _answer(data: Mapping[str, Any]) -> Any:  # noqa: ANN401  # Example.of checks its type
    if "answer" not in data:
        raise RowError(f"The row has no key 'answer'. Its keys: {_keys(data)}.")
    return data["answer"]


def _sources(data: Mapping[str, Any]) -> list[Any]:
    given = [key for key in _SOURCE_KEYS if key in data]
    if not given:
        raise RowError(
            f"The row has none of the keys {', '.join(_SOURCE_KEYS)}. Its keys: {_keys(data)}. "
            'To check without any source, say "sources": [].'
        )
    if len(given) > 1 and given[0] != "sources":
        raise RowError("The row has both 'context' and 'source'. Name the sources 'sources'.")
    value = data[given[0]]
    if isinstance(value, list) and given[0] != "source":
        return value
    if given[0] == "sources":
        raise RowError(f"'sources' is a JSON {json_kind(value)}. It must be an array.")
    return [value]


def _keys(data: Mapping[str, Any]) -> str:
    names = [repr(key[:40]) for key in data]
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return (", ".join(names[:10]) or "none") + more


def json_kind(value: object) -> str:
    """The name that JSON has for the type of a value that it can hold."""
    names = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string"}
    return "array" if isinstance(value, list) else names.get(type(value), "object")

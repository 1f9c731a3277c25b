r"""Requests that the protocol's parser cannot read are answered, by their id, and not dropped.

JSON may hold what is no Unicode (a lone surrogate, ``"\ud800"``) or be nested deeper than a parser
goes. A client that never hears of such a request waits for it.
"""

import json
import re
from collections.abc import AsyncIterator
from typing import Any, Protocol

import anyio
from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic_core import from_json

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\]]')
_VALUE = re.compile(r'\s*:\s*(-?[0-9]{1,18}(?![0-9.eE])|"(?:[^"\\]|\\.){0,1000}")')
_NAME = re.compile(r"\s*:")


class LineSource(Protocol):
    """Where lines come from."""

    def __aiter__(self) -> AsyncIterator[str]:
        """One after the other."""


class Written(Protocol):
    """Where lines go."""

    async def write(self, text: str, /) -> int:
        """Write a text."""

    async def flush(self) -> None:
        """Send what was written."""


class Outgoing:
    """A stream that two may write to, a line at a time."""

    def __init__(self, stream: Written) -> None:
        self._stream, self._lock = stream, anyio.Lock()

    async def write(self, text: str) -> int:
        """Write a whole line."""
        async with self._lock:
            return await self._stream.write(text)

    async def flush(self) -> None:
        """Send what was written."""
        async with self._lock:
            await self._stream.flush()


class ReadableLines:
    """Lines of a client, without requests that cannot be read: these are answered at once."""

    def __init__(self, lines: LineSource, answers: Written) -> None:
        self._lines, self._answers = lines, answers

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            refusal = refusal_of(line)
            if refusal is None:
                yield line
                continue
            await self._answers.write(json.dumps(refusal) + "\n")
            await self._answers.flush()


def refusal_of(line: str) -> dict[str, Any] | None:
    r"""The answer to a request that cannot be read.

    ``None`` if it can, or if it is none: without an id and a method nobody waits for an answer.

    >>> refusal_of(r'{"id": 7, "method": "ping", "params": {"a": "\ud800"}}')["error"]["code"]
    -32700
    """
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        id_ = _id_of(line)
    else:
        return None
    if id_ is None:
        return None
    is_json = _is_json(line)
    message = (
        "The request is JSON, and no request of the protocol: it needs jsonrpc, id, method and, if "
        "any, params as an object."
        if is_json
        else "The request cannot be read. Send JSON without lone surrogates (\\ud800 to \\udfff "
        "alone), and with fewer lists and objects in one another."
    )
    error = {"code": INVALID_REQUEST if is_json else PARSE_ERROR, "message": message}
    return {"jsonrpc": "2.0", "id": id_, "error": error}


def _id_of(line: str) -> int | str | None:
    """The id of a request, whatever else is wrong with it."""
    depth, id_, has_method = 0, None, False
    for token in _TOKEN.finditer(line):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
        elif depth == 1 and token[0] == '"method"':
            has_method = has_method or _NAME.match(line, token.end()) is not None
        elif depth == 1 and token[0] == '"id"' and (value := _VALUE.match(line, token.end())):
            id_ = _read(value[1])
    return id_ if has_method else None


def _read(written: str) -> int | str | None:
    try:
        found: int | str = json.loads(written)
        str(found).encode()
    except ValueError:
        return None
    return found


def _is_json(line: str) -> bool:
    """Whether a text is JSON as far as the protocol's parser goes."""
    try:
        from_json(line)
    except ValueError:
        return False
    return True

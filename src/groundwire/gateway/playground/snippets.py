"""Writes a check as code for users to copy: Python, a shell command, or a test."""

import json
import shlex
from collections.abc import Callable, Mapping
from functools import partial

from groundwire.detection.example import Example, Source
from groundwire.render.html import read_part

Point = str | float


def _code(example: Example, point: Point, *, template: str, indent: int) -> str:
    space = " " * indent
    values = {**_values(example), "operating_point": point}
    lines = (f"{space}{name}={_literal(value, space)}," for name, value in values.items())
    return read_part(template).format(arguments="\n".join(lines))


def _curl(example: Example, point: Point) -> str:
    values = {"operating_point": point, **_values(example)}
    body = json.dumps(values, ensure_ascii=False, indent=2)
    return read_part("snippet_curl.txt").format(body=shlex.quote(body))


def _literal(value: object, space: str) -> str:
    if not isinstance(value, list):
        return repr(value)
    lines = "".join(f"{space}    {each!r},\n" for each in value)
    return f"[\n{lines}{space}]" if lines else "[]"


def _values(example: Example) -> dict[str, object]:
    sources = [_source(each, f"S{number}") for number, each in enumerate(example.sources)]
    asked = {"question": example.question} if example.question else {}
    return {"sources": sources, **asked, "answer": example.answer}


def _source(source: Source, own_id: str) -> str | dict[str, str]:
    """Return a source as its text alone, unless it has a title, or an id that is not ``own_id``."""
    if source.id == own_id and source.title is None:
        return source.text
    title = {"title": source.title} if source.title else {}
    return {"id": source.id, **title, "text": source.text}


#: Name of a kind of code → the function that writes it.
WRITERS: Mapping[str, Callable[[Example, Point], str]] = {
    "python": partial(_code, template="snippet_python.txt", indent=4),
    "curl": _curl,
    "test": partial(_code, template="snippet_test.txt", indent=8),
}

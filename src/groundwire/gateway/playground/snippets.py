"""Writes a check as code for users to copy: Python, a shell command, or a test."""

import json
import shlex
from collections.abc import Callable, Mapping
from functools import partial

from groundwire.detection.example import Example
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
    own_id = (f"S{number}" for number in range(len(example.sources)))
    sources = [
        each.text
        if each.id == id_ and each.title is None
        else _named(each.id, each.title, each.text)
        for each, id_ in zip(example.sources, own_id, strict=True)
    ]
    asked = {"question": example.question} if example.question else {}
    return {"sources": sources, **asked, "answer": example.answer}


def _named(id_: str, title: str | None, text: str) -> dict[str, str]:
    return {"id": id_, **({"title": title} if title else {}), "text": text}


#: Name of a kind of code → the function that writes it.
WRITERS: Mapping[str, Callable[[Example, Point], str]] = {
    "python": partial(_code, template="snippet_python.txt", indent=4),
    "curl": _curl,
    "test": partial(_code, template="snippet_test.txt", indent=8),
}

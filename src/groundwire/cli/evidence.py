"""Reads the input of ``groundwire verify``: spans of evidence with their ids, and steps."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from groundwire.cli.conversation import read_json
from groundwire.cli.inputs import TEXT_FILE, read_text
from groundwire.detection.rows import json_kind
from groundwire.errors import InputError
from groundwire.text.files.reading import STDIN

_NEXT = 'It should hold a list such as [{"sid": "S0", "text": "..."}], or such an object a line.'


@dataclass(frozen=True, slots=True)
class Named:
    """The value of an option such as ``S0=evidence.txt``: a text, or a file."""

    sid: str
    value: str | Path


def read_named_files(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> tuple[Named, ...]:
    """Read options such as ``S0=evidence.txt``; the files have to be there."""
    found = _read_named(ctx, param, values, "S0=evidence.txt")
    return tuple(Named(sid, TEXT_FILE.convert(name, param, ctx)) for sid, name in found)


def read_named_texts(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> tuple[Named, ...]:
    """Read options such as ``S0=text``."""
    return tuple(Named(*pair) for pair in _read_named(ctx, param, values, 'S0="text"'))


def _read_named(
    ctx: click.Context, param: click.Parameter, values: Sequence[str], example: str
) -> list[tuple[str, str]]:
    found = []
    for each in values:
        sid, equals, value = each.partition("=")
        if not sid.strip() or not equals:
            message = f"{each[:80]!r} has no id. Give one, such as {example}."
            raise click.BadParameter(message, ctx, param)
        found.append((sid.strip(), value))
    return found


def read_evidence(listed: Path | None, named: Iterable[Named]) -> list[object]:
    """Read all spans, those of a list first, so that spans without id are numbered by their place.

    Raises:
        InputError: If the file holds no list.
        NotUtf8Error: If a file is not UTF-8.
        OSError: If it cannot be read.
    """
    found = [] if listed is None else read_spans_file(listed)
    return found + [{"sid": each.sid, "text": _text(each.value)} for each in named]


def read_spans_file(path: Path) -> list[object]:
    """Read the spans of a file: a JSON list, or JSON Lines.

    Raises:
        InputError: If it is neither.
    """
    name, text = "standard input" if path == STDIN else str(path), read_text(path)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return list(_lines(text, name))
    if isinstance(data, list):
        return data
    if isinstance(data, dict) and len(text.strip().splitlines()) == 1:
        return [data]
    raise InputError(f"{name} holds no spans: it is a JSON {json_kind(data)}. {_NEXT}")


def read_trace(path: Path) -> object:
    """Read the steps of a file, or the object that has them.

    Raises:
        InputError: If it is no JSON.
    """
    return read_json(path, wanted='[{"idx": 0, "claim": "...", "cites": ["S0"]}]')


def _text(value: str | Path) -> str:
    return value if isinstance(value, str) else read_text(value)


def _lines(text: str, name: str) -> Iterator[object]:
    # Not splitlines(): a line of JSON Lines ends with "\n" alone.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            problem = f"line {number:,} is no JSON"
            raise InputError(f"{name} holds no spans: {problem}. {_NEXT}") from error

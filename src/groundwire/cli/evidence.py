"""Reads the input of ``groundwire verify``: spans of evidence with ids, and steps of a trace."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import click

from groundwire.cli.conversation import read_json
from groundwire.cli.inputs import TEXT_FILE, name_of, read_text
from groundwire.detection.rows import json_kind
from groundwire.errors import InputError

_WANTED = '[{"sid": "S0", "text": "..."}]'


#: Id of a span of evidence, and its text or the file with the text.
Named: TypeAlias = tuple[str, str | Path]


def read_named_files(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> tuple[Named, ...]:
    """Read the values of an option such as ``--span S0=evidence.txt``; the files must exist."""
    found = _read_named(ctx, param, values, "S0=evidence.txt")
    return tuple((sid, TEXT_FILE.convert(name, param, ctx)) for sid, name in found)


def read_named_texts(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> tuple[Named, ...]:
    """Read the values of an option such as ``--span-text S0=text``."""
    return tuple(_read_named(ctx, param, values, 'S0="text"'))


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
    """Read all spans, first those of the list; its spans without an id are named by their place.

    Args:
        listed: A file with a list of spans.
        named: Spans that have options of their own.

    Raises:
        InputError: If the file ``listed`` has no list.
        NotUtf8Error: If a file is not UTF-8.
        OSError: If a file cannot be read.
    """
    found = [] if listed is None else read_spans_file(listed)
    return found + [
        {"sid": sid, "text": value if isinstance(value, str) else read_text(value)}
        for sid, value in named
    ]


def read_spans_file(path: Path) -> list[object]:
    """Read the spans of a file, which must be a JSON list.

    Raises:
        InputError: If the file has no JSON list.
    """
    data = read_json(path, wanted=_WANTED)
    if isinstance(data, list):
        return data
    raise InputError(
        f"{name_of(path)} holds no spans: it is a JSON {json_kind(data)}. It should hold a list "
        f"such as {_WANTED}."
    )


def read_trace(path: Path) -> object:
    """Read the steps of a trace from a JSON file: a list, or an object that has it.

    Raises:
        InputError: If the file is no JSON.
    """
    return read_json(path, wanted='[{"idx": 0, "claim": "...", "cites": ["S0"]}]')

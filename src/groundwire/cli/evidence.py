"""Reads the evidence of ``groundwire verify``: texts with ids, which are called spans."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import click

from groundwire.cli.conversation import read_json
from groundwire.cli.inputs import FilePath, name_of, read_text
from groundwire.detection.rows import json_kind
from groundwire.errors import InputError

_WANTED = '[{"sid": "S0", "text": "..."}]'
#: Id of a text of evidence, and the text itself or the file with the text.
Named: TypeAlias = tuple[str, str | Path]


class NamedType(click.ParamType):  # type: ignore[type-arg] # not generic in older versions of click
    """Click type of evidence with an id, such as ``S0=evidence.txt`` or ``S0=text``.

    Args:
        of: Click type of the part after the id; ``None`` for a text.
    """

    name = "text"

    def __init__(self, of: FilePath | None = None) -> None:
        self._of = of

    def convert(  # noqa: D102  # overrides a method of click
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> Named:
        sid, equals, rest = value.partition("=")
        if not sid.strip() or not equals:
            example = 'S0="text"' if self._of is None else "S0=evidence.txt"
            self.fail(f"{value[:80]!r} has no id. Give one, such as {example}.", param, ctx)
        return sid.strip(), rest if self._of is None else self._of.convert(rest, param, ctx)


def read_evidence(listed: Path | None, named: Iterable[Named]) -> list[object]:
    """Read all texts of evidence: those in the file ``listed``, if given, then those in ``named``.

    Raises:
        InputError: If the file ``listed`` does not hold a JSON list, or a file is not UTF-8 text.
        OSError: If a file cannot be opened.
    """
    found: list[object] = []
    if listed is not None:
        data = read_json(listed, wanted=_WANTED)
        if not isinstance(data, list):
            raise InputError(
                f"{name_of(listed)} holds no spans: it is a JSON {json_kind(data)}. It should hold "
                f"a list such as {_WANTED}."
            )
        found = data
    return found + [
        {"sid": sid, "text": value if isinstance(value, str) else read_text(value)}
        for sid, value in named
    ]

"""What commands write: colour where it is wanted, JSON that is safe everywhere."""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, Literal, TextIO

import click

ColorChoice = Literal["auto", "always", "never"]

#: The option of every command that colours.
color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour the text. auto: on a terminal; NO_COLOR and FORCE_COLOR are heeded.",
)


def wants_color(
    choice: ColorChoice, *, stream: TextIO | None = None, environ: Mapping[str, str] = os.environ
) -> bool:
    """Whether to colour output: the option, else ``NO_COLOR``, ``FORCE_COLOR``, the terminal.

    See https://no-color.org and https://force-color.org: set and not empty counts.
    """
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    stream = sys.stdout if stream is None else stream
    return stream.isatty() and environ.get("TERM") != "dumb"


def to_json(data: object, *, indent: int | None = None) -> str:
    """JSON in ASCII: on a terminal it can hide nothing, and as JSON Lines every reader agrees
    where a line ends (some take U+2028 or U+0085 for an end).
    """  # noqa: D205
    return json.dumps(data, ensure_ascii=True, indent=indent, default=_plain)


def _plain(value: Any) -> object:  # noqa: ANN401  # whatever json cannot write
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON data")

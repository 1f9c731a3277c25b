"""What commands write: colour where it is wanted, JSON that is safe everywhere."""

import os
import sys
from collections.abc import Mapping
from typing import Literal, TextIO

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

"""Prints results as text or as JSON in ASCII, prints messages, writes files and opens a browser."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import click

from groundwire.cli.options import option
from groundwire.text.files.writing import replacing, to_json
from groundwire.text.screen import visible

ColorChoice = Literal["auto", "always", "never"]

#: The option ``--color``, for every command whose text can be coloured.
COLOR = option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour the text. auto: on a terminal; NO_COLOR and FORCE_COLOR are heeded.",
)


def show(data: object, text: Callable[[], str], *, as_json: bool) -> None:
    """Print a result: its data as JSON, or the text that the function ``text`` returns."""
    click.echo(to_json(data, indent=2) if as_json else text(), color=False)


def show_colored(
    result: Any,  # noqa: ANN401 - any type that has to_dict
    to_terminal: Callable[..., str],
    *,
    as_json: bool,
    color: ColorChoice,
) -> None:
    """Print a result as JSON, or as text that may be coloured.

    ``to_terminal`` makes the text; its argument ``color`` says whether to colour it.
    """
    colored = wants_color(color)
    text = to_json(result.to_dict(), indent=2) if as_json else to_terminal(result, color=colored)
    click.echo(text, color=colored)


def wants_color(choice: ColorChoice) -> bool:
    """Decide whether to colour output: by option, ``NO_COLOR``, ``FORCE_COLOR`` or terminal.

    A variable has effect if set and not empty (https://no-color.org, https://force-color.org).
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    is_forced = bool(os.environ.get("FORCE_COLOR"))
    return is_forced or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def write_text(path: Path, text: str) -> None:
    """Write a text to a file; if that fails, an old file of this name stays as it was."""
    with replacing(path) as stream:
        stream.write(text)


def say(*lines: str) -> None:
    """Print lines on standard error; :func:`.visible` makes them safe to print."""
    for line in lines:
        click.echo(visible(line), err=True)


def open_in_browser(address: str) -> None:
    """Open a page in the user's browser, if there is a terminal and a display."""
    has_display = sys.platform in ("darwin", "win32") or bool(
        {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    )
    if has_display and sys.stderr.isatty():
        import webbrowser

        webbrowser.open(address)

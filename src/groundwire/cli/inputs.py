"""Reads the input of commands: texts from options, files and standard input, always UTF-8."""

import math
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from groundwire.detection.example import Source
from groundwire.detection.rows import listed
from groundwire.text.files.reading import STDIN, decode


class FilePath(click.Path):
    """Click type of a file's path. It refuses an empty name, which would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401, D102
        if not os.fspath(value):
            self.fail("it is empty. Name a file, or leave the option out.", param, ctx)
        return super().convert(value, param, ctx)


class FiniteRange(click.FloatRange):
    """Click type of a finite number in a range; click's own type accepts NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401, D102
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return number


class NameType(click.ParamType):  # type: ignore[type-arg] # not generic in older versions of click
    """Click type of a name. It refuses an empty name, which is often an unset shell variable."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: D102
        if value == "":
            self.fail("it is empty. Name one, or leave the option out.", param, ctx)
        return value


NAME = NameType()
#: A text of this many characters or more is not looked up as the name of a file.
_MAX_NAME_CHARS = 256
TEXT_FILE = FilePath(exists=True, dir_okay=False, readable=True, allow_dash=True, path_type=Path)
READ_FILE = FilePath(exists=True, dir_okay=False, readable=True, path_type=Path)
RESULT_FILE = FilePath(dir_okay=False, writable=True, path_type=Path)


def read_text(path: Path) -> str:
    """Read the text of a file, or of standard input for ``-``.

    Raises:
        InputError: If the file is no text in UTF-8, such as a PDF.
        OSError: If the file cannot be opened.
    """
    if path != STDIN:
        return decode(path.read_bytes(), name_of(path))
    stream = sys.stdin.buffer
    if stream.isatty():
        click.echo("Reading standard input; end it with Ctrl-D on a line of its own.", err=True)
    return decode(stream.read(), name_of(path))


def in_url(host: str) -> str:
    """Return a host as a URL has it: an IPv6 address in brackets, any other host unchanged."""
    return f"[{host}]" if ":" in host else host


def name_of(path: Path) -> str:
    """Return the name of a file for a message; that of ``-`` is "standard input"."""
    return "standard input" if path == STDIN else str(path)


def read_text_option(text: str | None, path: Path | None, option: str) -> str | None:
    """Return the text of an option such as ``--answer``, or of the file of ``--answer-file``.

    The result is ``None`` if neither is given.

    Raises:
        UsageError: If both are given, or the text is the name of a file.
        InputError: If the file is no text in UTF-8.
        OSError: If the file cannot be opened.
    """
    if text is not None and path is not None:
        raise click.UsageError(f"{option} and {option}-file exclude each other: give one of them.")
    if text is not None:
        refuse_file_name(text, option)
    return text if path is None else read_text(path)


def refuse_file_name(text: str, option: str) -> None:
    """Raise a UsageError if the text of an option is a file's name, even with ``@`` before it."""
    name = text.removeprefix("@")
    if is_file(name):
        raise click.UsageError(
            f"{option} takes a text, and {name!r} is the name of a file. "
            f"To read the file: {option}-file {shlex.quote(name)}"
        )


def is_file(text: str, folder: Path = Path()) -> bool:
    """Return whether a text is the name of a file, in the current folder or in ``folder``.

    The result is false for a text of 256 or more characters, which is not looked up.
    """
    if len(text) >= _MAX_NAME_CHARS:
        return False
    # Unlike Path.is_file, os.path.isfile raises no error for texts that cannot be names.
    return os.path.isfile(text) or os.path.isfile(folder / text)  # noqa: PTH113


def read_sources(texts: Sequence[str], paths: Sequence[Path]) -> list[Source]:
    """Read the sources that options give.

    The ids of texts are ``S0``, ``S1``...; those of files are made by :func:`unique_names`. A file
    with a list of documents or texts gives a source for each item, with the id of the document, or
    an empty id if the item has none.

    Raises:
        UsageError: If a text is the name of a file.
        InputError: If a file is no text in UTF-8, or a document cannot be read.
        OSError: If a file cannot be opened.
    """
    for text in texts:
        refuse_file_name(text, "--source")
    sources = [Source(id=f"S{number}", text=text) for number, text in enumerate(texts)]
    names = unique_names(paths, taken=[source.id for source in sources])
    for name, path in zip(names, paths, strict=True):
        content = listed(read_text(path))
        if isinstance(content, str):
            sources.append(Source(id=name, text=content))
        else:
            sources += map(Source.of, content)
    return sources


def unique_names(paths: Sequence[Path], *, taken: Sequence[str] = ()) -> list[str]:
    """Return a name for each file: its file name, or ``stdin`` for standard input.

    If one of these names is repeated or is in ``taken``, all files are named by their paths.
    """
    names = ["stdin" if path == STDIN else path.name for path in paths]
    is_unique = len({*taken, *names}) == len(taken) + len(names)
    return names if is_unique else [path.as_posix() for path in paths]


def refuse_shared_stdin(paths: Iterable[Path | None]) -> None:
    """Raise a UsageError if more than one of the paths is ``-``, which means standard input."""
    if sum(path == STDIN for path in paths) > 1:
        raise click.UsageError("Only one option can read standard input (-).")


def refuse_replacing(output: Path | None, inputs: Iterable[Path | None]) -> None:
    """Raise a UsageError if an output would replace one of the inputs."""
    if output is not None and output.resolve() in {path.resolve() for path in inputs if path}:
        raise click.UsageError(
            f"{output} is named twice, and would be replaced: name another file."
        )

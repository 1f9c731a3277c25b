"""Files between the steps: JSON Lines, the first of which says what made the others, from what.

What is there is never read as something else: a file of another step, of other data or of other
settings is refused, or made anew where its owner says so.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Self

from groundwire import __version__
from groundwire.files.reading import DAMAGE, open_lines
from groundwire.files.writing import (
    Writer,
    WrittenError,
    drop_cut_line,
    other_data,
    replacing,
    to_json,
)

#: Counts up when a line means something else than before.
SCHEMA = 1


class StageError(WrittenError):
    """A file between two steps cannot be read, or not be continued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The first line: which step wrote the file, and from what.

    Attributes:
        step: ``load``, ``generate`` or ``classify``.
        data: SHA-256 of each file that it was made from, by its name.
        settings: What else its rows depend on, as JSON data.
        command: What was called, to be called again.
        version: Of Groundwire.
    """

    step: str
    data: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "schema": SCHEMA,
            "groundwire": self.version,
            "step": self.step,
            "data": dict(self.data),
            "settings": dict(self.settings),
            "command": self.command,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read it back.

        Raises:
            KeyError: If it is none; so do TypeError and ValueError.
        """
        if data["schema"] != SCHEMA:
            raise ValueError(f"it has schema {data['schema']!r}, and {SCHEMA} is read")
        return cls(
            step=str(data["step"]),
            data=dict(data["data"]),
            settings=dict(data["settings"]),
            command=str(data["command"]),
            version=str(data["groundwire"]),
        )

    def difference(self, other: "Stage") -> str:
        """What of another one differs, so that its rows are others; empty if nothing does."""
        if self.step != other.step:
            return f"it is of the step {self.step}, not {other.step}"
        if problem := other_data(self.data, other.data):
            return problem
        # Through JSON, as the file has been: a tuple is a list there.
        before, now = (json.loads(to_json(each.settings)) for each in (self, other))
        names = sorted(
            name for name in {*before, *now} if before.get(name, None) != now.get(name, None)
        )
        if not names:
            return ""
        is_one = len(names) == 1 and not names[0].endswith("s")
        return f"it was made with {'another' if is_one else 'other'} {', '.join(names)}"


def hash_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def fingerprint_of(value: object) -> str:
    """What tells JSON data from other such data: 16 hexadecimal digits."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def read_stage(path: Path, step: str) -> Stage:
    """The first line of a file.

    Raises:
        StageError: If it is no file of this step.
    """
    with open_lines(path) as lines:
        stage = _stage(path, next(iter(lines), b""))
    if stage.step != step:
        raise StageError(path, 1, f"it is of the step {stage.step}, and {step} is what is read")
    return stage


def read_rows(path: Path, step: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a file with the numbers of their lines; a last line that was cut is passed over.

    Raises:
        StageError: If it is no file of this step, or a line is no row.
    """
    read_stage(path, step)
    with open_lines(path) as lines:
        try:
            for number, line in enumerate(lines, 1):
                if number > 1 and line.endswith(b"\n"):
                    yield number, _row(path, number, line)
        except DAMAGE:
            return


def is_begun(path: Path) -> bool:
    """Whether a file has its first line."""
    if not path.exists():
        return False
    with open_lines(path) as lines:
        return next(iter(lines), b"").endswith(b"\n")


def change(path: Path, stage: Stage) -> str:
    """Why what is in a file is not what is wanted now; empty if it is, or nothing is there.

    Raises:
        StageError: If it is no file of this step.
    """
    return read_stage(path, stage.step).difference(stage) if is_begun(path) else ""


def write_whole(path: Path, stage: Stage, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write a file that is there as a whole or not at all; how many rows it has."""
    n_rows = 0
    with replacing(path) as stream:
        stream.write(to_json(stage.to_dict()) + "\n")
        for row in rows:
            stream.write(to_json(row) + "\n")
            n_rows += 1
    return n_rows


def count_done(path: Path, stage: Stage) -> int:
    """Make a file fit to be continued, and count its rows: they are the first of all rows.

    Raises:
        StageError: If it is of another step, other data or other settings.
        NotResultsError: If it is packed.
    """
    n_done = 0

    def take(number: int, line: bytes) -> None:
        nonlocal n_done
        if number > 1:
            _row(path, number, line)
            n_done += 1
        elif problem := _stage(path, line).difference(stage):
            raise StageError(
                path,
                None,
                f"{problem}. Continue with the options of the first run, name another --output, "
                "or start over with --force.",
            )

    if path.exists():
        drop_cut_line(path, take)
    return n_done


def append(
    path: Path, stage: Stage, rows: Iterable[Mapping[str, Any]], *, replace: bool
) -> Iterator[Mapping[str, Any]]:
    """Write rows one by one, each out of our hands before it is given back.

    Args:
        path: The file; :func:`count_done` made it fit unless it is replaced.
        stage: Written first if the file is empty.
        rows: Those that are not there.
        replace: Whether what is there goes.
    """
    if path.suffix == ".gz":
        raise StageError(path, None, "it is appended to, so it is not packed")
    with path.open("wb" if replace else "ab") as stream:
        writer = Writer(stream)
        if stream.tell() == 0:
            writer.write(stage.to_dict())
        for row in rows:
            writer.write(row)
            yield row


def _stage(path: Path, line: bytes) -> Stage:
    try:
        return Stage.from_dict(json.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        problem = f"groundwire measure did not write this ({type(error).__name__}: {error})"
        raise StageError(path, 1, problem) from error


def _row(path: Path, number: int, line: bytes) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StageError(path, number, f"this is no JSON ({error})") from error
    if not isinstance(row, dict):
        raise StageError(path, number, "this is JSON, but no object")
    return row

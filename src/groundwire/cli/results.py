"""The results of ``groundwire check --batch``: written row by row, so that a cut run can go on."""

import gzip
import json
import os
import shutil
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import click

from groundwire.cli.console import to_json
from groundwire.cli.rows import DAMAGE, fingerprint, open_lines
from groundwire.cli.status import ExitStatus, exit_status
from groundwire.detection import DetectorInfo, Outcome
from groundwire.errors import InputError


@dataclass(slots=True)
class Tally:
    """What the rows of a file came to, what they were made from, and by what.

    Attributes:
        outcomes: How often there was each.
        n_errors: Rows that could not be checked.
        rows: Lines of the input that have a result, ascending.
        inputs: Their fingerprints as numbers. Eight bytes each: there may be millions.
        detector: What judged the last row that was checked.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    n_errors: int = 0
    rows: "array[int]" = field(default_factory=lambda: array("Q"))
    inputs: "array[int]" = field(default_factory=lambda: array("Q"))
    detector: DetectorInfo | None = None

    @property
    def n_rows(self) -> int:
        """Rows so far."""
        return self.outcomes.total() + self.n_errors

    @property
    def last_row(self) -> int:
        """The last line of the input that has a result; 0 if none has."""
        return self.rows[-1] if self.rows else 0

    @property
    def status(self) -> ExitStatus:
        """Exit status of the whole file."""
        return ExitStatus.FAILED if self.n_errors else exit_status(self.outcomes)

    def add(self, result: Mapping[str, Any]) -> None:
        """Count one result.

        Raises:
            KeyError: If it is none; so do TypeError, ValueError and OverflowError.
        """
        if result["row"] <= self.last_row:
            raise ValueError("rows are out of order")
        if "input_sha256" not in result:
            raise ValueError("without input_sha256 nothing tells which input it belongs to")
        source = int(result["input_sha256"], 16)
        if "error" in result:
            self.n_errors += 1
        else:
            self.outcomes[Outcome(result["outcome"])] += 1
            self.detector = DetectorInfo(**result["detector"])
        self.rows.append(result["row"])
        self.inputs.append(source)

    def first_difference(self, lines: Iterable[bytes]) -> int | None:
        """Compare the rows that have a result with the lines of an input, up to the last of them.

        Returns:
            The first line that is another row than its result was made from, ``None`` if none is.
        """
        done = zip(self.rows, self.inputs, strict=True)
        for number, line in enumerate(islice(lines, self.last_row), 1):
            if line.strip() and (number, int(fingerprint(line), 16)) != next(done, None):
                return number
        return next((number for number, _ in done), None)

    def __str__(self) -> str:
        counts = [f"{self.outcomes[each]:,} {each}" for each in Outcome if self.outcomes[each]]
        if self.n_errors:
            counts.append(f"{self.n_errors:,} with errors")
        return ", ".join(counts) or "nothing"


class ResultsExistError(InputError):
    """The output file is there already; overwriting results takes a word from the user."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"{self.path} exists. Continue it with --resume, replace it with --force, "
            "or name another --output."
        )


class NotResultsError(InputError):
    """The output file to continue holds something else than results."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(path, line, problem)
        self.path, self.line, self.problem = path, line, problem

    def __str__(self) -> str:
        return (
            f"{self.path} cannot be continued: line {self.line:,} is no result ({self.problem}). "
            "Name another --output, or replace this one with --force."
        )


class DifferentDetectorError(InputError):
    """The results to continue were made by another detector, or with another threshold."""

    def __init__(self, output: Path, before: DetectorInfo, now: DetectorInfo) -> None:
        super().__init__(output, before, now)
        self.output, self.before, self.now = output, before, now

    def __str__(self) -> str:
        return (
            f"{self.output} was made by {_describe(self.before)}, and the detector is now "
            f"{_describe(self.now)}: one file would mix them. Continue with the options of the "
            "first run, name another --output, or start over with --force in place of --resume."
        )


class Writer:
    """Writes results; each row is out of our hands when :meth:`write` returns."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._stream = stream

    def write(self, result: Mapping[str, Any]) -> None:
        """Write one row."""
        line = to_json(result)
        if self._stream is None:
            click.echo(line)
        else:
            self._stream.write(line.encode() + b"\n")
            self._stream.flush()


@contextmanager
def open_writer(path: Path | None, *, resume: bool, force: bool) -> Iterator[Writer]:
    """Open the output: a file, packed if its name ends in ``.gz``, or standard output.

    Raises:
        ResultsExistError: If the file is there and neither ``resume`` nor ``force`` is set.
    """
    if path is None:
        yield Writer(None)
        return
    mode = "ab" if resume else "wb" if force else "xb"
    try:
        raw = path.open(mode)
    except FileExistsError as error:
        raise ResultsExistError(path) from error
    with raw:
        if path.suffix != ".gz":
            yield Writer(raw)
            return
        # Appending to gzip starts a new member; readers take the members for one file.
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb") as packed:
            yield Writer(cast("IO[bytes]", packed))


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """A file that is there as a whole or not at all."""
    fresh = path.with_name(f".{path.name}.part")
    try:
        with fresh.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def repair(path: Path) -> Tally:
    """Count the complete rows of an output that was cut short, and drop what follows them.

    Raises:
        NotResultsError: If a complete line is no result.
    """
    tally = Tally()
    drop_cut_line(path, lambda number, line: _count(tally, line, path, number))
    return tally


def drop_cut_line(path: Path, take: Callable[[int, bytes], None]) -> None:
    """Make a file of results fit to be appended to: a last line that was cut short is dropped.

    Args:
        path: The file, packed or not.
        take: Given the number of each complete line, and the line.

    Raises:
        NotResultsError: If it is packed and its name does not say so, or the other way round.
    """
    n_bytes, is_whole = 0, True
    with open_lines(path) as stream:
        is_packed = isinstance(stream, gzip.GzipFile)
        if path.stat().st_size and is_packed != (path.suffix == ".gz"):
            raise NotResultsError(path, 1, "the name and the content disagree on gzip")
        try:
            for number, line in enumerate(stream, 1):
                if not line.endswith(b"\n"):
                    is_whole = False
                    break
                take(number, line)
                n_bytes += len(line)
        except DAMAGE:
            is_whole = False
    if not is_whole and is_packed:
        _repack(path, n_bytes)
    elif not is_whole:
        os.truncate(path, n_bytes)


def _count(tally: Tally, line: bytes, path: Path, number: int) -> None:
    try:
        tally.add(json.loads(line))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise NotResultsError(path, number, f"{type(error).__name__}: {error}") from error


def _repack(path: Path, n_bytes: int) -> None:
    # A cut gzip member cannot be appended to: what can be read of it is packed anew.
    # In the same folder, so that it can take the other's place at once, and under a name that is
    # nobody's: a fixed one may be a file of the user's.
    number, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
    fresh = Path(name)
    try:
        with os.fdopen(number, "wb") as raw, gzip.open(path) as old, gzip.open(raw, "wb") as new:
            while n_bytes and (piece := old.read1(min(n_bytes, 2**20))):
                new.write(piece)
                n_bytes -= len(piece)
        shutil.copymode(path, fresh)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _describe(detector: DetectorInfo) -> str:
    return (
        f"{detector.name} {detector.revision[:12]}, {detector.operating_point} "
        f"(threshold {detector.threshold})"
    )

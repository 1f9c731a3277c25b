"""The results of ``groundwire check --batch``: written row by row, so that a cut run can go on."""

import gzip
import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import click

from groundwire.cli.status import ExitStatus, exit_status
from groundwire.detection.values import DetectorInfo, Outcome
from groundwire.errors import InputError
from groundwire.text.files.reading import fingerprint
from groundwire.text.files.writing import Writer, drop_cut_line, not_results, to_json


@dataclass(slots=True)
class ResultsTally:
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


def results_exist(path: Path) -> InputError:
    """The error of an output that is there: overwriting results takes a word from the user."""
    return InputError(
        f"{path} exists. Continue it with --resume, replace it with --force, or name another "
        "--output."
    )


class Printer:
    """Prints results."""

    def write(self, result: Mapping[str, Any]) -> None:
        """Print one row."""
        click.echo(to_json(result))


@contextmanager
def open_writer(path: Path | None, *, resume: bool, force: bool) -> Iterator["Writer | Printer"]:
    """Open the output: a file, packed if its name ends in ``.gz``, or standard output.

    Raises:
        InputError: If the file is there and neither ``resume`` nor ``force`` is set.
    """
    if path is None:
        yield Printer()
        return
    mode = "ab" if resume else "wb" if force else "xb"
    try:
        raw = path.open(mode)
    except FileExistsError as error:
        raise results_exist(path) from error
    with raw:
        if path.suffix != ".gz":
            yield Writer(raw)
            return
        # Appending to gzip starts a new member; readers take the members for one file.
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb") as packed:
            yield Writer(cast("IO[bytes]", packed))


def repair(path: Path) -> ResultsTally:
    """Count the complete rows of an output that was cut short, and drop what follows them.

    Raises:
        WrittenError: If a complete line is no result.
    """
    tally = ResultsTally()
    drop_cut_line(path, lambda number, line: _count(tally, line, path, number))
    return tally


def _count(tally: ResultsTally, line: bytes, path: Path, number: int) -> None:
    try:
        tally.add(json.loads(line))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise not_results(path, number, f"{type(error).__name__}: {error}") from error

"""The results of ``check --batch``, written row by row so that a run can be continued."""

import gzip
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from groundwire.cli.status import ExitStatus, exit_status
from groundwire.detection.values import DetectorInfo, Outcome
from groundwire.errors import InputError
from groundwire.text.files.reading import fingerprint
from groundwire.text.files.writing import Writer, drop_cut_line, not_results


@dataclass(slots=True)
class ResultsTally:
    """Counts of the results in a file, with their input and detector.

    Attributes:
        outcomes: Outcome → number of rows.
        n_errors: Rows that could not be checked.
        last_row: The last line of the input that has a result; 0 if none has.
        rows: Hash of all lines that have a result: their numbers and fingerprints.
        detector: The detector of the last row that was checked.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    n_errors: int = 0
    last_row: int = 0
    rows: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    detector: DetectorInfo | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.outcomes.total() + self.n_errors

    @property
    def status(self) -> ExitStatus:
        """Exit status of the whole file."""
        return ExitStatus.FAILED if self.n_errors else exit_status(self.outcomes)

    def add(self, result: Mapping[str, Any]) -> None:
        """Count one result.

        Raises:
            KeyError: If it is no result; so do TypeError, ValueError and OverflowError.
        """
        if result["row"] <= self.last_row:
            raise ValueError("rows are out of order")
        if "input_sha256" not in result:
            raise ValueError("without input_sha256 nothing tells which input it belongs to")
        number, source = int(result["row"]), str(result["input_sha256"])
        if "error" in result:
            self.n_errors += 1
        else:
            self.outcomes[Outcome(result["outcome"])] += 1
            self.detector = DetectorInfo(**result["detector"])
        self.rows.update(_row_key(number, source))
        self.last_row = number

    def was_made_from(self, lines: Iterator[bytes]) -> bool:
        """Whether the first lines of an input, up to the last row, are those of the results."""
        found = hashlib.sha256()
        for number, line in enumerate(islice(lines, self.last_row), 1):
            if line.strip():
                found.update(_row_key(number, fingerprint(line)))
        return found.digest() == self.rows.digest()

    def __str__(self) -> str:
        counts = [f"{self.outcomes[each]:,} {each}" for each in Outcome if self.outcomes[each]]
        if self.n_errors:
            counts.append(f"{self.n_errors:,} with errors")
        return ", ".join(counts) or "nothing"


def results_exist(path: Path) -> InputError:
    """The error of an output that exists: only the user can decide to overwrite results."""
    return InputError(
        f"{path} exists. Continue it with --resume, replace it with --force, or name another "
        "--output."
    )


def _row_key(number: int, source: str) -> bytes:
    return f"{number} {source}\n".encode()


@contextmanager
def open_writer(path: Path | None, *, resume: bool) -> Iterator[Writer]:
    """Open the output: a file, packed if its name ends in ``.gz``, or standard output.

    Args:
        path: The file; ``None`` is standard output.
        resume: Whether to write after what is in the file, and not in its place.
    """
    if path is None:
        yield Writer(sys.stdout.buffer)
        return
    with path.open("ab" if resume else "wb") as raw:
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

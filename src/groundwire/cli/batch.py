"""``groundwire check --batch``: checks each row of a file, and writes a result for each."""

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice, tee
from pathlib import Path
from typing import Any

import click

from groundwire.cli.detectors import DetectorChoice, Setup
from groundwire.cli.inputs import is_file
from groundwire.cli.progress import count_rows, progress
from groundwire.cli.status import ExitStatus, exit_status
from groundwire.detection.any_detector import AnyDetector
from groundwire.detection.example import Example
from groundwire.detection.rows import ROW_KEYS, MissingColumnError, RowError, RowId, row_id
from groundwire.detection.values import Detection, DetectorInfo, Outcome
from groundwire.errors import GroundwireError, InputError
from groundwire.evaluation.datasets.files import table_lines
from groundwire.evaluation.datasets.lines import Line, json_lines
from groundwire.evaluation.datasets.lines import count_rows as n_rows_of
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.evaluation.loading import DifferentDetectorError
from groundwire.text.files.reading import STDIN, fingerprint
from groundwire.text.files.writing import Writer, drop_cut_line, not_results
from groundwire.text.screen import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The input and the output file of a command that judges many answers.

    Attributes:
        batch: The input. For ``groundwire check --batch``, it is a file of rows as JSON, CSV or TSV
            (gzipped or not), or as Parquet; ``-`` is JSON on standard input.
        output: The file of results; ``None`` if the user names none. ``groundwire check --batch``
            then writes the results to standard output, other commands to a temporary file.
        resume: Whether to continue the results in the output.
        force: Whether to replace the results in the output.
        columns: For ``groundwire check --batch``, the columns that hold the fields of a row.
    """

    batch: Path
    output: Path | None
    resume: bool
    force: bool
    columns: ColumnMapping = field(default_factory=ColumnMapping)

    def __post_init__(self) -> None:
        if self.output is None and (self.resume or self.force):
            raise click.UsageError("--resume and --force concern the file of --output: name it.")
        if self.resume and self.force:
            raise click.UsageError("--resume continues the output and --force replaces it: choose.")
        if self.output is not None and self.output.suffix == ".gz":
            raise click.UsageError("--output is JSON Lines, not packed: name it without .gz.")
        is_file = self.batch != STDIN and self.output is not None and self.output.exists()
        if is_file and self.output and self.output.samefile(self.batch):
            raise click.UsageError("The input and --output are the same file.")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRow:
    """A row of the input.

    Attributes:
        number: Number of the row, counted from 1; a header and blank lines are not counted.
        line: Number of the row's first line in the file; in a JSON array or Parquet, the same as
            ``number``.
        id: Id of the row; ``None`` if there is none, or the id cannot be read.
        sha256: :func:`fingerprint` of the row's content in the file, and of the column mapping if
            the user named columns.
        content: The example to check, or the error of a row that cannot be read.
        keys: The keys of the row's JSON object, or the names of its columns; empty if the row could
            not be parsed.
    """

    number: int
    line: int
    id: RowId = None
    sha256: str
    content: Example | GroundwireError
    keys: tuple[str, ...] = ()

    def result(self, verdict: Detection | GroundwireError) -> dict[str, Any]:
        """Return the result of this row as JSON data, from a detection or an error."""
        name: dict[str, Any] = {"row": self.number}
        if self.line != self.number:
            name["line"] = self.line
        if self.id is not None:
            name["id"] = self.id
        name["input_sha256"] = self.sha256
        if isinstance(self.content, Example):
            name |= {"question": self.content.question, "answer": self.content.answer}
        if isinstance(verdict, Detection):
            return {**name, **verdict.to_dict()}
        return {**name, "error": {"type": type(verdict).__name__, "message": str(verdict)}}


def read_row(number: int, line: Line, columns: ColumnMapping) -> InputRow:
    """Convert a raw row to an input row; an error becomes the ``content`` of the input row."""
    line_number, raw, values = line
    id_: RowId = None
    content: Example | GroundwireError
    try:
        if isinstance(values, str):
            raise RowError(values)
        if "id" in columns.columns:
            columns.id_of(values)  # raises an error if the row lacks this column
        id_ = row_id(values, columns.columns.get("id", "id"))
        content = columns.example(values)
    except GroundwireError as error:
        content = error
    return InputRow(
        number=number,
        line=line_number,
        id=id_,
        sha256=_fingerprint(raw, columns),
        content=content,
        keys=() if isinstance(values, str) else tuple(map(str, values)),
    )


def _fingerprint(raw: bytes, columns: ColumnMapping) -> str:
    """Hash the content of a row, and the column mapping if the user named columns.

    The mapping counts because a row gives other results if it is read from other columns.
    """
    return fingerprint((columns.fingerprint if columns.columns else b"") + raw.strip())


@dataclass(slots=True)
class ResultsTally:
    """Counts of the results in a file, with the detector and a hash of the rows.

    Attributes:
        outcomes: Outcome → number of rows.
        n_errors: Number of rows that could not be checked.
        first_error: Place and error of the first row that could not be checked; empty if there is
            none.
        last_row: Number of the last row of the input that has a result; 0 without results.
        rows: Hash of the numbers and fingerprints of all rows that have a result.
        detector: The detector of the last row that was checked; ``None`` if none was.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    n_errors: int = 0
    first_error: str = ""
    last_row: int = 0
    rows: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    detector: DetectorInfo | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows that have a result."""
        return self.outcomes.total() + self.n_errors

    @property
    def status(self) -> ExitStatus:
        """Exit status of the whole file: that of the worst result."""
        return ExitStatus.FAILED if self.n_errors else exit_status(self.outcomes)

    def add(self, result: Mapping[str, Any]) -> None:
        """Add one result to the counts.

        Raises:
            KeyError, TypeError, ValueError, OverflowError: If ``result`` is no result of a row, or
                its row does not come after :attr:`last_row`.
        """
        if result["row"] <= self.last_row:
            raise ValueError("rows are out of order")
        if "input_sha256" not in result:
            raise ValueError("without input_sha256 nothing tells which input it belongs to")
        number, source = int(result["row"]), str(result["input_sha256"])
        if "error" in result:
            self.n_errors += 1
            where = f"row {number:,}" + (f" (line {result['line']:,})" if "line" in result else "")
            self.first_error = self.first_error or f"{where}: {result['error']['message']}"
        else:
            self.outcomes[Outcome(result["outcome"])] += 1
            self.detector = DetectorInfo(**result["detector"])
        self.rows.update(_row_key(number, source))
        self.last_row = number

    def __str__(self) -> str:
        counts = [f"{self.outcomes[each]:,} {each}" for each in Outcome if self.outcomes[each]]
        if self.n_errors:
            counts.append(f"{self.n_errors:,} with errors")
        return ", ".join(counts) or "nothing"


def results_exist(path: Path) -> InputError:
    """Return the error for an existing output if neither ``--resume`` nor ``--force`` is given."""
    return InputError(
        f"{path} exists. Continue it with --resume, replace it with --force, or name another "
        "--output."
    )


def _row_key(number: int, source: str) -> bytes:
    return f"{number} {source}\n".encode()


def check_file(setup: Setup, choice: DetectorChoice, files: Files) -> None:
    """Check every row that has no result yet, print a summary on standard error, and exit.

    Raises:
        DifferentDetectorError: If the results to continue were made by another detector, or at
            another threshold.
        InputError: If the output exists and cannot be used; if the input is empty or damaged; or
            if no row has a result yet and the first row shows a mistake (:func:`examine_first`).
        GroundwireError: If the detector cannot be loaded.
    """
    tally = prepare_output(files)
    # The detector and the first row come before the output is opened, so that an error in them
    # leaves no empty file.
    detector = setup.load(choice)
    if files.output and tally.detector not in (None, detector.info):
        raise DifferentDetectorError(files.output, tally.detector, detector.info)
    n_before, start = tally.n_rows, time.monotonic()
    rows = read_remaining(input_lines(files.batch, files.columns), tally, files)
    first = [*islice(rows, 1)]
    if not first and not n_before:
        name = "Standard input" if files.batch == STDIN else files.batch
        raise InputError(f"{name} has no rows. A row has an answer and its sources.")
    if first and not n_before:
        examine_first(first[0], files)
    output = files.output.open("ab" if files.resume else "wb") if files.output else None
    with (
        output or nullcontext(sys.stdout.buffer) as stream,
        progress(
            partial(n_rows_of, files.batch),
            is_interactive=_is_interactive(files),
            hint=" --resume continues." if files.output else "",
        ) as report,
    ):
        writer = Writer(stream)
        try:
            for row, verdict in judge_rows(detector, chain(first, rows)):
                result = row.result(verdict)
                writer.write(result)
                tally.add(result)
                report(row.number)
        finally:
            _summarize(tally, n_before, time.monotonic() - start, files)
    click.get_current_context().exit(tally.status)


def examine_first(row: InputRow, files: Files) -> None:
    """Look in the first row for mistakes that probably all rows have, and report them once.

    A note on standard error names columns with labels, which the check does not use. If the row can
    be read, but has no question and no column with a usual name of the question, another note names
    up to ten other columns that the check does not use.

    Raises:
        InputError: If the row lacks a column that the check needs or ``--column`` names, or one of
            its sources is the name of a file.
    """
    if isinstance(row.content, MissingColumnError):
        raise InputError(f"No row was checked. In the first one {row.content}")
    labels = files.columns.labels_of(row.keys)
    if labels:
        click.echo(
            f"Note: check does not use labels ({', '.join(map(one_line, labels))}). How often "
            "the verdicts agree with them: groundwire evaluate --data FILE",
            err=True,
        )
    if not isinstance(row.content, Example):
        return
    for source in row.content.sources:
        if is_file(source.text, files.batch.parent):
            raise InputError(
                f"No row was checked. In the first one, the source {source.text!r} is the name of "
                "a file. A source is a text: put the content of the file into the column."
            )
    if row.content.question is None and not {*ROW_KEYS["question"]}.intersection(row.keys):
        known = {key for keys in ROW_KEYS.values() for key in keys} | {"id"}
        known |= set(files.columns.columns.values())
        others = [
            name for name in row.keys if name.strip().lower() not in known and name not in labels
        ]
        if others:
            click.echo(
                "Note: there is no question, which helps to find evidence. Columns that are not "
                f"used: {', '.join(others[:10])}. If one has the question: --column "
                "question=COLUMN",
                err=True,
            )


def prepare_output(files: Files) -> ResultsTally:
    """Count the results in the output if it is continued, and drop a last line that was cut short.

    Raises:
        InputError: If the output exists, and is to be neither continued nor replaced.
        WrittenError: If the output is to be continued, and is compressed or has a line that is no
            result.
    """
    tally, path = ResultsTally(), files.output
    if path is None or files.force or not path.exists():
        return tally
    if not files.resume:
        raise results_exist(path)

    def count(number: int, line: bytes) -> None:
        try:
            tally.add(json.loads(line))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise not_results(path, number, f"{type(error).__name__}: {error}") from error

    drop_cut_line(path, count)
    return tally


def judge_rows(
    detector: AnyDetector, rows: Iterable[InputRow]
) -> Iterator[tuple[InputRow, Detection | GroundwireError]]:
    """Yield each row with its detection or error, in the order of the input."""
    rows, to_check = tee(rows)
    verdicts = detector.detect_batch(
        row.content for row in to_check if isinstance(row.content, Example)
    )
    for row in rows:
        yield row, next(verdicts) if isinstance(row.content, Example) else row.content
    next(verdicts, None)  # raises the error that stopped the reading of `rows`, if there was one


def input_lines(path: Path, columns: ColumnMapping) -> Iterator[Line]:
    """Yield the raw rows of a file, or of JSON on standard input.

    Raises:
        InputError: If the file has an invalid format. Also if the file breaks off; the rows before
            the break are yielded first.
    """
    rows = table_lines(path, columns) if path != STDIN else json_lines(path)
    for number, content, values in rows:
        if not content:
            raise InputError(
                f"{path} is damaged after line {number - 1:,}: {values}. The rows before that are "
                "checked; fetch the file again and continue with --resume."
            )
        yield number, content, values


def read_remaining(lines: Iterable[Line], tally: ResultsTally, files: Files) -> Iterator[InputRow]:
    """Return the rows of the input that have no result yet.

    Raises:
        InputError: If the results in the output were made from other rows.
    """
    found, left = hashlib.sha256(), enumerate(lines, 1)
    for number, line in islice(left, tally.last_row):
        found.update(_row_key(number, _fingerprint(line[1], files.columns)))
    if found.digest() != tally.rows.digest():
        raise InputError(
            f"{files.output} has results of {count_rows(tally.n_rows)}, and they were not made "
            f"from {files.batch}: these results belong to another input. Name another --output, "
            "or replace this one with --force."
        )
    return (read_row(number, line, files.columns) for number, line in left)


def _summarize(tally: ResultsTally, n_before: int, elapsed_s: float, files: Files) -> None:
    n_rows = tally.n_rows - n_before
    before = f" after the {n_before:,} there were" if n_before else ""
    rate = n_rows / max(elapsed_s, 1e-9)
    click.echo(
        f"{count_rows(n_rows)}{before} in {elapsed_s:.1f} s ({rate:.1f} rows/s): {tally}", err=True
    )
    if tally.first_error:
        click.echo(f"First error: {tally.first_error}", err=True)
    if files.output:
        click.echo(f"Results: {files.output}", err=True)


def _is_interactive(files: Files) -> bool:
    # On one terminal, the results and a progress bar would overwrite each other.
    return sys.stderr.isatty() and not (files.output is None and sys.stdout.isatty())

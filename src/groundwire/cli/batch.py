"""``groundwire check --batch``: a file of rows in, a result for each row out."""

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

import click

from groundwire.cli.detectors import Setup
from groundwire.cli.progress import count_rows, progress
from groundwire.cli.results import ResultsTally, open_writer, repair, results_exist
from groundwire.cli.rows import InputRow, read_rows
from groundwire.detection.example import Example
from groundwire.detection.values import Detection, DetectorInfo
from groundwire.errors import GroundwireError, InputError
from groundwire.evaluation.loading import (
    AnyDetector,
    DetectorChoice,
    DifferentDetectorError,
    judge_all,
)
from groundwire.text.files.reading import DAMAGE, STDIN, count_lines, in_blocks, open_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The input file of a batch, and the output file of its results.

    Attributes:
        batch: Rows as JSON Lines, gzip or not; ``-`` is standard input.
        output: Results; ``None`` is standard output.
        resume: Continue the results in the output.
        force: Replace the results in the output.
    """

    batch: Path
    output: Path | None
    resume: bool
    force: bool

    def __post_init__(self) -> None:
        if self.output is None and (self.resume or self.force):
            raise click.UsageError("--resume and --force concern the file of --output: name it.")
        if self.resume and self.force:
            raise click.UsageError("--resume continues the output and --force replaces it: choose.")
        is_file = self.batch != STDIN and self.output is not None and self.output.exists()
        if is_file and self.output and self.output.samefile(self.batch):
            raise click.UsageError("The input and --output are the same file.")


def check_file(setup: Setup, choice: DetectorChoice, files: Files) -> None:
    """Check every row, print a summary on standard error, and exit with the status of all.

    Raises:
        DifferentDetectorError: If the results to continue were made by another detector.
        InputError: If they belong to another input, there is nothing to check, or the input is
            damaged; the rows before that are checked.
    """
    tally = prepare_output(files)
    # All that can fail comes before the output is opened, so that a failure leaves no empty file.
    detector = setup.load(choice)
    refuse_mixing(tally, detector.info, files)
    n_before, start = tally.n_rows, time.monotonic()
    with open_lines(files.batch) as stream:
        rows = read_remaining(input_lines(stream, files.batch), tally, files)
        first = [*islice(rows, 1)]
        if not first and not n_before:
            name = "Standard input" if files.batch == STDIN else files.batch
            raise InputError(f"{name} has no rows. A row is a JSON object on a line of its own.")
        with (
            open_writer(files.output, resume=files.resume) as writer,
            progress(
                partial(count_lines, files.batch), is_interactive=_is_interactive(files)
            ) as report,
        ):
            try:
                for row, verdict in judge_rows(detector, chain(first, rows)):
                    result = row.result(verdict)
                    writer.write(result)
                    tally.add(result)
                    report(row.number, tally.n_rows - n_before)
            except KeyboardInterrupt:
                hint = " --resume continues." if files.output else ""
                click.echo(f"Stopped after {count_rows(tally.n_rows)}.{hint}", err=True)
                raise
            finally:
                _summarize(tally, n_before, time.monotonic() - start, files)
    click.get_current_context().exit(tally.status)


def prepare_output(files: Files) -> ResultsTally:
    """Prepare the output for writing, and count the results in it.

    Raises:
        InputError: If it exists and is neither to be continued nor replaced.
        WrittenError: If it is to be continued and holds no results.
    """
    if files.output is None or files.force or not files.output.exists():
        return ResultsTally()
    if not files.resume:
        raise results_exist(files.output)
    return repair(files.output)


def refuse_mixing(tally: ResultsTally, info: DetectorInfo, files: Files) -> None:
    """Refuse to mix results of several detectors or thresholds in one file.

    Raises:
        DifferentDetectorError: If the results in the output have others.
    """
    if files.output and tally.detector is not None and tally.detector != info:
        raise DifferentDetectorError(files.output, tally.detector, info)


def judge_rows(
    detector: AnyDetector, rows: Iterable[InputRow]
) -> Iterator[tuple[InputRow, Detection | GroundwireError]]:
    """Judge rows in order; a row that cannot be read carries its error."""
    for block in in_blocks(rows, lambda row: row.n_bytes):
        examples = [row.content for row in block if isinstance(row.content, Example)]
        verdicts = judge_all(detector, examples)
        for row in block:
            yield row, next(verdicts) if isinstance(row.content, Example) else row.content


def input_lines(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """The lines of a file.

    Raises:
        InputError: If it is packed and damaged, after the lines before that.
    """
    number = 0
    try:
        for number, line in enumerate(stream, 1):  # noqa: B007  # read below
            yield line
    except DAMAGE as error:
        raise InputError(
            f"{path} is damaged after line {number:,} ({error}). The rows before that are checked; "
            "fetch the file again and continue with --resume."
        ) from error


def read_remaining(left: Iterator[bytes], tally: ResultsTally, files: Files) -> Iterator[InputRow]:
    """The rows that have no result yet.

    Raises:
        InputError: If the results were made from other rows than this input has there.
    """
    if not tally.was_made_from(left):
        raise InputError(
            f"{files.output} has results of {count_rows(tally.n_rows)}, and they were not made "
            f"from {files.batch}: these results belong to another input. Name another --output, "
            "or replace this one with --force."
        )
    return read_rows(left, first=tally.last_row + 1)


def _summarize(tally: ResultsTally, n_before: int, elapsed_s: float, files: Files) -> None:
    n_rows = tally.n_rows - n_before
    before = f" after the {n_before:,} there were" if n_before else ""
    rate = n_rows / max(elapsed_s, 1e-9)
    click.echo(
        f"{count_rows(n_rows)}{before} in {elapsed_s:.1f} s ({rate:.1f} rows/s): {tally}", err=True
    )
    if files.output:
        click.echo(f"Results: {files.output}", err=True)


def _is_interactive(files: Files) -> bool:
    # A progress bar and results would overwrite each other on one terminal.
    return sys.stderr.isatty() and not (files.output is None and sys.stdout.isatty())

"""``groundwire evaluate``: what a detector is worth on labelled answers."""

import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.check import detector_options
from groundwire.cli.console import to_json
from groundwire.cli.detectors import Choice, Setup
from groundwire.cli.inputs import RESULT_FILE
from groundwire.cli.progress import count_rows
from groundwire.cli.results import ResultsExistError
from groundwire.cli.status import ExitStatus

if TYPE_CHECKING:
    from groundwire.evaluation.evaluation import Evaluation

EPILOG = """\b
Examples:
  groundwire evaluate --data labelled.jsonl
  groundwire evaluate --data answers.csv --column answer=output --column label=is_wrong
  groundwire evaluate --data labelled.jsonl.gz --output results.jsonl --resume --json

\b
A row has an answer, sources (or context), perhaps a question, an id, a task and a context_id; and
spans (a list of start, end and label) or a label (true: hallucinated). Files are JSON Lines, CSV,
TSV or Parquet, packed with gzip or not; a folder of them is one table.

\b
Exit status:
  0  all rows were read and checked
  1  some rows failed: they are told, and the scores are of the others
  2  there is nothing to score, or the command was wrong
"""


@click.command(epilog=EPILOG)
@click.option(
    "--data",
    type=click.Path(exists=True, path_type=Path),
    required=True,
    metavar="FILE",
    help="Labelled answers: a file, or a folder of files.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Which column holds a field, if it has another name; can be repeated.",
)
@click.option(
    "--label-means",
    type=click.Choice(("hallucinated", "supported")),
    default="hallucinated",
    show_default=True,
    help="What a label of 1, true or yes says of its answer.",
)
@click.option(
    "--output",
    type=RESULT_FILE,
    metavar="FILE",
    help="Keep what became of each row: reports and thresholds are made of it, and --resume "
    "continues it.",
)
@click.option("--resume", is_flag=True, help="Continue an --output that was cut short.")
@click.option("--force", is_flag=True, help="Replace an --output that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the scores as JSON.")
@detector_options
@click.pass_context
def evaluate(
    ctx: click.Context,
    /,
    *,
    data: Path,
    columns: tuple[str, ...],
    label_means: str,
    output: Path | None,
    resume: bool,
    force: bool,
    as_json: bool,
    operating_point: str | float,
    model: str | None,
    revision: str | None,
    threads: int | None,
    device: str,
) -> None:
    """Score a detector on labelled answers, with intervals."""
    if output is None and (resume or force):
        raise click.UsageError("--resume and --force concern the file of --output: name it.")
    from groundwire.evaluation.datasets.files import fingerprints, read_labelled
    from groundwire.evaluation.datasets.mapping import ColumnMapping
    from groundwire.evaluation.evaluation import Evaluation
    from groundwire.evaluation.judged import Header
    from groundwire.evaluation.running import run

    mapping = ColumnMapping.of(columns, label_means=label_means)
    choice = Choice(
        model=model,
        revision=revision,
        operating_point=operating_point,
        threads=threads,
        device=device,
    )
    with results_file(output, resume=resume, force=force) as path:
        data_hashes = fingerprints(data)
        detector = ctx.ensure_object(Setup).load(choice)
        header = Header(detector=detector.info, data=data_hashes, command=_command())
        started = time.monotonic()
        done = run(
            detector,
            read_labelled(data, mapping),
            output=path,
            header=header,
            on_row=rows_told(),
        )
        wall_s = time.monotonic() - started
        found = Evaluation.read(path)
    # What an earlier call judged took time of its own, which nobody measured as a whole.
    measured = wall_s if done.n_new == done.n_rows else None
    show(found, measured, as_json=as_json)
    ctx.exit(status_of(found))


@contextmanager
def results_file(output: Path | None, *, resume: bool, force: bool) -> Iterator[Path]:
    """Where results go; without a name, into a file that nobody sees.

    Raises:
        ResultsExistError: If it is there, and is neither to be continued nor replaced.
    """
    if output is None:
        with tempfile.TemporaryDirectory(prefix="groundwire-") as folder:
            yield Path(folder) / "results.jsonl"
        return
    if output.exists() and not resume and not force:
        raise ResultsExistError(output)
    if force:
        output.unlink(missing_ok=True)
    yield output


def rows_told() -> "Any":  # noqa: ANN401 - a function
    """Tell how far a run is: a line on standard error now and then."""
    from groundwire.cli.progress import LINE_EVERY_S

    start = last = time.monotonic()

    def tell(n_rows: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LINE_EVERY_S:
            last = now
            click.echo(f"{count_rows(n_rows)}, {now - start:.0f} s", err=True)

    return tell


def show(found: "Evaluation", wall_s: float | None, *, as_json: bool) -> None:
    """Print scores: as JSON, or as a table with what is to be known beside it."""
    if as_json:
        click.echo(to_json(found.to_dict(wall_s=wall_s), indent=2))
        return
    from groundwire.evaluation.table import to_text

    click.echo(to_text(found.to_dict(wall_s=wall_s)))


def status_of(found: "Evaluation") -> ExitStatus:
    """The exit status of scores."""
    if not found.judged:
        return ExitStatus.FAILED
    return ExitStatus.FLAGGED if found.n_failed else ExitStatus.PASSED


def _command() -> str:
    return shlex.join(["groundwire", *sys.argv[1:]])

"""``groundwire evaluate``: scores a detector on labelled answers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.console import say, show
from groundwire.cli.data_options import DataOptions
from groundwire.cli.detectors import DetectorChoice, Setup
from groundwire.cli.inputs import FiniteRange
from groundwire.cli.judging import OutputOptions
from groundwire.cli.labelled import judged_data
from groundwire.cli.options import command, option
from groundwire.cli.progress import count_rows
from groundwire.cli.status import ExitStatus
from groundwire.errors import InputError

if TYPE_CHECKING:
    from groundwire.evaluation.evaluation import Evaluation


@command()
def evaluate(
    ctx: click.Context,
    /,
    *,
    data: Path = option("--data", "FILE", click.Path(exists=True, path_type=Path), required=True),
    rows: DataOptions,
    prevalences: tuple[float, ...] = option("--prevalence", "SHARE", FiniteRange(0, 1)),
    output: OutputOptions,
    as_json: bool = option("--json"),
    choice: DetectorChoice,
) -> None:
    """Score a detector on labelled answers, with intervals.

    Args:
        data: Labelled answers: a file, or a folder of files.
        prevalences: Also give the precision for data in which this share of the answers is
            hallucinated; can be repeated.
        as_json: Print the scores as JSON.

    Examples:
        groundwire evaluate --data labelled.jsonl
        groundwire evaluate --data answers.csv --column answer=output --column label=is_wrong
        groundwire evaluate --data labelled.jsonl.gz --output results.jsonl --resume --json

    A row has an answer, sources (or context), perhaps a question, an id, a task and a context_id;
    and spans (a list of start, end and label) or a label (true: hallucinated). Files are JSON
    Lines, CSV, TSV or Parquet, packed with gzip or not; a folder of them is one table.

    Exit status:
        0  all rows were read and checked, each at least in part
        1  some rows could not be read, and are in no score; or some answers could not be checked,
           and count as missed if they are hallucinated, else not at all
        2  there is nothing to score, or the command was wrong
    """
    with judged_data(ctx.ensure_object(Setup), choice, data, rows, output) as done:
        # Importing NumPy and the scores takes a moment, and --help does not need them.
        from groundwire.evaluation.evaluation import Evaluation
        from groundwire.evaluation.scores import PREVALENCES
        from groundwire.evaluation.table import to_text

        found = Evaluation.read(done.path, prevalences=prevalences or PREVALENCES)
    scores = found.to_dict(wall_s=done.wall_s)
    show(scores, lambda: to_text(scores), as_json=as_json)
    if output.output is None and scores["n_answers"] and not as_json:
        say("Which rows: add --output results.jsonl, and give that to groundwire report.")
    ctx.exit(status_of(found))


def status_of(found: "Evaluation") -> ExitStatus:
    """Return ``PASSED`` if all rows were read and checked, each at least in part, else ``FLAGGED``.

    Raises:
        InputError: If there is nothing to score: no row that could be read has spans or a label.
    """
    if not found.scores["n_answers"]:
        counts = found.counts
        raise InputError(
            f"There is nothing to score: of {count_rows(counts.n)}, {counts.n_failed:,} failed and "
            f"{counts.n_unlabelled:,} have neither spans nor a label."
        )
    return ExitStatus.PASSED if found.counts.is_complete else ExitStatus.FLAGGED

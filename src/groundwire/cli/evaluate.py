"""``groundwire evaluate``: what a detector is worth on labelled answers."""

import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.batch import Files
from groundwire.cli.check import detector_options
from groundwire.cli.data_options import DataOptions, data_options
from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import RESULTS, RETRY_FAILED, FiniteRange
from groundwire.cli.progress import count_rows, progress
from groundwire.cli.results import ResultsExistError
from groundwire.cli.status import ExitStatus
from groundwire.errors import InputError
from groundwire.evaluation.loading import DetectorChoice
from groundwire.text.files.writing import to_json

if TYPE_CHECKING:
    from groundwire.detection.values import DetectorInfo
    from groundwire.evaluation import judging
    from groundwire.evaluation.datasets.files import AnyRow
    from groundwire.evaluation.evaluation import Evaluation
    from groundwire.evaluation.run import Run
    from groundwire.evaluation.scale.workers import Recipe

#: Megabytes for sources that a detector compared. Answers to one context are judged together, so
#: one that is done does not come back; and what is compared is small.
SIMILARITY_CACHE_MB = 4.0

EPILOG = """\b
Examples:
  groundwire evaluate --data labelled.jsonl
  groundwire evaluate --data answers.csv --column answer=output --column label=is_wrong
  groundwire evaluate --data labelled.jsonl.gz --output results.jsonl --resume --json
  groundwire evaluate --data labelled.parquet --output results.parquet --engine ray

\b
A row has an answer, sources (or context), perhaps a question, an id, a task and a context_id; and
spans (a list of start, end and label) or a label (true: hallucinated). Files are JSON Lines, CSV,
TSV or Parquet, packed with gzip or not; a folder of them is one table.

\b
Exit status:
  0  all rows were read and checked, each at least in part
  1  some were not, which is told: rows that could not be read are in no score; answers that could
     not be checked count as missed if they are hallucinated, else not at all
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
@data_options
@click.option(
    "--prevalence",
    "prevalences",
    type=FiniteRange(0, 1),
    multiple=True,
    metavar="SHARE",
    help="Tell the precision if this share of answers were hallucinated; can be repeated.",
)
@click.option(
    "--output",
    type=RESULTS,
    metavar="FILE",
    help="Keep what became of each row: reports and thresholds are made of it, and --resume "
    "continues it. JSON Lines; if the name ends in .parquet, a folder of Parquet files.",
)
@click.option("--resume", is_flag=True, help="Continue an --output that was cut short.")
@RETRY_FAILED
@click.option("--force", is_flag=True, help="Replace an --output that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the scores as JSON.")
@detector_options
@click.pass_context
def evaluate(
    ctx: click.Context,
    /,
    *,
    data: Path,
    rows: DataOptions,
    prevalences: tuple[float, ...],
    output: Path | None,
    resume: bool,
    retry_failed: bool,
    force: bool,
    as_json: bool,
    choice: DetectorChoice,
) -> None:
    """Score a detector on labelled answers, with intervals."""
    refuse_retry_of_nothing(output, retry_failed=retry_failed)
    files = Files(batch=data, output=output, resume=resume or retry_failed, force=force)
    refuse_among_data(files)
    # NumPy, and what the scores need: a moment that --help does not.
    from groundwire.evaluation.datasets.lines import fingerprints
    from groundwire.evaluation.evaluation import Evaluation
    from groundwire.evaluation.scores import PREVALENCES

    read = rows.reader(data)
    judging = Judging(
        setup=ctx.ensure_object(Setup), choice=choice, engine=rows.engine, n_workers=rows.workers
    )
    with results_file(files) as path:
        started = time.monotonic()
        done = judge(
            files,
            read(),
            judging,
            hashes=fingerprints(data),
            into=path,
            count=partial(rows.count, data),
            retry_failed=retry_failed,
        )
        wall_s = time.monotonic() - started
        found = Evaluation.read(path, prevalences=prevalences or PREVALENCES)
    # What an earlier call judged took time of its own, which nobody measured as a whole.
    measured = wall_s if done.n_new == done.n_rows else None
    show(found, measured, as_json=as_json)
    ctx.exit(status_of(found))


class NothingScoredError(InputError):
    """Of no answer it is known whether it is hallucinated."""

    def __init__(self, n_rows: int, n_failed: int, n_unlabelled: int) -> None:
        super().__init__(n_rows, n_failed, n_unlabelled)
        self.n_rows, self.n_failed, self.n_unlabelled = n_rows, n_failed, n_unlabelled

    def __str__(self) -> str:
        return (
            f"There is nothing to score: of {count_rows(self.n_rows)}, {self.n_failed:,} failed "
            f"and {self.n_unlabelled:,} have neither spans nor a label."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """What judges, and where.

    Attributes:
        setup: Loads detectors.
        choice: Which one.
        engine: ``local`` or ``ray``.
        n_workers: Processes beside this one; ``None`` as the engine has it.
    """

    setup: Setup
    choice: DetectorChoice
    engine: str = "local"
    n_workers: int | None = None

    @contextmanager
    def start(self) -> "Iterator[tuple[DetectorInfo, judging.Judging, int]]":
        """What judges, how, and how many rows at a time; the detector is gone afterwards."""
        from groundwire.engine.models import EMBEDDERS
        from groundwire.evaluation.run import here
        from groundwire.text.files.reading import MAX_BLOCK_ROWS

        choice = self.choice
        if choice.cache_mb is None and choice.model in EMBEDDERS:
            choice = replace(choice, cache_mb=SIMILARITY_CACHE_MB)
        detector = self.setup.load(choice)
        try:
            if self.engine == "local" and self.n_workers is None:
                yield detector.info, here(detector), MAX_BLOCK_ROWS
                return
        finally:
            if close := getattr(detector, "close", None):
                close()
        from groundwire.evaluation.scale.workers import BATCH_ROWS, Recipe

        recipe = Recipe(load=self.setup.load, choice=choice, info=detector.info)
        del detector  # each worker has its own
        yield recipe.info, self._on_workers(recipe), BATCH_ROWS

    def _on_workers(self, recipe: "Recipe") -> "judging.Judging":
        if self.engine == "ray":
            from groundwire.evaluation.scale.cluster import on_ray

            return on_ray(recipe, self.n_workers)
        from groundwire.evaluation.scale.processes import on_processes

        return on_processes(recipe, self.n_workers or 1)


def judge(
    files: Files,
    rows: "Iterator[AnyRow]",
    judging: Judging,
    *,
    hashes: Mapping[str, str],
    into: Path,
    count: Callable[[], int | None],
    retry_failed: bool = False,
) -> "Run":
    """Judge rows that have no result yet, and tell how far it is.

    Args:
        files: What was asked for.
        rows: All of the data.
        judging: What judges them.
        hashes: SHA-256 of each file of the data, by its name.
        into: The results.
        count: How many rows there are, if that can be said.
        retry_failed: Whether rows that failed before are judged again.
    """
    from groundwire.evaluation.judged_row import Header
    from groundwire.evaluation.run import run_on

    with judging.start() as (info, how, block_rows):
        header = Header(detector=info, data=hashes, command=command_line())
        with rows_told(count, hint=files.output is not None) as tell:
            return run_on(
                how,
                rows,
                output=into,
                header=header,
                replace=files.force,
                retry_failed=retry_failed,
                on_row=tell,
                block_rows=block_rows,
            )


def refuse_retry_of_nothing(output: Path | None, *, retry_failed: bool) -> None:
    """What is judged again are rows of results that were kept."""
    if retry_failed and output is None:
        raise click.UsageError("--retry-failed concerns the file of --output: name it.")


def refuse_among_data(files: Files) -> None:
    """Results in the folder of the data would be data of the next run."""
    is_folder = files.output is not None and files.batch.is_dir()
    if is_folder and files.output and files.output.resolve().parent == files.batch.resolve():
        raise click.UsageError("--output is in the folder of --data: name one elsewhere.")


@contextmanager
def results_file(files: Files) -> Iterator[Path]:
    """Where results go; without a name, into a file that nobody sees.

    Raises:
        ResultsExistError: If it is there, and is neither to be continued nor replaced.
    """
    if files.output is None:
        with tempfile.TemporaryDirectory(prefix="groundwire-") as folder:
            yield Path(folder) / "results.jsonl"
        return
    if files.output.exists() and not files.resume and not files.force:
        raise ResultsExistError(files.output)
    yield files.output


@contextmanager
def rows_told(count: Callable[[], int | None], *, hint: bool) -> Iterator[Callable[[int], None]]:
    """Tell how far a run is: a bar on a terminal, else a line on standard error now and then.

    Args:
        count: How many rows there are, if that can be said.
        hint: Whether a run that is stopped can be continued.
    """
    n_rows = n_new = 0
    with progress(count, is_interactive=sys.stderr.isatty()) as report:

        def tell(n_done: int) -> None:
            nonlocal n_rows, n_new
            n_rows, n_new = n_done, n_new + 1
            report(n_rows, n_new)

        try:
            yield tell
        except KeyboardInterrupt:
            more = " --resume continues." if hint else ""
            click.echo(f"Stopped after {count_rows(n_rows)}.{more}", err=True)
            raise


def show(found: "Evaluation", wall_s: float | None, *, as_json: bool) -> None:
    """Print scores: as JSON, or as a table with what is to be known beside it."""
    if as_json:
        click.echo(to_json(found.to_dict(wall_s=wall_s), indent=2))
        return
    from groundwire.evaluation.table import to_text

    click.echo(to_text(found.to_dict(wall_s=wall_s)))


def status_of(found: "Evaluation") -> ExitStatus:
    """The exit status of scores.

    Raises:
        NothingScoredError: If there are none.
    """
    if not found.scores["n_answers"]:
        counts = found.counts
        raise NothingScoredError(counts.n, counts.n_failed, counts.n_unlabelled)
    return ExitStatus.PASSED if found.counts.is_complete else ExitStatus.FLAGGED


def command_line() -> str:
    """What was called, to be called again."""
    return shlex.join(["groundwire", *sys.argv[1:]])

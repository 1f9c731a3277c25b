"""``groundwire bench``: a benchmark by its name, with what others reached on it."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.batch import Files
from groundwire.cli.check import detector_options
from groundwire.cli.data_options import engine_options
from groundwire.cli.detectors import Setup
from groundwire.cli.evaluate import (
    Judging,
    judge,
    refuse_retry_of_nothing,
    results_file,
    status_of,
)
from groundwire.cli.inputs import RESULTS, RETRY_FAILED, refuse_empty
from groundwire.evaluation.loading import DetectorChoice
from groundwire.text.files.writing import to_json

if TYPE_CHECKING:
    from groundwire.evaluation.benches.registry import Bench

EPILOG = """\b
Examples:
  groundwire bench --list
  groundwire bench ragtruth --data RAGTruth/dataset
  groundwire bench ragtruth --data test.jsonl.gz --output results.jsonl --resume
  groundwire bench aggrefact --detector similarity --limit 1000
  groundwire bench halueval --data HaluEval/data --task qa --detector ngram --json

\b
Detectors: reader, similarity, similarity:hash, ngram, nli:MODEL, lettucedetect:MODEL,
judge:MODEL@URL, a folder or a hub model that classifies tokens.

\b
Exit status:
  0  all rows were read and checked, each at least in part
  1  some were not, which is told: rows that could not be read are in no score; answers that could
     not be checked count as missed if they are hallucinated, else not at all
  2  there is nothing to score, or the command was wrong
"""


@click.command(epilog=EPILOG)
@click.argument("name", required=False)
@click.option("--list", "is_list", is_flag=True, help="List the benchmarks, and do nothing else.")
@click.option(
    "--data",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="The official file, or the folder of them.  [default: from the Hugging Face hub, for "
    "those that are there]",
)
@click.option(
    "--split", callback=refuse_empty, metavar="NAME", help="A part of it, such as test or dev."
)
@click.option(
    "--data-revision",
    callback=refuse_empty,
    metavar="COMMIT",
    help="Of the data on the hub.  [default: what is current; the result says which]",
)
@click.option(
    "--sha256",
    "sums",
    multiple=True,
    metavar="[FILE=]SUM",
    help="What a file must be, or nothing is judged; can be repeated.",
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="NAME",
    help="Only answers of this task; can be repeated.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="So many answers: whole contexts, drawn at random, the same each time.",
)
@click.option(
    "--output",
    type=RESULTS,
    metavar="FILE",
    help="Keep what became of each answer, as groundwire evaluate does: JSON Lines, or a folder of "
    "Parquet files if the name ends in .parquet.",
)
@click.option("--resume", is_flag=True, help="Continue an --output that was cut short.")
@RETRY_FAILED
@click.option("--force", is_flag=True, help="Replace an --output that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@engine_options
@detector_options
@click.pass_context
def bench(
    ctx: click.Context,
    /,
    *,
    name: str | None,
    is_list: bool,
    data: Path | None,
    split: str | None,
    data_revision: str | None,
    sums: tuple[str, ...],
    tasks: tuple[str, ...],
    limit: int | None,
    output: Path | None,
    resume: bool,
    retry_failed: bool,
    force: bool,
    as_json: bool,
    engine: str,
    workers: int | None,
    choice: DetectorChoice,
) -> None:
    """Score a detector on a benchmark, beside what others reached."""
    # NumPy, and what the scores need: a moment that --help does not.
    from groundwire.evaluation.benches.checking import require_sums, sums_of
    from groundwire.evaluation.benches.registry import bench as find_bench
    from groundwire.evaluation.benches.result import BenchResult
    from groundwire.evaluation.benches.table import listed, to_text
    from groundwire.evaluation.datasets.choosing import choose

    if is_list:
        click.echo(listed())
        return
    if name is None:
        raise click.UsageError("Name a benchmark; groundwire bench --list has them.")
    wanted = find_bench(name)
    part = wanted.split(split)
    if data is not None and data_revision is not None:
        raise click.UsageError("--data-revision concerns the hub, and --data is here.")
    refuse_retry_of_nothing(output, retry_failed=retry_failed)
    resume = resume or retry_failed
    folder, commit = (data, "") if data is not None else _fetched(wanted, part, data_revision)
    paths = wanted.find(folder, part)
    for path in paths:
        Files(batch=path, output=output, resume=resume, force=force)  # refuses what is the same
    found_sums = sums_of(paths)
    require_sums(found_sums, sums)
    files = Files(batch=paths[0], output=output, resume=resume, force=force)
    read = choose(partial(wanted.read, paths, part), tasks=tasks, limit=limit)
    judging = Judging(
        setup=ctx.ensure_object(Setup), choice=choice, engine=engine, n_workers=workers
    )
    with results_file(files) as results:
        started = time.monotonic()
        done = judge(
            files,
            read(),
            judging,
            hashes=found_sums,
            into=results,
            count=lambda: limit,
            retry_failed=retry_failed,
        )
        wall_s = time.monotonic() - started
        result = BenchResult.read(results, wanted, part, limit=limit, tasks=tasks, commit=commit)
    # What an earlier call judged took time of its own, which nobody measured as a whole.
    measured = wall_s if done.n_new == done.n_rows else None
    if as_json:
        click.echo(to_json(result.to_dict(wall_s=measured), indent=2))
    else:
        click.echo(to_text(result, wall_s=measured))
    ctx.exit(status_of(result.evaluation))


def _fetched(wanted: "Bench", split: str, revision: str | None) -> tuple[Path, str]:
    from groundwire.evaluation.benches.hub import fetch

    found = fetch(wanted, split, revision=revision)
    return found.folder, found.commit

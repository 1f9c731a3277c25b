"""``groundwire bench``: scores a detector on a benchmark, beside published scores of others."""

from functools import partial
from pathlib import Path

import click

from groundwire.cli.console import show
from groundwire.cli.detectors import DetectorChoice, Setup
from groundwire.cli.evaluate import status_of
from groundwire.cli.inputs import NAME
from groundwire.cli.judging import OutputOptions, judge
from groundwire.cli.options import argument, command, option


@command()
def bench(
    ctx: click.Context,
    /,
    *,
    name: str | None = argument(required=False),
    is_list: bool = option("--list"),
    data: Path | None = option("--data", "PATH", click.Path(exists=True, path_type=Path)),
    split: str | None = option("--split", "NAME", NAME),
    data_revision: str | None = option("--data-revision", "COMMIT", NAME),
    limit: int | None = option("--limit", "N", click.IntRange(min=1)),
    output: OutputOptions,
    as_json: bool = option("--json"),
    choice: DetectorChoice,
) -> None:
    """Score a detector on a benchmark, beside the published scores of others.

    Args:
        is_list: List the benchmarks, and do nothing else.
        data: The official file of the benchmark, or the folder of its files.  [default: from the
            Hugging Face hub, if the benchmark is there]
        split: A part of the benchmark, such as test or dev.
        data_revision: The commit of the data on the hub.  [default: the current one, which the
            result names]
        limit: Limit on the number of answers to judge. Whole contexts are drawn at random, the same
            each time. To keep the limit, answers of the last context drawn may be left out.
        as_json: Print the result as JSON.

    Examples:
        groundwire bench --list
        groundwire bench ragtruth --data RAGTruth/dataset
        groundwire bench ragtruth --data test.jsonl.gz --output results.jsonl --resume
        groundwire bench aggrefact --detector similarity --limit 1000
        groundwire bench halueval --data HaluEval/data --detector similarity:hash --json

    Detectors: reader, similarity, similarity:hash, a folder or a hub model that classifies tokens.

    Exit status:
        0  all rows were read and checked, each at least in part
        1  some rows could not be read, and are in no score; or some answers could not be checked,
           and count as missed if they are hallucinated, else not at all
        2  there is nothing to score, or the command was wrong
    """
    # Importing NumPy and the scores takes a moment, and --help does not need them.
    from groundwire.evaluation.benches.checking import sums_of
    from groundwire.evaluation.benches.hub import fetch
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
    folder, commit = data, ""
    if folder is None:
        folder = fetch(wanted, part, revision=data_revision)
        commit = folder.name
    paths = wanted.find(folder, part)
    files, *_ = [output.files(path) for path in paths]  # refuses an output that is an input
    read = choose(partial(wanted.read, paths, part), limit=limit)
    setup, hashes = ctx.ensure_object(Setup), sums_of(paths)
    with judge(setup, choice, files, read(), hashes=hashes, count=lambda: limit) as done:
        result = BenchResult.read(done.path, wanted, part, limit=limit, commit=commit)
    data_of = result.to_dict(wall_s=done.wall_s)
    show(data_of, lambda: to_text(result, wall_s=done.wall_s), as_json=as_json)
    ctx.exit(status_of(result.evaluation))

"""Judged answers for commands: labelled data that is judged now, or results of before."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from groundwire.cli.batch import Files
from groundwire.cli.check import refuse_options
from groundwire.cli.data_options import DataOptions, data_options
from groundwire.cli.detectors import Setup
from groundwire.cli.evaluate import (
    Judging,
    judge,
    refuse_among_data,
    refuse_retry_of_nothing,
    results_file,
)
from groundwire.cli.inputs import READ_RESULTS, RESULTS, RETRY_FAILED
from groundwire.evaluation.loading import DetectorChoice

#: Options that say how data is judged, and where that is kept.
_OF_JUDGING = frozenset(
    {each.name for kind in (DataOptions, DetectorChoice) for each in fields(kind)}
    | {"output", "resume", "retry_failed", "force"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """The options that name labelled answers."""

    data: Path | None
    results: Path | None
    rows: DataOptions
    output: Path | None
    resume: bool
    retry_failed: bool
    force: bool

    def check(self, ctx: click.Context) -> None:
        """Refuse what does not go together."""
        if (self.data is None) == (self.results is None):
            raise click.UsageError(
                "Give labelled answers with --data, or with --results what groundwire evaluate "
                "--output made of them."
            )
        if self.results is not None:
            refuse_options(ctx, _OF_JUDGING, "concerns --data: results are as they were judged.")
        refuse_retry_of_nothing(self.output, retry_failed=self.retry_failed)
        if self.output is None and (self.resume or self.force):
            raise click.UsageError("--resume and --force concern the file of --output: name it.")


def labelled_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of :class:`Labelled`, which the command gets as ``labelled``."""

    @wraps(command)
    def collected(*args: object, **given: object) -> None:
        own: dict[str, Any] = {each.name: given.pop(each.name) for each in fields(Labelled)}
        command(*args, labelled=Labelled(**own), **given)

    options = (
        click.option(
            "--data",
            type=click.Path(exists=True, path_type=Path),
            metavar="FILE",
            help="Labelled answers, as groundwire evaluate reads them; they are judged now.",
        ),
        click.option(
            "--results",
            type=READ_RESULTS,
            metavar="FILE",
            help="What groundwire evaluate --output wrote: nothing is judged again.",
        ),
        data_options,
        click.option(
            "--output",
            type=RESULTS,
            metavar="FILE",
            help="Keep what became of each row of --data.",
        ),
        click.option("--resume", is_flag=True, help="Continue an --output that was cut short."),
        RETRY_FAILED,
        click.option("--force", is_flag=True, help="Replace an --output that exists."),
    )
    for option in reversed(options):
        collected = option(collected)
    return collected


@contextmanager
def judged_file(
    ctx: click.Context, choice: DetectorChoice, labelled: Labelled, setup: Setup | None = None
) -> Iterator[Path]:
    """Give the results, made first if there are none.

    Args:
        ctx: Of the command.
        choice: The detector.
        labelled: The answers, or results.
        setup: Loads the detector; by default that of the context.
    """
    labelled.check(ctx)
    if labelled.results is not None:
        yield labelled.results
        return
    assert labelled.data is not None
    rows = labelled.rows
    retries = labelled.retry_failed
    files = Files(
        batch=labelled.data,
        output=labelled.output,
        resume=labelled.resume or retries,
        force=labelled.force,
    )
    refuse_among_data(files)
    from groundwire.evaluation.datasets.lines import fingerprints

    read = rows.reader(labelled.data)
    judging = Judging(
        setup=setup or ctx.ensure_object(Setup),
        choice=choice,
        engine=rows.engine,
        n_workers=rows.workers,
    )
    with results_file(files) as path:
        count = partial(rows.count, labelled.data)
        judge(
            files,
            read(),
            judging,
            hashes=fingerprints(labelled.data),
            into=path,
            count=count,
            retry_failed=retries,
        )
        yield path

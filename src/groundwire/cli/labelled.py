"""Judged answers for commands: labelled data that is judged now, or results of before."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from groundwire.cli.batch import Files
from groundwire.cli.detectors import Choice, Setup
from groundwire.cli.evaluate import Judging, judge, refuse_among_data, results_file
from groundwire.cli.inputs import READ_RESULTS, RESULTS

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """The options that name labelled answers."""

    data: Path | None
    results: Path | None
    columns: tuple[str, ...]
    label_means: str
    output: Path | None
    resume: bool
    force: bool

    def check(self) -> None:
        """Refuse what does not go together."""
        if (self.data is None) == (self.results is None):
            raise click.UsageError(
                "Give labelled answers with --data, or with --results what groundwire evaluate "
                "--output made of them."
            )
        if self.results is not None and (self.output or self.columns):
            raise click.UsageError("--column and --output concern --data: results are as they are.")
        if self.output is None and (self.resume or self.force):
            raise click.UsageError("--resume and --force concern the file of --output: name it.")


def labelled_options(command: _F) -> _F:
    """The options that name labelled answers."""
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
        click.option(
            "--column",
            "columns",
            multiple=True,
            metavar="FIELD=COLUMN",
            help="Which column holds a field, if it has another name; can be repeated.",
        ),
        click.option(
            "--label-means",
            type=click.Choice(("hallucinated", "supported")),
            default="hallucinated",
            show_default=True,
            help="What a label of 1, true or yes says of its answer.",
        ),
        click.option(
            "--output",
            type=RESULTS,
            metavar="FILE",
            help="Keep what became of each row of --data.",
        ),
        click.option("--resume", is_flag=True, help="Continue an --output that was cut short."),
        click.option("--force", is_flag=True, help="Replace an --output that exists."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@contextmanager
def judged_file(setup: Setup, choice: Choice, labelled: Labelled) -> Iterator[Path]:
    """The file of results, made first if there is none."""
    labelled.check()
    if labelled.results is not None:
        yield labelled.results
        return
    assert labelled.data is not None
    from groundwire.evaluation.datasets.files import count_rows, read_labelled
    from groundwire.evaluation.datasets.mapping import ColumnMapping

    mapping = ColumnMapping.of(labelled.columns, label_means=labelled.label_means)
    files = Files(
        batch=labelled.data, output=labelled.output, resume=labelled.resume, force=labelled.force
    )
    refuse_among_data(files)
    with results_file(files) as path:
        rows = read_labelled(labelled.data, mapping)
        count = partial(count_rows, labelled.data)
        judge(files, rows, Judging(setup=setup, choice=choice), into=path, count=count)
        yield path

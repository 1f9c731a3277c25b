"""Which rows of labelled answers are judged, how they are read, and by how many processes."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from groundwire.evaluation.datasets.choosing import Read


#: What judges, and where.
_ENGINE = (
    click.option(
        "--engine",
        type=click.Choice(("local", "ray")),
        default="local",
        show_default=True,
        help="What judges: this machine, or the Ray cluster that RAY_ADDRESS names (extra ray).",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1, 4096),
        metavar="N",
        help="Processes that judge, each with a model of its own and one thread.  [default: "
        "local: this process alone, with all its threads; ray: one for each processor]",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions:
    """The options that every command has which judges labelled answers.

    They are the same for all, so that what one command scored another can compare.
    """

    columns: tuple[str, ...]
    label_means: str
    format: str
    tasks: tuple[str, ...]
    limit: int | None
    engine: str
    workers: int | None

    def reader(self, data: Path) -> "Read":
        """What reads the rows, from the first, each time it is called."""
        from groundwire.evaluation.datasets.choosing import choose
        from groundwire.evaluation.datasets.formats import reader
        from groundwire.evaluation.datasets.mapping import ColumnMapping

        mapping = ColumnMapping.of(self.columns, label_means=self.label_means)
        read = reader(data, format=self.format, mapping=mapping)
        return choose(read, tasks=self.tasks, limit=self.limit)

    def count(self, data: Path) -> int | None:
        """How many rows there are, if that can be said."""
        from groundwire.evaluation.datasets.lines import count_rows

        if self.tasks:
            return None
        n = count_rows(data)
        return n if self.limit is None or n is None else min(self.limit, n)


def data_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of :class:`DataOptions`, which the command gets as ``rows``."""

    @wraps(command)
    def collected(*args: object, **given: object) -> None:
        own: dict[str, Any] = {each.name: given.pop(each.name) for each in fields(DataOptions)}
        command(*args, rows=DataOptions(**own), **given)

    options = (
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
            "--format",
            type=click.Choice(("table", "slots")),
            default="table",
            show_default=True,
            help="How the data is written; slots are {{supported||hallucinated||kind}} in the "
            "answers.",
        ),
        click.option(
            "--task",
            "tasks",
            multiple=True,
            metavar="NAME",
            help="Only rows of this task; can be repeated.",
        ),
        click.option(
            "--limit",
            type=click.IntRange(min=1),
            metavar="N",
            help="So many rows: whole contexts, drawn at random, the same each time.",
        ),
        *_ENGINE,
    )
    for option in reversed(options):
        collected = option(collected)
    return collected


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``engine`` and ``workers`` alone."""
    for option in reversed(_ENGINE):
        command = option(command)
    return command

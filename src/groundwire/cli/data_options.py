"""The options that say which rows of labelled answers are judged, and how they are read."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.options import option

if TYPE_CHECKING:
    from groundwire.evaluation.datasets.choosing import Read

#: Matches the name of a column of labels in which true probably means that the answer is right.
_RIGHT = re.compile(
    r"(?<!in)(?<!un)(?:correct|right|support|ground|faith|consist|pass|good|valid)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions:
    """The options of commands that judge a user's labelled answers.

    Attributes:
        columns: The column that holds a field, if the column has none of the field's usual names;
            can be repeated.
        label_means: Meaning of a label of 1, true or yes.  [default: hallucinated]
        format: Format of the data: a table with labels; or slots, which are places in an answer
            with a right and a wrong wording: {{supported||hallucinated||kind}}.
        limit: Limit on the number of rows to judge. Whole contexts are drawn at random, the same
            each time. To keep the limit, rows of the last context drawn may be left out.
    """

    columns: tuple[str, ...] = option("--column", "FIELD=COLUMN")
    label_means: str | None = option(
        "--label-means", type=click.Choice(("hallucinated", "supported"))
    )
    format: str = option("--format", type=click.Choice(("table", "slots")), default="table")
    limit: int | None = option("--limit", "N", click.IntRange(min=1))

    def reader(self, data: Path) -> "Read":
        """Return a function that reads the chosen rows; each call begins at the first row.

        Raises:
            UsageError: If the name that ``--column`` gives for the column of labels suggests that
                true means a right answer, and ``--label-means`` is not given; or if ``--column`` or
                ``--label-means`` is given for data with slots.
            SettingError: If a value of ``--column`` is not valid.
        """
        from groundwire.evaluation.datasets.choosing import choose
        from groundwire.evaluation.datasets.files import read_labelled
        from groundwire.evaluation.datasets.mapping import ColumnMapping
        from groundwire.evaluation.datasets.slots import each_slot

        mapping = ColumnMapping.of(self.columns, label_means=self.label_means or "hallucinated")
        column = mapping.columns.get("label", "")
        if self.label_means is None and _RIGHT.search(column):
            raise click.UsageError(
                f"In the column {column!r}, does true mean that the answer is supported? Then add "
                "--label-means supported, else --label-means hallucinated."
            )
        if self.format == "slots":
            if self.columns or self.label_means:
                raise click.UsageError("--column and --label-means are not for --format slots.")
            read = partial(each_slot, data)
        else:
            read = partial(read_labelled, data, mapping)
        return choose(read, limit=self.limit)

    def count(self, data: Path) -> int | None:
        """Return the approximate number of rows to judge, for a progress bar; ``None`` if unknown.

        In JSON, all lines are counted, including blank ones. A row with slots counts once, although
        several answers are made from it.
        """
        from groundwire.evaluation.datasets.lines import count_rows

        n = count_rows(data)
        return n if self.limit is None or n is None else min(self.limit, n)

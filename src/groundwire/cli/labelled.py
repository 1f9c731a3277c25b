"""Provides commands with a results file, from an earlier run or from judging answers now."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from groundwire.cli.check import refuse_options
from groundwire.cli.data_options import DataOptions
from groundwire.cli.detectors import DetectorChoice, Setup
from groundwire.cli.inputs import READ_FILE
from groundwire.cli.judging import Judged, OutputOptions, judge
from groundwire.cli.options import names_of, option

#: Names of the options that need ``--data``: how the data are judged, and where results are kept.
_OF_JUDGING = (*names_of(DataOptions), *names_of(OutputOptions), *names_of(DetectorChoice))


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """The options that name labelled answers, or results of judging them.

    Attributes:
        data: Labelled answers, as groundwire evaluate reads them; they are judged now.
        results: Results that groundwire evaluate --output wrote; nothing is judged again.
        rows: The rows of the data to judge, and how they are read.
        output: The file in which results are kept.
        choice: The detector that judges the data.
    """

    data: Path | None = option("--data", "FILE", click.Path(exists=True, path_type=Path))
    results: Path | None = option("--results", type=READ_FILE)
    rows: DataOptions
    output: OutputOptions
    choice: DetectorChoice

    def check(self, ctx: click.Context) -> None:
        """Raise a UsageError if the options contradict each other or ``--output`` cannot be used.

        Exactly one of ``--data`` and ``--results`` must be given. Options about judging need
        ``--data``.
        """
        if (self.data is None) == (self.results is None):
            raise click.UsageError(
                "Give labelled answers with --data, or with --results what groundwire evaluate "
                "--output made of them."
            )
        if self.data is not None:
            self.output.files(self.data)
        else:
            refuse_options(ctx, _OF_JUDGING, "concerns --data: results are as they were judged.")

    @contextmanager
    def judged(self, ctx: click.Context, setup: Setup | None = None) -> Iterator[Path]:
        """Yield the path of the results; with ``--data``, judge the answers first.

        ``setup`` has the functions that load detectors; by default those in click's context.
        """
        self.check(ctx)
        if self.data is None:
            assert self.results is not None
            yield self.results
            return
        setup = setup or ctx.ensure_object(Setup)
        with judged_data(setup, self.choice, self.data, self.rows, self.output) as done:
            yield done.path


def judged_data(
    setup: Setup, choice: DetectorChoice, data: Path, rows: DataOptions, output: OutputOptions
) -> AbstractContextManager[Judged]:
    """Judge a file or folder of labelled answers, for a ``with`` block that reads the results."""
    from groundwire.evaluation.datasets.lines import fingerprints

    files, count = output.files(data), partial(rows.count, data)
    return judge(setup, choice, files, rows.reader(data)(), hashes=fingerprints(data), count=count)

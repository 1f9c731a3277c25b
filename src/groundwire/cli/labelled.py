"""Judged answers for commands: labelled data that is judged now, or results of before."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from groundwire.cli.check import DetectorOptions, refuse_options
from groundwire.cli.data_options import DataOptions
from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import READ_FILE
from groundwire.cli.judging import Judged, Judging, OutputOptions
from groundwire.cli.options import group, names_of, option
from groundwire.evaluation.loading import DetectorChoice

#: Options that say how data is judged, and where that is kept.
_OF_JUDGING = (*names_of(DataOptions), *names_of(OutputOptions), *names_of(DetectorOptions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """The options that name labelled answers.

    Attributes:
        data: Labelled answers, as groundwire evaluate reads them; they are judged now.
        results: What groundwire evaluate --output wrote: nothing is judged again.
        rows: Which rows of the data, and how they are read.
        output: Where results are kept.
    """

    data: Path | None = option("--data", "FILE", click.Path(exists=True, path_type=Path))
    results: Path | None = option("--results", type=READ_FILE)
    rows: DataOptions = group(DataOptions)
    output: OutputOptions = group(OutputOptions)

    def check(self, ctx: click.Context) -> None:
        """Refuse what does not go together."""
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
    def judged(
        self, ctx: click.Context, choice: DetectorChoice, setup: Setup | None = None
    ) -> Iterator[Path]:
        """Yield the path of the results; judge the answers first if there are none.

        Args:
            ctx: Of the command.
            choice: The detector.
            setup: Loads the detector; by default that of the context.
        """
        self.check(ctx)
        if self.data is None:
            assert self.results is not None
            yield self.results
            return
        judging = Judging(
            setup=setup or ctx.ensure_object(Setup), choice=choice, engine=self.rows.engine
        )
        with judged_data(judging, self.data, self.rows, self.output) as done:
            yield done.path


def judged_data(
    judging: Judging, data: Path, rows: DataOptions, output: OutputOptions
) -> AbstractContextManager[Judged]:
    """Judge a file of labelled answers, or a folder of them."""
    from groundwire.evaluation.datasets.lines import fingerprints

    files = output.files(data)
    return judging.judged(
        files,
        rows.reader(data)(),
        hashes=fingerprints(data),
        count=partial(rows.count, data),
        retry_failed=output.retry_failed,
    )

"""Judges labelled answers for commands that score a detector.

The module has the options for the results file, writes this file and shows the progress.
"""

import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.batch import Files, results_exist
from groundwire.cli.detectors import DetectorChoice, Setup
from groundwire.cli.inputs import RESULT_FILE
from groundwire.cli.options import option
from groundwire.cli.progress import progress

if TYPE_CHECKING:
    from groundwire.evaluation.datasets.files import AnyRow

#: Limit on the size of all caches of the similarity detector together, in megabytes. Small caches
#: are enough, since answers of one context are judged together.
SIMILARITY_CACHE_MB = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """The options that say where results of judging are kept.

    Attributes:
        output: Write the result of each row to this file, as JSON Lines. Reports and thresholds
            are made from it, and --resume continues it.
        resume: Continue an --output that was cut short.
        force: Replace an --output that exists.
    """

    output: Path | None = option("--output", type=RESULT_FILE)
    resume: bool = option("--resume")
    force: bool = option("--force")

    def files(self, data: Path) -> Files:
        """Return the input and output files of a command.

        Raises:
            UsageError: If the options contradict each other, or the output cannot be used, for
                example because it is in the folder of the data.
        """
        if self.output and data.is_dir() and self.output.resolve().parent == data.resolve():
            # The next run would read the results as data.
            raise click.UsageError("--output is in the folder of --data: name one elsewhere.")
        return Files(batch=data, output=self.output, resume=self.resume, force=self.force)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The results of judging answers.

    Attributes:
        path: The file of results.
        wall_s: Seconds that loading the detector and judging took; ``None`` if an earlier run
            judged some of the rows.
    """

    path: Path
    wall_s: float | None


@contextmanager
def judge(
    setup: Setup,
    choice: DetectorChoice,
    files: Files,
    rows: "Iterator[AnyRow]",
    *,
    hashes: Mapping[str, str],
    count: Callable[[], int | None],
) -> Iterator[Judged]:
    """Judge the rows that have no result yet, show the progress, and yield the results.

    Args:
        setup: The functions that load detectors.
        choice: The detector to load.
        files: The data and the output. Without an output, the results are written to a temporary
            file, which is deleted at the end of the ``with`` block.
        rows: All chosen rows of the data, including those that already have a result.
        hashes: Name of each file of the data → its SHA-256.
        count: Function that returns the number of rows; ``None`` if it is unknown.

    Raises:
        InputError: If the output cannot be used, or the data cannot be read.
        GroundwireError: If the detector cannot be loaded.
    """
    from groundwire.engine.models import EMBEDDERS
    from groundwire.evaluation.judged_row import Header
    from groundwire.evaluation.run import run

    with ExitStack() as stack:
        path = files.output
        if path is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="groundwire-"))
            path = Path(folder) / "results.jsonl"
        elif path.exists() and not files.resume and not files.force:
            raise results_exist(path)
        start = time.monotonic()
        if choice.cache_mb is None and choice.model in EMBEDDERS:
            choice = replace(choice, cache_mb=SIMILARITY_CACHE_MB)
        detector = setup.load(choice)
        hint = " --resume continues." if files.output else ""
        with progress(count, is_interactive=sys.stderr.isatty(), hint=hint) as report:
            command = shlex.join(["groundwire", *sys.argv[1:]])
            header = Header(detector=detector.info, data=hashes, command=command)
            done = run(
                detector, rows, output=path, header=header, replace=files.force, on_row=report
            )
        is_whole = done.n_new == done.n_rows
        yield Judged(path=path, wall_s=time.monotonic() - start if is_whole else None)

"""Answers in place of failures: kept beside their file as they come, then brought into it.

A file of answers is in the order of its questions, so what comes later cannot be appended to it;
and what was paid for must not be lost if the run is cut short before all of it is there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from groundwire.evaluation.workflow.stage import (
    Stage,
    append,
    count_done,
    read_rows,
    write_whole,
)


class Mending:
    """What is asked again for a file of answers.

    Attributes:
        beside: Where it is until it is brought in.
    """

    def __init__(self, output: Path, stage: Stage) -> None:
        self._output, self._stage = output, stage
        self.beside = output.with_name(f".{output.name}.mended")

    def mend(self, rows: Iterable[Mapping[str, Any]], on_row: Callable[[int], None]) -> int:
        """Put answers in the place of rows without one; how many there are.

        Whatever ends the rows early, what came until then is brought in, and what failed again
        stays as it was.

        Args:
            rows: In the order of the file.
            on_row: Told which row is done.
        """
        answered = (row for row in rows if row["answer"] is not None)
        n = 0
        try:
            for row in append(self.beside, self._stage, answered, replace=True):
                on_row(row["row"])
        finally:
            n = self.end()
        return n

    def end(self) -> int:
        """Bring in what is there, also of a run that was killed; how many rows.

        Raises:
            StageError: If the file beside is of another run.
        """
        if not self.beside.exists():
            return 0
        n = count_done(self.beside, self._stage)
        if n:
            write_whole(self._output, self._stage, self._merged())
        self.drop()
        return n

    def drop(self) -> None:
        """Forget it."""
        self.beside.unlink(missing_ok=True)

    def _merged(self) -> Iterator[Mapping[str, Any]]:
        mended = (row for _, row in read_rows(self.beside, self._stage.step))
        following = next(mended, None)
        for _, row in read_rows(self._output, self._stage.step):
            if following is not None and following["row"] == row["row"]:
                yield following
                following = next(mended, None)
            else:
                yield row

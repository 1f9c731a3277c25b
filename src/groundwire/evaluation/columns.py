"""Judged answers as columns of numbers: a hundred bytes each, so that millions fit into memory."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, fields
from hashlib import sha256
from math import nan
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from groundwire.evaluation.confusion import Judged
from groundwire.evaluation.metrics import Bools, Floats
from groundwire.evaluation.sums import counted

Counts = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Columns:
    """One value of each column for each answer, in the order of the data.

    Attributes:
        rows: Numbers of the rows, ascending.
        tasks: Which task, as a number that counts tasks.
        contexts: A number that stands for the sources.
        flagged: Whether the detector marked anything.
        failed: Whether there is no verdict: the check failed, or judged nothing.
        hallucinated: Whether the answer is.
        complete: Whether all of it was checked.
        has_spans: Whether it is known which characters are hallucinated.
        probability: As :attr:`.confusion.Judged.probability`.
        characters: Both, predicted and gold, shape ``(n, 3)``.
        pairs: The same, counted as LettuceDetect does.
        claims: Claims in which nothing is marked that passed, and all such claims; ``(n, 2)``.
        said: P(not supported) that the detector says of the answer; ``nan`` if it says none.
        latency_ms: Of the check; ``nan`` if there is no verdict.
    """

    rows: NDArray[np.int64]
    tasks: Counts
    contexts: NDArray[np.uint64]
    flagged: Bools
    failed: Bools
    hallucinated: Bools
    complete: Bools
    has_spans: Bools
    probability: Floats
    characters: Counts
    pairs: Counts
    claims: Counts
    said: Floats
    latency_ms: NDArray[np.float32]

    @staticmethod
    def of(judged: Iterable[Judged]) -> "Columns":
        """Columns of answers at hand, in their order."""
        collector = Collector()
        for row, answer in enumerate(judged, 1):
            collector.add(row, answer)
        return collector.columns()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def counted(self) -> Bools:
        """Which of them scores count: see :func:`.sums.counted`."""
        return counted(self.hallucinated, self.failed)

    def take(self, which: Bools) -> Self:
        """Some of the answers; if it is all of them, nothing is copied."""
        if which.all():
            return self
        return type(self)(**{each.name: getattr(self, each.name)[which] for each in fields(self)})


class Collector:
    """Gathers answers one by one, in any order."""

    def __init__(self) -> None:
        self._tasks: dict[str, int] = {}
        self._rows = array("q")
        self._numbers = array("i")  # task, then the counts, one answer after the other
        self._contexts = array("Q")
        self._flags = array("B")
        self._probabilities = array("d")
        self._said = array("d")
        self._latencies = array("f")

    @property
    def tasks(self) -> list[str]:
        """The names that the numbers of tasks stand for."""
        return list(self._tasks)

    def add(
        self, row: int, answer: Judged, *, said: float | None = None, latency_ms: float = nan
    ) -> None:
        """Add one; the arguments are as :class:`Columns` has them."""
        task = self._tasks.setdefault(answer.task, len(self._tasks))
        claims = (answer.n_clean_passed, answer.n_clean_claims)
        counts = (*answer.characters.counts, *answer.pairs.counts, *claims)
        self._numbers.extend((task, *counts))
        self._rows.append(row)
        digest = sha256(answer.context_id.encode("utf-8", "surrogatepass")).digest()
        self._contexts.append(int.from_bytes(digest[:8], "big"))
        flags = (
            answer.is_flagged,
            answer.is_hallucinated,
            answer.is_complete,
            answer.has_spans,
            not answer.has_verdict,
        )
        self._flags.append(sum(flag << i for i, flag in enumerate(flags)))
        self._probabilities.append(answer.probability)
        self._said.append(nan if said is None else said)
        self._latencies.append(latency_ms)

    def columns(self) -> Columns:
        """The columns, in the order of the rows; they are given away, for both would not fit.

        Raises:
            ValueError: If a row was added twice.
        """
        rows = _taken(self._rows)
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        if (twice := np.flatnonzero(rows[1:] == rows[:-1])).size:
            raise ValueError(f"row {rows[twice[0]]:,} is there twice")
        numbers = _taken(self._numbers).reshape(-1, 9)[order]
        flags = _taken(self._flags)[order]
        flagged, hallucinated, complete, has_spans, failed = (
            (flags >> i & 1) == 1 for i in range(5)
        )
        return Columns(
            rows=rows,
            tasks=numbers[:, 0],
            contexts=_taken(self._contexts)[order],
            flagged=flagged,
            failed=failed,
            hallucinated=hallucinated,
            complete=complete,
            has_spans=has_spans,
            probability=_taken(self._probabilities)[order],
            characters=numbers[:, 1:4],
            pairs=numbers[:, 4:7],
            claims=numbers[:, 7:9],
            said=_taken(self._said)[order],
            latency_ms=_taken(self._latencies)[order],
        )


def _taken(values: "array[Any]") -> NDArray[Any]:
    """The values as an array of NumPy; the other one is empty afterwards."""
    found = np.array(values)
    del values[:]
    return found

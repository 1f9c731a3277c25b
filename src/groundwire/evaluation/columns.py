"""Judged answers as columns of numbers: a hundred bytes each, so that millions fit into memory."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from math import nan
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from groundwire.evaluation.confusion import ComparedAnswer
from groundwire.evaluation.metrics import Bools, Floats
from groundwire.evaluation.sums import counted

Counts = NDArray[np.int32]

#: Answers that are kept as Python objects before they are packed.
_CHUNK = 4096
_TABLE = np.dtype(
    [
        ("rows", np.int64),
        ("tasks", np.int32),
        ("contexts", np.uint64),
        ("flagged", np.bool_),
        ("failed", np.bool_),
        ("hallucinated", np.bool_),
        ("complete", np.bool_),
        ("has_spans", np.bool_),
        ("probability", np.float64),
        ("characters", np.int32, 3),
        ("pairs", np.int32, 3),
        ("claims", np.int32, 2),
        ("said", np.float64),
        ("latency_ms", np.float32),
    ]
)
_NAMES = _TABLE.names or ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Columns:
    """One value of each column for each answer, in the order of the data.

    Attributes:
        rows: Numbers of the rows, ascending.
        task_names: The names of the tasks.
        tasks: The task of each answer, as an index into the names.
        contexts: A number that stands for the sources.
        flagged: Whether the detector marked anything.
        failed: Whether there is no verdict: the check failed, or judged nothing.
        hallucinated: Whether the answer is.
        complete: Whether all of it was checked.
        has_spans: Whether it is known which characters are hallucinated.
        probability: The doubt about it, as in :attr:`.confusion.ComparedAnswer.probability`.
        characters: Both, predicted and gold, shape ``(n, 3)``.
        pairs: The same, counted as LettuceDetect does.
        claims: Claims in which nothing is marked that passed, and all such claims; ``(n, 2)``.
        said: P(not supported) that the detector says of the answer; ``nan`` if it says none.
        latency_ms: The time of the check; ``nan`` if there is no verdict.
    """

    task_names: tuple[str, ...]
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
    def of(judged: Iterable[ComparedAnswer]) -> "Columns":
        """Make columns of answers, in their order."""
        collector = Collector()
        for row, answer in enumerate(judged, 1):
            collector.add(row, answer)
        return collector.columns()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def counted(self) -> Bools:
        """The answers that scores count, as :func:`.sums.counted` selects them."""
        return counted(self.hallucinated, self.failed)

    @property
    def ious(self) -> Floats:
        """Intersection over union of the characters of each; 1 where nothing is marked."""
        both, predicted, gold = self.characters.T.astype(np.float64)
        union = predicted + gold - both
        ious: Floats = np.divide(both, union, out=np.ones(len(self)), where=union > 0)
        return ious

    def take(self, which: Bools) -> Self:
        """Select answers; if all are selected, nothing is copied."""
        if which.all():
            return self
        return replace(self, **{name: getattr(self, name)[which] for name in _NAMES})

    def by_task(self) -> dict[str, Self]:
        """Group the answers by the name of their task."""
        there = dict.fromkeys(self.tasks.tolist())
        return {self.task_names[i]: self.take(self.tasks == i) for i in there}


class Collector:
    """Gathers answers one by one, in any order."""

    def __init__(self) -> None:
        self._tasks: dict[str, int] = {}
        self._chunks: list[NDArray[Any]] = []
        self._rows: list[tuple[Any, ...]] = []

    def add(
        self,
        row: int,
        answer: ComparedAnswer,
        *,
        said: float | None = None,
        latency_ms: float = nan,
    ) -> None:
        """Add an answer; the other arguments are as :class:`Columns` has them."""
        context = sha256(answer.context_id.encode("utf-8", "surrogatepass")).digest()
        self._rows.append(
            (
                row,
                self._tasks.setdefault(answer.task, len(self._tasks)),
                int.from_bytes(context[:8], "big"),
                answer.is_flagged,
                not answer.has_verdict,
                answer.is_hallucinated,
                answer.is_complete,
                answer.has_spans,
                answer.probability,
                answer.characters.counts,
                answer.pairs.counts,
                (answer.n_clean_passed, answer.n_clean_claims),
                nan if said is None else said,
                latency_ms,
            )
        )
        if len(self._rows) == _CHUNK:
            self._pack()

    def columns(self) -> Columns:
        """Give the columns, in the order of the rows.

        Raises:
            ValueError: If a row was added twice.
        """
        self._pack()
        table = np.concatenate(self._chunks)
        table = table[np.argsort(table["rows"], kind="stable")]
        rows = table["rows"]
        if (twice := np.flatnonzero(rows[1:] == rows[:-1])).size:
            raise ValueError(f"row {rows[twice[0]]:,} is there twice")
        columns = {name: np.ascontiguousarray(table[name]) for name in _NAMES}
        return Columns(task_names=tuple(self._tasks), **columns)

    def _pack(self) -> None:
        self._chunks.append(np.array(self._rows, _TABLE))
        self._rows = []

"""Judged answers as arrays of numbers: 77 bytes per answer, so that millions fit into memory."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from groundwire.evaluation.confusion import ComparedAnswer
from groundwire.evaluation.metrics import Bools, Floats
from groundwire.evaluation.sums import counted

Counts = NDArray[np.int32]

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
    """Compared answers as arrays with one entry per answer, in the order of the data.

    Attributes:
        task_names: Names of the tasks.
        rows: Number of the answer's row in the data; the numbers ascend.
        tasks: Task of the answer, as an index into ``task_names``.
        contexts: Hash of the answer's context id; answers to one context share it.
        flagged: Whether the detector marked anything in the answer.
        failed: Whether the answer has no verdict: its check failed, or judged nothing.
        hallucinated: Whether the answer is hallucinated, by its label.
        complete: Whether all evidence was indexed and all of the answer was judged.
        has_spans: Whether the labels say which characters are hallucinated. If not, all counts in
            ``characters``, ``pairs`` and ``claims`` are 0.
        probability: The highest doubt about a claim of the answer, as in
            :attr:`.confusion.ComparedAnswer.probability`.
        characters: Three counts of characters: those that both the detector and people marked,
            those that the detector marked, and those that people marked; shape ``(n, 3)``.
        pairs: The same three counts, as :func:`.metrics.count_pairs` makes them; shape ``(n, 3)``.
        claims: Two counts of the claims in which people marked nothing: those that the detector
            passed, and all of them; shape ``(n, 2)``. See ``n_clean_passed`` and
            ``n_clean_claims`` of :class:`.confusion.ComparedAnswer`.
        said: The detector's P(something in the answer is not supported); ``nan`` if it gives none,
            or there is no verdict.
        latency_ms: Milliseconds that the check took; ``nan`` if there is no verdict.
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

    @classmethod
    def of(cls, answers: Iterable[ComparedAnswer]) -> Self:
        """Make columns from compared answers, which may come in any order and are read once.

        Raises:
            ValueError: If two answers have the same row number.
        """
        tasks: dict[str, int] = {}
        table = np.fromiter((_record(each, tasks) for each in answers), _TABLE)
        table = table[np.argsort(table["rows"], kind="stable")]
        rows = table["rows"]
        if (twice := np.flatnonzero(rows[1:] == rows[:-1])).size:
            raise ValueError(f"row {rows[twice[0]]:,} is there twice")
        columns = {name: np.ascontiguousarray(table[name]) for name in _NAMES}
        return cls(task_names=tuple(tasks), **columns)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def counted(self) -> Bools:
        """Mask of the answers that scores count, as :func:`.sums.counted` selects them."""
        return counted(self.hallucinated, self.failed)

    @property
    def ious(self) -> Floats:
        """Intersection over union of predicted and gold characters of each answer, shape ``(n,)``.

        1 if an answer has neither predicted nor gold characters, or if ``has_spans`` is false.
        """
        both, predicted, gold = self.characters.T.astype(np.float64)
        union = predicted + gold - both
        ious: Floats = np.divide(both, union, out=np.ones(len(self)), where=union > 0)
        return ious

    def take(self, which: Bools) -> Self:
        """Select the answers where a mask is true; if it is true for all, nothing is copied."""
        if which.all():
            return self
        return replace(self, **{name: getattr(self, name)[which] for name in _NAMES})

    def by_task(self) -> dict[str, Self]:
        """Group the answers by the name of their task."""
        there = dict.fromkeys(self.tasks.tolist())
        return {self.task_names[i]: self.take(self.tasks == i) for i in there}


def _record(answer: ComparedAnswer, tasks: dict[str, int]) -> tuple[Any, ...]:
    """Return an answer's values in the order of :data:`_TABLE`; add a new task to ``tasks``."""
    context = sha256(answer.context_id.encode("utf-8", "surrogatepass")).digest()
    return (
        answer.row,
        tasks.setdefault(answer.task, len(tasks)),
        int.from_bytes(context[:8], "big"),
        answer.is_flagged,
        not answer.has_verdict,
        answer.is_hallucinated,
        answer.is_complete,
        answer.has_spans,
        answer.probability,
        answer.characters,
        answer.pairs,
        (answer.n_clean_passed, answer.n_clean_claims),
        answer.said,
        answer.latency_ms,
    )

"""What became of the rows that a threshold is chosen by: it may be told of few of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from groundwire.detection.values import Label
from groundwire.evaluation.evaluation import MAX_FAILURES
from groundwire.evaluation.judged_row import JudgedRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """How many rows there are, and why some of them tell of no threshold.

    Attributes:
        n: All of them.
        n_unreadable: Those that could not be read: they count for nothing.
        n_failed_checks: Those whose check failed.
        n_unchecked: Those whose check did not fail and judged nothing.
        n_unlabelled: Those that could be read, of which nothing is known.
        failures: The first that could not be read, or whose check failed.
    """

    n: int = 0
    n_unreadable: int = 0
    n_failed_checks: int = 0
    n_unchecked: int = 0
    n_unlabelled: int = 0
    failures: Sequence[Mapping[str, Any]] = ()

    @property
    def n_failed(self) -> int:
        """Rows that could not be read, or whose check failed."""
        return self.n_unreadable + self.n_failed_checks

    @property
    def are_checked(self) -> bool:
        """Whether all were read and checked, each at least in part."""
        return not self.n_failed and not self.n_unchecked

    def to_dict(self) -> dict[str, Any]:
        """As JSON data, by the names of :class:`.evaluation.Evaluation`."""
        return {
            "n": self.n,
            "n_failed": self.n_failed,
            "n_unreadable": self.n_unreadable,
            "n_failed_checks": self.n_failed_checks,
            "n_unchecked": self.n_unchecked,
            "n_unlabelled": self.n_unlabelled,
            "failures": list(self.failures),
        }


class RowTally:
    """Counts rows that go by; keeps no texts but what is said of the first that failed."""

    def __init__(self) -> None:
        self._n = self._n_unreadable = self._n_failed_checks = 0
        self._n_unchecked = self._n_unlabelled = 0
        self._failures: list[dict[str, Any]] = []

    def watch(self, rows: Iterable[JudgedRow]) -> Iterator[JudgedRow]:
        """The same rows, each of them counted."""
        for row in rows:
            self._add(row)
            yield row

    def rows(self) -> Rows:
        """What was counted."""
        return Rows(
            n=self._n,
            n_unreadable=self._n_unreadable,
            n_failed_checks=self._n_failed_checks,
            n_unchecked=self._n_unchecked,
            n_unlabelled=self._n_unlabelled,
            failures=self._first_failures(),
        )

    def _add(self, row: JudgedRow) -> None:
        self._n += 1
        if row.error is None:
            self._n_unchecked += not is_judged(row)
            self._n_unlabelled += row.hallucinated is None
            return
        self._n_unreadable += row.is_unreadable
        self._n_failed_checks += not row.is_unreadable
        self._failures.append({"row": row.row, "id": row.id, **row.error})
        if len(self._failures) >= 2 * MAX_FAILURES:
            self._failures = self._first_failures()

    def _first_failures(self) -> list[dict[str, Any]]:
        return sorted(self._failures, key=itemgetter("row"))[:MAX_FAILURES]


def is_judged(row: JudgedRow) -> bool:
    """Whether any claim of an answer was held against evidence."""
    if row.error is not None or row.detection is None:
        return False
    return any(claim["label"] != Label.UNCHECKED for claim in row.detection["claims"])

"""Counts of rows without a verdict, by reason, and how scores treat these rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple, Self

from groundwire.evaluation.judged_row import JudgedRow

#: Highest number of failed rows that :attr:`RowCounts.failures` lists.
MAX_FAILURES = 100

_MISSED = "missed if hallucinated, else in no score"
#: Fields of :class:`RowCounts` that are kept in JSON data under their own names.
_COUNTS = ("n", "n_unreadable", "n_failed_checks", "n_unchecked", "n_unlabelled")


class Without(NamedTuple):
    """A reason why a row has no verdict.

    Attributes:
        key: Attribute of :class:`RowCounts` that counts the rows with this reason.
        one: Words for one row with this reason, such as "check failed".
        many: Words for several rows with this reason, such as "checks failed".
        counts: Description of how scores treat such rows.
    """

    key: str
    one: str
    many: str
    counts: str


#: All reasons why a row has no verdict; a row has at most one.
WITHOUT = (
    Without("n_unreadable", "row could not be read", "rows could not be read", "in no score"),
    Without("n_failed_checks", "check failed", "checks failed", _MISSED),
    Without(
        *("n_unchecked", "answer was not checked at all", "answers were not checked at all"),
        _MISSED,
    ),
)


def counts_without_verdict(scores: Mapping[str, Any]) -> Iterator[str]:
    """Yield a phrase for each reason why at least one row has no verdict.

    ``scores`` are data of :meth:`RowCounts.to_dict`.
    """
    for each in WITHOUT:
        if n := scores[each.key]:
            yield f"{n:,} {each.one if n == 1 else each.many} ({each.counts})"


@dataclass(slots=True)
class RowCounts:
    """Counts of rows, and the first failed rows with their errors.

    Attributes:
        n: Number of all rows.
        n_unreadable: Rows that could not be read, or that have any error in the output of
            ``check --batch``; no score counts them.
        n_failed_checks: Other rows whose check failed.
        n_unchecked: Rows whose check did not fail, but judged nothing, for example because there
            is no source, or the answer claims nothing.
        n_unlabelled: Rows that did not fail and have no label; no score counts them.
    """

    n: int = 0
    n_unreadable: int = 0
    n_failed_checks: int = 0
    n_unchecked: int = 0
    n_unlabelled: int = 0
    _failures: list[dict[str, Any]] = field(default_factory=list, repr=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read counts from data of :meth:`to_dict`.

        Raises:
            KeyError: If a count or ``failures`` is missing.
        """
        return cls(**{name: data[name] for name in _COUNTS}, _failures=list(data["failures"]))

    def add(self, row: JudgedRow, *, is_unchecked: bool) -> None:
        """Count a row; ``is_unchecked`` says whether its check did not fail, but judged nothing."""
        self.n += 1
        self.n_unchecked += is_unchecked
        if row.error is None:
            self.n_unlabelled += row.hallucinated is None
            return
        self.n_unreadable += row.is_unreadable
        self.n_failed_checks += not row.is_unreadable
        self._failures.append({"row": row.row, "id": row.id, **row.error})
        if len(self._failures) >= 2 * MAX_FAILURES:
            self._failures = self.failures

    @property
    def n_failed(self) -> int:
        """Number of rows that could not be read, or whose check failed."""
        return self.n_unreadable + self.n_failed_checks

    @property
    def is_complete(self) -> bool:
        """Whether all rows were read and checked, each at least in part."""
        return not self.n_failed and not self.n_unchecked

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The first failed rows, at most :data:`MAX_FAILURES`, in the order of the data.

        Each failed row is a record with the keys ``row``, ``id``, ``type`` and ``message``.
        """
        return sorted(self._failures, key=itemgetter("row"))[:MAX_FAILURES]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and failures as JSON data."""
        counts = {name: getattr(self, name) for name in _COUNTS}
        return {**counts, "n_failed": self.n_failed, "failures": self.failures}

"""A stretch of an index, from which a page is read in its order.

PostgreSQL chooses an index by what it guesses. For a tenant that has most of the trail it reads the
index of moments and leaves out other tenants: if that tenant left a month ago, it reads a month in
vain. So it is asked for any of two tenants, who are the same, in the order of tenants first: only
the index that begins with the tenant has that order. SQLite sees an equality and takes that index.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import ARRAY, ColumnElement, any_, literal, tuple_

Values: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStretch:
    """Rows whose first columns are given, in the order of the columns after these.

    Attributes:
        columns: All of the index, in its order.
        equal: Values of the first of them.
        low: Of the next, where it begins, if anywhere; that row included unless ``is_open``.
        high: Of the next, where it ends; that row excluded.
        is_open: Whether the row at the beginning is excluded.
        newest_first: Whether it is read from its end.
    """

    columns: Sequence[ColumnElement[Any]]
    equal: Values = ()
    low: Values = ()
    high: Values = ()
    is_open: bool = False
    newest_first: bool = True

    @classmethod
    def between(
        cls,
        columns: Sequence[ColumnElement[Any]],
        equal: Values = (),
        *,
        low: Values,
        high: Values,
        after: Values | None,
        newest_first: bool,
    ) -> "IndexStretch":
        """A stretch, or what is left of it after a row."""
        is_open = False
        if after is not None and newest_first:
            high = min(high, after) if high else after
        elif after is not None and after > low:
            low, is_open = after, True
        return cls(
            columns=columns,
            equal=equal,
            low=low,
            high=high,
            is_open=is_open,
            newest_first=newest_first,
        )

    def conditions(self, *, is_sqlite: bool) -> list[ColumnElement[bool]]:
        """What holds of its rows."""
        n_equal = len(self.equal)
        pairs = zip(self.columns[:n_equal], self.equal, strict=True)
        conditions = [column == value for column, value in pairs]
        if conditions and not is_sqlite:
            first = self.columns[0]
            any_of = literal([self.equal[0]] * 2, ARRAY(first.type))
            conditions[0] = first == any_(any_of)
        return conditions + self._bounds(self.columns[n_equal:])

    def order(self, *, is_sqlite: bool) -> Sequence[ColumnElement[Any]]:
        """The order of its rows, as the index has it."""
        columns = list(self.columns[len(self.equal) :])
        if self.equal and not is_sqlite:
            columns = [self.columns[0], *columns]
        return [column.desc() for column in columns] if self.newest_first else columns

    def _bounds(self, columns: Sequence[ColumnElement[Any]]) -> list[ColumnElement[bool]]:
        """At most one bound on each side: of two, PostgreSQL may begin at the wrong one."""
        found = []
        if self.low:
            names, values = _rows(columns, self.low)
            found.append(names > values if self.is_open else names >= values)
        if self.high:
            names, values = _rows(columns, self.high)
            found.append(names < values)
        return found


def _rows(columns: Sequence[ColumnElement[Any]], values: Values) -> tuple[Any, Any]:
    """The first columns as a row, and values as another; of one, as it is."""
    named = columns[: len(values)]
    bound = [literal(value, column.type) for column, value in zip(named, values, strict=True)]
    return (named[0], bound[0]) if len(bound) == 1 else (tuple_(*named), tuple_(*bound))

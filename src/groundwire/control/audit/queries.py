"""The statements that read the trail: for each way to ask, the index that has its order.

A page is read by position and not by number, so that the last costs what the first does. What no
index has is looked for among the next rows of one that comes close, a bounded number of them: then
a page may hold less than was asked for, and another follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Select, and_, select, union_all

from groundwire.control.audit.cursor import RecordPosition
from groundwire.control.audit.filters import Filter
from groundwire.control.audit.stretch import IndexStretch
from groundwire.control.store import moments
from groundwire.control.store.tables import audit_details, audit_records

#: Rows that are looked at for one page, at most, where no index has all that is asked for.
MAX_EXAMINED = 5000

_Conditions: TypeAlias = list[ColumnElement[bool]]
_RECORDS = audit_records.c
_KEYS = (_RECORDS.moment, _RECORDS.writer, _RECORDS.seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailQuery:
    """Which rows are asked for, and in which order.

    Attributes:
        filter: What has to hold of them.
        is_sqlite: Who is asked.
        after: Where the page before ended.
        newest_first: Whether it goes back in time.
    """

    filter: Filter
    is_sqlite: bool
    after: RecordPosition | None = None
    newest_first: bool = True

    @property
    def is_bounded(self) -> bool:
        """Whether only some rows are looked at, for no index has all that is asked for."""
        return bool(self._rest(_RECORDS))

    def page(self, limit: int) -> Select[Any]:
        """The rows of a page: columns of a record, and whether its detail is kept."""
        rows = self._rows(limit)
        # Not EXISTS, for which PostgreSQL may read all details to know which there are.
        detail = select(audit_details.c.seq).where(same(audit_details.c, rows.c)).limit(1)
        has_detail = detail.scalar_subquery().is_not(None).label("has_detail")
        return select(rows, has_detail).order_by(*self._order(rows.c))

    def whole(self, limit: int) -> Select[Any]:
        """The same rows, with their details."""
        rows = self._rows(limit)
        detail = select(audit_details.c.detail).where(same(audit_details.c, rows.c)).limit(1)
        return select(rows, detail.scalar_subquery().label("detail")).order_by(*self._order(rows.c))

    def last_examined(self) -> Select[Any]:
        """Where the rows end that were looked at for this page; none, if all were."""
        return self._read(self._stretch(), *_KEYS).limit(1).offset(MAX_EXAMINED - 1)

    def _rows(self, limit: int) -> Any:  # noqa: ANN401 - a subquery
        """The rows of a page, as a table."""
        stretches = self._stretches()
        if self.is_bounded:
            examined = self._read(stretches[0], audit_records).limit(MAX_EXAMINED).subquery()
            found = select(examined).where(*self._rest(examined.c))
            return found.order_by(*self._order(examined.c)).limit(limit).subquery()
        if len(stretches) == 1:
            return self._read(stretches[0], audit_records).limit(limit).subquery()
        pages = [self._read(each, *_KEYS).limit(limit).subquery() for each in stretches]
        joined = union_all(*map(select, pages)).subquery()
        keys = select(joined).order_by(*self._order(joined.c)).limit(limit).subquery()
        found = select(audit_records).join(keys, same(_RECORDS, keys.c))
        return found.order_by(*self._order(keys.c)).subquery()

    def _stretches(self) -> Sequence[IndexStretch]:
        """One for each type: in one for all of them, the order of time would be lost."""
        if self.is_bounded or not self.filter.types:
            return [self._stretch()]
        return [self._stretch(type_) for type_ in self.filter.types]

    def _stretch(self, type_: str | None = None) -> IndexStretch:
        own, after = self.filter, self.after
        if self._is_chain:
            return IndexStretch.between(
                (_RECORDS.writer, _RECORDS.seq),
                (own.writer,),
                low=(),
                high=(),
                after=None if after is None else (after.seq,),
                newest_first=self.newest_first,
            )
        equal: dict[str, str | None] = {"tenant": own.tenant, "type": type_}
        if own.trace_id is not None:
            equal = {"trace_id": own.trace_id}
        given = {name: value for name, value in equal.items() if value is not None}
        return IndexStretch.between(
            (*(_RECORDS[name] for name in given), *_KEYS),
            tuple(given.values()),
            low=() if own.since is None else (moments.of_datetime(own.since),),
            high=() if own.until is None else (moments.of_datetime(own.until),),
            after=None if after is None else (after.moment, after.writer, after.seq),
            newest_first=self.newest_first,
        )

    def _read(self, stretch: IndexStretch, *columns: Any) -> Select[Any]:  # noqa: ANN401
        conditions = stretch.conditions(is_sqlite=self.is_sqlite)
        order = stretch.order(is_sqlite=self.is_sqlite)
        return select(*columns).where(*conditions).order_by(*order)

    def _rest(self, columns: Any) -> _Conditions:  # noqa: ANN401 - of any table
        """What the stretch does not have of what is asked for."""
        own = self.filter
        if own.trace_id is None and own.writer is None:
            return []
        conditions = [columns.tenant == own.tenant] if own.tenant is not None else []
        if own.types:
            conditions.append(columns.type.in_(own.types))
        if own.trace_id is not None and own.writer is not None:
            conditions.append(columns.writer == own.writer)
        if self._is_chain and own.since is not None:
            conditions.append(columns.moment >= moments.of_datetime(own.since))
        if self._is_chain and own.until is not None:
            conditions.append(columns.moment < moments.of_datetime(own.until))
        return conditions

    @property
    def _is_chain(self) -> bool:
        """Whether rows come in the order of a chain."""
        return self.filter.writer is not None and self.filter.trace_id is None

    def _order(self, columns: Any) -> Sequence[ColumnElement[Any]]:  # noqa: ANN401
        keys = [columns.seq] if self._is_chain else [columns.moment, columns.writer, columns.seq]
        return [key.desc() for key in keys] if self.newest_first else keys


def of_event(event_id: str) -> Select[Any]:
    """The record of an event with its detail; the first, if somebody has made two of them."""
    return (
        select(audit_records, audit_details.c.detail)
        .join(audit_details, same(audit_details.c, _RECORDS), isouter=True)
        .where(_RECORDS.event_id == event_id)
        .order_by(*_KEYS)
        .limit(1)
    )


def same(one: Any, other: Any) -> ColumnElement[bool]:  # noqa: ANN401 - columns of tables
    """Whether rows are of the same record."""
    return and_(one.writer == other.writer, one.seq == other.seq)

"""The statements that read the trail: for each way to ask, the index that has its order.

A page is read by position and not by number, so that the last costs what the first does. What no
index has is looked for among the next rows of one that comes close, a bounded number of them: then
a page may hold less than was asked for, and another follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    String,
    and_,
    exists,
    literal,
    select,
    tuple_,
    union_all,
)

from groundwire.gateway.audit.cursor import Position
from groundwire.gateway.audit.filters import Filter
from groundwire.gateway.store import moments
from groundwire.gateway.store.tables import audit_details, audit_records

#: Rows that are looked at for one page, at most, where no index has all that is asked for.
MAX_EXAMINED = 5000

_Conditions: TypeAlias = list[ColumnElement[bool]]
_RECORDS = audit_records.c
_KEYS = (_RECORDS.moment, _RECORDS.writer, _RECORDS.seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which rows are asked for, and in which order.

    Attributes:
        filter: What has to hold of them.
        after: Where the page before ended.
        newest_first: Whether it goes back in time.
    """

    filter: Filter
    after: Position | None = None
    newest_first: bool = True

    @property
    def is_bounded(self) -> bool:
        """Whether only some rows are looked at, for no index has all that is asked for."""
        return bool(self._rest())

    def page(self, limit: int) -> Select[Any]:
        """The rows of a page: columns of a record, and whether its detail is kept."""
        # A page of keys first: else PostgreSQL may read all details to know which there are.
        keys = self._keys(limit)
        has_detail = exists().where(_same(audit_details.c, keys.c)).label("has_detail")
        return (
            select(audit_records, has_detail)
            .join(keys, _same(_RECORDS, keys.c))
            .order_by(*self._order(keys.c))
        )

    def whole(self, limit: int) -> Select[Any]:
        """The same rows, with their details."""
        keys = self._keys(limit)
        return (
            select(audit_records, audit_details.c.detail)
            .join(keys, _same(_RECORDS, keys.c))
            .join(audit_details, _same(audit_details.c, keys.c), isouter=True)
            .order_by(*self._order(keys.c))
        )

    def last_examined(self) -> Select[Any]:
        """Where the rows end that were looked at for this page; none, if all were."""
        return (
            self._ordered(select(*_KEYS).where(*self._indexed())).limit(1).offset(MAX_EXAMINED - 1)
        )

    def _keys(self, limit: int) -> Any:  # noqa: ANN401 - a subquery
        """The keys of a page, as a table."""
        if self._rest():
            examined = self._ordered(select(audit_records).where(*self._indexed()))
            some = examined.limit(MAX_EXAMINED).subquery()
            found = select(some.c.moment, some.c.writer, some.c.seq).where(*self._rest(some.c))
            return found.order_by(*self._order(some.c)).limit(limit).subquery()
        types = self.filter.types or (None,)
        found_by_type = [
            self._ordered(select(*_KEYS).where(*self._indexed(type_))).limit(limit)
            for type_ in types
        ]
        if len(found_by_type) == 1:
            return found_by_type[0].subquery()
        # A range of an index for each type: in one range for all of them, the order is lost.
        joined = union_all(*(select(each.subquery()) for each in found_by_type)).subquery()
        return select(joined).order_by(*self._order(joined.c)).limit(limit).subquery()

    def _indexed(self, type_: str | None = None) -> _Conditions:
        """What an index finds."""
        own, conditions = self.filter, self._since_page()
        if own.trace_id is not None:
            return [_RECORDS.trace_id == own.trace_id, *conditions, *self._times()]
        if own.writer is not None:
            return [_RECORDS.writer == own.writer, *conditions]
        if own.tenant is not None:
            conditions.append(_RECORDS.tenant == own.tenant)
        if type_ is not None:
            conditions.append(_RECORDS.type == type_)
        return [*conditions, *self._times()]

    def _rest(self, columns: Any = _RECORDS) -> _Conditions:  # noqa: ANN401 - of any table
        """What it does not."""
        own = self.filter
        if own.trace_id is None and own.writer is None:
            return []
        conditions = [columns.tenant == own.tenant] if own.tenant is not None else []
        if own.types:
            conditions.append(columns.type.in_(own.types))
        if own.trace_id is not None and own.writer is not None:
            conditions.append(columns.writer == own.writer)
        return conditions + (self._times(columns) if self._is_chain else [])

    @property
    def _is_chain(self) -> bool:
        """Whether rows come in the order of a chain."""
        return self.filter.writer is not None and self.filter.trace_id is None

    def _times(self, columns: Any = _RECORDS) -> _Conditions:  # noqa: ANN401
        conditions = []
        if self.filter.since is not None:
            conditions.append(columns.moment >= moments.of_datetime(self.filter.since))
        if self.filter.until is not None:
            conditions.append(columns.moment < moments.of_datetime(self.filter.until))
        return conditions

    def _since_page(self) -> _Conditions:
        if self.after is None:
            return []
        keys = tuple_(*_KEYS) if not self._is_chain else tuple_(_RECORDS.seq)
        at = [
            literal(self.after.moment, BigInteger),
            literal(self.after.writer, String),
            literal(self.after.seq, BigInteger),
        ]
        end = tuple_(*(at if not self._is_chain else at[2:]))
        return [keys < end if self.newest_first else keys > end]

    def _order(self, columns: Any) -> Sequence[ColumnElement[Any]]:  # noqa: ANN401
        keys = [columns.moment, columns.writer, columns.seq]
        order = keys[2:] if self._is_chain else keys
        return [key.desc() for key in order] if self.newest_first else order

    def _ordered(self, statement: Select[Any]) -> Select[Any]:
        return statement.order_by(*self._order(_RECORDS))


def of_event(event_id: str) -> Select[Any]:
    """The record of an event with its detail; the first, if somebody has made two of them."""
    return (
        select(audit_records, audit_details.c.detail)
        .join(audit_details, _same(audit_details.c, _RECORDS), isouter=True)
        .where(_RECORDS.event_id == event_id)
        .order_by(*_KEYS)
        .limit(1)
    )


def _same(one: Any, other: Any) -> ColumnElement[bool]:  # noqa: ANN401 - columns of tables
    """Whether rows are of the same record."""
    return and_(one.writer == other.writer, one.seq == other.seq)

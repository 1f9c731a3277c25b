"""Reads the audit trail in the store: pages of events, single events with details, and exports.

A cursor names the record after which the next page begins, not a number of rows to skip. So later
pages take no longer than the first, and new events move no event from one page to another.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, literal, or_, select, tuple_

from groundwire.control.audit.cursor import read_cursor, to_cursor
from groundwire.control.audit.event import EventType
from groundwire.control.audit.found import FoundRecord
from groundwire.control.audit.record import AuditRecord
from groundwire.control.store import Store, moments
from groundwire.control.store.tables import OWN_DETAIL, audit_details, audit_records

#: Limit on the records in which one page searches for a text, since no index helps to find texts.
SEARCHED = 4_000

#: Number of records that an export reads at a time; few, since details are long.
_PIECE = 100
_UUID_CHARS = 36

#: The columns by which records are sorted in the order of time.
_PLACE = ("moment", "writer", "seq")

_RECORDS = audit_records.c
_DETAIL = select(audit_details.c.detail).where(OWN_DETAIL).scalar_subquery()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Conditions that select events. All of them must hold; ``None`` sets no condition.

    Attributes:
        types: The types of events; empty: all types.
        writer: The id of the chain whose events are selected. The events of a page then come in the
            order of the chain.
        since: Only events at this moment or later are selected.
        until: Only events before this moment are selected.
        contains: Groups of texts, escaped as in JSON. Of each group, at least one text must occur
            in the event's line of JSON; the case of ASCII letters does not matter.
    """

    tenant: str | None = None
    types: tuple[EventType, ...] = ()
    trace_id: str | None = None
    writer: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    contains: tuple[tuple[str, ...], ...] = ()


#: A filter that every event passes.
ALL = Filter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of the trail.

    Attributes:
        events: The events of the page, in the order that was asked for.
        next: The cursor of the next page; ``None`` on the last page.
        is_cut: Whether the search for a text stopped at the limit of :data:`SEARCHED` events. False
            if the search found more events than fit on the page.
    """

    events: tuple[FoundRecord, ...]
    next: str | None
    is_cut: bool = False


class Trail:
    """Reads the audit trail in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def page(
        self,
        filter: Filter = ALL,
        *,
        cursor: str | None = None,
        limit: int = 50,
        newest_first: bool = True,
    ) -> Page:
        """Return a page of events, sorted by time; by record number if the filter names a chain.

        Args:
            filter: Selects the events. If it searches for texts, one page searches at most
                :data:`SEARCHED` events.
            cursor: ``next`` of the page before, with the same filter and order; ``None``: the first
                page is returned.
            limit: Highest number of events on the page.
            newest_first: Whether the newest event comes first.

        Raises:
            InvalidCursorError: If the cursor did not come with a page.
            StoreError: If the database fails.
        """
        place = None if cursor is None else read_cursor(cursor, int, str, int)
        order = {"by_chain": filter.writer is not None, "newest_first": newest_first}
        end = None
        async with self.store.reading() as connection:
            if filter.contains:
                # SQLite may have to sort many events. So this query sorts only their keys, and the
                # next query reads the long lines.
                window = _query(replace(filter, contains=()), place, **order).limit(SEARCHED)
                found = window.with_only_columns(*(_RECORDS[name] for name in _PLACE)).subquery()
                names = _PLACE[1:] if order["by_chain"] else _PLACE
                by = [found.c[name].desc() if newest_first else found.c[name] for name in names]
                places = select(*(found.c[name] for name in _PLACE)).order_by(*by)
                end = (await connection.execute(places.offset(SEARCHED - 1))).mappings().first()
                own = and_(found.c.writer == _RECORDS.writer, found.c.seq == _RECORDS.seq)
                query = select(audit_records).join(found, own).where(_containing(filter))
                query = query.order_by(*by).limit(limit + 1)
            else:
                query = _query(filter, place, **order).limit(limit + 1)
            query = query.add_columns(_DETAIL.is_not(None).label("has_detail"))
            rows = (await connection.execute(query)).mappings().all()
        is_full = len(rows) > limit
        next_ = rows[limit - 1] if is_full else end
        return Page(
            events=tuple(map(FoundRecord.of, rows[:limit])),
            next=None if next_ is None else to_cursor(*_place(next_)),
            is_cut=not is_full and end is not None,
        )

    async def get(self, event_id: str) -> FoundRecord | None:
        """Return one event with its detail; ``None`` if no event has this id.

        Raises:
            StoreError: If the database fails.
        """
        if len(event_id) > _UUID_CHARS or not event_id.isascii() or not event_id.isprintable():
            return None
        query = select(audit_records, _DETAIL.label("detail")).where(_RECORDS.event_id == event_id)
        async with self.store.reading() as connection:
            row = (await connection.execute(query.limit(1))).mappings().first()
        return None if row is None else FoundRecord.of(row)

    async def export(self, filter: Filter = ALL) -> AsyncIterator[bytes]:
        """Yield all selected events with their details, as lines of JSON like those of a log file.

        Without a filter, or if it only names a chain, the events come chain by chain, so that
        ``audit verify`` can notice a missing record. Otherwise they come in the order of time.

        Raises:
            StoreError: If the database fails; some lines may have been yielded before.
        """
        by_chain = filter == Filter(writer=filter.writer)
        place: tuple[Any, ...] | None = None
        is_last = False
        while not is_last:
            query = _query(filter, place, by_chain=by_chain, newest_first=False)
            query = query.add_columns(_DETAIL.label("detail")).limit(_PIECE)
            async with self.store.reading() as connection:
                rows = (await connection.execute(query)).mappings().all()
            for row in rows:
                yield AuditRecord(**row).to_line() + b"\n"
            is_last = len(rows) < _PIECE
            place = None if is_last else _place(rows[-1])


def _query(
    filter: Filter, after: tuple[Any, ...] | None, *, by_chain: bool, newest_first: bool
) -> Select[Any]:
    """Select the records that pass a filter, sorted by chain or by time.

    ``after`` is the moment, writer and seq of the record after which the selection begins; with
    ``None``, it begins with the first record.
    """
    order = [_RECORDS.writer, _RECORDS.seq] if by_chain else [_RECORDS[name] for name in _PLACE]
    query = select(audit_records).where(*_conditions(filter))
    if after is not None:
        values = zip(order, after[-len(order) :], strict=True)
        place, last = tuple_(*order), tuple_(*(literal(each, own.type) for own, each in values))
        query = query.where(place < last if newest_first else place > last)
    return query.order_by(*(column.desc() if newest_first else column for column in order))


def _place(row: Mapping[Any, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _PLACE)


def _conditions(filter: Filter) -> list[ColumnElement[bool]]:
    given = {name: getattr(filter, name) for name in ("tenant", "trace_id", "writer")}
    found = [_RECORDS[name] == value for name, value in given.items() if value is not None]
    if filter.types:
        found.append(_RECORDS.type.in_(filter.types))
    if filter.since is not None:
        found.append(_RECORDS.moment >= moments.of_datetime(filter.since))
    if filter.until is not None:
        found.append(_RECORDS.moment < moments.of_datetime(filter.until))
    return [*found, _containing(filter)] if filter.contains else found


def _containing(filter: Filter) -> ColumnElement[bool]:
    groups = (
        [_RECORDS.line.icontains(each, autoescape=True) for each in group]
        for group in filter.contains
    )
    return and_(*(or_(*group) for group in groups))

"""The audit trail in the store: pages, one event with its detail, exports, what is too old."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from groundwire.control.audit.cursor import RecordPosition
from groundwire.control.audit.export import exported
from groundwire.control.audit.filters import Filter, InvalidFilterError
from groundwire.control.audit.found import FoundRecord, Page, position_of
from groundwire.control.audit.pruning import Plan, make_plan
from groundwire.control.audit.queries import TrailQuery, of_event
from groundwire.control.audit.retention import Pruned, Settles, prune
from groundwire.control.store import Store

#: Events of one page, at most.
MAX_LIMIT = 500

#: Asks for nothing in particular.
ALL = Filter()

_UUID_CHARS = 36


class Trail:
    """What the store keeps of what was found and done."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(
        self,
        filter: Filter = ALL,
        *,
        cursor: str | None = None,
        limit: int = 50,
        newest_first: bool = True,
    ) -> Page:
        """Some of the events that are asked for, in the order of time.

        What was there when the first page was read stands on one page and no other, whatever is
        added meanwhile. With a writer, and no trace id, they come in the order of its chain.

        Args:
            filter: Which are asked for.
            cursor: ``next`` of the page before, with the same filter and order.
            limit: How many events, at most :data:`MAX_LIMIT`.
            newest_first: Whether it goes back in time.

        Raises:
            InvalidCursorError: If the cursor is none.
            InvalidFilterError: If the limit is none.
            StoreError: If the database fails.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidFilterError("limit", f"it is {limit}, and must be from 1 to {MAX_LIMIT}")
        after = None if cursor is None else RecordPosition.of_cursor(cursor)
        is_sqlite = self._store.is_sqlite
        asked = TrailQuery(
            filter=filter, is_sqlite=is_sqlite, after=after, newest_first=newest_first
        )
        async with self._store.reading() as connection:
            found = await connection.execute(asked.page(limit + 1))
            rows = [dict(row) for row in found.mappings()]
            end = None
            if len(rows) <= limit and asked.is_bounded:
                last = (await connection.execute(asked.last_examined())).mappings().first()
                end = None if last is None else dict(last)
        if len(rows) > limit:
            rows, end = rows[:limit], rows[limit - 1]
        return Page(
            events=tuple(map(FoundRecord.of, rows)),
            next=None if end is None else position_of(end).to_cursor(),
        )

    async def get(self, event_id: str) -> FoundRecord | None:
        """One event, with its detail; ``None`` if there is none with this id.

        Raises:
            StoreError: If the database fails.
        """
        if len(event_id) > _UUID_CHARS or not event_id.isascii() or not event_id.isprintable():
            return None
        async with self._store.reading() as connection:
            found = await connection.execute(of_event(event_id))
            row = found.mappings().first()
        return None if row is None else FoundRecord.of(dict(row))

    def export(self, filter: Filter = ALL) -> AsyncIterator[bytes]:
        """All that is asked for, with details, as lines of JSON such as the audit log writes.

        Without filter, or with a writer alone, chains stand one after another, each from its
        beginning: ``audit verify`` can tell whether something is missing. Else they stand in the
        order of time.

        Raises:
            StoreError: If the database fails, from then on: there are no more lines.
        """
        return exported(self._store, filter)

    async def plan(
        self,
        now: datetime,
        *,
        retention_days: float | None,
        detail_days: float | None,
        keys: Sequence[bytes],
    ) -> Plan:
        """What :meth:`prune` would remove, verified as it does.

        Raises:
            StoreError: If the database fails.
        """
        return await make_plan(
            self._store, now, retention_days=retention_days, detail_days=detail_days, keys=keys
        )

    async def prune(
        self,
        now: datetime,
        *,
        retention_days: float | None,
        detail_days: float | None,
        audit: Settles,
        keys: Sequence[bytes],
    ) -> Pruned:
        """Remove what is older than it is to be kept; :func:`.retention.prune` says how.

        Args:
            now: The moment that it is.
            retention_days: How long records are kept; ``None``: without end.
            detail_days: How long details are; ``None``: as long as their records.
            audit: The log that writes into this store: it says before what goes.
            keys: What chains may be signed with; the first signs what is changed.

        Raises:
            RetentionError: If it could not be said before.
            StoreError: If the database fails.
        """
        return await prune(
            self._store,
            now,
            retention_days=retention_days,
            detail_days=detail_days,
            audit=audit,
            keys=keys,
        )

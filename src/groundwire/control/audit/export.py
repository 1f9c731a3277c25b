"""The trail as lines of JSON, as many as there are, in little memory.

Each piece is a short reading of its own, so that an export of hours keeps nobody from writing. What
is added behind it meanwhile is in it, what is removed before it comes there is not.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from sqlalchemy import select

from groundwire.control.audit.cursor import RecordPosition
from groundwire.control.audit.filters import Filter
from groundwire.control.audit.found import line_of, position_of
from groundwire.control.audit.queries import TrailQuery
from groundwire.control.store import Store
from groundwire.control.store.tables import audit_records, audit_writers

#: Records of one reading, and of them those that are fetched at a time: details are long.
PIECE, FETCH = 500, 20
#: Bytes of lines in memory: one reading ends with the first record beyond.
MAX_BYTES = 4_000_000


async def exported(store: Store, filter: Filter) -> AsyncIterator[bytes]:
    """The lines of a trail, each with its end; ``Trail.export`` says which, in what order."""
    filters = [filter]
    if filter.is_of_chains and filter.writer is None:
        filters = [Filter(writer=writer) for writer in await _writers(store)]
    for each in filters:
        asked: TrailQuery | None = TrailQuery(
            filter=each, is_sqlite=store.is_sqlite, newest_first=False
        )
        while asked is not None:
            lines, end = await _piece(store, asked)
            for line in lines:
                yield line
            asked = None if end is None else replace(asked, after=end)


async def _piece(store: Store, asked: TrailQuery) -> tuple[Sequence[bytes], RecordPosition | None]:
    """Some lines, and where they end; ``None``: there are no more."""
    lines: list[bytes] = []
    n_bytes, end = 0, None
    async with store.reading() as connection:
        rows = await connection.stream(asked.whole(PIECE), execution_options={"yield_per": FETCH})
        async for row in rows.mappings():
            lines.append(line_of(row) + b"\n")
            n_bytes, end = n_bytes + len(lines[-1]), position_of(row)
            if n_bytes > MAX_BYTES:
                break
        await rows.close()
        is_full = len(lines) == PIECE or n_bytes > MAX_BYTES
        if not is_full and asked.is_bounded:
            examined = (await connection.execute(asked.last_examined())).mappings().first()
            return lines, None if examined is None else position_of(examined)
    return lines, end if is_full else None


async def _writers(store: Store) -> Sequence[str]:
    """All that have records: in the order of their starts, then those without a row of their own.

    The latter have lost it, or are none of ours: whoever verifies the export has to see them.
    """
    async with store.reading() as connection:
        order = (audit_writers.c.started_at, audit_writers.c.writer)
        known = list(await connection.scalars(select(audit_writers.c.writer).order_by(*order)))
        # From one to the next by the index: DISTINCT would read all records.
        first = select(audit_records.c.writer).order_by(audit_records.c.writer).limit(1)
        others, found = [], await connection.scalar(first)
        while found is not None:
            others.append(found)
            found = await connection.scalar(first.where(audit_records.c.writer > found))
    return [*known, *(writer for writer in others if writer not in set(known))]

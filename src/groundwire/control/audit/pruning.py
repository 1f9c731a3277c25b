"""Which records are older than they are to be kept, and what has to be said before they go.

Chains lose their beginnings, so that what is left follows from what is said of the rest. What goes
is verified before: what somebody has changed stays, for ``audit verify`` to find. What earlier
removals said is said again when it goes itself and something still refers to it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Row, Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.audit.chain import detail_sha256
from groundwire.control.audit.claims import TELLING, Claims, is_same, signer
from groundwire.control.audit.event import EventType
from groundwire.control.audit.queries import same
from groundwire.control.audit.record import AuditRecord, Head
from groundwire.control.audit.verdict import MAX_FINDINGS, TamperKind
from groundwire.control.audit.verify import TrailVerifier
from groundwire.control.store import Store, moments
from groundwire.control.store.tables import audit_details, audit_records, audit_writers

#: Records that are in memory at a time.
_BATCH = 500
#: What a verifier finds that is shown the beginnings of chains alone.
_ABOUT_ENDS = (TamperKind.CUT, TamperKind.REMOVED)

_RECORDS, _DETAILS = audit_records.c, audit_details.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The beginning of a chain: from its first record that is there, by number, to ``head``."""

    first: int
    head: Head

    @property
    def writer(self) -> str:
        """Whose chain it is."""
        return self.head.writer

    @property
    def n_records(self) -> int:
        """How many records that are."""
        return self.head.seq - self.first + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be removed.

    Attributes:
        prefixes: Beginnings of chains.
        details_before: Details before this moment go; ``None``: only those of records that go.
        n_details: How many details go.
        said_again: Where earlier removals ended, which nothing else will say.
        details_said_before: The same of details.
        refused: Chains that lose nothing, for they are not as they were written.
        changed: Details that are not as they were written, by writer and number; they stay.
    """

    prefixes: tuple[Prefix, ...] = ()
    details_before: datetime | None = None
    n_details: int = 0
    said_again: tuple[Head, ...] = ()
    details_said_before: datetime | None = None
    refused: tuple[str, ...] = ()
    changed: tuple[tuple[str, int], ...] = ()

    @property
    def n_records(self) -> int:
        """How many records go."""
        return sum(prefix.n_records for prefix in self.prefixes)

    @property
    def n_changed(self) -> int:
        """How many details stay, for they are not as they were written."""
        return len(self.changed)

    @property
    def is_empty(self) -> bool:
        """Whether nothing goes."""
        return not self.prefixes and not self.n_details

    @property
    def removed(self) -> tuple[Head, ...]:
        """What has to be said of chains."""
        return (*(prefix.head for prefix in self.prefixes), *self.said_again)

    @property
    def details_removed_before(self) -> datetime | None:
        """What has to be said of details."""
        said = (self.details_before, self.details_said_before)
        return max((each for each in said if each is not None), default=None)


async def make_plan(
    store: Store,
    now: datetime,
    *,
    retention_days: float | None,
    detail_days: float | None,
    keys: Sequence[bytes],
) -> Plan:
    """Find what is older than it is to be kept, and verify it. Nothing is removed by asking.

    Args:
        store: Where the trail is.
        now: The moment that it is.
        retention_days: How long records are kept; ``None``: without end.
        detail_days: How long details are; ``None``: as long as their records.
        keys: What chains may be signed with.

    Raises:
        StoreError: If the database fails.
    """
    details_before = None if detail_days is None else _days_before(now, detail_days)
    async with store.reading() as connection:
        said = await telling(connection)
        writers = await writers_of(connection)
        found: list[Prefix] = []
        if retention_days is not None:
            before = moments.of_datetime(_days_before(now, retention_days))
            some = [await _prefix(connection, writer, before) for writer in writers]
            found = [prefix for prefix in some if prefix is not None]
        refused = await _changed(connection, found, said, keys)
        prefixes = tuple(prefix for prefix in found if prefix.writer not in refused)
        n_old, changed = 0, list[tuple[str, int]]()
        if details_before is not None:
            n_old, changed = await _old_details(connection, details_before, refused)
            if len(changed) > MAX_FINDINGS:  # of none can it be said then that it may go
                n_old, details_before = 0, None
        n_details = n_old + await _n_details(connection, prefixes, details_before)
    gone = {prefix.writer: prefix.head.seq for prefix in prefixes}
    going = [record for record in said if record.seq <= gone.get(record.writer, 0)]
    kept = [record for record in said if record.seq > gone.get(record.writer, 0)]
    return Plan(
        prefixes=prefixes,
        details_before=details_before,
        n_details=n_details,
        changed=tuple(changed),
        said_again=tuple(_said_again(going, kept, keys, referred=writers, but=gone)),
        details_said_before=_details_said(going, keys),
        refused=tuple(sorted(refused)),
    )


async def telling(connection: AsyncConnection) -> list[AuditRecord]:
    """All records that say something about the trail."""
    query = _whole().where(_RECORDS.type.in_(TELLING))
    return [record async for batch in _batches(connection, query) for record in batch]


async def writers_of(connection: AsyncConnection) -> Sequence[str]:
    """All that ``audit_writers`` names."""
    found = await connection.scalars(select(audit_writers.c.writer))
    return sorted(writer for writer in found if isinstance(writer, str))


def claims_of(records: Iterable[AuditRecord], keys: Sequence[bytes]) -> Claims:
    """What records say about the trail, as far as they are signed."""
    claims = Claims(keys, ())
    for record in records:
        claims.learn(record)
    return claims


async def _prefix(connection: AsyncConnection, writer: str, before: int) -> Prefix | None:
    """What a chain has before a moment, up to the first record that is not; ``None``: nothing.

    The newest record of a chain without end stays: whoever writes it goes on from there.
    """
    columns = (_RECORDS.seq, _RECORDS.moment, _RECORDS.type, _RECORDS.mac)
    own = select(*columns).where(_RECORDS.writer == writer).limit(1)
    forth, back = own.order_by(_RECORDS.seq), own.order_by(_RECORDS.seq.desc())
    first, last = await _row(connection, forth), await _row(connection, back)
    if first is None or last is None or first.moment >= before:
        return None
    kept = await _row(connection, forth.where(_RECORDS.moment >= before))
    end = last.seq + 1 if kept is None else kept.seq
    if last.type != EventType.CHAIN_ENDED:
        end = min(end, last.seq)
    newest = await _row(connection, back.where(_RECORDS.seq < end))
    if newest is None:
        return None
    return Prefix(first=first.seq, head=Head(writer=writer, seq=newest.seq, mac=newest.mac))


async def _row(connection: AsyncConnection, query: Select[Any]) -> Any:  # noqa: ANN401 - a row
    return (await connection.execute(query)).first()


async def _changed(
    connection: AsyncConnection,
    prefixes: Sequence[Prefix],
    said: Sequence[AuditRecord],
    keys: Sequence[bytes],
) -> Collection[str]:
    """The chains whose beginnings are not as they were written."""
    verifier = TrailVerifier(keys)
    for record in said:
        verifier.learn(record)
    for prefix in prefixes:
        query = _whole().where(_RECORDS.writer == prefix.writer, _RECORDS.seq <= prefix.head.seq)
        async for batch in _batches(connection, query):
            # Hashing takes long: off the event loop with it.
            await asyncio.to_thread(verifier.feed, batch)
    verdict = verifier.finish(None)
    if verdict.n_findings > MAX_FINDINGS:
        return {prefix.writer for prefix in prefixes}
    wrong = [finding for finding in verdict.findings if finding.kind not in _ABOUT_ENDS]
    return {finding.writer for finding in wrong if finding.writer is not None}


async def _old_details(
    connection: AsyncConnection, before: datetime, refused: Collection[str]
) -> tuple[int, list[tuple[str, int]]]:
    """How many details before a moment go, and which stay: what was changed is for verify to find.

    Details of refused chains are neither. Of those that were changed no more are named than it
    takes to know that they are too many.
    """
    n_sound, changed = 0, list[tuple[str, int]]()
    found = _DETAILS.writer, _DETAILS.seq, _DETAILS.moment, _DETAILS.detail
    signed = _RECORDS.moment.label("signed_moment"), _RECORDS.detail_sha256
    query: Select[Any] = (
        select(*found, *signed)
        .join(audit_records, same(_DETAILS, _RECORDS), isouter=True)
        .where(_DETAILS.moment < moments.of_datetime(before))
        .order_by(_DETAILS.moment)
    )
    options = {"yield_per": _BATCH}
    async with connection.stream(query, execution_options=options) as rows:
        async for batch in rows.partitions():
            own = [row for row in batch if row.writer not in refused]
            # Hashing takes long: off the event loop with it.
            wrong = await asyncio.to_thread(_changed_details, own)
            n_sound += len(own) - len(wrong)
            changed += wrong
            if len(changed) > MAX_FINDINGS:
                break
    return n_sound, changed


def _changed_details(rows: Iterable[Row[Any]]) -> list[tuple[str, int]]:
    return [(row.writer, row.seq) for row in rows if not _is_as_written(row)]


def _is_as_written(row: Row[Any]) -> bool:
    """Whether a detail is what its record says, if it has one. SQLite takes values of any kind."""
    if not isinstance(row.detail, str) or not isinstance(row.detail_sha256, str):
        return False
    is_same_moment = row.moment == row.signed_moment
    return is_same_moment and is_same(detail_sha256(row.detail), row.detail_sha256)


async def _n_details(
    connection: AsyncConnection, prefixes: Sequence[Prefix], before: datetime | None
) -> int:
    """How many details go with their records, beside those before a moment."""
    rest, n_details = select(func.count()).select_from(audit_details), 0
    if before is not None:
        rest = rest.where(_DETAILS.moment >= moments.of_datetime(before))
    for each in prefixes:
        own = rest.where(_DETAILS.writer == each.writer, _DETAILS.seq <= each.head.seq)
        n_details += await connection.scalar(own) or 0
    return n_details


def _said_again(
    going: Sequence[AuditRecord],
    kept: Sequence[AuditRecord],
    keys: Sequence[bytes],
    *,
    referred: Collection[str],
    but: Collection[str],
) -> Iterator[Head]:
    """What only records that go have said of chains that something refers to.

    Args:
        going: Records that say something and go.
        kept: Those that stay.
        keys: What they may be signed with.
        referred: Chains that have a row of their own; those that others have seen are, too.
        but: Chains of which more is said now.
    """
    said, left = claims_of(going, keys), claims_of(kept, keys)
    for writer, head in said.removed.items():
        is_needed = writer in referred or writer in left.seen
        if is_needed and writer not in but and not left.is_removed(writer, head.seq):
            yield head


def _details_said(records: Iterable[AuditRecord], keys: Sequence[bytes]) -> datetime | None:
    """Before which moment records say that details were removed."""
    said = [
        json.loads(record.line)["payload"].get("details_before")
        for record in records
        if record.type == EventType.RETENTION_APPLIED and signer(record, keys) is not None
    ]
    return max((datetime.fromisoformat(each) for each in said if each), default=None)


def _whole() -> Select[Any]:
    """Records with their details, chain by chain."""
    return (
        select(audit_records, _DETAILS.detail)
        .join(audit_details, same(_DETAILS, _RECORDS), isouter=True)
        .order_by(_RECORDS.writer, _RECORDS.seq)
    )


async def _batches(
    connection: AsyncConnection, query: Select[Any]
) -> AsyncIterator[Sequence[AuditRecord]]:
    """The records of a query, some at a time."""
    options = {"yield_per": _BATCH}
    async with connection.stream(query, execution_options=options) as found:
        async for rows in found.mappings().partitions():
            yield [_record(row) for row in rows]


def _record(row: Mapping[str, Any]) -> AuditRecord:
    """A row as a record. SQLite takes values of any kind: those of another are no record's."""
    is_sound = all(
        isinstance(value, int if name in ("seq", "moment") else str | None)
        for name, value in row.items()
    )
    record = AuditRecord(**{name: row[name] for name in AuditRecord.__slots__})
    return record if is_sound else replace(record, moment=0, line="", detail=None, mac="")


def _days_before(now: datetime, days: float) -> datetime:
    """A moment of the past in whole milliseconds, as events have them."""
    try:
        before = now.astimezone(UTC) - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
    return before.replace(microsecond=before.microsecond // 1000 * 1000)

"""The trail as it is read: filters, pages that neither repeat nor skip, one event in full."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from groundwire.control.audit.cursor import InvalidCursorError, read_cursor, to_cursor
from groundwire.control.audit.event import EventType
from groundwire.control.audit.events import response_events
from groundwire.control.audit.found import FoundRecord
from groundwire.control.audit.record import AuditRecord
from groundwire.control.audit.trail import ALL, Filter, Page, Trail
from groundwire.control.store import Store
from groundwire.control.store.tables import audit_details, audit_records
from tests.control.audit.filled import Written, at, keep, made
from tests.control.audit.test_detail import FULL, many
from tests.gateway.answers import checked
from tests.tiers import costly

OTHER = EventType.ADMIN_LOGIN


async def collect(
    trail: Trail,
    filter: Filter = ALL,
    *,
    limit: int = 50,
    newest_first: bool = True,
    between: Callable[[], Awaitable[object]] | None = None,
) -> list[FoundRecord]:
    """All pages, one after another."""
    found: list[FoundRecord] = []
    page: Page | None = None
    while page is None or page.next is not None:
        if page is not None and between is not None:
            await between()
        cursor = None if page is None else page.next
        page = await trail.page(filter, cursor=cursor, limit=limit, newest_first=newest_first)
        assert len(page.events) <= limit
        found += page.events
    return found


def keys(found: list[FoundRecord]) -> list[tuple[str, int]]:
    return [(each.writer, each.seq) for each in found]


# Filters.


@pytest.fixture
def opened(store_url: str) -> Callable[[], Any]:
    """Opens an empty trail, and gives its store beside it."""

    @asynccontextmanager
    async def open_() -> AsyncIterator[tuple[Store, Trail]]:
        async with Store(store_url) as store:
            yield store, Trail(store)

    return open_


@pytest.mark.asyncio
async def test_an_event_is_found_as_it_was_written(opened: Callable[[], Any]) -> None:
    async with opened() as (store, trail):
        event = made(1.5, outcome="partial", detail={"version": 1})
        (record,) = await Written(store).add(event)
        (found,) = (await trail.page()).events
        assert found.event == event.to_dict()
        assert (found.writer, found.seq, found.mac) == (record.writer, 1, record.mac)
        assert found.has_detail
        assert found.detail is None
        assert found.to_dict() == {
            **event.to_dict(),
            "chain": {"writer": record.writer, "seq": 1, "mac": record.mac},
            "has_detail": True,
            "is_readable": True,
        }


@pytest.mark.asyncio
async def test_filters_hold_together(opened: Callable[[], Any]) -> None:
    async with opened() as (store, trail):
        one, other = Written(store), Written(store)
        await one.add(
            made(1, tenant="a", trace_id="x"),
            made(2, OTHER, tenant="a", trace_id="x"),
            made(3, tenant="b", trace_id="x"),
        )
        await other.add(
            made(4, tenant="a", trace_id="y"),
            made(5, OTHER, tenant="b", trace_id="y"),
            made(6, EventType.KEY_REVOKED, tenant="a", trace_id="z"),
        )

        async def seconds(**asked: Any) -> list[float]:  # noqa: ANN401
            page = await trail.page(Filter(**asked))
            moments = [datetime.fromisoformat(each.event["timestamp"]) for each in page.events]
            return [(moment - at(0)).total_seconds() for moment in moments]

        assert await seconds() == [6, 5, 4, 3, 2, 1]
        assert await seconds(tenant="a") == [6, 4, 2, 1]
        assert await seconds(tenant="c") == []
        assert await seconds(types=(OTHER,)) == [5, 2]
        assert await seconds(types=(OTHER, EventType.KEY_REVOKED)) == [6, 5, 2]
        assert await seconds(types=(OTHER, OTHER), tenant="a") == [2]
        assert await seconds(trace_id="x") == [3, 2, 1]
        assert await seconds(trace_id="x", tenant="a", types=(OTHER,)) == [2]
        assert await seconds(writer=one.writer) == [3, 2, 1]
        assert await seconds(writer=one.writer, tenant="a", since=at(2)) == [2]
        assert await seconds(writer=other.writer, trace_id="y", until=at(5)) == [4]
        assert await seconds(since=at(2), until=at(5)) == [4, 3, 2]
        assert await seconds(tenant="a", types=(OTHER,), since=at(2), until=at(2.001)) == [2]
        assert await seconds(tenant="a", since=at(7)) == []
        page = await trail.page(Filter(tenant="a"), newest_first=False)
        assert [each.event["trace_id"] for each in page.events] == ["x", "x", "y", "z"]


# Cursors.

PLACE = (int, str, int)


def test_a_cursor_is_read_back() -> None:
    cursor = to_cursor(-(2**63) + 1, "é", 7)
    assert cursor.isascii()
    assert read_cursor(cursor, *PLACE) == (-(2**63) + 1, "é", 7)


@given(st.text() | st.text("abcdefABCDEF0123456789-_=:", max_size=100))
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidCursorError, match="Take next of the page before"):
        read_cursor(cursor, *PLACE)


@pytest.mark.parametrize(
    "place", [(1, "a"), (1, 1, 1), (2**63, "a", 1), (1, "\0", 1), (True, "a", 1)]
)
def test_a_cursor_of_no_row_is_refused(place: tuple[int | str, ...]) -> None:
    with pytest.raises(InvalidCursorError):
        read_cursor(to_cursor(*place), *PLACE)


# Pages.

Drawn: TypeAlias = list[tuple[int, float, str, EventType, str]]

rows = st.lists(
    st.tuples(
        st.integers(0, 3),  # the writer
        st.sampled_from([0, 0, 1, 1.001, 2, 3]),  # few moments, so that many are equal
        st.sampled_from(["a", "b"]),
        st.sampled_from([EventType.CHECK_INCOMPLETE, OTHER]),
        st.sampled_from(["x", "y"]),
    ),
    max_size=25,
)
filters = st.sampled_from(
    [
        {},
        {"tenant": "a"},
        {"types": (OTHER,)},
        {"types": (OTHER, EventType.CHECK_INCOMPLETE)},
        {"tenant": "a", "types": (OTHER, EventType.CHECK_INCOMPLETE)},
        {"trace_id": "x"},
        {"trace_id": "x", "tenant": "a"},
        {"writer": "1" * 32},
        {"writer": "1" * 32, "tenant": "a"},
        {"since": at(1), "until": at(3)},
        {"tenant": "a", "since": at(1)},
        {"writer": "1" * 32, "until": at(2)},
        {"trace_id": "y", "writer": "2" * 32, "types": (OTHER,), "since": at(0.5)},
    ]
)


def holds(asked: Filter, record: AuditRecord) -> bool:
    """Whether a record is asked for: the filter in Python."""
    moment = datetime.fromisoformat(json.loads(record.line)["timestamp"])
    return all(
        [
            asked.tenant in (None, record.tenant),
            not asked.types or record.type in asked.types,
            asked.trace_id in (None, record.trace_id),
            asked.writer in (None, record.writer),
            asked.since is None or moment >= asked.since,
            asked.until is None or moment < asked.until,
        ]
    )


async def walked(
    store: Store, before: Drawn, between: Drawn, asked: Filter, *, limit: int, newest_first: bool
) -> tuple[list[AuditRecord], list[AuditRecord], list[FoundRecord]]:
    """What was there, what came between two pages, and what all pages together show."""
    async with store.writing() as connection:
        await connection.execute(audit_records.delete())
    chains = [Written(store, writer=str(i) * 32) for i in range(4)]

    def linked(drawn: Drawn) -> list[AuditRecord]:
        return [
            chains[i].chain.link(made(seconds, type_, tenant=tenant, trace_id=trace_id))
            for i, seconds, tenant, type_, trace_id in drawn
        ]

    first, later = linked(before), linked(between)
    waiting = list(later)

    async def add_two() -> None:
        await keep(store, [waiting.pop() for _ in range(min(2, len(waiting)))])

    await keep(store, first)
    trail = Trail(store)
    found = await collect(trail, asked, limit=limit, newest_first=newest_first, between=add_two)
    return first, later, found


@pytest.fixture
def running(store_url: str) -> Iterator[Callable[..., Any]]:
    """:func:`walked` on one store for all examples."""
    store = Store(store_url)
    with asyncio.Runner() as runner:
        runner.run(store.open())
        yield lambda *drawn, **asked: runner.run(walked(store, *drawn, **asked))
        runner.run(store.close())


# The rows of an example are removed before the next.
@settings(costly(0.6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows, rows, filters, st.integers(1, 7), st.booleans())
def test_pages_neither_repeat_nor_skip_what_was_there(
    running: Callable[..., Any],
    before: Drawn,
    between: Drawn,
    given_filter: dict[str, Any],
    limit: int,
    newest_first: bool,
) -> None:
    asked = Filter(**given_filter)
    first, later, found = running(before, between, asked, limit=limit, newest_first=newest_first)
    got, known = keys(found), {(each.writer, each.seq): each for each in [*first, *later]}
    assert len(set(got)) == len(got), "an event stands on two pages"
    assert all(holds(asked, known[key]) for key in got), "an event is not asked for"

    by_chain = asked.writer is not None
    wanted = sorted(
        (each for each in first if holds(asked, each)),
        key=lambda each: (each.moment * (not by_chain), each.writer, each.seq),
        reverse=newest_first,
    )
    there = {(each.writer, each.seq) for each in first}
    assert [key for key in got if key in there] == [(each.writer, each.seq) for each in wanted], (
        "an event that was there is missing, or out of order"
    )


@pytest.mark.asyncio
async def test_a_page_that_ends_with_the_last_event_has_no_next(opened: Callable[[], Any]) -> None:
    async with opened() as (store, trail):
        await Written(store).add(*(made(i) for i in range(4)))
        page = await trail.page(limit=2)
        assert page.next is not None
        last = await trail.page(limit=2, cursor=page.next)
        assert (len(last.events), last.next) == (2, None)


@pytest.mark.asyncio
async def test_a_cursor_may_outlive_its_row(opened: Callable[[], Any]) -> None:
    async with opened() as (store, trail):
        await Written(store).add(*(made(i) for i in range(4)))
        page = await trail.page(limit=2)
        async with store.writing() as connection:
            await connection.execute(audit_records.delete().where(audit_records.c.seq == 3))
        rest = await trail.page(limit=2, cursor=page.next)
        assert [each.seq for each in rest.events] == [2, 1]


# One event.


@pytest.mark.asyncio
async def test_an_event_comes_with_its_detail_as_long_as_it_is_kept(
    opened: Callable[[], Any],
) -> None:
    async with opened() as (store, trail):
        (event,) = response_events(checked(), tenant="acme", trace_id="t1", keeping=FULL)
        (record,) = await Written(store).add(event)
        found = await trail.get(event.id)
        assert found is not None
        assert found.detail == json.loads(record.detail or "")
        async with store.writing() as connection:
            await connection.execute(audit_details.delete())
        without = await trail.get(event.id)
        assert without == replace(found, detail=None, has_detail=False)


@pytest.mark.asyncio
@pytest.mark.parametrize("event_id", ["", "x" * 37, "\0", "\ud800", "é", "no such event"])
async def test_what_is_no_event_is_not_found(event_id: str, opened: Callable[[], Any]) -> None:
    async with opened() as (store, trail):
        await Written(store).add(made())
        assert await trail.get(event_id) is None


# Whatever stands there.


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("n", "text"),
    [(3, "\0 a \0"), (3, "\ud800 \udfff"), (2000, "\x1b[2J \u202e"), (1, "é" * 300_000)],
    ids=["NULs", "halves", "thousands", "long"],
)
async def test_every_database_takes_what_strangers_write(
    n: int, text: str, opened: Callable[[], Any]
) -> None:
    async with opened() as (store, trail):
        events = response_events([many(n, text)], tenant="acme", trace_id="t1", keeping=FULL)
        (record,) = await Written(store).add(*events)
        found = await trail.get(record.event_id)
        assert found is not None
        assert found.event == json.loads(record.line)
        assert found.detail == json.loads(record.detail or "")
        assert found.event["payload"]["unsupported_spans"][0].startswith(text[:3])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "line", ["", "no JSON", "[]", "{}", "[" * 100_000, '{"id": 1}', "\u2028\n\ufffe"]
)
async def test_a_line_that_somebody_has_changed_is_shown_as_its_columns(
    line: str, opened: Callable[[], Any]
) -> None:
    async with opened() as (store, trail):
        await Written(store).add(made(1), made(2, detail={"a": 1}))
        async with store.writing() as connection:
            changed = update(audit_records).where(audit_records.c.seq == 2)
            await connection.execute(changed.values(line=line))
            await connection.execute(update(audit_details).values(detail=line))
        found, other = (await trail.page()).events
        assert (found.is_readable, other.is_readable) == (False, True)
        assert {**found.event} | {"id": "", "payload": ""} == {
            "id": "",
            "timestamp": "2026-03-01T00:00:02.000Z",
            "tenant": "acme",
            "type": "CHECK_INCOMPLETE",
            "trace_id": "t1",
            "payload": "",
        }
        whole = await trail.get(found.event["id"])
        assert whole is not None
        assert whole.detail is None or line.startswith("{")


@pytest.mark.asyncio
async def test_texts_are_found_whole_in_events_as_they_are_written(
    opened: Callable[[], Any],
) -> None:
    async with opened() as (store, trail):
        await Written(store).add(
            made(1, text="The tower is 100% «ÜBER» it.", max_severity=4),
            made(2, text="The Tower_is", max_severity=3, model="gpt-5"),
            made(3, text="nothing", model='"gpt-5"'),
        )
        for contains, expected in (
            ([["the tower"]], [2, 1]),
            ([["100%"]], [1]),
            ([["tower_is"]], [2]),
            ([[json.dumps("«ÜBER»")[1:-1]]], [1]),
            ([["the tower"], ['"max_severity":3', '"max_severity":4']], [2, 1]),
            ([["the tower"], ['"max_severity":4']], [1]),
            ([['"model":"gpt-5"']], [2]),
            ([["not there"]], []),
        ):
            asked = Filter(contains=tuple(map(tuple, contains)))
            assert [seq for _, seq in keys(await collect(trail, asked))] == expected, contains
            exported = [line async for line in trail.export(asked)]
            assert len(exported) == len(expected)


@pytest.mark.asyncio
@pytest.mark.parametrize("newest_first", [True, False])
async def test_a_search_for_a_text_reads_so_many_events_a_page_and_goes_on_there(
    opened: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, newest_first: bool
) -> None:
    monkeypatch.setattr("groundwire.control.audit.trail.SEARCHED", 10)
    async with opened() as (store, trail):
        events = [made(n, text="rare" if n in (3, 4, 27) else "often") for n in range(40)]
        await Written(store).add(*events)
        asked = Filter(contains=(("rare",),))
        first = await trail.page(asked, newest_first=newest_first)
        assert (len(first.events), first.is_cut) == (0 if newest_first else 2, True)
        found = keys(await collect(trail, asked, newest_first=newest_first))
        assert sorted(seq for _, seq in found) == [4, 5, 28]
        one_by_one = await collect(trail, asked, limit=1, newest_first=newest_first)
        assert keys(one_by_one) == found

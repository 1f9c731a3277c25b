"""The audit log loses nothing, keeps the order, and never decides what becomes of an answer."""

import asyncio
import logging
import time

import pytest

from groundwire.control.audit import log as log_module
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.log import AuditLog
from groundwire.control.audit.record import Head
from tests.control.audit.trails import (
    PATIENCE_S,
    BrokenSink,
    ListSink,
    event,
    numbers,
    opened,
    types,
)

pytestmark = pytest.mark.asyncio

#: For what is never to happen: as long as this is waited for it.
MOMENT_S = 0.05


async def started(sink: ListSink) -> None:
    """Until the log has tried to write its start."""
    deadline = time.monotonic() + PATIENCE_S
    while not sink.records:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.001)


# What is written.


async def test_events_are_one_chain_in_the_order_they_came() -> None:
    sink = ListSink()
    log = await opened(sink)
    for number in range(2500):
        await log.write(event(number))
    assert await log.close() == 0
    assert numbers(sink.records) == list(range(2500))
    assert [record.seq for record in sink.records] == list(range(1, 2503))
    assert len({record.writer for record in sink.records}) == 1
    assert log.stats.written == {"CHAIN_STARTED": 1, "UNCHECKED_ENDPOINT": 2500, "CHAIN_ENDED": 1}
    assert log.stats.depth == 0
    assert sink.is_closed


async def test_a_chain_begins_with_the_ends_of_others_and_ends_with_its_own() -> None:
    other = Head(writer="a" * 32, seq=7, mac="b" * 64)
    sink = ListSink(others=[other])
    log = await opened(sink)
    await log.close()
    assert types(sink.records) == ["CHAIN_STARTED", "CHAIN_ENDED"]
    assert f'"heads":[{{"writer":"{other.writer}","seq":7,' in sink.records[0].line


async def test_without_a_sink_nothing_is_kept() -> None:
    log = AuditLog(None)
    await log.open()
    await log.write(event(0))
    assert await log.settle([event(1)])
    assert not log.is_failing
    assert await log.close() == 0
    assert log.stats.written == {}


async def test_without_details_a_record_does_not_have_the_hash_of_one() -> None:
    sink = ListSink()
    log = AuditLog(sink, key=b"k" * 32, keeps_details=False)
    await log.open()
    await log.write(event(0, detail={"spans": []}))
    await log.close()
    assert (sink.records[1].detail, sink.records[1].detail_sha256) == (None, None)


# Who waits.


async def test_what_is_settled_is_kept_and_not_only_in_the_queue() -> None:
    sink = ListSink()
    log = await opened(sink)
    assert await log.settle([event(0), event(1)])
    assert numbers(sink.records) == [0, 1]
    assert await log.settle([])
    await log.close()


async def test_who_waits_at_the_same_time_shares_one_write() -> None:
    sink = ListSink()
    log = await opened(sink)
    await started(sink)
    sink.may_write.clear()
    first = asyncio.create_task(log.settle([event(0)]))
    while log.stats.depth < 1:
        await asyncio.sleep(0)
    await asyncio.sleep(MOMENT_S)  # the log has taken it, and waits
    others = [asyncio.create_task(log.settle([event(number)])) for number in range(1, 65)]
    while log.stats.depth < 65:
        await asyncio.sleep(0)
    sink.may_write.set()
    assert all(await asyncio.gather(first, *others))
    assert sink.batches == [1, 1, 64]
    await log.close()


async def test_who_waits_is_not_kept_waiting_for_company() -> None:
    sink = ListSink()
    log = await opened(sink, linger_s=PATIENCE_S)
    await log.write(event(0))
    assert await asyncio.wait_for(log.settle([event(1)]), PATIENCE_S / 2)
    assert numbers(sink.records) == [0, 1]
    await log.close()


async def test_events_nobody_waits_for_are_written_together() -> None:
    sink = ListSink()
    log = await opened(sink, linger_s=PATIENCE_S)
    await started(sink)
    for number in range(1000):
        await log.write(event(number))
        await asyncio.sleep(0)
    await log.close()
    assert sink.batches[:2] == [1, 1000]


async def test_what_cannot_be_kept_in_time_is_not_settled_and_is_kept_later() -> None:
    sink = ListSink()
    log = await opened(sink, patience_s=MOMENT_S)
    await started(sink)
    sink.may_write.clear()
    assert not await log.settle([event(0)])
    sink.may_write.set()
    assert await log.settle([event(1)])
    assert numbers(sink.records) == [0, 1]
    await log.close()


async def test_a_log_that_fails_says_so_and_nobody_waits_for_it_again_until_it_succeeds() -> None:
    sink = BrokenSink()
    log = await opened(sink, patience_s=MOMENT_S)
    assert not await log.settle([event(0)])
    assert log.is_failing
    await asyncio.sleep(MOMENT_S)
    before = time.monotonic()
    waits = [log.settle([event(number)]) for number in range(1, 51)]
    assert not any(await asyncio.gather(*waits))
    assert time.monotonic() - before < 50 * MOMENT_S
    assert await log.close(timeout_s=0.01) == 51


async def test_a_log_that_recovers_does_not_fail() -> None:
    sink = ListSink(None, OSError("gone"), OSError("gone"))
    log = await opened(sink)
    await started(sink)
    assert await log.settle([event(0)])
    assert not log.is_failing
    assert log.stats.n_failures == 2
    await log.close()


async def test_who_waits_is_told_when_the_log_gives_up() -> None:
    log = await opened(BrokenSink())
    waiting = asyncio.create_task(log.settle([event(0)]))
    await asyncio.sleep(MOMENT_S)
    assert await log.close(timeout_s=0.01) == 1
    assert not await asyncio.wait_for(waiting, PATIENCE_S)


async def test_an_event_is_written_though_who_waits_for_it_is_cancelled() -> None:
    sink = ListSink()
    sink.may_write.clear()
    log = await opened(sink)
    waiting = asyncio.create_task(log.settle([event(0)]))
    await asyncio.sleep(MOMENT_S)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    sink.may_write.set()
    assert await log.close(timeout_s=PATIENCE_S) == 0
    assert numbers(sink.records) == [0]


# What goes wrong.


async def test_what_fails_is_tried_again_in_order(caplog: pytest.LogCaptureFixture) -> None:
    sink = ListSink(OSError("disk full"), ValueError("odd"), None, OSError("disk full"))
    sink.may_write.clear()
    log = await opened(sink)
    for number in range(10):
        await log.write(event(number))
    sink.may_write.set()
    assert await log.close(timeout_s=PATIENCE_S) == 0
    assert numbers(sink.records) == list(range(10))
    assert [record.seq for record in sink.records] == list(range(1, 13))
    assert log.stats.n_failures == 3
    assert "OSError" in caplog.text
    assert "disk full" not in caplog.text


async def test_a_full_queue_makes_writers_wait_and_drops_nothing() -> None:
    sink = ListSink()
    log = await opened(sink, queue_size=3)
    await started(sink)
    sink.may_write.clear()
    writers = [asyncio.create_task(log.write(event(number))) for number in range(20)]
    _, waiting = await asyncio.wait(writers, timeout=0.05)
    assert len(waiting) == 17
    assert log.stats.depth == 20
    assert log.is_failing
    sink.may_write.set()
    await asyncio.wait_for(asyncio.gather(*writers), PATIENCE_S)
    assert await log.close(timeout_s=PATIENCE_S) == 0
    assert numbers(sink.records) == list(range(20))


async def test_who_settles_waits_for_a_place_however_long_the_log_has_failed() -> None:
    sink = ListSink()
    log = await opened(sink, queue_size=10, patience_s=0.0)
    await started(sink)
    sink.fails += [OSError("disk full")] * 100_000
    callers = [asyncio.create_task(log.settle([event(number)])) for number in range(200)]
    assert not any(await asyncio.wait_for(asyncio.gather(*callers[:10]), PATIENCE_S))
    await asyncio.sleep(MOMENT_S)
    assert not any(caller.done() for caller in callers[10:])
    assert log.stats.depth == 10 + len(callers[10:])
    assert await log.close(timeout_s=0.01) == 200
    assert not any(await asyncio.wait_for(asyncio.gather(*callers), PATIENCE_S))
    assert log.stats.depth == 0


async def test_who_has_waited_for_a_place_is_told_when_it_is_kept() -> None:
    sink = ListSink()
    sink.may_write.clear()
    log = await opened(sink, queue_size=1)
    callers = [asyncio.create_task(log.settle([event(number)])) for number in range(5)]
    while log.stats.depth < 5:
        await asyncio.sleep(0)
    sink.may_write.set()
    assert all(await asyncio.wait_for(asyncio.gather(*callers), PATIENCE_S))
    assert numbers(sink.records) == list(range(5))
    assert await log.close() == 0


async def test_more_events_at_once_than_there_are_places_are_settled() -> None:
    sink = ListSink()
    log = await opened(sink, queue_size=2)
    events = [event(number) for number in range(20)]
    assert await asyncio.wait_for(log.settle(events), PATIENCE_S)
    assert numbers(sink.records) == list(range(20))
    assert await log.close() == 0


async def test_what_is_handed_over_at_once_is_written_though_who_waits_is_cancelled() -> None:
    sink = ListSink()
    sink.may_write.clear()
    log = await opened(sink, queue_size=1)
    await log.write(event(0))
    writer = asyncio.create_task(log.write(event(1), event(2), event(3)))
    other = asyncio.create_task(log.write(event(4)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    writer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writer
    sink.may_write.set()
    assert await log.close(timeout_s=PATIENCE_S) == 0
    await other
    assert numbers(sink.records) == [0, 1, 2, 3, 4]
    assert '"lost":0' in sink.records[-1].line


async def test_what_is_added_waits_for_nothing_and_is_counted_if_it_is_lost() -> None:
    sink = ListSink()
    log = await opened(sink, queue_size=1)
    await started(sink)
    while log.stats.depth > 0:
        await asyncio.sleep(0.001)
    sink.fails += [OSError("gone")] * 100_000
    log.add(event(0), event(1), event(2))
    assert log.stats.depth == 3
    assert await log.close(timeout_s=0.01) == 3


async def test_closing_waits_for_those_who_wait() -> None:
    sink = ListSink()
    sink.may_write.clear()
    log = await opened(sink, queue_size=1)
    writers = [asyncio.create_task(log.write(event(number))) for number in range(5)]
    await asyncio.wait(writers, timeout=0.02)
    closing = asyncio.create_task(log.close(timeout_s=PATIENCE_S))
    await asyncio.sleep(0)
    sink.may_write.set()
    assert await closing == 0
    await asyncio.gather(*writers)
    assert numbers(sink.records) == [0, 1, 2, 3, 4]
    assert types(sink.records)[-1] == "CHAIN_ENDED"


async def test_what_cannot_be_written_in_time_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    log = await opened(BrokenSink(), queue_size=4)
    writers = [asyncio.create_task(log.write(event(number))) for number in range(7)]
    await asyncio.wait(writers, timeout=0.02)
    assert await log.close(timeout_s=0.05) == 7
    await asyncio.gather(*writers)  # nobody waits for ever, and nothing is raised
    assert log.stats.depth == 0
    assert "audit events are lost" in caplog.text


async def test_a_sink_that_hangs_does_not_keep_the_log_from_closing() -> None:
    sink = ListSink()
    sink.may_write.clear()
    log = await opened(sink)
    await log.write(event(0))
    assert await log.close(timeout_s=0.05) == 1
    sink.may_write.set()


async def test_an_event_that_comes_too_late_is_counted_and_raises_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = await opened(ListSink())
    await log.close()
    await log.write(event(0))
    assert not await log.settle([event(1)])
    assert log.stats.n_lost == 2
    assert await log.close() == 2
    assert "the log is not open" in caplog.text


async def test_an_event_that_is_no_json_raises_nothing(caplog: pytest.LogCaptureFixture) -> None:
    sink = ListSink()
    log = await opened(sink)
    payload = {"secret": object()}
    bad = AuditEvent(type=EventType.CHECK_INCOMPLETE, tenant="acme", trace_id="t", payload=payload)
    await log.write(bad)
    assert not await log.settle([bad, event(0)])
    assert await log.close() == 2
    assert numbers(sink.records) == [0]
    assert "TypeError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_detail_that_is_no_json_does_not_cost_the_record() -> None:
    sink = ListSink()
    log = await opened(sink)
    assert await log.settle([event(0, detail={"secret": object()})])
    await log.close()
    assert sink.records[1].detail == '{"error":"TypeError"}'


async def test_details_that_wait_are_bounded_and_their_records_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_module, "MAX_DETAIL_CHARS", 1000)
    sink = ListSink()
    sink.may_write.clear()
    log = await opened(sink)
    for number in range(5):
        await log.write(event(number, detail={"text": "x" * 600}))
    sink.may_write.set()
    assert await log.close(timeout_s=PATIENCE_S) == 0
    kept = [record.detail is not None for record in sink.records[1:-1]]
    assert kept == [True, True, False, False, False]
    assert log.stats.n_without_detail == 3


async def test_nothing_that_is_written_is_in_the_log_of_the_gateway(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    log = await opened(ListSink(OSError("x")))
    await log.write(event(0))
    await log.close(timeout_s=PATIENCE_S)
    assert "responses" not in caplog.text
    assert "acme" not in caplog.text

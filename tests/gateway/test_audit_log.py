"""The audit log loses nothing, keeps the order, and never decides what becomes of an answer."""

import asyncio
import json
import logging
import os
import stat
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from groundwire.errors import SettingError
from groundwire.gateway.audit import (
    AuditEvent,
    AuditLog,
    EventType,
    FileSink,
    PartlyAppendedError,
    StdoutSink,
    unchecked_endpoint_event,
)

pytestmark = pytest.mark.asyncio
QUICK = (0.001, 0.002)
#: Tests that hang fail after so many seconds.
PATIENCE_S = 20


def event(number: int) -> AuditEvent:
    return unchecked_endpoint_event(
        tenant="acme", trace_id=str(number), path="/v1/responses", model=None, decision="mark"
    )


def numbers(lines: Sequence[bytes]) -> list[int]:
    return [int(json.loads(line)["trace_id"]) for line in lines]


class ListSink:
    """Keeps lines; waits for ``may_write``, and fails as often as it is told.

    Attributes:
        fails: What is raised next, in order.
    """

    def __init__(self, *fails: Exception) -> None:
        self.lines: list[bytes] = []
        self.fails = list(fails)
        self.may_write = threading.Event()
        self.may_write.set()
        self.n_calls = 0

    def append(self, lines: Sequence[bytes]) -> None:
        self.may_write.wait(PATIENCE_S)
        self.n_calls += 1
        if self.fails:
            error = self.fails.pop(0)
            if isinstance(error, PartlyAppendedError):
                self.lines += lines[: error.n_lines]
            raise error
        self.lines += lines


class BrokenSink:
    """Cannot write."""

    def append(self, lines: Sequence[bytes]) -> NoReturn:
        raise OSError("disk full")


async def opened(sink: ListSink | FileSink | BrokenSink, *, queue_size: int = 10_000) -> AuditLog:
    log = AuditLog(sink, queue_size=queue_size, backoff_s=QUICK)
    await log.open()
    return log


# What is written.


async def test_events_are_lines_in_the_order_they_came(tmp_path: Path) -> None:
    log = AuditLog.at(tmp_path / "logs" / "audit.jsonl")
    await log.open()
    for number in range(2500):
        await log.write(event(number))
    assert await log.close() == 0
    lines = (tmp_path / "logs" / "audit.jsonl").read_bytes().splitlines()
    assert numbers(lines) == list(range(2500))
    assert log.stats.written == {"UNCHECKED_ENDPOINT": 2500}
    assert log.stats.depth == 0


async def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "audit.jsonl"
    FileSink(path)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_log_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for number in range(3):
        log = await opened(FileSink(path))
        await log.write(event(number))
        await log.close()
    assert numbers(path.read_bytes().splitlines()) == [0, 1, 2]


async def test_a_line_that_a_crash_left_unfinished_stands_alone(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"id": "1"}\n{"id": "2')
    FileSink(path).append([b'{"id":"3"}'])
    assert path.read_bytes() == b'{"id": "1"}\n{"id": "2\n{"id":"3"}\n'


@pytest.mark.skipif(os.name != "posix", reason="an open file can be moved on POSIX alone")
async def test_a_file_that_was_rotated_away_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    sink = FileSink(path)
    sink.append([b"1"])
    path.rename(tmp_path / "audit.jsonl.1")
    sink.append([b"2"])
    assert (tmp_path / "audit.jsonl.1").read_bytes() == b"1\n"
    assert path.read_bytes() == b"2\n"


async def test_a_dash_is_the_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    log = AuditLog.at("-")
    await log.open()
    await log.write(event(7))
    await log.close()
    assert numbers(capfd.readouterr().out.encode().splitlines()) == [7]


async def test_a_file_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"audit.path.*IsADirectoryError|PermissionError"):
        AuditLog.at(tmp_path)


async def test_without_a_sink_nothing_is_kept() -> None:
    log = AuditLog(None)
    await log.open()
    await log.write(event(0))
    assert await log.close() == 0
    assert log.stats.written == {}


# What goes wrong.


async def test_what_fails_is_tried_again_in_order(caplog: pytest.LogCaptureFixture) -> None:
    sink = ListSink(OSError("disk full"), PartlyAppendedError(3), ValueError("odd"))
    sink.may_write.clear()
    log = await opened(sink)
    for number in range(10):
        await log.write(event(number))
    sink.may_write.set()
    assert await log.close(timeout_s=PATIENCE_S) == 0
    assert numbers(sink.lines) == list(range(10))
    assert log.stats.n_failures == 3
    assert "OSError" in caplog.text
    assert "disk full" not in caplog.text


async def test_a_full_queue_makes_writers_wait_and_drops_nothing() -> None:
    sink = ListSink()
    sink.may_write.clear()
    log = await opened(sink, queue_size=3)
    writers = [asyncio.create_task(log.write(event(number))) for number in range(20)]
    _, waiting = await asyncio.wait(writers, timeout=0.05)
    assert len(waiting) == 17
    assert log.stats.depth == 20
    sink.may_write.set()
    await asyncio.wait_for(asyncio.gather(*writers), PATIENCE_S)
    assert await log.close(timeout_s=PATIENCE_S) == 0
    assert numbers(sink.lines) == list(range(20))


async def test_an_event_is_written_though_its_request_is_cancelled() -> None:
    sink = ListSink()
    sink.may_write.clear()
    log = await opened(sink, queue_size=1)
    await log.write(event(0))
    writer = asyncio.create_task(log.write(event(1)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    writer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writer
    sink.may_write.set()
    assert await log.close(timeout_s=PATIENCE_S) == 0
    assert numbers(sink.lines) == [0, 1]


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
    assert numbers(sink.lines) == [0, 1, 2, 3, 4]


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
    assert log.stats.n_lost == 1
    assert await log.close() == 1
    assert "the log is not open" in caplog.text


async def test_an_event_that_is_no_json_raises_nothing(caplog: pytest.LogCaptureFixture) -> None:
    log = await opened(ListSink())
    payload = {"secret": object()}
    bad = AuditEvent(type=EventType.CHECK_INCOMPLETE, tenant="acme", trace_id="t", payload=payload)
    await log.write(bad)
    assert await log.close() == 1
    assert "TypeError" in caplog.text
    assert "secret" not in caplog.text


async def test_nothing_that_is_written_is_in_the_log_of_the_gateway(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    log = await opened(ListSink(OSError("x")))
    await log.write(event(0))
    await log.close(timeout_s=PATIENCE_S)
    assert "responses" not in caplog.text
    assert "acme" not in caplog.text


# Descriptors that take part of what they are given.


@pytest.mark.skipif(os.name != "posix", reason="pipes that do not block are POSIX's")
async def test_lines_that_were_written_do_not_come_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with os.fdopen(writing, "w") as pipe, os.fdopen(reading, "rb") as end:
        monkeypatch.setattr(sys, "stdout", pipe)
        lines = [b"%d" % number * 1000 for number in range(100, 400)]
        sink, left = StdoutSink(), lines
        with pytest.raises(PartlyAppendedError) as caught:
            sink.append(left)
        n_written = caught.value.n_lines
        assert 0 < n_written < len(lines)
        got = end.read1(1_000_000)
        sink.append(lines[n_written : n_written + 2])
        got += end.read1(1_000_000)
        monkeypatch.undo()
    whole = [line for line in got.splitlines() if line in lines]
    assert whole == lines[: n_written + 2]

"""Files and the standard output: whole lines, none twice, and none lost by a restart."""

import asyncio
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from groundwire.control.audit.record import AuditRecord, compact
from groundwire.control.audit.sinks import FileSink, StdoutSink
from groundwire.errors import SettingError
from tests.control.audit.trails import chain_of, event, opened

FULL = Path("/dev/full")


def lines_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def as_lines(records: list[AuditRecord]) -> bytes:
    return b"".join(record.to_line() + b"\n" for record in records)


def test_a_line_has_the_event_its_place_in_the_chain_and_its_detail(tmp_path: Path) -> None:
    records = chain_of(event(7, detail={"spans": [{"text": "naïve"}]}))
    asyncio.run(FileSink(tmp_path / "audit.jsonl").append(records))
    line = lines_in(tmp_path / "audit.jsonl")[1]
    assert (line["trace_id"], line["tenant"], line["type"]) == (
        "7",
        "acme",
        "HALLUCINATION_DETECTED",
    )
    assert line["chain"]["seq"] == 2
    assert line["chain"]["previous"] == records[0].mac
    assert line["detail"] == {"spans": [{"text": "naïve"}]}
    assert list(line)[-2:] == ["chain", "detail"]


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "audit.jsonl"
    FileSink(path)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.asyncio
async def test_a_log_goes_on_where_the_last_one_ended_and_names_its_end(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for number in range(3):
        log = await opened(FileSink(path, is_synced=True))
        assert await log.settle([event(number)])
        await log.close()
    lines = lines_in(path)
    assert [line["trace_id"] for line in lines] == ["", "0", "", "", "1", "", "", "2", ""]
    named = {head["seq"] for head in lines[3]["payload"]["heads"]}
    assert named == {3}
    assert lines[3]["payload"]["heads"][0]["mac"] == lines[2]["chain"]["mac"]


@pytest.mark.asyncio
async def test_the_file_of_an_earlier_release_has_no_chains_to_name(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(compact(event(0).to_dict()).encode() + b'\n{"id": "torn')
    await (await opened(FileSink(path))).close()
    assert path.read_bytes().splitlines()[1] == b'{"id": "torn'
    assert b'"heads":[]' in path.read_bytes()


def test_a_line_that_a_crash_left_unfinished_stands_alone(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"id": "1"}\n{"id": "2')
    records = chain_of()
    asyncio.run(FileSink(path).append(records))
    assert path.read_bytes() == b'{"id": "1"}\n{"id": "2\n' + as_lines(records)


@pytest.mark.skipif(os.name != "posix", reason="an open file can be moved on POSIX alone")
def test_a_file_that_was_rotated_away_is_made_anew(tmp_path: Path) -> None:
    path, records = tmp_path / "audit.jsonl", chain_of(event(0))
    sink = FileSink(path)
    asyncio.run(sink.append(records[:1]))
    path.rename(tmp_path / "audit.jsonl.1")
    asyncio.run(sink.append(records[1:]))
    assert (tmp_path / "audit.jsonl.1").read_bytes() == as_lines(records[:1])
    assert path.read_bytes() == as_lines(records[1:])


def test_records_that_come_again_are_not_written_twice(tmp_path: Path) -> None:
    path, records = tmp_path / "audit.jsonl", chain_of(*map(event, range(5)))
    sink = FileSink(path)
    asyncio.run(sink.append(records[:3]))
    asyncio.run(sink.append(records[:3]))
    asyncio.run(sink.append(records))
    assert path.read_bytes() == as_lines(records)


def test_what_is_on_the_disk_and_not_synced_comes_again_and_is_not_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, records = tmp_path / "audit.jsonl", chain_of(event(0))
    sink = FileSink(path, is_synced=True)

    def fail(_: int) -> None:
        raise OSError("input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="input/output"):
            asyncio.run(sink.append(records))
    asyncio.run(sink.append(records))
    assert path.read_bytes() == as_lines(records)


@pytest.mark.asyncio
async def test_a_dash_is_the_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    log = await opened(StdoutSink())
    await log.write(event(7))
    await log.close()
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["trace_id"] for line in lines] == ["", "7", ""]


def test_a_file_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"audit.path.*IsADirectoryError|PermissionError"):
        FileSink(tmp_path)


@pytest.mark.skipif(not FULL.exists(), reason="Linux has a device that is always full")
def test_a_full_disk_is_told_and_its_heads_are_not_read_for_ever() -> None:
    sink = FileSink(FULL)
    assert asyncio.run(sink.heads()) == ()
    with pytest.raises(OSError, match="No space left"):
        asyncio.run(sink.append(chain_of()))


# Descriptors that take part of what they are given.


@pytest.mark.skipif(os.name != "posix", reason="pipes that do not block are POSIX's")
def test_lines_that_were_written_do_not_come_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    records = chain_of(*(event(number, detail={"text": "x" * 900}) for number in range(300)))
    with os.fdopen(writing, "w") as pipe, os.fdopen(reading, "rb") as end:
        monkeypatch.setattr(sys, "stdout", pipe)
        sink, got = StdoutSink(), b""
        for _ in range(50):
            try:
                asyncio.run(sink.append(records))
                break
            except BlockingIOError:
                got += end.read1(1_000_000)
        got += end.read1(1_000_000)
        monkeypatch.undo()
    written = set(as_lines(records).splitlines())
    assert [line for line in got.splitlines() if line in written] == as_lines(records).splitlines()


@pytest.mark.parametrize("n_bytes", [0, 1, 2])
def test_a_write_that_ends_at_the_end_of_a_line_loses_and_repeats_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_bytes: int
) -> None:
    path, records = tmp_path / "audit.jsonl", chain_of(event(0))
    sink, write = FileSink(path), os.write
    room = len(as_lines(records[:1])) - 1 + n_bytes

    def until_full(file: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            raise OSError("no space left")
        n_written = write(file, data[:room])
        room -= n_written
        return n_written

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", until_full)
        with pytest.raises(OSError, match="no space"):
            asyncio.run(sink.append(records))
    asyncio.run(sink.append(records))
    lines = path.read_bytes().splitlines()
    assert [line for line in lines if line != b"{"] == as_lines(records).splitlines()

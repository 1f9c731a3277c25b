"""A trail in files: nothing of it can be changed unnoticed, and a crash is no tampering."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.record import AuditRecord, compact
from groundwire.control.audit.sinks import FileSink
from groundwire.control.audit.verdict import TamperKind, TrailStatus, TrailVerdict
from groundwire.control.audit.verify_file import read_line, verify_files
from tests.control.audit.trails import KEY, chain_of, event, opened


def trail() -> list[bytes]:
    """The lines of a chain that ended, and of one that names it."""
    first = chain_of(event(0), event(1, detail={"text": "naïve", "p": 0.25}), is_ended=True)
    second = chain_of(event(2), event(3), heads=[first[-1].head])
    return [each.to_line() + b"\n" for each in first + second]


def verdict_of(
    folder: Path,
    lines: list[bytes],
    *,
    is_partial: bool = False,
) -> TrailVerdict:
    path = folder / "audit.jsonl"
    path.write_bytes(b"".join(lines))
    return verify_files([path], [KEY], is_partial=is_partial)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trail")


def test_lines_nobody_touched_are_intact(folder: Path) -> None:
    lines = trail()
    verdict = verdict_of(folder, lines)
    assert (verdict.status, verdict.findings) == (TrailStatus.INTACT, ())
    assert (verdict.records, verdict.chains, verdict.chains_open) == (7, 2, 1)


@given(data=st.data())
def test_any_byte_that_is_changed_is_found(folder: Path, data: st.DataObject) -> None:
    lines = trail()
    raw = bytearray(b"".join(lines))
    # The last line may be one that a crash cut short, and so may what its line break joins it to.
    index = data.draw(st.integers(0, len(raw) - len(lines[-1]) - 2))
    raw[index] = data.draw(st.integers(0, 255).filter(lambda byte: byte != raw[index]))
    assert verdict_of(folder, [bytes(raw)]).status is TrailStatus.TAMPERED


@given(data=st.data())
def test_any_line_that_is_removed_moved_repeated_or_put_in_is_found(
    folder: Path, data: st.DataObject
) -> None:
    lines = trail()
    others = list(lines)
    index = data.draw(st.integers(0, len(lines) - 2))
    match data.draw(st.sampled_from(["remove", "move", "repeat", "forge", "unsigned"])):
        case "remove":
            del others[index]
        case "move":
            others.insert(data.draw(st.integers(0, len(lines) - 1)), others.pop(index))
            # Chains are independent: what matters is the order within each.
            assume(in_order(others) != in_order(lines))
        case "repeat":
            others.insert(data.draw(st.integers(index, len(lines))), lines[index])
        case "forge":
            others.insert(index, chain_of(key=b"another key")[0].to_line() + b"\n")
        case _:
            others.insert(max(index, 1), compact(event(5).to_dict()).encode() + b"\n")
    assert verdict_of(folder, others).status is TrailStatus.TAMPERED


def in_order(lines: list[bytes]) -> list[list[int]]:
    chains: dict[str, list[int]] = {}
    for line in lines:
        chain = json.loads(line)["chain"]
        chains.setdefault(chain["writer"], []).append(chain["seq"])
    return sorted(chains.values())


def test_the_end_of_a_chain_that_another_names_cannot_be_cut_off(folder: Path) -> None:
    lines = trail()
    verdict = verdict_of(folder, [*lines[:2], *lines[4:]])
    assert [finding.kind for finding in verdict.findings] == [TamperKind.CUT]


@given(data=st.data())
def test_what_a_crash_leaves_is_no_tampering(folder: Path, data: st.DataObject) -> None:
    lines = trail()
    raw = b"".join(lines)
    rest = data.draw(st.integers(len(b"".join(lines[:5])) + 1, len(raw)))
    verdict = verdict_of(folder, [raw[:rest]])
    assert (verdict.status, verdict.chains_open) == (TrailStatus.INTACT, 1)


@pytest.mark.asyncio
async def test_a_log_goes_on_after_a_crash_and_the_trail_is_intact(tmp_path: Path) -> None:
    lines = trail()
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b"".join(lines)[:-20])
    log = await opened(FileSink(path))
    await log.write(event(9))
    await log.close()
    verdict = verify_files([path], [KEY])
    assert verdict.status is TrailStatus.INTACT
    assert "1 line is no JSON, as a crash leaves them" in verdict.notes


def test_a_trail_in_several_files_is_read_in_their_order(tmp_path: Path) -> None:
    lines = trail()
    old, new = tmp_path / "audit.jsonl.1", tmp_path / "audit.jsonl"
    old.write_bytes(b"".join(lines[:2]))
    new.write_bytes(b"".join(lines[2:]))
    assert verify_files([old, new], [KEY]).status is TrailStatus.INTACT
    assert verify_files([new], [KEY]).status is TrailStatus.TAMPERED
    assert verify_files([new, old], [KEY]).status is TrailStatus.TAMPERED


async def lived(path: Path, *numbers: int) -> None:
    """A gateway starts, writes and ends."""
    log = await opened(FileSink(path))
    for number in numbers:
        await log.write(event(number))
    await log.close()


def cut(path: Path) -> None:
    """Cut the last two records off."""
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))


@pytest.mark.asyncio
async def test_what_is_cut_off_a_file_that_was_moved_away_in_use_is_found(tmp_path: Path) -> None:
    path, old = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    log = await opened(FileSink(path))
    for number in range(5):
        assert await log.settle([event(number)])
    path.rename(old)
    await log.close()
    assert verify_files([old, path], [KEY]).status is TrailStatus.INTACT
    cut(old)
    assert verify_files([old, path], [KEY]).status is TrailStatus.TAMPERED


@pytest.mark.asyncio
async def test_an_end_that_a_start_has_seen_is_proved_in_a_file_that_was_moved_away(
    tmp_path: Path,
) -> None:
    path, old = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    await lived(path, 1, 2, 3)
    n_bytes = path.stat().st_size
    await lived(path, 4)
    path.rename(old)
    await lived(path, 5)
    raw = old.read_bytes()
    own = raw[:n_bytes].splitlines(keepends=True)
    old.write_bytes(b"".join(own[:-2]) + raw[n_bytes:])
    verdict = verify_files([old, path], [KEY])
    assert [finding.kind for finding in verdict.findings] == [TamperKind.CUT]


def test_of_an_export_only_what_is_there_is_verified(folder: Path) -> None:
    lines = trail()
    assert verdict_of(folder, [lines[1], lines[5]]).status is TrailStatus.TAMPERED
    assert verdict_of(folder, [lines[1], lines[5]], is_partial=True).status is TrailStatus.INTACT
    edited = lines[1].replace(b"acme", b"acne")
    assert verdict_of(folder, [edited, lines[5]], is_partial=True).status is TrailStatus.TAMPERED


def test_a_detail_that_is_no_longer_kept_is_nothing_wrong_in_an_export(folder: Path) -> None:
    records = chain_of(event(1, detail={"n": 1}))
    lines = [replace(each, detail=None).to_line() + b"\n" for each in records]
    assert verdict_of(folder, lines, is_partial=True).status is TrailStatus.INTACT
    assert verdict_of(folder, lines).findings[0].kind is TamperKind.DETAIL


# Lines.


def test_a_record_is_the_same_after_it_was_written_and_read() -> None:
    records = chain_of(event(1, detail={"text": "naïve \ud800", "p": 0.1, "n": None}))
    assert [read_line(each.to_line() + b"\n") for each in records] == records


ODD_LINES = {
    b"": None,
    b'{"id"': None,
    b"\xff": None,
    b"[" * 100_000: None,
    b"5": TamperKind.UNSIGNED,
    b"{}": TamperKind.UNSIGNED,
    b'{"chain":5}': TamperKind.EDITED,
    b'{"chain":{"writer":"a","seq":1e400,"mac":"b"}}': TamperKind.EDITED,
    b'{"chain":{"writer":"a","seq":true,"mac":"b"}}': TamperKind.EDITED,
    b'{"chain":{"writer":"a","seq":1,"mac":"b","previous":1}}': TamperKind.EDITED,
    b'{"chain":{"writer":"a","seq":1,"mac":"b","previous":"","detail_sha256":null},"id":[],'
    b'"tenant":5,"type":{},"trace_id":null,"timestamp":"2026-01-01"}': TamperKind.EDITED,
}


@pytest.mark.parametrize(("raw", "expected"), ODD_LINES.items())
def test_a_line_may_be_anything(raw: bytes, expected: TamperKind | None) -> None:
    assert read_line(raw) is expected


def test_a_name_that_stands_twice_is_found_whichever_a_reader_takes() -> None:
    line = chain_of(event(1))[1].to_line()
    assert isinstance(read_line(line), AuditRecord)
    assert (
        read_line(line.replace(b'"tenant":', b'"tenant":"globex","tenant":')) is TamperKind.EDITED
    )


def test_text_that_looks_like_a_chain_is_text() -> None:
    payload = {"text": '"chain":{"seq":5}', "chain": {"writer": "x"}}
    own = AuditEvent(type=EventType.CHECK_INCOMPLETE, tenant="a", trace_id="", payload=payload)
    record = chain_of(own)[1]
    assert read_line(record.to_line()) == record

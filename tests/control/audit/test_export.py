"""The trail as lines: all of it, in the order that verify needs, in bounded memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text, update

from groundwire.control.audit import trail as module
from groundwire.control.audit.event import EventType
from groundwire.control.audit.record import compact
from groundwire.control.audit.trail import ALL, Filter, Trail
from groundwire.control.audit.verdict import TamperKind, TrailStatus, TrailVerdict
from groundwire.control.audit.verify_file import verify_files
from groundwire.control.store import Store
from groundwire.control.store.tables import audit_details, audit_records
from tests.control.audit.filled import KEY, Written, at, made

pytestmark = pytest.mark.merge

Opened = Callable[[], Any]


@pytest.fixture
def opened(store_url: str) -> Opened:
    """Opens an empty trail, and gives its store beside it."""

    @asynccontextmanager
    async def open_() -> AsyncIterator[tuple[Store, Trail]]:
        async with Store(store_url) as store:
            yield store, Trail(store)

    return open_


async def lines_of(trail: Trail, asked: Filter = ALL) -> list[bytes]:
    return [line async for line in trail.export(asked)]


def keys(lines: list[bytes]) -> list[tuple[str, int]]:
    chains = [json.loads(line)["chain"] for line in lines]
    return [(each["writer"], each["seq"]) for each in chains]


def verdict(lines: list[bytes], folder: Path, *, is_partial: bool = False) -> TrailVerdict:
    path = folder / "export.jsonl"
    path.write_bytes(b"".join(lines))
    return verify_files([path], [KEY], is_partial=is_partial)


async def filled(store: Store, n_events: int = 7) -> tuple[Written, Written]:
    """Two chains, side by side."""
    late, early = Written(store, writer="1" * 32), Written(store, writer="2" * 32)
    await early.start(0)
    await late.start(10)
    for second in range(n_events):
        for chain, tenant in ((late, "acme"), (early, "other")):
            await chain.add(made(20 + second, tenant=tenant, detail={"n": second}))
    await early.add(made(5))  # the clock went back
    return early, late


@pytest.mark.asyncio
@pytest.mark.parametrize("piece", [1, 3, 500])
async def test_all_of_it_stands_chain_by_chain_and_is_intact(
    piece: int, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PIECE", piece)
    async with opened() as (store, trail):
        early, late = await filled(store)
        lines = await lines_of(trail)
        expected = [(late.writer, seq) for seq in range(1, 9)]
        assert keys(lines) == expected + [(early.writer, seq) for seq in range(1, 10)]
        found = verdict(lines, tmp_path)
        assert (found.status, found.records) == (TrailStatus.INTACT, 17)
        whole = json.loads(lines[1])
        assert whole["detail"] == {"n": 0}
        assert {*whole} == {*json.loads(compact(made().to_dict()).encode()), "chain", "detail"}


@pytest.mark.asyncio
async def test_a_chain_alone_is_exported_in_its_order(opened: Opened) -> None:
    async with opened() as (store, trail):
        early, _ = await filled(store)
        lines = await lines_of(trail, Filter(writer=early.writer))
        assert keys(lines) == [(early.writer, seq) for seq in range(1, 10)]


@pytest.mark.asyncio
async def test_what_is_asked_for_stands_in_the_order_of_time(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PIECE", 2)
    async with opened() as (store, trail):
        await filled(store)
        lines = await lines_of(trail, Filter(since=at(5), until=at(23)))
        moments = [json.loads(line)["timestamp"] for line in lines]
        assert moments == sorted(moments)
        assert len(moments) == 8
        assert (
            verdict(lines[:2] + lines[2::2], tmp_path, is_partial=True).status is TrailStatus.INTACT
        )
        lines = await lines_of(trail, Filter(tenant="acme", types=(EventType.CHECK_INCOMPLETE,)))
        assert len(lines) == 8


@pytest.mark.asyncio
async def test_what_is_added_meanwhile_neither_repeats_nor_skips(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PIECE", 2)
    async with opened() as (store, trail):
        early, late = await filled(store)
        lines = []
        async for line in trail.export():
            lines.append(line)
            if len(lines) % 3 == 0 and len(lines) < 20:
                await early.add(made(50 + len(lines)))
                await late.add(made(1))
        found = verdict(lines, tmp_path)
        assert found.status is TrailStatus.INTACT
        assert len(set(keys(lines))) == len(lines) >= 17


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "line", ["", "no JSON", '{"a":"\n"}', '{"é": "\u2028"}', "{}", '{"id": 1, "id": 2}']
)
async def test_what_somebody_has_changed_is_one_line_and_found(
    line: str, opened: Opened, tmp_path: Path
) -> None:
    async with opened() as (store, trail):
        early, _ = await filled(store)
        async with store.writing() as connection:
            own = audit_records.c
            changed = update(audit_records).where(own.writer == early.writer, own.seq == 3)
            await connection.execute(changed.values(line=line))
        lines = await lines_of(trail)
        assert len(lines) == 17
        assert all(each.endswith(b"\n") and each.count(b"\n") == 1 for each in lines)
        assert all(each.isascii() for each in lines)
        found = verdict(lines, tmp_path)
        assert found.status is TrailStatus.TAMPERED
        assert {each.kind for each in found.findings} <= {
            TamperKind.EDITED,
            TamperKind.MISSING,
            TamperKind.MISPLACED,
        }


def test_values_that_are_no_texts_are_exported_and_shown(tmp_path: Path) -> None:
    async def read(values: dict[str, Any]) -> tuple[list[bytes], int]:
        async with Store(f"sqlite:///{tmp_path / 'groundwire.db'}") as store:
            await Written(store).add(*(made(i, detail={"n": i}) for i in range(3)))
            names = ", ".join(f"{name} = :{name}" for name in values)
            async with store.writing() as connection:
                query = text(f"UPDATE audit_records SET {names} WHERE seq = 2")
                await connection.execute(query, values)
                await connection.execute(update(audit_details).values(detail=b"\xff\x00"))
            trail = Trail(store)
            page = await trail.page()
            assert all(json.dumps(each.to_dict()) for each in page.events)
            return await lines_of(trail), len(page.events)

    odd = dict.fromkeys(
        ["line", "mac", "previous", "tenant", "type", "trace_id", "moment"], b"\xff\n"
    )
    lines, n_events = asyncio.run(read(odd))
    assert (len(lines), n_events) == (3, 3)
    assert all(line.isascii() and line.count(b"\n") == 1 for line in lines)

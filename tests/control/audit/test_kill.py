"""kill -9 at random moments: what was promised is there, and what is there is intact."""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from groundwire.control.audit.record import AuditRecord
from groundwire.control.audit.verdict import TrailStatus
from groundwire.control.audit.verify_file import read_line, verify_files
from groundwire.control.audit.verify_store import verify_store
from groundwire.control.store import Store
from groundwire.control.store.tables import audit_records
from tests.control.audit.killing import STRIDE, writers
from tests.control.audit.trails import KEY, numbers

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="what is killed is a fork"),
    pytest.mark.nightly,
]

N_KILLS = 20
QUEUE = 50


def kept_in(url: str) -> list[int]:
    """The numbers of events in a store, which is intact."""

    async def read() -> list[int]:
        async with Store(url) as store:
            verdict = await verify_store(store, [KEY])
            assert (verdict.status, verdict.findings) == (TrailStatus.INTACT, ())
            async with store.reading() as connection:
                columns = audit_records.c
                found = await connection.scalars(
                    select(columns.trace_id)
                    .where(columns.type.not_like("CHAIN_%"))
                    .order_by(columns.writer, columns.seq)
                )
                return [int(each) for each in found]

    return asyncio.run(read())


def of_writer(all_numbers: Sequence[int], writer: int) -> list[int]:
    return [number for number in all_numbers if number // STRIDE == writer]


def environ_of(url: str, durability: str) -> dict[str, str]:
    return {
        "GROUNDWIRE_STORE_URL": url,
        "GROUNDWIRE_AUDIT_DURABILITY": durability,
        "GROUNDWIRE_AUDIT_QUEUE_SIZE": str(QUEUE),
    }


def test_before_response_nothing_that_was_settled_is_lost(store_url: str) -> None:
    said: list[int] = []
    with writers(environ_of(store_url, "before_response"), seed=1) as own:
        for _ in range(N_KILLS):
            said += own.kill_one()
            kept = kept_in(store_url) if said else []
            assert set(said) <= set(kept)
    assert len(said) > N_KILLS
    assert len(kept) == len(set(kept))


def test_batched_no_more_is_lost_than_can_wait(store_url: str) -> None:
    with writers(environ_of(store_url, "batched"), seed=2) as own:
        said = [own.kill_one() for _ in range(N_KILLS)]
    kept = kept_in(store_url)
    for index, promised in enumerate(said, start=1):
        own_kept = of_writer(kept, index)
        # In the order they came, without a gap; what is lost is the end.
        assert own_kept == list(range(index * STRIDE, index * STRIDE + len(own_kept)))
        assert len(set(promised) - set(own_kept)) <= QUEUE


def test_processes_side_by_side_keep_what_they_settled_and_each_its_chain(store_url: str) -> None:
    environ = environ_of(store_url, "before_response")
    with (
        writers(environ, seed=4) as one,
        writers(environ, seed=5, first=1000 * STRIDE) as other,
        ThreadPoolExecutor(2) as threads,
    ):
        for _ in range(N_KILLS // 4):
            both = [threads.submit(each.kill_one) for each in (one, other)]
            said = [number for each in both for number in each.result()]
            assert set(said) <= set(kept_in(store_url) if said else ())


def test_a_file_keeps_what_was_settled_and_is_intact(tmp_path: Path) -> None:
    path, said = tmp_path / "audit.jsonl", list[int]()
    environ = environ_of("", "before_response") | {
        "GROUNDWIRE_AUDIT_PATH": str(path),
        "GROUNDWIRE_STORE_URL": f"sqlite:///{tmp_path / 'unused.db'}",
    }
    with writers(environ, seed=3) as own:
        for _ in range(N_KILLS):
            said += own.kill_one()
    verdict = verify_files([path], [KEY])
    assert (verdict.status, verdict.findings) == (TrailStatus.INTACT, ())
    found = map(read_line, path.read_bytes().splitlines())
    kept = numbers([each for each in found if isinstance(each, AuditRecord)])
    assert set(said) <= set(kept)
    assert len(kept) == len(set(kept))

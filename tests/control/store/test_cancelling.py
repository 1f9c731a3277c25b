"""Tasks that are cancelled in the middle of a transaction, and event loops that end early."""

import asyncio
import gc
import logging
import random
import subprocess
import sys
import threading

import pytest

from groundwire.control.store import Store
from tests.control.store import rows
from tests.postgres import PATIENCE_S, Postgres

pytestmark = pytest.mark.nightly

N_TASKS = 150

#: Where a task may be when it is cancelled: before it has a connection, in a transaction, between
#: two statements, before it is kept; or nowhere.
STAGES = (0, 1, 2, 3, None)


class Stages:
    """How far a task has come."""

    def __init__(self) -> None:
        self._reached = [asyncio.Event() for _ in range(4)]
        self.reach(0)

    def reach(self, stage: int) -> None:
        self._reached[stage].set()

    async def wait(self, stage: int) -> None:
        await self._reached[stage].wait()


async def pair(store: Store, number: int, stages: Stages) -> None:
    """Two rows, in one transaction."""
    async with store.writing() as connection:
        stages.reach(1)
        await rows.add(connection, f"{number:03} a")
        stages.reach(2)
        await rows.add(connection, f"{number:03} b")
        stages.reach(3)


async def look(store: Store, stages: Stages) -> None:
    async with store.reading() as connection:
        stages.reach(1)
        await rows.count(connection)
        stages.reach(2)
        await rows.count(connection)
        stages.reach(3)


async def cancel_some(store: Store, seed: int) -> None:
    """Begin many transactions, and cancel most of them somewhere."""
    rng = random.Random(seed)

    async def begin(number: int) -> None:
        stages = Stages()
        work = look(store, stages) if rng.random() < 0.3 else pair(store, number, stages)
        task = asyncio.create_task(work)
        stage = rng.choice(STAGES)
        if stage is not None:
            reached = asyncio.create_task(stages.wait(stage))
            await asyncio.wait([reached, task], return_when=asyncio.FIRST_COMPLETED)
            reached.cancel()
            for _ in range(rng.choice((0, 1, 2, 5, 20))):
                await asyncio.sleep(0)
            task.cancel()
            if rng.random() < 0.2:
                await asyncio.sleep(0)
                task.cancel()  # again, while it cleans up
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()

    at_once = 6
    for first in range(0, N_TASKS, at_once):
        await asyncio.gather(*map(begin, range(first, first + at_once)))


async def end_of_threads(n_threads: int) -> None:
    """Until no more threads than these are left: one that was told to end takes a moment."""
    async with asyncio.timeout(PATIENCE_S):
        while threading.active_count() > n_threads:
            await asyncio.sleep(0.01)


def n_checked_out(store: Store) -> int:
    assert store._engine is not None
    return int(store._engine.engine.pool.checkedout())  # type: ignore[attr-defined]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.nightly) for n in (2, 3, 4))]
)
async def test_tasks_that_are_cancelled_leave_neither_half_a_transaction_nor_a_connection(
    store_url: str, seed: int, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    n_threads = threading.active_count()
    async with Store(store_url, pool_size=4, timeout_s=PATIENCE_S) as store:
        await cancel_some(store, seed)
        found = await rows.names(store)
        assert 0 < len(found) < N_TASKS
        assert [name[:-2] for name in found[::2]] == [name[:-2] for name in found[1::2]]
        assert n_checked_out(store) == 0
        if not store.is_sqlite:
            server: Postgres = request.getfixturevalue("postgres")
            name = store_url.rpartition("/")[2]
            assert (
                server.run(
                    "SELECT state, query FROM pg_stat_activity WHERE state <> 'idle' "
                    f"AND datname = '{name}' AND pid <> pg_backend_pid()"
                )
                == []
            )
        # Nobody holds the turn to write, nor the file.
        await asyncio.gather(*(pair(store, N_TASKS + n, Stages()) for n in range(8)))
    await end_of_threads(n_threads + 1)  # that of to_thread stays
    gc.collect()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


#: How an event loop ends: with tasks in the middle of transactions, and with the store's own.
ENDS = {
    "tasks are left behind": "return",
    "its task is cancelled": "asyncio.current_task().cancel(); await asyncio.sleep(9)",
    "it raises": "raise ZeroDivisionError",
    "the process is told to stop": "os.kill(os.getpid(), signal.SIGINT); await asyncio.sleep(9)",
}
CODE = """
import asyncio, gc, os, signal, sys
from groundwire.control.store import Store, StoreError
from sqlalchemy import text

async def work(store):
    while True:
        try:
            async with store.writing() as connection:
                await connection.execute(text("UPDATE changes SET revision = revision + 1"))
                await asyncio.sleep(0)
        except StoreError:
            await asyncio.sleep(0)

async def main():
    async with Store(sys.argv[1], pool_size=2) as store:
        tasks = [asyncio.create_task(work(store)) for _ in range(6)]
        await asyncio.sleep(0.05)
        {end}

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    asyncio.run(main())
except (asyncio.CancelledError, ZeroDivisionError, KeyboardInterrupt):
    pass
gc.collect()
print("ended")
"""


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_loop_that_ends_early_leaves_no_warning_and_no_thread(store_url: str, end: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE.format(end=end), store_url],
        capture_output=True,
        check=False,
        timeout=2 * PATIENCE_S,
    )
    assert (done.stdout, done.stderr, done.returncode) == (b"ended\n", b"", 0)

"""What one process changes, the others know; a database that is gone leaves what was known."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import text

from groundwire.config import Config
from groundwire.control.store import Store
from groundwire.control.store.errors import StoreError, StoreUnavailableError
from groundwire.control.tenants.directory import Directory
from groundwire.control.tenants.registry import Registry
from groundwire.control.tenants.watching import Watcher
from groundwire.policy.policy import Action
from tests.postgres import Postgres, programs

pytestmark = [pytest.mark.merge, pytest.mark.asyncio]

#: Nothing waits so long if all is well.
PATIENCE_S = 30.0
#: What is not to happen within a test.
NEVER_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What one process has of tenants."""

    store: Store
    registry: Registry
    directory: Directory
    watcher: Watcher


@asynccontextmanager
async def process(url: str, **settings: float) -> AsyncIterator[Process]:
    """One that runs."""
    store, directory = Store(url, timeout_s=2.0), Directory(Config())
    await store.open()
    registry = Registry(store)
    watcher = Watcher(registry, directory, **settings)
    try:
        await watcher.open()
        yield Process(store=store, registry=registry, directory=directory, watcher=watcher)
    finally:
        await watcher.close()
        await store.close()


async def eventually(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.005)


async def run(store: Store, statement: str) -> None:
    async with store.writing() as connection:
        await connection.execute(text(statement))


def action_of(process: Process, tenant: str = "acme") -> Action | None:
    own = process.directory.get(tenant)
    return None if own is None else own.action


async def test_what_is_stored_is_known_when_the_watcher_is_open(store_url: str) -> None:
    async with process(store_url) as one:
        await one.registry.create("acme", policy={"action": "block"})
    async with process(store_url) as other:
        assert action_of(other) is Action.BLOCK
        assert other.watcher.is_current
        assert other.watcher.n_loads == 1


async def test_a_change_of_one_process_reaches_the_others_with_one_load(store_url: str) -> None:
    async with process(store_url) as one, process(store_url) as other:
        await one.registry.create("acme", policy={"action": "block"})
        await eventually(lambda: action_of(other) is Action.BLOCK)
        new = await one.registry.create_key(tenant="acme")
        await eventually(lambda: other.directory.find(new.secret.encode()) is not None)
        await one.registry.revoke_key(new.record.id, tenant="acme")
        await eventually(lambda: other.directory.find(new.secret.encode()) is None)
        await one.registry.delete("acme")
        await eventually(lambda: other.directory.get("acme") is None)
        assert other.watcher.n_loads <= 1 + 4


async def test_two_looks_for_changes_are_less_than_a_second_apart() -> None:
    assert Config().store.poll_s < 1.0


async def test_while_nothing_changes_nothing_is_loaded(store_url: str) -> None:
    async with process(store_url, poll_s=0.001) as one:
        for _ in range(20):
            assert await one.watcher.refresh()
        assert one.watcher.n_loads == 1


async def test_what_a_process_has_changed_itself_it_knows_at_once(store_url: str) -> None:
    async with process(store_url, poll_s=NEVER_S) as one:
        for n, action in enumerate((Action.LOG, Action.BLOCK), start=1):
            await one.registry.put_metadata("acme", {"grounding.action": str(action)})
            assert await one.watcher.refresh()
            assert action_of(one) is action
            assert one.watcher.n_loads == 1 + n


async def test_many_who_refresh_at_once_load_once(store_url: str) -> None:
    async with process(store_url, poll_s=NEVER_S) as one:
        await one.registry.create("acme", policy={"action": "block"})
        await asyncio.gather(*(one.watcher.refresh() for _ in range(20)))
        assert action_of(one) is Action.BLOCK
        assert one.watcher.n_loads == 2


@pytest.mark.merge
async def test_many_changes_at_once_are_all_known_in_the_end(store_url: str) -> None:
    async with process(store_url) as one, process(store_url) as other:
        await asyncio.gather(*(one.registry.create(f"tenant-{n}") for n in range(40)))
        await eventually(lambda: len(other.directory) == 40)
        assert other.watcher.n_loads <= 1 + 40


class TestWhenTheDatabaseFails:
    async def test_the_last_known_holds_and_it_is_said_once(
        self, store_url: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with process(store_url, poll_s=0.01) as one:
            await one.registry.create("acme", policy={"action": "block"})
            key = (await one.registry.create_key(tenant="acme")).secret.encode()
            assert await one.watcher.refresh()
            async with opened(store_url) as other:
                await run(other, "ALTER TABLE changes RENAME TO gone")
                with caplog.at_level(logging.INFO, "groundwire.control.tenants"):
                    for _ in range(3):
                        assert not await one.watcher.refresh()
                    assert not one.watcher.is_current
                    assert action_of(one) is Action.BLOCK
                    assert one.directory.find(key) is not None
                    await run(other, "ALTER TABLE gone RENAME TO changes")
                    await eventually(lambda: one.watcher.is_current)  # by itself
            assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
                "Tenants and keys cannot be read, the last known hold",
                "Tenants and keys can be read again",
            ]
            await one.registry.set_policy("acme", {"action": "log"}, merges=True)
            await eventually(lambda: action_of(one) is Action.LOG)

    async def test_a_watcher_does_not_open_without_it(self, store_url: str) -> None:
        async with opened(store_url) as store:
            await run(store, "ALTER TABLE changes RENAME TO gone")
            watcher = Watcher(Registry(store), Directory(Config()))
            with pytest.raises(StoreError):
                await watcher.open()
            assert not watcher.is_current
            await run(store, "ALTER TABLE gone RENAME TO changes")
            await watcher.open()
            assert watcher.is_current
            await watcher.close()

    async def test_how_old_what_is_known_may_be_is_known(self, store_url: str) -> None:
        async with process(store_url, poll_s=NEVER_S) as one:
            await one.watcher.refresh()
            before = one.watcher.age_s
            await run(one.store, "ALTER TABLE changes RENAME TO gone")
            await one.watcher.refresh()
            assert one.watcher.age_s > before >= 0
            await run(one.store, "ALTER TABLE gone RENAME TO changes")
            grown = one.watcher.age_s
            await one.watcher.refresh()
            assert one.watcher.age_s < grown


class TestUses:
    async def test_they_are_stored_now_and_then(self, store_url: str) -> None:
        async with process(store_url, flush_s=0.01) as one:
            await one.registry.create("acme")
            new = await one.registry.create_key(tenant="acme")
            await one.watcher.refresh()
            one.directory.find(new.secret.encode())
            noted = one.directory.uses[new.record.id]
            await eventually(lambda: not one.directory.uses)
            async with asyncio.timeout(PATIENCE_S):
                while (await one.registry.keys("acme"))[0].last_used_at != noted:
                    await asyncio.sleep(0.01)
            assert one.watcher.n_loads <= 3  # that is no news

    async def test_they_are_stored_at_the_end(self, store_url: str) -> None:
        async with process(store_url) as one:
            await one.registry.create("acme")
            new = await one.registry.create_key(tenant="acme")
            await one.watcher.refresh()
            one.directory.find(new.secret.encode())
            noted = one.directory.uses[new.record.id]
        async with opened(store_url) as store:
            (key,) = await Registry(store).keys("acme")
            assert key.last_used_at == noted

    async def test_what_cannot_be_stored_is_kept_for_later(self, store_url: str) -> None:
        async with process(store_url, flush_s=0.01) as one:
            await one.registry.create("acme")
            new = await one.registry.create_key(tenant="acme")
            await one.watcher.refresh()
            await run(one.store, "ALTER TABLE changes RENAME TO gone")
            one.directory.find(new.secret.encode())
            await asyncio.sleep(0.1)
            await run(one.store, "ALTER TABLE gone RENAME TO changes")
            async with asyncio.timeout(PATIENCE_S):
                while (await one.registry.keys("acme"))[0].last_used_at is None:
                    await asyncio.sleep(0.01)


async def test_a_watcher_outlives_those_who_stop_waiting_for_it(store_url: str) -> None:
    async with process(store_url) as one:
        await one.registry.create("acme")
        for pause_s in (0.0, 0.0005, 0.001, 0.002, 0.004, 0.008):
            await one.registry.put_metadata("acme", {"at": pause_s})
            waiting = asyncio.create_task(one.watcher.refresh())
            await asyncio.sleep(pause_s)
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                await waiting
        await one.registry.set_policy("acme", {"action": "block"}, merges=True)
        await eventually(lambda: action_of(one) is Action.BLOCK and one.watcher.is_current)


async def test_a_watcher_may_be_closed_at_any_moment(store_url: str) -> None:
    for pause_s in (0.0, 0.001, 0.003, 0.01):
        async with process(store_url, poll_s=0.001) as one:
            await one.registry.put_metadata("acme", {"at": pause_s})
            await asyncio.sleep(pause_s)
        await one.watcher.close()  # once more does nothing
    names = [task.get_name() for task in asyncio.all_tasks()]
    assert [name for name in names if name.startswith("groundwire-")] == []


@pytest.mark.postgres
class TestPostgreSQL:
    @pytest.mark.nightly
    @pytest.mark.merge
    async def test_a_server_that_is_gone_and_comes_back_needs_nobodys_help(
        self, tmp_path: Path
    ) -> None:
        folder = programs()
        if folder is None:
            pytest.skip("PostgreSQL's server programs are not installed")
        server = Postgres(folder)
        server.start()
        try:
            url = server.url(server.make_database())
            async with AsyncExitStack() as stack:
                one = await stack.enter_async_context(process(url))
                other = await stack.enter_async_context(process(url))
                await one.registry.create("acme", policy={"action": "block"})
                key = (await one.registry.create_key(tenant="acme")).secret.encode()
                await eventually(lambda: other.directory.find(key) is not None)
                server.kill()
                await eventually(lambda: not other.watcher.is_current)
                assert other.directory.find(key) is not None
                assert action_of(other) is Action.BLOCK
                with pytest.raises(StoreUnavailableError):
                    await one.registry.rename("acme", "x")
                server.start()
                await eventually(lambda: one.watcher.is_current and other.watcher.is_current)
                await one.registry.set_policy("acme", {"action": "log"}, merges=True)
                await eventually(lambda: action_of(other) is Action.LOG)
        finally:
            server.close()


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Store]:
    store = Store(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()

"""A store, on both databases: transactions, connections, what is shown of it."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import select, text

from groundwire.control.store import Store, engines, tables
from groundwire.control.store.errors import StoreError, StoreUnavailableError, StoreUnusableError
from tests.control.store import rows
from tests.control.store.rows import NOON
from tests.postgres import PATIENCE_S, Postgres

pytestmark = pytest.mark.asyncio


async def test_what_is_written_is_there_when_the_store_is_opened_again(store_url: str) -> None:
    for n_tenants in (1, 2):
        async with Store(store_url) as store:
            await rows.make(store, f"tenant {n_tenants}")
            assert len(await rows.names(store)) == n_tenants


async def test_a_transaction_that_raises_leaves_nothing(store_url: str) -> None:
    async def fail(store: Store) -> None:
        async with store.writing() as connection:
            await rows.add(connection, "a")
            raise ZeroDivisionError

    async with Store(store_url) as store:
        with pytest.raises(ZeroDivisionError):
            await fail(store)
        assert await rows.names(store) == []


async def test_what_is_there_already_is_a_conflict(store_url: str) -> None:
    async with Store(store_url) as store:
        await rows.make(store, "secret name")
        with pytest.raises(StoreError, match="it is there already") as raised:
            await rows.make(store, "secret name")
        assert "secret name" not in f"{raised.value}{raised.value!r}"
        assert await rows.names(store) == ["secret name"]


async def test_a_row_that_refers_to_nothing_is_told_apart_from_a_conflict(store_url: str) -> None:
    key = {"id": "1", "sha256": "2", "tenant": "nobody", "created_at": NOON}
    async with Store(store_url) as store:
        with pytest.raises(StoreError, match="what it refers to is not there"):
            async with store.writing() as connection:
                await connection.execute(tables.keys.insert().values(key))


async def test_a_row_that_breaks_a_rule_is_no_conflict(store_url: str) -> None:
    key = {"id": "1", "sha256": "2", "created_at": NOON}  # neither of a tenant nor with a role
    async with Store(store_url) as store:
        with pytest.raises(StoreError, match="it takes no such row") as raised:
            async with store.writing() as connection:
                await connection.execute(tables.keys.insert().values(key))
        assert type(raised.value) is StoreError


async def test_a_reading_sees_one_moment(store_url: str) -> None:
    async with Store(store_url) as store:
        async with store.reading() as connection:
            before = await rows.count(connection)
            await rows.make(store, "later")
            assert await rows.count(connection) == before == 0
        assert await rows.names(store) == ["later"]


async def test_two_stores_that_write_at_once_lose_nothing(store_url: str) -> None:
    async with Store(store_url) as one, Store(store_url) as other:
        made = [rows.make(store, f"{i} {id(store)}") for i in range(40) for store in (one, other)]
        await asyncio.gather(*made)
        assert len(await rows.names(one)) == 80
        async with other.reading() as connection:
            assert await connection.scalar(select(tables.changes.c.revision)) == 80


async def test_a_store_has_no_more_connections_than_it_may(store_url: str) -> None:
    at_once = most = 0
    all_in_use = asyncio.Event()

    async def use(store: Store) -> None:
        nonlocal at_once, most
        async with store.reading():
            at_once += 1
            most = max(most, at_once)
            if at_once == 3:
                all_in_use.set()
            await asyncio.wait_for(all_in_use.wait(), PATIENCE_S)
            await asyncio.sleep(0.001)
            at_once -= 1

    async with Store(store_url, pool_size=3, timeout_s=PATIENCE_S) as store:
        await asyncio.gather(*(use(store) for _ in range(30)))
    assert most == 3


async def test_a_store_that_is_not_open_may_be_so_later(store_url: str) -> None:
    store = Store(store_url)
    for _ in range(2):
        assert not store.is_open
        with pytest.raises(StoreUnavailableError, match="it is not open") as raised:
            await rows.names(store)
        assert raised.value.is_passing
        async with store:
            assert store.is_open
            await store.open()  # nothing more
            assert await rows.names(store) == []
        await store.close()  # nothing more


async def test_a_store_that_is_opened_twice_at_once_is_open_once(store_url: str) -> None:
    store = Store(store_url)
    await asyncio.gather(*(store.open() for _ in range(4)))
    await asyncio.gather(*(rows.make(store, str(number)) for number in range(4)))
    await store.close()
    assert not store.is_open


async def test_a_transaction_that_does_not_end_is_cut_off_when_the_store_is_closed(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "CLOSE_S", 0.05)

    async def close(store: Store) -> None:
        async with store.writing() as connection:
            await rows.add(connection, "a")
            await store.close()
            await rows.add(connection, "b")

    store = Store(store_url)
    await store.open()
    with pytest.raises(StoreError):
        await close(store)
    async with store:
        assert await rows.names(store) == []


async def test_a_bug_in_a_transaction_stays_what_it_is(store_url: str) -> None:
    async with Store(store_url) as store:
        with pytest.raises(KeyError, match="mine"):
            async with store.reading():
                raise KeyError("mine")


async def test_an_error_has_the_lines_it_came_from_and_no_words_of_the_driver(
    store_url: str,
) -> None:
    async with Store(store_url) as store:
        with pytest.raises(StoreError) as raised:
            async with store.reading() as connection:
                await connection.execute(text("SELECT secret FROM nowhere"))
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert any(entry.path == Path(__file__) for entry in raised.traceback[1:])
    assert "nowhere" not in str(raised.value)


async def test_a_store_that_is_closed_lets_a_transaction_end(store_url: str) -> None:
    begun = asyncio.Event()

    async def write(store: Store) -> None:
        async with store.writing() as connection:
            begun.set()
            await rows.add(connection, "a")
            await rows.add(connection, "b")

    store = Store(store_url)
    await store.open()
    writing = asyncio.create_task(write(store))
    await begun.wait()
    await store.close()
    await writing
    async with store:
        assert await rows.names(store) == ["a", "b"]


@pytest.mark.parametrize(("is_synced", "level"), [(True, 2), (False, 1)])
async def test_a_synced_file_waits_for_the_disk(
    tmp_path: Path, *, is_synced: bool, level: int
) -> None:
    store = Store(f"sqlite:///{tmp_path}/a.db", is_synced=is_synced)
    async with store, store.reading() as connection:
        assert await connection.scalar(text("PRAGMA synchronous")) == level


async def test_foreign_keys_are_enforced_in_every_connection(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/a.db", pool_size=2)
    async with store, store.reading() as one, store.reading() as other:
        for connection in (one, other):
            assert await connection.scalar(text("PRAGMA foreign_keys")) == 1


@pytest.mark.postgres
async def test_a_server_that_is_killed_in_a_transaction_keeps_nothing_of_it(
    mortal_postgres: Postgres,
) -> None:
    server = mortal_postgres

    async def write(store: Store) -> None:
        async with store.writing() as connection:
            await rows.add(connection, "in between")
            server.kill()
            await rows.add(connection, "after")

    async with Store(server.url(server.make_database())) as store:
        await rows.make(store, "before")
        with pytest.raises(StoreUnavailableError, match="it cannot be reached"):
            await write(store)
        server.start()
        await rows.make(store, "later")
        assert await rows.names(store) == ["before", "later"]


@pytest.mark.postgres
async def test_a_server_that_hangs_does_not_keep_a_store_from_closing(
    mortal_postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "CLOSE_S", 0.2)
    server = mortal_postgres
    store = Store(server.url(server.make_database()))
    await store.open()
    async with store.reading(), store.reading():
        pass
    server.pause()
    async with asyncio.timeout(PATIENCE_S):
        await store.close()
    server.go_on()


@pytest.mark.postgres
async def test_tables_can_be_in_a_schema_of_their_own(
    postgres: Postgres, postgres_url: str
) -> None:
    name = postgres_url.rpartition("/")[2]
    postgres.run("CREATE SCHEMA own", name)
    async with Store(f"{postgres_url}?search_path=own&application_name=mine") as store:
        await rows.make(store, "a")
    assert postgres.run("SELECT id FROM own.tenants", name) == [("a",)]
    async with Store(f"{postgres_url}?search_path=own") as store:
        assert await rows.names(store) == ["a"]


@pytest.mark.postgres
async def test_a_server_can_be_reached_by_a_socket_of_the_file_system(
    postgres: Postgres, postgres_url: str
) -> None:
    _, _, name = postgres_url.rpartition("/")
    folder = str(postgres.socket_folder).replace("/", "%2F")
    url = f"postgresql://groundwire:{postgres.password}@{folder}:{postgres.port}/{name}"
    async with Store(url) as store:
        await rows.make(store, "a")
    assert postgres.run("SELECT id FROM tenants", name) == [("a",)]


@pytest.mark.postgres
async def test_a_user_that_may_not_change_tables_can_use_them(
    postgres: Postgres, postgres_url: str
) -> None:
    name = postgres_url.rpartition("/")[2]
    postgres.run(f"CREATE ROLE user_of_{name} LOGIN PASSWORD 'x'")
    own = postgres.url(name, f"user_of_{name}", "x")
    try:
        with pytest.raises(StoreUnusableError, match="its user may not do that"):
            await Store(own).open()
        async with Store(postgres_url) as store:
            await rows.make(store, "a")
        postgres.run(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public "
            f"TO user_of_{name}",
            name,
        )
        async with Store(own) as store:
            await rows.make(store, "b")
            assert await rows.names(store) == ["a", "b"]
    finally:
        postgres.run(f"DROP OWNED BY user_of_{name}", name)
        postgres.run(f"DROP ROLE user_of_{name}")


@pytest.mark.postgres
async def test_a_password_may_be_in_the_environment_alone(
    postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    async with Store(postgres_url.replace(f":{postgres.password}@", "@")) as store:
        assert await rows.names(store) == []

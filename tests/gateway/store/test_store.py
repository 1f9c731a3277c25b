"""A store, on both databases."""

from pathlib import Path

import pytest
from sqlalchemy import func, insert, select

from groundwire.config import parse
from groundwire.gateway.store import Store, tables


async def count(store: Store) -> int:
    async with store.reading() as connection:
        return (await connection.scalar(select(func.count()).select_from(tables.tenants))) or 0


async def add(store: Store, name: str) -> None:
    async with store.writing() as connection:
        await connection.execute(
            insert(tables.tenants).values(
                id=name, metadata={}, policy={}, created_at=1, updated_at=1, version=1
            )
        )


@pytest.mark.asyncio
async def test_what_is_written_is_there_when_the_store_is_opened_again(store_url: str) -> None:
    for n_tenants in (1, 2):
        store = Store(store_url)
        await store.open()
        await add(store, f"tenant {n_tenants}")
        assert await count(store) == n_tenants
        await store.close()


def test_the_store_of_a_configuration_is_a_file_in_its_folder(tmp_path: Path) -> None:
    config = parse(f"gateway: {{data_dir: {tmp_path}}}", name="")
    assert Store.of(config).address.path == tmp_path / "groundwire.db"


def test_the_store_of_a_configuration_is_where_it_says() -> None:
    store = Store.of(parse("store: {url: 'postgresql://me:secret@db.example/own'}", name=""))
    assert (store.url.host, store.url.database, store.url.password) == (
        *("db.example", "own"),
        "secret",
    )

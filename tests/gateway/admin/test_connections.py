"""How many connections a process has, as docs/store.md says."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from groundwire.gateway.control import ControlPlane
from tests.control.audit.trails import event
from tests.gateway.admin.plane import config_of

pytestmark = [pytest.mark.asyncio, pytest.mark.postgres]

#: Tests that hang fail after so many seconds.
PATIENCE_S = 30.0


async def test_there_is_one_besides_those_for_what_is_read_and_changed(
    tmp_path: Path, postgres_url: str
) -> None:
    environ = {"GROUNDWIRE_STORE_URL": postgres_url}
    own = ControlPlane(config_of(tmp_path, "store: {max_connections: 2}", environ=environ))
    await own.begin()
    try:
        await asyncio.wait_for(own.wait_until_open(), PATIENCE_S)
        settled = (own.audit.settle([event(number)]) for number in range(8))
        _, *kept = await asyncio.gather(*(read(own) for _ in range(8)), *settled)
        assert all(kept)
        assert await read(own) == 2 + 1
    finally:
        await asyncio.wait_for(own.close(), PATIENCE_S)


async def read(own: ControlPlane) -> int:
    """Hold a connection for a moment; how many there are to this database."""
    async with own.store.reading() as connection:
        await connection.execute(text("SELECT pg_sleep(0.01)"))
        own_database = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        return int((await connection.execute(text(own_database))).scalar_one())

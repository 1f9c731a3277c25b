"""Several processes on one database."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from groundwire.control.tenants.registry import Registry

pytestmark = [pytest.mark.merge, pytest.mark.asyncio]

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0


class Other:
    """A process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def heard(self) -> dict[str, Any]:
        """The next thing it says."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), PATIENCE_S)
        assert line, "it has ended"
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    async def ask(self, **what: object) -> dict[str, Any]:
        """Have it do something."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        await self._process.stdin.drain()
        return await self.heard()


@asynccontextmanager
async def other_process(url: str) -> AsyncIterator[Other]:
    """One that runs, and ends in order."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "tests.control.tenants.other_process", url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        other = Other(process)
        assert await other.heard() == {"is_ready": True}
        yield other
        assert process.stdin is not None
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_what_one_process_changes_holds_in_another(
    registry: Registry, store_url: str
) -> None:
    await registry.create("acme", policy={"action": "log"})
    async with other_process(store_url) as other:
        key = await registry.create_key(tenant="acme")
        asked = {"what": "wait", "key": key.secret, "is_taken": True}
        assert (await other.ask(**asked, action="log"))["n_loads"] <= 2
        await registry.set_policy("acme", {"action": "block"}, merges=True)
        assert (await other.ask(**asked, action="block"))["n_loads"] <= 3
        await registry.revoke_key(key.record.id, tenant="acme")
        told = await other.ask(what="wait", key=key.secret, is_taken=False)
        assert told["n_loads"] <= 4


@pytest.mark.nightly
async def test_of_processes_that_start_at_once_one_makes_the_first_keys(
    store_url: str, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        others = [await stack.enter_async_context(other_process(store_url)) for _ in range(3)]
        told = await asyncio.gather(*(other.ask(what="prepare") for other in others))
        made = [each["made"] for each in told if each["made"] != [None, None]]
        assert len(made) == 1
        tenant_key, admin_key = made[0]
        assert tenant_key.startswith("gw_")
        assert admin_key.startswith("gwa_")
        for other in others:
            await other.ask(what="wait", key=tenant_key, is_taken=True)

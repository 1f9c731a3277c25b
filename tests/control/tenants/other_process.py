"""A process of its own that knows tenants and keys: ``python -m`` this module, with a URL.

Each line it reads is JSON, and so is each that it writes.
"""

import asyncio
import json
import sys
from typing import Any

from groundwire.config import Config
from groundwire.control.store import Store
from groundwire.control.tenants.directory import Directory
from groundwire.control.tenants.registry import Registry
from groundwire.control.tenants.watching import Watcher

PATIENCE_S = 30.0


async def main(url: str) -> None:
    """Do what is asked until there is nothing more."""
    store, directory = Store(url), Directory(Config())
    await store.open()
    registry = Registry(store)
    watcher = Watcher(registry, directory)
    await watcher.open()
    say(is_ready=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        asked = json.loads(line)
        if asked["what"] == "prepare":
            start = await registry.first_keys(has_admin_plane=True)
            made = (start.tenant_key, start.admin_key)
            say(made=[None if key is None else key.secret for key in made])
        else:
            await wait_for(directory, asked)
            say(n_loads=watcher.n_loads)
    await watcher.close()
    await store.close()


async def wait_for(directory: Directory, asked: dict[str, Any]) -> None:
    """Until a key is taken, or not, and its tenant has an action."""
    async with asyncio.timeout(PATIENCE_S):
        while not is_so(directory, asked):
            await asyncio.sleep(0.005)


def is_so(directory: Directory, asked: dict[str, Any]) -> bool:
    """Whether it is as asked."""
    key = directory.find(asked["key"].encode())
    if (key is not None) != asked["is_taken"]:
        return False
    own = None if key is None else directory.get(key.tenant)
    return "action" not in asked or (own is not None and own.action == asked["action"])


def say(**what: object) -> None:
    """Write a line."""
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

"""Opens databases: for a gateway, with retries; for a command, only if the database exists."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

from groundwire.config import Config
from groundwire.control.store.errors import StoreError
from groundwire.control.store.store import Store

log = logging.getLogger(__name__)

_FIRST_S, _LONGEST_S = 0.1, 5.0


@asynccontextmanager
async def existing_store(config: Config) -> AsyncIterator[Store]:
    """Open the database of a configuration for a command, without making or migrating it.

    A command must not migrate a database unasked, since older gateways cannot start after that.

    Raises:
        SettingError: If ``store.url`` is not valid.
        StoreError: If the database does not exist, has no tables of this version, or cannot be
            used.
    """
    store = Store.of(config, is_synced=True)
    await store.open(migrates=False)
    async with store:
        yield store


async def wait_until_open(
    store: Store, *, on_failure: Callable[[StoreError], None] = lambda error: None
) -> None:
    """Open a store; after a temporary failure, call ``on_failure`` with the error and try again.

    Raises:
        StoreError: If a failure is not temporary.
    """
    said = ""
    for pause_s in pauses():
        try:
            await store.open()
        except StoreError as error:
            if not error.is_passing:
                raise
            on_failure(error)
            if str(error) != said:
                log.warning("%s cannot be used yet, and is tried again: %s", store.where, error)
            said = str(error)
        else:
            if said:
                log.warning("%s can be used now.", store.where)
            return
        await asyncio.sleep(pause_s)


def pauses() -> Iterator[float]:
    """Yield the seconds to wait before each new attempt; the waits grow up to a limit.

    A part of each pause is random, so that not all replicas ask a starting database at once.
    """
    longest = _FIRST_S
    while True:
        yield random.uniform(longest / 2, longest)
        longest = min(2 * longest, _LONGEST_S)

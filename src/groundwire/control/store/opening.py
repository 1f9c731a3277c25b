"""Waits for a database that starts later than this process."""

import asyncio
import logging
import random
from collections.abc import Callable, Iterator

from groundwire.control.store.errors import StoreError
from groundwire.control.store.store import Store

log = logging.getLogger(__name__)

_FIRST_S, _LONGEST_S = 0.1, 5.0


async def wait_until_open(
    store: Store,
    *,
    patience_s: float | None = None,
    on_failure: Callable[[StoreError], None] = lambda error: None,
) -> None:
    """Open a store, and try again after passing failures.

    Args:
        store: The store.
        patience_s: Seconds after which it gives up; ``None``: never.
        on_failure: Called with the error of each attempt that is followed by another.

    Raises:
        StoreError: If the failure does not pass, or waiting took too long.
    """
    loop, said = asyncio.get_running_loop(), ""
    start = loop.time()
    for pause_s in pauses():
        try:
            await store.open()
        except StoreError as error:
            is_over = patience_s is not None and loop.time() + pause_s - start > patience_s
            if not error.is_passing or is_over:
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
    """Return seconds between attempts: they grow, with a random part."""
    longest = _FIRST_S
    while True:
        yield random.uniform(longest / 2, longest)
        longest = min(2 * longest, _LONGEST_S)

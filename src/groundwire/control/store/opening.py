"""Waiting for a database that comes later than we do."""

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
    """Open a store, and try again while what keeps it from that may pass.

    Args:
        store: What to open.
        patience_s: Nothing is tried any more after so long; ``None``: it goes on without end.
        on_failure: Told of each attempt that failed and is followed by another.

    Raises:
        StoreError: If waiting has no point, or took too long.
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
    """Seconds between attempts: more each time, and not those of everybody else."""
    longest = _FIRST_S
    while True:
        yield random.uniform(longest / 2, longest)
        longest = min(2 * longest, _LONGEST_S)

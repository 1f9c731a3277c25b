"""Live traffic for the console of the demo: the chats of the scenes, again and again."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from itertools import cycle, product

from groundwire.gateway.demo.walk import asked, script

#: The number of chats sent at first without pauses, and the seconds before each later chat.
_FIRST, _PAUSE_S = 33, 2.0
#: The tenants whose keys the chats use, in turn. Their settings are in ``scenes.toml``.
TENANTS = ("city-guide", "museum-shop", "school")


@contextmanager
def live_traffic(url: str) -> Iterator[None]:
    """Send chats to the gateway at the base URL ``url`` (without ``/v1``) while the block runs."""
    stopped = threading.Event()
    threading.Thread(target=_send, args=(url, stopped), name="traffic", daemon=True).start()
    try:
        yield
    finally:
        stopped.set()  # the current chat ends when its gateway does


def _send(url: str, stopped: threading.Event) -> None:
    scenes = [each for each in script()["scenes"] if "path" not in each]
    for number, (scene, tenant) in enumerate(cycle(product(scenes, TENANTS))):
        if stopped.wait(0 if number < _FIRST else _PAUSE_S):
            return
        with (
            suppress(HTTPException, OSError),  # the gateway may end while it answers
            asked(url, scene, key=f"demo-key-of-{tenant}") as response,
        ):
            response.read()

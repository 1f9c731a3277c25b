"""Runs tasks that may go on after a response, and waits for them when the gateway ends."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)

_T = TypeVar("_T")


class Background:
    """Runs coroutines in the background. If a coroutine fails, the class of its error is logged."""

    def __init__(self) -> None:
        # The event loop keeps only weak references to tasks: without this set, a running task might
        # be garbage-collected.
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def n_running(self) -> int:
        """The number of tasks that are not done."""
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, _T], *, name: str = "background") -> asyncio.Task[_T]:
        """Start a coroutine, and return its task, which need not be awaited.

        The log shows ``name`` if the task fails.
        """
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    async def close(self, timeout_s: float) -> None:
        """Wait for all tasks, even for those started meanwhile; cancel tasks that take too long.

        Args:
            timeout_s: Seconds for all tasks together. Cancelled tasks get one second more.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while self._tasks and (left_s := deadline - loop.time()) > 0:
            await asyncio.wait(self._tasks, timeout=left_s)
        if late := list(self._tasks):
            for task in late:
                task.cancel()
            log.warning("Work after responses was cancelled at the end: %d", len(late))
            await asyncio.wait(late, timeout=1.0)

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("Work after a response failed: %s: %s", task.get_name(), type(error).__name__)

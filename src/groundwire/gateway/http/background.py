"""Work that goes on after its response: started, counted, and waited for at the end."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)

_T = TypeVar("_T")


class Background:
    """Coroutines that run in the background. An error in one is logged by its class."""

    def __init__(self) -> None:
        # The event loop keeps weak references only: a task without another one may be collected.
        self._tasks: set[asyncio.Task[Any]] = set()
        self.n_failed = 0

    @property
    def n_running(self) -> int:
        """The number of tasks that are not done."""
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, _T], *, name: str = "background") -> asyncio.Task[_T]:
        """Start a coroutine; ``name`` appears in logs. Its task may be awaited or left alone."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    async def close(self, timeout_s: float) -> int:
        """Wait for all tasks, and for those that they start; cancel what is left after the time.

        Returns:
            How many were cancelled.
        """
        deadline = asyncio.get_running_loop().time() + timeout_s
        while self._tasks:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return await self._cancel()
            await asyncio.wait(self._tasks, timeout=left)
        return 0

    async def _cancel(self) -> int:
        left = list(self._tasks)
        for task in left:
            task.cancel()
        log.warning("Work after responses was cancelled at the end: %d", len(left))
        await asyncio.wait(left, timeout=1.0)
        return len(left)

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.n_failed += 1
            log.error("Work after a response failed: %s: %s", task.get_name(), type(error).__name__)

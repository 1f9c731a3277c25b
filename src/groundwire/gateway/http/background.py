"""Runs tasks that go on after a response was sent, and waits for them when the gateway ends."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)

_T = TypeVar("_T")


class Background:
    """Runs coroutines in the background. If one fails, the class of the error is logged.

    Attributes:
        n_failed: The number of coroutines that failed.
    """

    def __init__(self) -> None:
        # The event loop keeps only weak references: a task that nobody else refers to may be
        # garbage-collected while it runs.
        self._tasks: set[asyncio.Task[Any]] = set()
        self.n_failed = 0

    @property
    def n_running(self) -> int:
        """The number of tasks that are not done."""
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, _T], *, name: str = "background") -> asyncio.Task[_T]:
        """Start a coroutine, and return its task, which need not be awaited.

        Args:
            work: The coroutine.
            name: The name of the task in logs.
        """
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    async def close(self, timeout_s: float) -> int:
        """Wait for all tasks, and for tasks that they start; cancel tasks that take too long.

        Args:
            timeout_s: Seconds to wait for all of them together.

        Returns:
            The number of tasks that were cancelled.
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

"""A scheduler of model calls: checks of answers come before sources that are read ahead.

A turn is the right to run a model once. A user waits for the check of an answer, so the check comes
first, and so do the passages that it needs. Nobody waits for a source that is read ahead, so
reading ahead may be delayed as long as answers keep coming.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Lock
from typing import TypeVar

T = TypeVar("T")


class Turns:
    """Limits how many threads run a model at a time.

    Threads wait in two queues: one for answers, and one for sources that are read ahead. The second
    queue is served only while the first is empty. During a turn, a thread must not wait for another
    turn, or for a thread that may be waiting for a turn: the two could wait for each other forever.
    """

    def __init__(self, n_turns: int) -> None:
        """Begin with all turns free; there are ``n_turns``, at least 1."""
        self.n_turns = n_turns
        self._lock = Lock()
        self._n_free = n_turns
        self._answers: deque[Lock] = deque()
        self._sources: deque[Lock] = deque()
        self._background = ThreadPoolExecutor(n_turns, "groundwire-ahead")

    def answer(self) -> AbstractContextManager[None]:
        """Return a context manager: in its ``with`` block, a model is run to check an answer.

        The block begins when a turn is free.
        """
        return self._turn(self._answers)

    def source(self) -> AbstractContextManager[None]:
        """Return a context manager: in its ``with`` block, a model is run to read a source ahead.

        The block begins when a turn is free and no answer waits for one.
        """
        return self._turn(self._sources)

    def ahead(self, job: Callable[[], None]) -> None:
        """Run a job in the background; to run a model, the job has to call :meth:`source`.

        Jobs begin in the order given. An error in a job is ignored: whoever needs the result
        computes it again.

        Raises:
            RuntimeError: If the scheduler is closed.
        """
        self._background.submit(job)

    def close(self) -> None:
        """Take no more jobs, drop the jobs that have not begun, and wait for the running ones."""
        self._background.shutdown(cancel_futures=True)

    @contextmanager
    def _turn(self, row: deque[Lock]) -> Iterator[None]:
        self._take(row)
        try:
            yield
        finally:
            self._give_back()

    def _take(self, row: deque[Lock]) -> None:
        with self._lock:
            if self._n_free:  # a turn is free only if nobody waits in either queue
                self._n_free -= 1
                return
            mine = Lock()
            mine.acquire()
            row.append(mine)
        try:
            mine.acquire()
        except BaseException:
            # Interrupted while waiting: if this thread has got a turn meanwhile, pass it on.
            with self._lock:
                got_turn = mine not in row
                if not got_turn:
                    row.remove(mine)
            if got_turn:
                self._give_back()
            raise

    def _give_back(self) -> None:
        with self._lock:
            row = self._answers or self._sources
            if row:
                row.popleft().release()
            else:
                self._n_free += 1


def run_beside(workers: ThreadPoolExecutor, job: Callable[[], T]) -> Callable[[], T]:
    """Give a job to a worker thread.

    Returns:
        A function that returns the job's result. If no worker has begun the job when the function
        is called, the function runs the job itself.
    """
    with suppress(RuntimeError):  # the pool takes no jobs once it is shut down
        future = workers.submit(job)
        # A job that no worker has begun is run here. If all workers waited for jobs that none of
        # them has begun, they would wait forever.
        return lambda: job() if future.cancel() else future.result()
    return job

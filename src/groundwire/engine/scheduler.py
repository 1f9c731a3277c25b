"""Who reads next when more wants to be read than there are processors: answers before sources.

A turn is the right to run the model once. Whoever reads an answer is waited for, since its last
sentence is all that stands between a user and the text. Sources are read ahead; what an answer
needs of them sooner it reads itself, as part of the answer. So sources may wait for as long as
answers do not pause, and nothing starves.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock


class Turns:
    """So many turns at a time; in each of the two rows, whoever came first is first.

    Nothing may be waited for during a turn: neither another turn, nor what another thread computes.
    """

    def __init__(self, n_turns: int) -> None:
        """Begin with all turns free.

        Args:
            n_turns: How many there are at a time, at least 1: one for each thread that is to
                compute.
        """
        self.n_turns = n_turns
        self._lock = Lock()
        self._n_free = n_turns
        self._answers: deque[Lock] = deque()
        self._sources: deque[Lock] = deque()
        self._background = ThreadPoolExecutor(n_turns, "groundwire-ahead")

    @contextmanager
    def answer(self) -> Iterator[None]:
        """A turn for what an answer waits for."""
        self._take(self._answers)
        try:
            yield
        finally:
            self._give_back()

    @contextmanager
    def source(self) -> Iterator[None]:
        """A turn for what is read ahead: it comes when no answer waits for one."""
        self._take(self._sources)
        try:
            yield
        finally:
            self._give_back()

    def ahead(self, job: Callable[[], None]) -> None:
        """Run a job in the background, where it takes a turn of its own.

        Jobs begin in the order in which they are given. What one raises is lost: whoever needs
        what it was to do will do it, and be told.
        """
        self._background.submit(job)

    def close(self) -> None:
        """Take no more jobs, drop those that did not begin, and wait for those that did."""
        self._background.shutdown(cancel_futures=True)

    def _take(self, row: deque[Lock]) -> None:
        with self._lock:
            if self._n_free:  # then nobody waits
                self._n_free -= 1
                return
            mine = Lock()
            mine.acquire()
            row.append(mine)
        try:
            mine.acquire()
        except BaseException:
            # An interrupt; the turn may have come all the same, and must not be lost.
            with self._lock:
                has_come = mine not in row
                if not has_come:
                    row.remove(mine)
            if has_come:
                self._give_back()
            raise

    def _give_back(self) -> None:
        with self._lock:
            row = self._answers or self._sources
            if row:
                row.popleft().release()
            else:
                self._n_free += 1

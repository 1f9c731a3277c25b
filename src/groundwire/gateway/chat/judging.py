"""One answer being checked in worker threads while the event loop goes on."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import TypeVar

from groundwire.pipeline import Checked, Flow, Review
from groundwire.pipeline.conversation import Answer

_T = TypeVar("_T")

#: After one of these a claim may be complete, if not at once then with the next character or two.
_ENDS = frozenset(".!?;:|\n…。！？；：؟۔।։")
_LOOK_BACK = 16
#: Text that waits no longer, whatever is in it.
_ENOUGH_CHARS = 400


class CheckTimeoutError(TimeoutError):
    """A check took longer than ``gateway.check_timeout_s``."""


class AnswerJudge:
    """Checks one answer as it arrives; what fails or takes too long makes it unavailable.

    All calls of the flow are made by one task, one after the other.
    """

    def __init__(
        self,
        open_flow: Callable[[], Flow],
        *,
        give_up: Callable[[Answer, str], Checked],
        threads: Executor,
        timeout_s: float,
        on_review: Callable[[Review], None] | None = None,
    ) -> None:
        """Begin: the flow is opened at once, so evidence is read before there is any text.

        Args:
            open_flow: Opens the flow.
            give_up: Makes the result of an answer whose check took too long, from what it is and
                why.
            threads: Where the flow is called.
            timeout_s: Seconds that one call may take, the wait for a thread included.
            on_review: Is told what is known of the text so far, on the event loop.
        """
        self._open_flow, self._give_up = open_flow, give_up
        self._threads, self._timeout_s, self._on_review = threads, timeout_s, on_review
        self._waiting: list[str] = []
        self._n_waiting, self._look_back = 0, ""
        self._is_complete = self._is_closed = False
        self._wake = asyncio.Event()
        self._flow: Flow | None = None
        self._failure: str | None = None
        self._task = asyncio.create_task(self._work())

    def feed(self, text: str) -> None:
        """Take the next piece of text; it never waits."""
        if not text:
            return
        self._waiting.append(text)
        self._n_waiting += len(text)
        # A hop to a thread for each word would cost more than it tells.
        self._look_back = (self._look_back + text)[-_LOOK_BACK - len(text) :]
        if self._n_waiting > _ENOUGH_CHARS or not _ENDS.isdisjoint(self._look_back):
            self._wake.set()

    async def finish(self, answer: Answer) -> Checked:
        """Say that the answer is complete.

        Args:
            answer: What it is; of a text, all of what was fed.
        """
        self._is_complete = True
        self._wake.set()
        await self._task
        if self._failure is None and self._flow is not None:
            try:
                return await self._call(partial(self._flow.finish, answer))
            except CheckTimeoutError as error:
                self._fail(error)
        return self._give_up(answer, self._failure or CheckTimeoutError.__name__)

    def close(self) -> None:
        """Give the check up; harmless when done twice."""
        self._is_closed = True
        self._task.cancel()
        if self._flow is not None:
            self._flow.close()

    async def _work(self) -> None:
        try:
            self._flow = await self._call(self._open_flow)
            while self._waiting or not self._is_complete:
                await self._wake.wait()
                self._wake.clear()
                text, self._waiting, self._n_waiting = "".join(self._waiting), [], 0
                if text:
                    review = await self._call(partial(self._step, self._flow, text))
                    if review is not None and self._on_review is not None:
                        self._on_review(review)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, it was not checked
            self._fail(error)

    def _step(self, flow: Flow, text: str) -> Review | None:
        # Given up on purpose, it has not failed: a flow that is closed would log that it has.
        if not self._is_closed:
            flow.feed(text)
        return None if self._is_closed or self._on_review is None else flow.review()

    async def _call(self, function: Callable[[], _T]) -> _T:
        work = self._threads.submit(function)
        call = asyncio.wrap_future(work)
        # A thread cannot be stopped: whatever it gives after we have left is put away.
        call.add_done_callback(self._put_away)
        try:
            done, _ = await asyncio.wait([call], timeout=self._timeout_s)
        finally:
            # What has not begun need not: done for nobody, it would make others late too.
            work.cancel()
        if not done:
            raise CheckTimeoutError
        return call.result()

    def _put_away(self, call: "asyncio.Future[_T]") -> None:
        if call.cancelled() or call.exception() is not None:
            return
        result = call.result()
        if isinstance(result, Flow) and self._task.done():
            result.close()

    def _fail(self, error: Exception) -> None:
        self._failure = type(error).__name__
        self._waiting = []
        if self._flow is not None:
            self._flow.close()

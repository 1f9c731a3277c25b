"""Checks the answers of a response in worker threads, so that the event loop is not blocked."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TypeAlias, TypeVar

from groundwire.config.tree import Gateway
from groundwire.gateway.chat.chunks import DeltaPart, UnreadableChunkError
from groundwire.gateway.chat.marks import beside_json
from groundwire.gateway.chat.release import Release
from groundwire.pipeline import Checked, Flow, Pipeline, RequestContext, Review
from groundwire.pipeline.conversation.response import (
    Answer,
    AnswerKind,
    ToolCall,
    answer_of,
    breaks_off,
)
from groundwire.pipeline.conversation.streamed_calls import JoinedCalls

_T = TypeVar("_T")

OnReview: TypeAlias = Callable[[int, Review], None]

#: Highest number of answers in a stream: OpenAI's limit for the request field ``n``.
MAX_ANSWERS = 128

#: Characters that may end a claim. Pieces of streamed text are collected until the newest piece has
#: one of these characters; then the check gets the collected text.
_ENDS = frozenset(".!?;:|\n…。！？；：؟۔।։")
#: The check also gets the collected text if a character in ``_ENDS`` is among this many characters
#: before the newest piece of text: the newest piece may show that the claim has ended there.
_LOOK_BACK = 16
#: If more characters than this are collected, the check gets them even if none is in ``_ENDS``.
_ENOUGH_CHARS = 400


class CheckTimeoutError(TimeoutError):
    """A step of a check took longer than ``gateway.check_timeout_s``."""


class AnswerChecks:
    """The checks of all answers of a response; ``checks[n]`` is the check of answer ``n``.

    The check of the first answer begins at once, so that the evidence can be read before text
    arrives.

    Attributes:
        on_review: Called on the event loop with the number of an answer and an interim result for
            it; ``None`` if nobody waits for these results.
        timeout_s: Limit on the seconds that one call in a thread takes, including the wait for a
            free thread.
        max_chars: Limit on the characters of a streamed answer's text that are checked. The same
            limit holds for the characters of its tool calls' arguments that are kept. There is no
            limit if text is withheld.
        is_reviewed: Whether interim results are made while an answer arrives.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        context: RequestContext,
        *,
        release: Release,
        settings: Gateway,
        threads: Executor,
    ) -> None:
        """Begin the check of the first answer of a response."""
        self.threads, self.timeout_s = threads, settings.check_timeout_s
        # Withheld text must be checked whole, so it has no limit here. :class:`.ReleasedStream`
        # limits the text that is held back at a time.
        self.max_chars = sys.maxsize if release.withholds else settings.max_held_chars
        self.is_reviewed = release is Release.SENTENCE
        self.on_review: OnReview | None = None
        # Begins the check of one answer, and returns the ``Flow`` of the check; called in a thread.
        self.open = partial(pipeline.stream, context)
        # Makes the result for an answer that cannot be checked, from the answer and the reason.
        self.unavailable = partial(pipeline.unavailable, context)
        self._begun: dict[int, AnswerCheck] = {}
        self._known: dict[int, AnswerCheck] = {}
        self._n_lost = 0
        self._begin(0)

    def __iter__(self) -> Iterator["AnswerCheck"]:
        return iter(tuple(self._known.values()))

    def __len__(self) -> int:
        return len(self._known)

    def __getitem__(self, index: int) -> "AnswerCheck":
        """Return the check of an answer; begin it if it has not begun.

        Raises:
            UnreadableChunkError: If there are more than ``MAX_ANSWERS`` answers.
        """
        if index not in self._known:
            if len(self._known) >= MAX_ANSWERS:
                raise UnreadableChunkError(f"it is about more than {MAX_ANSWERS} answers")
            self._known[index] = self._begin(index)
            self._known[index].n_skipped += self._n_lost
        return self._known[index]

    def _begin(self, index: int) -> "AnswerCheck":
        if index not in self._begun:
            self._begun[index] = AnswerCheck(index, self)
        return self._begun[index]

    def lose(self) -> None:
        """Count an unreadable event as an unchecked part of all answers, even of later ones."""
        for answer in self:
            answer.n_skipped += 1
        self._n_lost += 1
        if not self._known:
            _ = self[0]  # so that a stream without readable events has a result too

    def break_off(self) -> None:
        """Mark all answers that the upstream has not ended as cut off."""
        for answer in self:
            answer.is_cut |= not answer.is_finished

    @property
    def checked(self) -> tuple[Checked, ...]:
        """The results of a stream's finished checks, in the order of the answers' numbers."""
        known = (each.checked for _, each in sorted(self._known.items()))
        return tuple(each for each in known if each is not None)

    async def check(self, answers: Sequence[Answer]) -> tuple[Checked, ...]:
        """Check complete answers, and return the results in the order of the answers."""
        pairs = [(self._begin(place), answer) for place, answer in enumerate(answers)]
        return tuple(await asyncio.gather(*(check.finish(answer) for check, answer in pairs)))

    async def finish(self) -> tuple[Checked, ...]:
        """Finish the checks of all answers of a stream, and return their results."""
        await asyncio.gather(*(answer.finish() for answer in self))
        return self.checked

    def close(self) -> None:
        """Cancel all checks that are not finished."""
        for check in self._begun.values():
            check.close()


class AnswerCheck:
    """The check of one answer, which arrives in a stream or as a whole.

    If a step of the check fails or takes too long, the outcome is ``unavailable``, unless the
    answer turns out to have nothing to check. For an answer that arrives as a whole, only ``index``
    and ``checked`` are set.

    Attributes:
        index: The number of the answer in a stream; the position of an answer that arrives as a
            whole.
        checked: The result; ``None`` until it is known.
        n_chars: Characters of the answer's text that have arrived.
        n_skipped: Number of parts of the answer that are not checked, such as images, and of
            unreadable events.
        is_finished: Whether the upstream has ended the answer.
        is_cut: Whether the answer breaks off before its end.
        is_over_limit: Whether the text, or the arguments of tool calls, have more characters than
            :attr:`AnswerChecks.max_chars`.
    """

    def __init__(self, index: int, checks: AnswerChecks) -> None:
        self.index, self._checks = index, checks
        self.checked: Checked | None = None
        self.n_chars = self.n_skipped = 0
        self.is_finished = self.is_over_limit = self.is_cut = False
        self._text: list[str] = []
        self._refusal, self._calls_tools, self._has_reasoning = "", False, False
        self._calls, self._n_argument_chars = JoinedCalls(), 0
        self._waiting: list[str] = []
        self._n_waiting, self._look_back = 0, ""
        self._is_complete = self._is_closed = False
        self._wake = asyncio.Event()
        self._flow: Flow | None = None
        self._failure: str | None = None
        self._ending: asyncio.Task[Checked] | None = None
        self._task = asyncio.create_task(self._work())

    def take(self, part: DeltaPart) -> None:
        """Take the part of a chunk that is about this answer.

        Text, and arguments of tool calls, beyond :attr:`AnswerChecks.max_chars` are counted, but
        not kept.
        """
        room = max(0, self._checks.max_chars - self.n_chars)
        self.is_over_limit |= len(part.text) > room
        self.n_chars += len(part.text)
        room_for_calls = self._checks.max_chars - self._n_argument_chars
        n_more = self._calls.take(part.calls, room_for_calls)
        self.is_over_limit |= n_more > room_for_calls
        self._n_argument_chars += n_more
        self.feed(part.text[:room])
        self._refusal += part.refusal
        self._calls_tools |= part.calls_tools
        self._has_reasoning |= part.has_reasoning
        self.n_skipped += part.n_skipped
        self.is_finished |= part.finish is not None
        self.is_cut |= breaks_off(part.finish)

    def feed(self, text: str) -> None:
        """Queue the next piece of text for the check; return without waiting."""
        if not text:
            return
        self._text.append(text)
        self._waiting.append(text)
        self._n_waiting += len(text)
        # A call in a thread for each word would cost too much: text waits until a claim may be
        # complete.
        self._look_back = (self._look_back + text)[-_LOOK_BACK - len(text) :]
        if self._n_waiting > _ENOUGH_CHARS or not _ENDS.isdisjoint(self._look_back):
            self._wake.set()

    async def finish(self, answer: Answer | None = None) -> Checked:
        """Check the rest of the answer, and return the result; later calls return the same result.

        Args:
            answer: The whole answer, if it did not arrive in a stream; ``None`` if its parts were
                given to :meth:`take`.
        """
        # The task goes on if the caller is cancelled, so a second call does not miss the text that
        # the first call took.
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(answer))
        return await asyncio.shield(self._ending)

    async def _end(self, answer: Answer | None) -> Checked:
        self._is_complete = True
        self._wake.set()
        await self._task
        if answer is not None and answer.kind is AnswerKind.TEXT:
            self._waiting = [answer.text]
        rest = self._take_waiting()
        self.checked = beside_json(await self._conclude(answer or self._answer, rest=rest))
        return self.checked

    def _take_waiting(self) -> str:
        text, self._waiting, self._n_waiting = "".join(self._waiting), [], 0
        return text

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of a streamed answer, as far as they have arrived and are kept."""
        return self._calls.calls

    def close(self) -> None:
        """Cancel the check; a second call has no further effect."""
        self._is_closed = True
        self._task.cancel()
        if self._ending is not None:
            self._ending.cancel()
        if self._flow is not None:
            self._flow.close()

    @property
    def _answer(self) -> Answer:
        return answer_of(
            self.index,
            text="".join(self._text),
            refusal=self._refusal,
            has_calls=self._calls_tools,
            n_skipped=self.n_skipped + self.is_over_limit,
            calls=self.calls,
            has_reasoning=self._has_reasoning,
            is_cut=self.is_cut,
        )

    async def _conclude(self, answer: Answer, *, rest: str) -> Checked:
        if self._failure is None and self._flow is not None:
            try:
                return await self._call(partial(self._flow.finish, answer, rest=rest))
            except CheckTimeoutError as error:
                self._fail(error)
        return self._checks.unavailable(answer, self._failure or CheckTimeoutError.__name__)

    async def _work(self) -> None:
        try:
            self._flow = await self._call(self._checks.open)
            while True:
                await self._wake.wait()
                self._wake.clear()
                if self._is_complete:
                    return  # :meth:`finish` has the rest of the text checked in one call
                if text := self._take_waiting():
                    review = await self._call(partial(self._step, self._flow, text))
                    if review is not None and self._checks.on_review is not None:
                        self._checks.on_review(self.index, review)
        except Exception as error:  # noqa: BLE001 - any error means that the answer was not checked
            self._fail(error)

    def _step(self, flow: Flow, text: str) -> Review | None:
        # Feeding a flow that was closed on purpose would log a failure.
        if not self._is_closed:
            flow.feed(text)
        return flow.review() if self._checks.is_reviewed and not self._is_closed else None

    async def _call(self, function: Callable[[], _T]) -> _T:
        work = self._checks.threads.submit(function)
        call = asyncio.wrap_future(work)
        # A running thread cannot be stopped, but a flow that the thread opens too late is closed.
        call.add_done_callback(self._put_away)
        try:
            done, _ = await asyncio.wait([call], timeout=self._checks.timeout_s)
        finally:
            # Drop the call if no thread has begun it: it would only delay other calls.
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

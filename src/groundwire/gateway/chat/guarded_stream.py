"""Holds back a stream: text, or at least the event that ends an answer, waits for the check."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from groundwire.config.tree import Gateway
from groundwire.control.audit.events import Disposition, StreamSummary
from groundwire.detection.values import Outcome
from groundwire.explain.repair import Edit
from groundwire.gateway.chat.answer_checks import AnswerChecks
from groundwire.gateway.chat.body_warning import warning_text
from groundwire.gateway.chat.dialect import Dialect
from groundwire.gateway.chat.marks import extension, is_told_at_end
from groundwire.gateway.chat.observed import UNREADABLE
from groundwire.gateway.chat.outbox import Outbox
from groundwire.gateway.chat.reading import TURN, ChunkReader, ReadEvent
from groundwire.gateway.chat.recording import StreamReport
from groundwire.gateway.chat.release import Release
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.http.refusals import RefusalCode, blocked, refused
from groundwire.gateway.upstream import UpstreamBrokenError, UpstreamReply
from groundwire.pipeline import Checked, Review
from groundwire.pipeline.json_leaves import count_values
from groundwire.policy.policy import Action

log = logging.getLogger(__name__)

#: Limit on the tool calls of one answer in a deferred stream, which is sent only once all of it has
#: been checked. A stream with more calls is refused. The gateway DVARA has the same limit.
MAX_CALLS = 256
#: Limit on the values in the arguments of all tool calls of one answer in a deferred stream. A
#: stream with more values is refused. DVARA has the same limit.
MAX_ARGUMENT_VALUES = 512


class ReleasedStream:
    """Reads the upstream's stream, and sends its events to the client as the policy allows.

    Answers are checked in threads while further events are read. What may be sent is decided on
    the event loop.
    """

    def __init__(
        self,
        reply: UpstreamReply,
        answers: AnswerChecks,
        *,
        dialect: Dialect,
        model: str,
        release: Release,
        settings: Gateway,
        trace_id: str,
        settles: bool,
        marks: bool,
        conclude: Callable[[Coroutine[Any, Any, StreamReport]], "asyncio.Task[bool]"],
    ) -> None:
        """Prepare to guard a stream; nothing is read yet.

        Args:
            reply: The upstream's reply.
            answers: The checks of the answers in the reply.
            dialect: The API that the client uses.
            model: The model that the request names.
            release: When text is sent to the client. ``Release.OBSERVE`` is not allowed here: use
                :class:`.ObservedStream` in its place.
            settings: The limits on held characters and bytes, and the seconds without an event
                after which a comment is sent to keep the connection open.
            trace_id: The trace id of the request.
            settles: Whether the end of the response waits for its audit records.
            marks: Whether the event that ends an answer may report the result of its check.
            conclude: Starts a task that records the report; the result of the task is whether the
                end of the response may be sent. With ``settles``, the function is called before the
                last events are sent. Otherwise, or if the client leaves before that, it is called
                when the response has ended.
        """
        self._reply, self._release, self._trace_id = reply, release, trace_id
        self._held = dialect.held(model=model, trace_id=trace_id, withholds=release.withholds)
        self._reader, self._path = dialect.reader(), dialect.path
        self._settings, self._settles, self._conclude = settings, settles, conclude
        self._marks = marks
        self._outbox = Outbox()
        self._answers, answers.on_review = answers, self._reviewed
        self._clear_to: dict[int, int] = {}
        self._kept: list[bytes] = []  # events that wait for the audit records
        self._passed: set[int] = set()
        self._refusal: RefusalCode | None = None
        self._refused: dict[int, Checked] = {}
        self._edited: dict[int, Checked] = {}  # by answer, the latest result that has edits
        self._is_done = self._is_unread = self._is_truncated = self._is_upstream_error = False
        self._tasks: list[asyncio.Task[None]] = []  # all tasks except ``_recording``
        self._recording: asyncio.Task[bool] | None = None
        self._last_read = perf_counter()

    async def events(self) -> AsyncGenerator[bytes]:
        """Yield the bytes for the client as soon as they may be sent.

        Raises:
            UpstreamBrokenError: If the upstream breaks off. If the rest of the stream cannot be
                read, one of ``UNREADABLE`` is raised. None of these errors is raised if text is
                withheld, or if a refusal ends the stream.
        """
        self._tasks.append(asyncio.create_task(self._read_and_decide()))
        while (events := await self._outbox.get(self._settings.keepalive_s or None)) is not None:
            yield events

    async def close(self) -> None:
        """Stop reading, start to record the stream unless this has begun, and close the reply.

        Call this once, at the end.
        """
        self._outbox.end()
        for task in self._tasks:
            task.cancel()
        if self._recording is None:
            self._record(is_client_gone=not self._outbox.is_drained)
        await self._reply.close()

    # Reading the upstream's stream.

    async def _read_and_decide(self) -> None:
        try:
            try:
                await self._read_all()
                await self._end()
            except (UpstreamBrokenError, *UNREADABLE) as error:
                log.warning("A stream broke off or cannot be read: %s", type(error).__name__)
                await self._break_off(error)
        except Exception as error:  # noqa: BLE001 - our own error must not release text
            # If the stream were not ended here, the client would wait for ever.
            log.error("A stream failed: %s", type(error).__name__)
            self._refuse(refused(RefusalCode.STREAM_ERROR))

    async def _read_all(self) -> None:
        reader = ChunkReader(self._reply.content_encoding, self._reader, path=self._path)
        async for data in self._reply.chunks():
            self._last_read = perf_counter()
            for n, read in enumerate(reader.feed(data), 1):
                self._take(read)
                if self._outbox.is_sealed:
                    return
                if n % TURN == 0:
                    await asyncio.sleep(0)
            await self._outbox.room()
        for read in reader.finish():
            self._take(read)

    def _take(self, read: ReadEvent) -> None:
        if self._is_done or self._outbox.is_sealed:
            return
        self._is_done = read.is_end
        if read.chunk is None:
            self._take_other(read)
            return
        self._is_upstream_error |= read.chunk.is_error
        if self._release.withholds and read.chunk.is_error:
            self._is_truncated = True
            self._finish(self._held.error(read.event, read.chunk))
            return
        if read.chunk.is_unread:
            self._lose()
        parts = read.chunk.parts
        # The look-up comes first, since it raises an error if there are too many answers.
        answers = [self._answers[part.index] for part in parts]
        self._held.take(read.event, read.chunk)
        if self._release is not Release.DEFERRED:
            self._outbox.put(self._held.front())
        if self._is_too_much():
            self._refuse(refused(RefusalCode.STREAM_TOO_LARGE_TO_SCAN))
            return
        for part, answer in zip(parts, answers, strict=True):
            answer.take(part)
            self._let_text(part.index)

    def _is_too_much(self) -> bool:
        """Return whether text is withheld, and more is held than the limits allow."""
        return self._release.withholds and (
            self._held.n_held > self._settings.max_held_chars
            or self._held.n_bytes > self._settings.max_response_bytes
        )

    def _take_other(self, read: ReadEvent) -> None:
        """Handle an event without a chunk, such as a comment, ``[DONE]`` or an unreadable event."""
        if read.is_unreadable and self._release.withholds:
            self._refuse(refused(RefusalCode.STREAM_ERROR))
        if read.is_unreadable:
            self._lose()
        # While text is withheld, comments are dropped: they could contain text of the answer.
        if not (read.is_end or self._release.withholds):
            self._outbox.put([read.event.raw])

    def _lose(self) -> None:
        self._is_unread = True
        self._answers.lose()

    # Releasing text to the client.

    def _let_text(self, index: int) -> None:
        """Send those events of an answer that may be sent by now."""
        held = self._held.answer(index)
        if self._release is Release.MARK:
            self._outbox.put(held.clear())
        elif self._release is Release.SENTENCE:
            self._outbox.put(held.clear(self._clear_to.get(index, 0)))

    def _reviewed(self, index: int, review: Review) -> None:
        if self._outbox.is_sealed:
            return
        checked = self._with_edits(index, review.checked)
        self._clear(index, min(review.clear_to, checked.n_clear))
        if checked.action is Action.BLOCK:
            self._block({index: checked})

    def _with_edits(self, index: int, checked: Checked) -> Checked:
        """Give the edits of an answer to the buffer, and return the result of the check.

        The result has the action ``block`` if the answer has edits, and other parts of the stream
        may repeat words of the answer's text. The action is ``block`` too if edits of text that was
        already sent have changed. In these cases, the buffer keeps its former edits.
        """
        held = self._held.answer(index)
        sent = [edit for edit in checked.edits if edit.start < held.n_sent]
        cannot = checked.edits and (not self._held.can_edit or held.holds_more())
        if cannot or sent != self._sent_edits(index):
            # The audit record of a blocked answer needs findings. A result without findings, such
            # as that of a failed check, is replaced by the latest result with edits, if any.
            is_wrong = checked.outcome is Outcome.HALLUCINATED
            return (checked if is_wrong else self._edited.get(index, checked)).blocked()
        held.edits = checked.edits
        if checked.edits:
            self._edited[index] = checked
        return checked

    def _sent_edits(self, index: int) -> list[Edit]:
        held = self._held.answer(index)
        return [edit for edit in held.edits if edit.start < held.n_sent]

    def _clear(self, index: int, upto: int) -> None:
        self._clear_to[index] = max(self._clear_to.get(index, 0), upto)
        self._let_text(index)

    async def _settle(self, index: int) -> None:
        """Finish the check of an answer, and release the answer or block it."""
        checked = self._with_edits(index, await self._answers[index].finish())
        if self._release.withholds and checked.action is Action.BLOCK:
            self._clear(index, checked.n_clear)
            self._block({index: checked})
        else:
            self._let_go(index, checked)

    def _let_go(self, index: int, checked: Checked) -> None:
        self._passed.add(index)
        held, is_deferred = self._held.answer(index), self._release is Release.DEFERRED
        text = held.settle(warning=warning_text(checked), in_front=is_deferred)
        # If audit records are required and cannot be written, nothing of a deferred answer is sent.
        put = self._put_last if is_deferred else self._outbox.put
        put(text)
        is_told = self._marks and is_told_at_end(checked)
        marks = extension([checked], trace_id=self._trace_id) if is_told else None
        self._put_last(held.finish(extension=marks))

    def _put_last(self, events: Sequence[bytes]) -> None:
        """Send events, or keep them if the end of the response waits for audit records."""
        if self._settles:
            self._kept += events
        else:
            self._outbox.put(events)

    async def _end(self) -> None:
        """End the stream after the upstream's last byte, once all answers are checked."""
        if self._outbox.is_sealed:
            return
        is_finished = len(self._answers) > 0 and all(each.is_finished for each in self._answers)
        if not self._is_done and not is_finished:
            await self._break_off(None)
            return
        if self._is_upstream_error:
            self._answers.break_off()
        if self._release is Release.DEFERRED:
            await self._settle_together()
        else:
            await asyncio.gather(*(self._settle(answer.index) for answer in self._answers))
        if any(each.edits and each.holds_more() for each in self._held.answers.values()):
            self._refuse(refused(RefusalCode.STREAM_ERROR))
        self._finish(self._held.tail(is_done=self._is_done))

    async def _settle_together(self) -> None:
        done = {each.answer.index: each for each in await self._answers.finish()}
        checked = {index: self._with_edits(index, each) for index, each in done.items()}
        withheld = {i: each for i, each in checked.items() if each.action is Action.BLOCK}
        if withheld:
            self._refused |= {i: each.blocked() for i, each in checked.items() if each.edits}
            self._block(withheld)
            return
        for index in checked:
            self._check_calls(index)
        if self._refusal is not None:
            return
        self._put_last(self._held.front())
        for index, each in checked.items():
            self._let_go(index, each)

    def _check_calls(self, index: int) -> None:
        calls = self._answers[index].calls
        counts = [count_values(call.arguments) for call in calls[:MAX_CALLS]]
        if None in counts:
            self._refuse(refused(RefusalCode.STREAM_TOOL_ARGUMENTS_UNENFORCEABLE))
        n_values = sum(count or 0 for count in counts)
        if len(calls) > MAX_CALLS or n_values > MAX_ARGUMENT_VALUES:
            self._refuse(refused(RefusalCode.STREAM_TOO_LARGE_TO_SCAN))

    async def _break_off(self, error: Exception | None) -> None:
        """Finish a stream that ended before its answers were complete, or cannot be read."""
        self._is_truncated = True
        if self._release.withholds:
            self._refuse(refused(RefusalCode.STREAM_INCOMPLETE_UNGROUNDED))
            return
        if isinstance(error, UNREADABLE):
            self._lose()
        self._answers.break_off()
        for checked in await self._answers.finish():
            self._let_go(checked.answer.index, checked)
        self._finish(self._held.tail(is_done=False), error)

    def _block(self, checked: Mapping[int, Checked]) -> None:
        if self._outbox.is_sealed:  # the stream has ended for the client
            return
        for index, each in checked.items():
            # The audit record lists only edits in the text that the client got.
            self._refused[index] = replace(each, edits=tuple(self._sent_edits(index)))
        answers = list(checked.values())
        self._refuse(blocked(answers), extension(answers, trace_id=self._trace_id))

    def _refuse(self, problem: Problem, marks: Mapping[str, Any] | None = None) -> None:
        """End the stream with a refusal in place of the events that are still held."""
        if self._outbox.is_sealed:
            return
        self._refusal = RefusalCode(problem.code)
        self._finish(self._held.refusal(problem, passed=self._passed, extension=marks))

    # The end of the stream, and its record.

    def _finish(self, last: Sequence[bytes], failure: Exception | None = None) -> None:
        """End the stream with the events ``last``, after events that wait for the audit records.

        With ``settles``, the stream is recorded first. A refusal replaces all of these events if
        recording fails, or if the audit records are required and cannot be written.
        """
        if self._outbox.is_sealed:
            return
        self._outbox.seal()
        if self._settles:
            events = [*self._kept, *last]
            self._tasks.append(asyncio.create_task(self._finish_settled(events, failure)))
        else:
            self._outbox.end(last, failure)

    async def _finish_settled(self, last: Sequence[bytes], failure: Exception | None) -> None:
        refusal: RefusalCode | None = None
        try:
            # The shield lets the record be written even if the client leaves, which cancels this
            # task.
            if not await asyncio.shield(self._record(is_client_gone=False)):
                self._passed.clear()  # the client has not got the end of any answer yet
                refusal = RefusalCode.AUDIT_UNAVAILABLE
        except Exception as error:  # noqa: BLE001 - without an end, the client would wait for ever
            log.error("A stream could not be recorded: %s", type(error).__name__)
            refusal = RefusalCode.STREAM_ERROR
        if refusal is not None:
            last, failure = self._held.refusal(refused(refusal), passed=self._passed), None
        self._outbox.end(last, failure)

    def _record(self, *, is_client_gone: bool) -> "asyncio.Task[bool]":
        """Start to record the stream; call this once.

        The result of the task is whether the end of the response may be sent.
        """
        added_s = None if is_client_gone else perf_counter() - self._last_read
        self._recording = self._conclude(self._report(added_s, is_client_gone=is_client_gone))
        return self._recording

    async def _report(self, added_s: float | None, *, is_client_gone: bool) -> StreamReport:
        if not self._release.withholds:
            # Text that has been sent is checked to its end, even if the client left.
            if is_client_gone:
                self._answers.break_off()
            await self._answers.finish()
        self._answers.close()
        withholds = self._release.withholds
        # Repaired text that was sent is recorded, however the stream ends.
        sent = {
            index: replace(each, edits=edits)
            for index, each in self._edited.items()
            if (edits := tuple(self._sent_edits(index)))
        }
        known = {each.answer.index: each for each in self._answers.checked}
        if withholds and is_client_gone:
            known = sent | {index: each for index, each in known.items() if index in self._passed}
        else:
            known = sent | known | self._refused
        checked = tuple(each for _, each in sorted(known.items()))
        return StreamReport(
            answers=checked,
            summary=self._summary(checked, is_client_gone=is_client_gone) if withholds else None,
            refusal=self._refusal,
            is_upstream_error=self._is_upstream_error,
            is_client_gone=is_client_gone,
            added_s=added_s,
        )

    def _summary(self, checked: Sequence[Checked], *, is_client_gone: bool) -> StreamSummary:
        n_chars = sum(answer.n_chars for answer in self._answers)
        n_sent = sum(answer.n_sent for answer in self._held.answers.values())
        ended = Disposition.UPSTREAM_ERROR if self._is_upstream_error else Disposition.DELIVERED
        ended = Disposition.REFUSED if self._refusal else ended
        return StreamSummary(
            release=str(self._release),
            disposition=Disposition.CANCELLED if is_client_gone else ended,
            delivered_chars=n_sent,
            withheld_chars=n_chars - n_sent,
            code=None if self._refusal is None else str(self._refusal),
            scan_incomplete=self._refusal is RefusalCode.STREAM_TOO_LARGE_TO_SCAN
            or self._is_unread
            or any(answer.is_over_limit for answer in self._answers),
            scan_failed=any(each.outcome is Outcome.UNAVAILABLE for each in checked)
            or self._refusal is RefusalCode.STREAM_ERROR,
            truncated=self._is_truncated,
        )

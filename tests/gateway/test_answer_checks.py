"""Answers that are checked in threads: what is given up is not done."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from groundwire.config.tree import Gateway
from groundwire.engine.scores import ClaimScores
from groundwire.gateway.chat.answer_checks import AnswerChecks
from groundwire.gateway.chat.release import Release
from groundwire.pipeline import Flow, Pipeline, RequestContext
from groundwire.text.segment import Segment
from tests.gateway.chats import WRONG, fixed, request

pytestmark = pytest.mark.asyncio


class Watched(Pipeline):
    """Counts the checks that begin."""

    n_opened = 0

    def stream(self, context: RequestContext) -> Flow:
        self.n_opened += 1
        return super().stream(context)


def begun(pipeline: Pipeline, threads: ThreadPoolExecutor, *, timeout_s: float) -> AnswerChecks:
    return AnswerChecks(
        pipeline,
        pipeline.open(request()),
        release=Release.SENTENCE,
        settings=Gateway(check_timeout_s=timeout_s),
        threads=threads,
    )


async def test_a_check_that_found_no_thread_in_time_is_unavailable_and_never_begins() -> None:
    frees = Event()
    with ThreadPoolExecutor(1) as threads, Watched(fixed()) as pipeline:
        threads.submit(frees.wait)  # all threads are taken
        checks = begun(pipeline, threads, timeout_s=0.02)
        checks[0].feed("It is tall.")
        (checked,) = await checks.finish()
        frees.set()
        await asyncio.get_running_loop().run_in_executor(threads, lambda: None)
    assert (checked.outcome, checked.reason) == ("unavailable", "CheckTimeoutError")
    assert pipeline.n_opened == 0


async def test_a_check_of_a_client_that_left_before_it_began_never_begins() -> None:
    frees = Event()
    with ThreadPoolExecutor(1) as threads, Watched(fixed()) as pipeline:
        threads.submit(frees.wait)
        checks = begun(pipeline, threads, timeout_s=10)
        await asyncio.sleep(0)
        checks.close()
        await asyncio.sleep(0)
        frees.set()
        await asyncio.get_running_loop().run_in_executor(threads, lambda: None)
    assert pipeline.n_opened == 0


async def test_text_that_waited_is_judged_although_the_first_to_ask_has_left() -> None:
    """As when a client leaves during the last check, and the record of the answer is written."""
    frees = Event()
    with ThreadPoolExecutor(1) as threads, Watched(fixed()) as pipeline:
        checks = begun(pipeline, threads, timeout_s=10)
        checks[0].feed("It is tall. ")
        await asyncio.get_running_loop().run_in_executor(threads, lambda: None)
        await asyncio.sleep(0.01)
        threads.submit(frees.wait)
        checks[0].feed(f"It is {WRONG}")
        first = asyncio.create_task(checks.finish())
        await asyncio.sleep(0.01)
        first.cancel()
        again = asyncio.create_task(checks.finish())
        await asyncio.sleep(0)
        frees.set()
        (checked,) = await again
    assert checked.outcome == "hallucinated"
    assert checked.answer.text == f"It is tall. It is {WRONG}"


async def test_a_check_that_is_closed_while_it_ends_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(1) as threads, Watched(fixed()) as pipeline:
        flow = pipeline.stream(pipeline.open(request()))
        flow.feed("It is tall. ")
        stream = flow._stream
        assert stream is not None
        judge = stream._session.read

        def closing(answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
            flow.close()
            return judge(answer, segments)

        monkeypatch.setattr(stream._session, "read", closing)
        checked = await asyncio.wrap_future(
            threads.submit(lambda: flow.finish(rest=f"It is {WRONG}"))
        )
    assert (checked.outcome, checked.reason) == ("unavailable", "DetectionError")

"""Answers that are checked in threads: what is given up is not done."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from groundwire.config.tree import Gateway
from groundwire.gateway.chat.answer_checks import AnswerChecks
from groundwire.gateway.chat.release import Release
from groundwire.pipeline import Flow, Pipeline, RequestContext
from tests.gateway.chats import fixed, request

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

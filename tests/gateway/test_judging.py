"""Answers that are checked in threads: what is given up is not done."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from groundwire.gateway.chat.judging import AnswerJudge
from groundwire.pipeline import Checked, Flow, Pipeline
from groundwire.pipeline.conversation import Answer, AnswerKind
from tests.gateway.chats import fixed, request

pytestmark = pytest.mark.asyncio

ANSWER = Answer(index=0, kind=AnswerKind.TEXT, text="It is tall.")


def flows(pipeline: Pipeline, opened: list[int]) -> Callable[[], Flow]:
    context = pipeline.open(request())

    def open_flow() -> Flow:
        opened.append(1)
        return pipeline.stream(context)

    return open_flow


async def test_a_check_that_found_no_thread_in_time_is_unavailable_and_never_begins() -> None:
    opened, frees = list[int](), Event()
    with ThreadPoolExecutor(1) as threads, Pipeline(fixed()) as pipeline:
        threads.submit(frees.wait)  # all threads are taken
        context = pipeline.open(request())

        def give_up(answer: Answer, reason: str) -> Checked:
            return pipeline.unavailable(context, answer, reason)

        judge = AnswerJudge(
            flows(pipeline, opened), give_up=give_up, threads=threads, timeout_s=0.02
        )
        checked = await judge.finish(ANSWER)
        frees.set()
        await asyncio.get_running_loop().run_in_executor(threads, lambda: None)
    assert (checked.outcome, checked.reason, opened) == ("unavailable", "CheckTimeoutError", [])


async def test_a_check_of_a_client_that_left_before_it_began_never_begins() -> None:
    opened, frees = list[int](), Event()
    with ThreadPoolExecutor(1) as threads, Pipeline(fixed()) as pipeline:
        threads.submit(frees.wait)
        judge = AnswerJudge(
            flows(pipeline, opened),
            give_up=lambda answer, reason: pytest.fail(reason),
            threads=threads,
            timeout_s=10,
        )
        await asyncio.sleep(0)
        judge.close()
        await asyncio.sleep(0)
        frees.set()
        await asyncio.get_running_loop().run_in_executor(threads, lambda: None)
    assert opened == []

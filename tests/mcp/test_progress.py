"""How far a call is, and what becomes of one that is cancelled."""

import threading
from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest

pytest.importorskip("mcp_types", reason="needs the mcp extra")

from mcp import MCPError

from groundwire.mcp.backend import Backend
from groundwire.mcp.server import MAX_CALLS
from groundwire.mcp.tool import Call, Tool, ToolResult
from groundwire.mcp.toolbox import tools_of
from tests.mcp.agent import (
    MODES,
    PATIENCE_S,
    Agent,
    in_both_modes,
    served,
    talk,
    talk_in_process,
)

SPANS = [{"sid": f"S{n}", "text": f"Station {n} opened in {1900 + n}."} for n in range(6)]
ANSWER = " ".join(f"Station {n} opened in {1900 + n}. [S{n}]" for n in range(6))


async def told_progress(
    agent: Agent, tool: str, **arguments: object
) -> list[tuple[float, float | None]]:
    told: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert message
        told.append((progress, total))

    result = await agent.client.call_tool(tool, arguments, progress_callback=note)
    assert not result.is_error
    return told


@in_both_modes
def test_the_readings_of_claims_are_told(backend: Backend, mode: str) -> None:
    async def conversation(agent: Agent) -> None:
        told = await told_progress(agent, "detect_hallucination", answer=ANSWER, spans=SPANS)
        assert told == [(6, None), (12, None)]  # six with evidence, six without

    talk_in_process(tools_of(backend), conversation, mode=mode)


@pytest.mark.merge
@pytest.mark.parametrize("mode", MODES)
def test_progress_comes_over_http_before_the_result(shared_backend: Backend, mode: str) -> None:
    async def conversation(agent: Agent) -> None:
        told = await told_progress(agent, "detect_hallucination", answer=ANSWER, spans=SPANS)
        assert told[-1] == (12, None)

    with served(tools_of(shared_backend)) as url:
        talk(url, conversation, mode=mode)


def test_a_long_answer_tells_how_much_of_it_is_read(backend: Backend) -> None:
    answer = "The station opened in 1901. " * 40

    async def conversation(agent: Agent) -> None:
        told = await told_progress(
            agent, "check_answer", answer=answer, sources=["The station opened in 1901."]
        )
        assert told == [(1000, 1120), (1120, 1120)]

    talk_in_process(tools_of(backend), conversation)


class Endless:
    """A tool that works until nobody waits for it any longer."""

    def __init__(self) -> None:
        self.started = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)
        self.is_over = threading.Event()

    def run(self, call: Call, _: object) -> ToolResult:
        self.started.release()
        deadline = threading.Event()
        while not call.watch.is_over() and not self.is_over.is_set():
            deadline.wait(0.01)
        self.ended.release()
        return ToolResult(data=None, text="over", is_error=True)

    def tools(self, backend: Backend) -> dict[str, Tool]:
        known = tools_of(backend)
        return known | {"check_answer": replace(known["check_answer"], run=self.run)}


async def until(reached: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE_S):
        while not reached():
            await anyio.sleep(0.01)


@pytest.mark.merge
@pytest.mark.parametrize("transport", ["process", "http"])
@in_both_modes
def test_a_call_that_is_given_up_stops(shared_backend: Backend, transport: str, mode: str) -> None:
    endless = Endless()
    tools = endless.tools(shared_backend)

    async def conversation(agent: Agent) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.client.call_tool, "check_answer", {"answer": "A."})
            await until(lambda: endless.started.acquire(blocking=False))
            tasks.cancel_scope.cancel()
        await until(lambda: endless.ended.acquire(blocking=False))
        # And the server goes on.
        assert (await agent.add("One.")) == "S0"

    try:
        if transport == "process":
            talk_in_process(tools, conversation, mode=mode)
        else:
            with served(tools) as url:
                talk(url, conversation, mode=mode)
    finally:
        endless.is_over.set()


def test_a_call_that_takes_too_long_for_its_client_stops(backend: Backend) -> None:
    endless = Endless()

    async def conversation(agent: Agent) -> None:
        with pytest.raises(MCPError, match=r"[Tt]imed out"):
            await agent.client.call_tool("check_answer", {"answer": "A."}, read_timeout_seconds=0.2)
        await until(lambda: endless.ended.acquire(blocking=False))

    try:
        talk_in_process(endless.tools(backend), conversation, mode="legacy")
    finally:
        endless.is_over.set()


def test_while_tools_work_the_server_answers_and_no_more_than_there_are_slots_work(
    backend: Backend,
) -> None:
    endless = Endless()

    async def conversation(agent: Agent) -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(MAX_CALLS + 2):
                tasks.start_soon(agent.client.call_tool, "check_answer", {"answer": "A."})
            for _ in range(MAX_CALLS):
                await until(lambda: endless.started.acquire(blocking=False))
            assert (await agent.data("list_spans"))["total"] == 0
            assert not endless.started.acquire(blocking=False)
            endless.is_over.set()

    try:
        talk_in_process(endless.tools(backend), conversation, mode="legacy")
    finally:
        endless.is_over.set()

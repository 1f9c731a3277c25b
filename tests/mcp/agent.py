"""Servers as agents meet them: through the SDK's own client, over each of its transports."""

import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from groundwire.mcp.http import Access, app_of, http_server, listen
from groundwire.mcp.server import ToolServer
from groundwire.mcp.store import StoreLimits
from groundwire.mcp.tool import Tool

T = TypeVar("T")

#: The protocol without sessions, and those before it.
MODES = ("2026-07-28", "legacy")

PATIENCE_S = 60.0

SPANS = [
    {
        "sid": "A",
        "text": "Auth reads JWT_ISSUER and validates the issuer of each token against it.",
    },
    {"sid": "B", "text": "How long does a token last? Tokens last for 60 minutes."},
]


class Agent:
    """Calls tools."""

    def __init__(self, client: Client) -> None:
        self.client = client
        #: What is passed with each call, if the connection has no session.
        self.handle: dict[str, str] = {}

    async def call(self, tool: str, /, **arguments: Any) -> CallToolResult:  # noqa: ANN401
        return await self.client.call_tool(tool, arguments | self.handle)

    async def data(self, tool: str, /, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """The structured result of a call that succeeds."""
        result = await self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        data: dict[str, Any] | None = result.structured_content
        assert data is not None
        return data

    async def add(self, text: str, **arguments: Any) -> str:  # noqa: ANN401
        """Have a text held; with its id."""
        data = await self.data("add_span", text=text, **arguments)
        if "evidence" in data:
            self.handle = {"evidence": data["evidence"]}
        return str(data["span"]["sid"])


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def talk(
    server: Any,  # noqa: ANN401 - what a Client takes
    conversation: Callable[[Agent], Awaitable[T]],
    *,
    mode: str = MODES[0],
) -> T:
    """Connect, have a conversation, and leave."""

    async def main() -> T | Exception:
        with anyio.fail_after(PATIENCE_S):
            async with Client(server, mode=mode) as client:
                return await _outcome(conversation, client)
        raise AssertionError

    return _result(anyio.run(main))


async def _outcome(conversation: Callable[[Agent], Awaitable[T]], client: Client) -> T | Exception:
    """What is raised is kept: the client would wrap it."""
    try:
        return await conversation(Agent(client))
    except Exception as error:  # noqa: BLE001 - raised once the client is gone
        return error


def _result(outcome: T | Exception) -> T:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def talk_in_process(
    tools: Mapping[str, Tool],
    conversation: Callable[[Agent], Awaitable[T]],
    *,
    mode: str = MODES[0],
) -> T:
    """The same with a server in this process."""
    return talk(ToolServer(tools).protocol(), conversation, mode=mode)


@contextmanager
def served(
    tools: Mapping[str, Tool], access: Access | None = None, *, path: str = "/mcp"
) -> Iterator[str]:
    """A server over HTTP, in a thread; with its URL."""
    app = app_of(ToolServer(tools), access or Access(), path=path, limits=StoreLimits())
    sock = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}{path}"
    server = http_server(app)
    thread = threading.Thread(target=lambda: server.run(sockets=[sock]))
    thread.start()
    try:
        yield url
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def talk_with_headers(
    url: str, conversation: Callable[[Agent], Awaitable[T]], mode: str, **headers: str
) -> T:
    """A conversation over HTTP, with headers of its own."""

    async def main() -> T | Exception:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with anyio.fail_after(PATIENCE_S):
            async with httpx2.AsyncClient(headers=named, timeout=PATIENCE_S) as http:
                transport = streamable_http_client(url, http_client=http)
                async with Client(transport, mode=mode) as client:
                    return await _outcome(conversation, client)
        raise AssertionError

    return _result(anyio.run(main))


in_both_modes = pytest.mark.parametrize(
    "mode", [MODES[0], pytest.param(MODES[1], marks=pytest.mark.merge)]
)

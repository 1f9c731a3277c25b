"""Over HTTP: who may ask, and that nobody sees what another holds."""

import json
from typing import Any

import httpx2
import pytest

pytest.importorskip("mcp_types", reason="needs the mcp extra")

from groundwire.config.keys import key_hash
from groundwire.mcp.backend import Backend
from groundwire.mcp.http import MAX_BODY_BYTES, Access
from groundwire.mcp.toolbox import tools_of
from tests.mcp.agent import (
    MODES,
    PATIENCE_S,
    SPANS,
    Agent,
    in_both_modes,
    served,
    talk,
    talk_with_headers,
    text_of,
)

pytestmark = pytest.mark.merge

TOKEN = "a-token-of-some-length"

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def post(url: str, body: Any = INITIALIZE, **headers: str) -> httpx2.Response:  # noqa: ANN401
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx2.post(
        url,
        content=content,
        headers={"Content-Type": "application/json"} | ACCEPT | named,
        timeout=PATIENCE_S,
    )


@in_both_modes
def test_an_agent_verifies_over_http(shared_backend: Backend, mode: str) -> None:
    async def conversation(agent: Agent) -> None:
        assert await agent.add("Tokens last for 60 minutes.") == "S0"
        data = await agent.data(
            "detect_hallucination",
            answer="Tokens last for 60 minutes. [S0] Auth reads JWT_ISSUER. [A]",
            use_held_spans=True,
            spans=SPANS[:1],
        )
        assert data["flagged"] is False
        assert data["span_origins"] == {"S0": "held_text", "A": "caller"}

    with served(tools_of(shared_backend)) as url:
        talk(url, conversation, mode=mode)


@in_both_modes
def test_sessions_do_not_see_each_others_evidence(shared_backend: Backend, mode: str) -> None:
    seen: list[dict[str, str]] = []

    async def first(agent: Agent) -> None:
        assert await agent.add("The secret of the first.") == "S0"
        seen.append(agent.handle)
        talked = await agent.data("list_spans")
        assert talked["total"] == 1

    async def second(agent: Agent) -> None:
        result = await agent.call("get_span", sid="S0")
        assert result.is_error
        assert "secret" not in text_of(result)
        report = await agent.data("detect_hallucination", answer="It is. [S0]", span_ids=["S0"])
        assert (report["flagged"], report["error_type"]) == (True, "invalid_argument")
        assert await agent.add("The text of the second.") == "S0"
        data = await agent.data("search_spans", query="secret")
        assert data["found"] == []
        assert agent.handle != seen[0] or mode == "legacy"

    with served(tools_of(shared_backend)) as url:
        talk(url, first, mode=mode)
        talk(url, second, mode=mode)


def test_a_header_that_names_a_session_opens_none_without_the_protocol_of_sessions(
    shared_backend: Backend,
) -> None:
    with served(tools_of(shared_backend)) as url:
        opened = post(url)
        session = opened.headers["mcp-session-id"]
        own = {"mcp_session_id": session, "mcp_protocol_version": "2025-06-18"}
        post(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **own)
        added = call_body("add_span", text="The secret of the session.")
        assert "S0" in post(url, added, **own).text

        async def conversation(agent: Agent) -> None:
            result = await agent.call("list_spans")
            assert result.is_error
            assert "This connection has no session" in text_of(result)

        talk_with_headers(url, conversation, MODES[0], mcp_session_id=session)


def call_body(tool: str, **arguments: object) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}


def test_a_handle_of_another_is_as_good_as_its_own_and_a_guessed_one_is_none(
    shared_backend: Backend,
) -> None:
    """It is what stands for a session: who has it has what is held under it."""
    handles: list[dict[str, str]] = []

    async def first(agent: Agent) -> None:
        await agent.add("One.")
        handles.append(agent.handle)

    async def second(agent: Agent) -> None:
        agent.handle = handles[0]
        assert (await agent.data("list_spans"))["total"] == 1
        agent.handle = {"evidence": "ev_aaaaaaaaaaaaaaaaaaaaaaaa"}
        result = await agent.call("list_spans")
        assert result.is_error
        assert "Nothing is held under this handle" in text_of(result)

    with served(tools_of(shared_backend)) as url:
        talk(url, first)
        talk(url, second)


@in_both_modes
def test_where_a_token_is_needed_nothing_goes_without(shared_backend: Backend, mode: str) -> None:
    async def conversation(agent: Agent) -> int:
        return len((await agent.client.list_tools()).tools)

    with served(tools_of(shared_backend), Access(token_hash=key_hash(TOKEN))) as url:
        assert talk_with_headers(url, conversation, mode, authorization=f"Bearer {TOKEN}") == 9
        for wrong in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": f"Basic {TOKEN}"},
            {"authorization": TOKEN},
            {"authorization": f"Bearer {TOKEN}x"},
            {"authorization": "Bearer"},
            {"x_api_key": TOKEN},
        ):
            refused = post(url, **wrong)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
            assert TOKEN not in refused.text
        for method in ("GET", "DELETE", "OPTIONS"):
            assert httpx2.request(method, url, headers=ACCEPT).status_code == 401
        assert httpx2.get(url.removesuffix("/mcp")).status_code == 401


def test_pages_of_other_websites_and_rebound_names_are_refused(shared_backend: Backend) -> None:
    expected: list[tuple[dict[str, str], int]] = [
        ({}, 200),
        ({"host": "localhost:1"}, 200),
        ({"host": "127.0.0.1"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:8765"}, 421),
        ({"host": "127.0.0.1.evil.example:8765"}, 421),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
    ]
    with served(tools_of(shared_backend)) as url:
        for headers, status in expected:
            assert (headers, post(url, **headers).status_code) == (headers, status)


def test_names_and_origins_can_be_allowed_and_then_are_the_only_ones(
    shared_backend: Backend,
) -> None:
    access = Access(
        token_hash=key_hash(TOKEN),
        hosts=("mcp.example.com",),
        origins=("https://app.example.com",),
        is_local=False,
    )
    token = {"authorization": f"Bearer {TOKEN}"}
    with served(tools_of(shared_backend), access) as url:
        own = token | {"host": "mcp.example.com"}
        assert post(url, **own).status_code == 200
        assert post(url, **own, origin="https://app.example.com").status_code == 200
        assert post(url, **own, origin="https://evil.example").status_code == 403
        assert post(url, **token).status_code == 421


def test_bodies_are_bounded(shared_backend: Backend) -> None:
    with served(tools_of(shared_backend)) as url:
        assert post(url, b"x" * (MAX_BODY_BYTES + 1)).status_code == 413


def test_what_is_no_request_is_refused_and_the_server_goes_on(shared_backend: Backend) -> None:
    with served(tools_of(shared_backend)) as url:
        for body in (b"", b"{", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0"}'):
            assert 400 <= post(url, body).status_code < 500
        assert post(url).status_code == 200


def test_it_is_served_where_it_was_told_to_be_and_nowhere_else(shared_backend: Backend) -> None:
    with served(tools_of(shared_backend), path="/agents/tools") as url:
        assert post(url).status_code == 200
        assert post(url.replace("/agents/tools", "/mcp")).status_code == 404

"""Evidence that the server holds, as agents use it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the mcp extra")

from groundwire.mcp.backend import Backend
from groundwire.mcp.files import Roots
from groundwire.mcp.toolbox import tools_of
from tests.mcp.agent import Agent, in_both_modes, talk_in_process, text_of

TOKENS = "Tokens last for 60 minutes."
ANSWER = f"{TOKENS} [S0]"


@in_both_modes
def test_an_agent_adds_cites_and_verifies(backend: Backend, mode: str) -> None:
    async def conversation(agent: Agent) -> None:
        assert await agent.add(TOKENS, note="from the readme") == "S0"
        data = await agent.data("add_file_span", path="auth.md", start_line=3, end_line=4)
        assert data["span"]["sid"] == "S1"
        assert data["span"]["origin"] == "held_file"
        report = await agent.data(
            "detect_hallucination",
            answer=f"{ANSWER} They are signed. [S1]",
            use_held_spans=True,
        )
        assert report["flagged"] is False
        assert report["span_origins"] == {"S0": "held_text", "S1": "held_file"}

    talk_in_process(tools_of(backend), conversation, mode=mode)


@pytest.mark.parametrize(
    ("tool", "arguments", "origins"),
    [
        ("detect_hallucination", {"answer": ANSWER}, "span_origins"),
        ("check_citations", {"answer": ANSWER}, "span_origins"),
        ("audit_trace_budget", {"steps": [{"claim": TOKENS, "cites": ["S0"]}]}, "span_origins"),
        ("check_answer", {"answer": TOKENS}, "source_origins"),
    ],
)
def test_every_check_takes_held_spans_beside_those_of_the_call_and_tells_them_apart(
    backend: Backend, tool: str, arguments: dict[str, Any], origins: str
) -> None:
    passed = "sources" if tool == "check_answer" else "spans"

    async def conversation(agent: Agent) -> None:
        for text in (TOKENS, "Another text."):
            await agent.add(text)
        own = {passed: [{"id": "mine", "text": "A third text."}, {"text": "A fourth text."}]}
        data = await agent.data(tool, **arguments, span_ids=["S0"], **own)
        assert data[origins] == {"S0": "held_text", "mine": "caller", "s3": "caller"}
        assert not data.get("flagged")
        every = await agent.data(tool, **arguments, use_held_spans=True)
        assert every[origins] == {"S0": "held_text", "S1": "held_text"}

    talk_in_process(tools_of(backend), conversation)


@pytest.mark.parametrize("chosen", [{"span_ids": ["S1"]}, {"use_held_spans": True}, {}])
def test_nobody_passes_another_text_under_the_id_of_a_held_span(
    backend: Backend, chosen: dict[str, Any]
) -> None:
    """Not even if the held span is not asked for: the report would name it."""

    async def conversation(agent: Agent) -> None:
        for text in (TOKENS, "Another text."):
            await agent.add(text)
        forged = [{"id": "S0", "text": "Tokens last for 15 minutes."}]
        answer = "Tokens last for 15 minutes. [S0]"
        data = await agent.data("detect_hallucination", answer=answer, spans=forged, **chosen)
        assert (data["flagged"], data["error_type"]) == (True, "invalid_argument")
        assert "The server holds another text under the id 'S0'" in data["error"]
        result = await agent.call(
            "check_answer", answer=answer, sources=[{"id": "S0", "text": forged[0]["text"]}]
        )
        assert result.is_error

    talk_in_process(tools_of(backend), conversation)


def test_nor_under_an_id_that_citations_of_a_held_span_may_be_written_with(
    backend: Backend,
) -> None:
    """``[0]`` and ``[s0]`` mean S0; a first span without id is ``s1``."""

    async def conversation(agent: Agent) -> None:
        for text in (TOKENS, "Another text."):
            await agent.add(text)
        for own in ({"sid": "0"}, {"sid": " s0 "}, {"sid": 1}, {}):
            forged = {"text": "Tokens last for 15 minutes.", **own}
            data = await agent.data("detect_hallucination", answer=ANSWER, spans=[forged])
            assert (data["flagged"], data["error_type"]) == (True, "invalid_argument")
            assert "The server holds another text under the id" in data["error"]
        # One text of the call is blank, so that the spans cannot be read.
        forged_too: list[Any] = ["Tokens last for 15 minutes.", {"id": "", "text": "It is so."}]
        for first in forged_too:
            result = await agent.call("check_answer", answer=TOKENS, sources=[first, " "])
            assert result.is_error
        named = [{"id": "doc-a", "text": TOKENS}, {"id": "doc-b", "text": " "}]
        assert not (await agent.call("check_answer", answer=TOKENS, sources=named)).is_error
        # A text without id is counted after the held spans of the call: it is not s1 beside S1.
        beside: dict[str, Any] = {"use_held_spans": True, "sources": ["They are signed."]}
        checked = await agent.data("check_answer", answer=TOKENS, **beside)
        held = {"S0": "held_text", "S1": "held_text"}
        assert checked["source_origins"] == {**held, "s3": "caller"}

    talk_in_process(tools_of(backend), conversation)


@pytest.mark.parametrize("tool", ["detect_hallucination", "check_citations"])
def test_the_text_of_a_result_says_where_the_evidence_comes_from(
    backend: Backend, tool: str
) -> None:
    async def conversation(agent: Agent) -> None:
        await agent.add(TOKENS)
        own = [{"sid": "mine", "text": "They are signed."}]
        result = await agent.call(tool, answer=ANSWER, use_held_spans=True, spans=own)
        assert text_of(result).endswith("Evidence: held_text (S0), caller (mine).")

    talk_in_process(tools_of(backend), conversation)


@pytest.mark.parametrize(
    "tool", ["detect_hallucination", "check_citations", "audit_trace_budget", "check_answer"]
)
def test_a_server_that_takes_held_evidence_only_refuses_all_other(
    backend: Backend, tool: str
) -> None:
    asked: dict[str, Any] = {"answer": ANSWER}
    if tool == "audit_trace_budget":
        asked = {"steps": [{"claim": TOKENS, "cites": ["S0"]}]}
    passed = "sources" if tool == "check_answer" else "spans"

    async def conversation(agent: Agent) -> None:
        forged = {passed: [{"id": "S0", "text": TOKENS}]}
        refused = (await agent.call(tool, **asked, **forged)).structured_content
        assert refused is not None
        assert "takes held evidence only" in refused["error"]
        assert refused.get("flagged", True)
        await agent.add(TOKENS)
        held = await agent.data(tool, **asked, use_held_spans=True)
        assert not held.get("flagged")
        assert "error" not in held

    talk_in_process(tools_of(replace(backend, held_only=True)), conversation)


def test_held_spans_are_no_evidence_unless_they_are_asked_for_and_that_is_said(
    backend: Backend,
) -> None:
    async def conversation(agent: Agent) -> None:
        await agent.add(TOKENS)
        result = await agent.call("detect_hallucination", answer=ANSWER)
        assert result.structured_content is not None
        assert result.structured_content["error_type"] == "no_spans"
        assert "with use_held_spans or span_ids" in text_of(result)

    talk_in_process(tools_of(backend), conversation)


def test_a_held_text_is_what_it_was_whatever_is_added_later(backend: Backend) -> None:
    async def conversation(agent: Agent) -> None:
        assert await agent.add(TOKENS) == "S0"
        assert await agent.add("Tokens last for 15 minutes.") == "S1"
        assert await agent.add(TOKENS) == "S0"
        data = await agent.data("get_span", sid="S0")
        assert data["span"]["text"] == TOKENS

    talk_in_process(tools_of(backend), conversation)


def test_a_file_that_changes_does_not_change_what_is_held(backend: Backend) -> None:
    (root,) = backend.roots.folders

    async def conversation(agent: Agent) -> None:
        await agent.data("add_file_span", path="auth.md", start_line=3, end_line=3)
        (root / "auth.md").write_text("\n\nTokens last for 15 minutes.\n")
        assert (await agent.data("get_span", sid="S0"))["span"]["text"] == TOKENS
        changed = await agent.data("add_file_span", path="auth.md", start_line=3, end_line=3)
        assert changed["span"]["sid"] == "S1"

    talk_in_process(tools_of(backend), conversation)


def test_listing_goes_page_by_page(backend: Backend) -> None:
    async def conversation(agent: Agent) -> None:
        for number in range(7):
            await agent.add(f"Text number {number}.")
        page = await agent.data("list_spans", limit=3, offset=3)
        assert [each["sid"] for each in page["spans"]] == ["S3", "S4", "S5"]
        assert page["total"] == 7
        assert page["spans"][0]["excerpt"] == "Text number 3."
        assert "text" not in page["spans"][0]

    talk_in_process(tools_of(backend), conversation)


def test_searching_ranks_by_shared_words(backend: Backend) -> None:
    texts = [
        "The cafeteria opens at nine.",
        "Tokens are issued by the auth service. They last for 60 minutes.",
        "The auth service runs in three regions.",
        "Tokens are issued by the auth service. They last for 60 minutes.",
    ]

    async def conversation(agent: Agent) -> None:
        for number, text in enumerate(texts):
            await agent.add(text, note=str(number))
        found = await agent.data("search_spans", query="60 minutes", limit=3)
        assert [each["sid"] for each in found["found"]][:2] == ["S1", "S3"]
        assert found["found"][0]["line"] == "They last for 60 minutes."
        assert found["total"] == 4
        nothing = await agent.data("search_spans", query="zebra")
        assert nothing["found"] == []

    talk_in_process(tools_of(backend), conversation)


def test_searching_in_nothing_finds_nothing(backend: Backend) -> None:
    async def conversation(agent: Agent) -> None:
        assert (await agent.data("search_spans", query="tokens"))["found"] == []
        assert (await agent.data("list_spans"))["total"] == 0

    talk_in_process(tools_of(backend), conversation)


IMPOSSIBLE: list[tuple[str, dict[str, Any], str]] = [
    ("add_span", {}, "text is missing"),
    ("add_span", {"text": " \n"}, "it is empty"),
    ("add_span", {"text": "x" * 200_001}, "at most 200000 characters"),
    ("add_span", {"text": "A.", "sid": "S0"}, "Unknown arguments: 'sid'"),
    ("add_file_span", {"path": "../x", "start_line": 1, "end_line": 1}, "no file in an"),
    ("add_file_span", {"path": "auth.md", "start_line": 0, "end_line": 1}, "start_line is not"),
    ("add_file_span", {"path": "auth.md", "start_line": 1, "end_line": "2"}, "end_line is not"),
    ("add_file_span", {"path": "auth.md", "start_line": True, "end_line": 1}, "start_line is not"),
    ("add_file_span", {"path": "auth.md", "start_line": 2, "end_line": 2}, "blank"),
    ("get_span", {"sid": "S0"}, "No span 'S0' is held"),
    ("search_spans", {"query": "a", "limit": 51}, "less than or equal to 50"),
    ("list_spans", {"evidence": "ev_x"}, "Unknown arguments: 'evidence'"),
]


def test_what_cannot_be_done_is_an_error_that_says_why(backend: Backend) -> None:
    async def conversation(agent: Agent) -> None:
        for tool, arguments, said in IMPOSSIBLE:
            result = await agent.call(tool, **arguments)
            assert result.is_error
            assert said in text_of(result)

    talk_in_process(tools_of(backend), conversation)


def test_no_link_leads_an_agent_out_of_an_allowed_folder(backend: Backend, tmp_path: Path) -> None:
    secret = tmp_path.parent / f"{tmp_path.name}-secret.txt"
    secret.write_text("the secret\n")
    (tmp_path / "link.md").symlink_to(secret)

    async def conversation(agent: Agent) -> None:
        result = await agent.call("add_file_span", path="link.md", start_line=1, end_line=1)
        assert result.is_error
        assert "the secret" not in text_of(result)
        assert (await agent.data("list_spans"))["total"] == 0

    talk_in_process(tools_of(backend), conversation)


def test_without_a_root_the_tool_says_how_to_allow_one(backend: Backend) -> None:
    closed = replace(backend, roots=Roots())

    async def conversation(agent: Agent) -> None:
        result = await agent.call("add_file_span", path="auth.md", start_line=1, end_line=1)
        assert result.is_error
        assert "--root DIR" in text_of(result)

    talk_in_process(tools_of(closed), conversation)

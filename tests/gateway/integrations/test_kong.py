"""Kong's ai-custom-guardrail with the configuration in docs/examples/kong.yaml.

Kong is not open source, so a small host stands for it: it renders the templates as Kong does, and
runs the functions of the configuration in Lua.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.gateway.integrations.conftest import KEY, RIGHT, WRONG, Post, chat

lupa = pytest.importorskip("lupa.luajit21", reason="runs the functions of kong.yaml in Lua")

CONFIG = Path(__file__).parents[3] / "docs/examples/kong.yaml"

#: The fields of ``config`` in Kong's schema of the plugin, Gateway 3.15.
FIELDS = {
    *("allow_masking", "custom_metrics", "functions", "guarding_mode", "metrics", "params"),
    *("request", "response", "response_buffer_size", "ssl_verify", "stop_on_error"),
    *("text_source", "timeout"),
}


def plugins() -> dict[str, Any]:
    """The configurations of the plugins in the example."""
    (service,) = YAML(typ="safe").load(CONFIG)["services"]
    return {each["name"]: each["config"] for each in service["plugins"]}


class Kong:
    """Asks about the text of a request, and then about that of its answer.

    Attributes:
        logged: The metrics of the last answer.
    """

    def __init__(self, post: Post, body: str | None) -> None:
        """Take a request.

        Args:
            post: Sends JSON to the gateway.
            body: The body of the request; ``None`` if it was written to a file.
        """
        self._config, self._post = plugins()["ai-custom-guardrail"], post
        self._lua = lupa.LuaRuntime(unpack_returned_tuples=True, encoding="utf-8")
        self._lua.globals().sent_body = body
        self._lua.execute(
            "kong = {ctx = {shared = {}}, request = {get_raw_body = function()"
            " if sent_body == nil then return nil, 'it did not fit' end return sent_body end}}"
        )
        self.logged: dict[str, object] = {}
        assert self.ask("INPUT", "Is it right?") is None

    def lose_the_request(self) -> None:
        """Let all functions of Kong fail, as on the pieces of a stream."""
        self._lua.execute("kong = nil")

    def ask(self, source: str, content: str) -> str | None:
        """The message that blocks a text, or ``None``."""
        known = {"source": source, "content": content or False}
        request, response = self._config["request"], self._config["response"]
        body = {key: self._render(text, known) for key, text in request["body"].items()}
        assert request["auth"]["location"] == "header"
        reply = self._post(
            request["url"].removeprefix("http://127.0.0.1:8080"),
            {key: value for key, value in body.items() if value is not None},
            **{request["auth"]["name"]: f"Bearer {KEY}"},
        )
        if reply.status_code != 200:
            assert self._config["stop_on_error"] is True
            return "the guardrail failed"
        known["resp"] = reply.json()
        self.logged = {
            name: self._render(text, known) for name, text in self._config["custom_metrics"].items()
        }
        is_blocked = self._render(response["block"], known)
        message = self._render(response["block_message"], known)
        assert isinstance(is_blocked, bool)
        assert isinstance(message, str)
        return message if is_blocked else None

    def _render(self, text: str, known: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """The value of a template: a variable with its fields, or what a function returns."""
        match = re.fullmatch(r"\$\(([\w.]+)\)", text)
        assert match, text
        name, *fields = match[1].split(".")
        value = known[name] if name in known else self._call(name, known)
        for each in fields:
            value = value[each]
        return value

    def _call(self, name: str, known: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Call a function; Kong passes variables by the names of its parameters."""
        source = self._config["functions"][name]
        parameters = re.search(r"return function\((.*?)\)", source)
        assert parameters
        names = [each.strip() for each in parameters[1].split(",") if each.strip()]
        return self._lua.execute(source)(*(known[each] for each in names))


def test_the_configuration_has_fields_of_kongs_schema_alone() -> None:
    config = plugins()["ai-custom-guardrail"]
    assert set(config) <= FIELDS
    assert set(config["request"]) <= {"url", "headers", "queries", "body", "auth"}
    assert set(config["response"]) == {"block", "block_message"}
    assert all(isinstance(each, str) for each in config["request"]["body"].values())
    assert config["guarding_mode"] == "BOTH"
    assert plugins()["ai-proxy"]["response_streaming"] == "deny"


@pytest.mark.shows("Kong", evidence="the request's body, remembered in Kong, and the answer")
def test_kong_blocks_what_its_request_does_not_support(post: Post) -> None:
    kong = Kong(post, json.dumps(chat(RIGHT)))
    assert kong.ask("OUTPUT", RIGHT) is None
    assert kong.logged == {"groundwire_outcome": "grounded", "groundwire_checked": True}
    message = kong.ask("OUTPUT", WRONG)
    assert message is not None
    assert "hallucination detected" in message
    assert "wrong" not in message


@pytest.mark.shows("Kong", unchecked="a pass with the metric `groundwire_outcome: unverified`")
def test_kong_is_told_that_an_answer_without_its_request_was_not_checked(post: Post) -> None:
    kong = Kong(post, None)
    assert kong.ask("OUTPUT", WRONG) is None
    assert kong.logged == {"groundwire_outcome": "unverified", "groundwire_checked": False}
    kong = Kong(post, json.dumps(chat(RIGHT)))
    kong.lose_the_request()
    assert kong.ask("OUTPUT", WRONG) is None
    assert kong.logged == {"groundwire_outcome": "unverified", "groundwire_checked": False}


def test_an_answer_of_tool_calls_has_an_empty_text_and_passes(post: Post) -> None:
    kong = Kong(post, json.dumps(chat(RIGHT)))
    assert kong.ask("OUTPUT", "") is None
    assert kong.logged == {"groundwire_outcome": "skipped", "groundwire_checked": True}


@pytest.mark.parametrize("sent", ["{", "[]x", '"text"', "[1]", "5", '{"messages": 7}', "[" * 10**5])
def test_a_request_that_cannot_be_read_fails_the_answer(post: Post, sent: str) -> None:
    assert Kong(post, sent).ask("OUTPUT", RIGHT) == "the guardrail failed"


def test_half_a_surrogate_pair_never_passes_as_checked(post: Post) -> None:
    asked = json.dumps(chat(RIGHT))
    reply = post("/integrations/kong", {"source": "OUTPUT", "content": "\ud800", "request": asked})
    assert (reply.status_code, reply.json()["checked"]) == (200, False)
    reply = post("/integrations/kong", {"source": "OUTPUT", "content": RIGHT, "request": "\ud800"})
    assert reply.status_code == 400

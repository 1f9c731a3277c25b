"""LangChain's models for OpenAI's APIs and Anthropic's."""

from collections.abc import Callable
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.gateway.clients.asked import (
    MESSAGES,
    PATHS,
    PROMPT,
    RESPONSES,
    Asking,
    Client,
    Got,
    Tower,
)


def _langchain_model(path: str, asking: Asking) -> BaseChatModel:
    if path == MESSAGES:
        return ChatAnthropic(
            model_name=asking.model,
            base_url=asking.url,
            api_key=SecretStr(asking.key),
        )
    return ChatOpenAI(
        model=asking.model,
        base_url=f"{asking.url}/v1",
        api_key=SecretStr(asking.key),
        use_responses_api=path == RESPONSES,
    )


def langchain_ask(path: str) -> Callable[[Asking, Got], None]:
    def ask(asking: Asking, got: Got) -> None:
        said = _langchain_model(path, asking).invoke(PROMPT)
        got.text, got.ended = str(said.text), _langchain_end(said)
        got.seen.append(repr(said))

    return ask


def langchain_stream(path: str) -> Callable[[Asking, Got], None]:
    def ask(asking: Asking, got: Got) -> None:
        whole: Any = None
        for each in _langchain_model(path, asking).stream(PROMPT):
            got.text += str(each.text)
            whole = each if whole is None else whole + each
        got.seen.append(repr(whole))
        got.ended = _langchain_end(whole)

    return ask


def _langchain_end(said: Any) -> str:  # noqa: ANN401
    told = said.response_metadata
    details = told.get("incomplete_details") or {}
    return str(
        details.get("reason")
        or told.get("finish_reason")
        or told.get("stop_reason")
        or told.get("status")
    )


def langchain_value(path: str) -> Callable[[Asking, Got], None]:
    def ask(asking: Asking, got: Got) -> None:
        found = _langchain_model(path, asking).with_structured_output(Tower).invoke(PROMPT)
        _keep_tower(got, found)

    return ask


def langchain_value_stream(path: str) -> Callable[[Asking, Got], None]:
    def ask(asking: Asking, got: Got) -> None:
        model = _langchain_model(path, asking)
        for found in model.with_structured_output(Tower).stream(PROMPT):
            _keep_tower(got, found)

    return ask


def _keep_tower(got: Got, found: Any) -> None:  # noqa: ANN401
    got.value, got.ended = found and found.model_dump(), "returned"
    got.seen.append(repr(found))


CLIENTS = tuple(
    Client(
        "langchain-anthropic" if path == MESSAGES else "langchain-openai",
        path,
        wants,
        streams,
        way(path),
    )
    for path in PATHS
    for wants, streams, way in (
        ("text", False, langchain_ask),
        ("text", True, langchain_stream),
        ("object", False, langchain_value),
        ("object", True, langchain_value_stream),
    )
)

"""LiteLLM, which speaks each dialect by the prefix of the model."""

from collections.abc import Callable
from typing import Any

import litellm

from tests.gateway.clients.asked import (
    CHAT,
    MESSAGES,
    PATHS,
    PROMPT,
    RESPONSES,
    Asking,
    Client,
    Got,
    Tower,
)


def _litellm(path: str, asking: Asking, **more: object) -> Any:  # noqa: ANN401
    if path == MESSAGES:
        to = {"model": f"anthropic/{asking.model}", "api_base": asking.url}
    else:
        to = {"model": f"openai/{asking.model}", "api_base": f"{asking.url}/v1"}
    if path == RESPONSES:
        return litellm.responses(input=PROMPT, api_key=asking.key, **to, **more)
    return litellm.completion(messages=CHAT, api_key=asking.key, **to, **more)


def _form(path: str, wants: str) -> dict[str, object]:
    if wants == "text":
        return {}
    return {"text_format" if path == RESPONSES else "response_format": Tower}


def _parse(got: Got, wants: str) -> None:
    """Parse JSON, which users of LiteLLM do themselves."""
    if wants == "object" and got.text:
        got.value, got.text = Tower.model_validate_json(got.text).model_dump(), ""


def litellm_ask(path: str, wants: str) -> Callable[[Asking, Got], None]:
    def ask(asking: Asking, got: Got) -> None:
        said = _litellm(path, asking, **_form(path, wants))
        got.seen.append(repr(said))
        if path == RESPONSES:
            got.text, got.ended = said.output_text, said.status
        else:
            got.text = said.choices[0].message.content or ""
            got.ended = said.choices[0].finish_reason
        _parse(got, wants)

    return ask


def litellm_stream(path: str, wants: str) -> Callable[[Asking, Got], None]:
    def ask(asking: Asking, got: Got) -> None:
        for each in _litellm(path, asking, stream=True, **_form(path, wants)):
            got.seen.append(repr(each))
            if path == RESPONSES:
                _keep_event(got, each)
            else:
                for choice in each.choices:
                    got.text += choice.delta.content or ""
                    got.ended = choice.finish_reason or got.ended
        _parse(got, wants)

    return ask


def _keep_event(got: Got, event: Any) -> None:  # noqa: ANN401
    if event.type == "response.output_text.delta":
        got.text += event.delta
    elif event.type in {"response.completed", "response.incomplete"}:
        details = event.response.incomplete_details
        got.ended = details.reason if details else event.response.status


CLIENTS = tuple(
    Client("litellm", path, wants, streams, way(path, wants))
    for path in PATHS
    for wants in ("text", "object")
    for streams, way in ((False, litellm_ask), (True, litellm_stream))
)

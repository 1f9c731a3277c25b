"""``openai`` and ``anthropic``, asked for structured answers; ``dialects`` asks them for texts.

``openai`` 2, which many programs still have, is asked for both.
"""

import anthropic
import openai

from tests.gateway.clients.asked import (
    CHAT,
    COMPLETIONS,
    MESSAGES,
    PROMPT,
    RESPONSES,
    Asking,
    Client,
    Got,
    Tower,
)


def _openai(asking: Asking) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{asking.url}/v1", api_key=asking.key)


def _anthropic(asking: Asking) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=asking.url, api_key=asking.key)


def openai_text(asking: Asking, got: Got) -> None:
    with _openai(asking) as client:
        said = client.chat.completions.create(model=asking.model, messages=CHAT)
    got.text, got.ended = said.choices[0].message.content or "", said.choices[0].finish_reason


def openai_text_stream(asking: Asking, got: Got) -> None:
    with _openai(asking) as client:
        for chunk in client.chat.completions.create(model=asking.model, messages=CHAT, stream=True):
            for choice in chunk.choices:
                got.text += choice.delta.content or ""
                got.ended = choice.finish_reason or got.ended


def openai_responses_text(asking: Asking, got: Got) -> None:
    with _openai(asking) as client:
        said = client.responses.create(model=asking.model, input=PROMPT)
    got.text, got.ended = said.output_text, said.status or ""


def openai_responses_text_stream(asking: Asking, got: Got) -> None:
    with (
        _openai(asking) as client,
        client.responses.stream(model=asking.model, input=PROMPT) as stream,
    ):
        for event in stream:
            if event.type == "response.output_text.delta":
                got.text += event.delta
            got.ended = event.type


def openai_parse(asking: Asking, got: Got) -> None:
    with _openai(asking) as client:
        said = client.chat.completions.parse(
            model=asking.model, messages=CHAT, response_format=Tower
        )
    _keep(got, said.choices[0].message.parsed, said.choices[0].finish_reason, said)


def openai_parse_stream(asking: Asking, got: Got) -> None:
    with (
        _openai(asking) as client,
        client.chat.completions.stream(
            model=asking.model, messages=CHAT, response_format=Tower
        ) as stream,
    ):
        for event in stream:
            if event.type == "content.delta":
                got.text += event.delta
        said = stream.get_final_completion()
    _keep(got, said.choices[0].message.parsed, said.choices[0].finish_reason, said)


def openai_responses_parse(asking: Asking, got: Got) -> None:
    with _openai(asking) as client:
        said = client.responses.parse(model=asking.model, input=PROMPT, text_format=Tower)
    _keep(got, said.output_parsed, said.status or "", said)


def openai_responses_parse_stream(asking: Asking, got: Got) -> None:
    with (
        _openai(asking) as client,
        client.responses.stream(model=asking.model, input=PROMPT, text_format=Tower) as stream,
    ):
        for event in stream:
            if event.type == "response.output_text.delta":
                got.text += event.delta
            got.ended = event.type
        said = stream.get_final_response()
    _keep(got, said.output_parsed, said.status or "", said)


def anthropic_parse(asking: Asking, got: Got) -> None:
    with _anthropic(asking) as client:
        said = client.messages.parse(
            model=asking.model, max_tokens=99, messages=CHAT, output_format=Tower
        )
    _keep(got, said.parsed_output, said.stop_reason or "", said)


def anthropic_parse_stream(asking: Asking, got: Got) -> None:
    with (
        _anthropic(asking) as client,
        client.messages.stream(
            model=asking.model, max_tokens=99, messages=CHAT, output_format=Tower
        ) as stream,
    ):
        for piece in stream.text_stream:
            got.text += piece
        said = stream.get_final_message()
    _keep(got, said.parsed_output, said.stop_reason or "", said)


def _keep(got: Got, value: Tower | None, ended: str, said: object) -> None:
    got.value, got.ended = value and value.model_dump(), ended
    got.seen.append(repr(said))


def _of_openai(name: str) -> tuple[Client, ...]:
    return (
        Client(name, COMPLETIONS, "object", False, openai_parse),
        Client(name, COMPLETIONS, "object", True, openai_parse_stream),
        Client(name, RESPONSES, "object", False, openai_responses_parse),
        Client(name, RESPONSES, "object", True, openai_responses_parse_stream),
    )


OLDER = (
    *_of_openai("openai 2"),
    Client("openai 2", COMPLETIONS, "text", False, openai_text),
    Client("openai 2", COMPLETIONS, "text", True, openai_text_stream),
    Client("openai 2", RESPONSES, "text", False, openai_responses_text),
    Client("openai 2", RESPONSES, "text", True, openai_responses_text_stream),
)
CLIENTS = (
    *_of_openai("openai"),
    Client("anthropic", MESSAGES, "object", False, anthropic_parse),
    Client("anthropic", MESSAGES, "object", True, anthropic_parse_stream),
)

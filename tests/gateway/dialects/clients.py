"""The official clients, unchanged, each asked once and what it showed its user."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import anthropic
import openai

from tests.gateway.chats import KEY, SOURCES, Gateway
from tests.gateway.dialects.spoken import QUESTION, Chat, Legacy, Messages, Responses, Spoken

METADATA: dict[str, Any] = {"metadata": {"grounding.sources": SOURCES}}
CHAT: Any = [{"role": "user", "content": QUESTION}]
NAME = "scripted-1"


@dataclass(frozen=True)
class Shown:
    """What a client showed.

    Attributes:
        text: What the user read.
        ended: Why it ended, in the words of the API, or the name of the exception.
    """

    text: str
    ended: str


def openai_client(own: Gateway) -> openai.OpenAI:
    """OpenAI's, with a base URL and a key."""
    plain = openai.DefaultHttpxClient(timeout=20, verify=False)
    return openai.OpenAI(base_url=own.url, api_key=KEY, http_client=plain, max_retries=0)


def azure_client(own: Gateway) -> openai.AzureOpenAI:
    """OpenAI's for Azure, which sends the key and names the model in its own way."""
    return openai.AzureOpenAI(
        azure_endpoint=own.url.removesuffix("/v1"),
        api_key=KEY,
        api_version="2024-10-21",
        http_client=openai.DefaultHttpxClient(timeout=20, verify=False),
        max_retries=0,
    )


def anthropic_client(own: Gateway) -> anthropic.Anthropic:
    """Anthropic's, with a base URL and a key."""
    return anthropic.Anthropic(
        base_url=own.url.removesuffix("/v1"),
        api_key=KEY,
        http_client=anthropic.DefaultHttpxClient(timeout=20, verify=False),
        max_retries=0,
    )


def _chat(client: openai.OpenAI) -> Shown:
    said = client.chat.completions.create(model=NAME, messages=CHAT, extra_body=METADATA)
    return Shown(said.choices[0].message.content or "", said.choices[0].finish_reason)


def _chat_stream(client: openai.OpenAI) -> Shown:
    stream = client.chat.completions.create(
        model=NAME, messages=CHAT, stream=True, extra_body=METADATA
    )
    choices = [choice for chunk in stream for choice in chunk.choices]
    text = "".join(choice.delta.content or "" for choice in choices)
    return Shown(text, choices[-1].finish_reason or "")


def _legacy(client: openai.OpenAI) -> Shown:
    said = client.completions.create(model=NAME, prompt=QUESTION, extra_body=METADATA)
    return Shown(said.choices[0].text, said.choices[0].finish_reason)


def _legacy_stream(client: openai.OpenAI) -> Shown:
    stream = client.completions.create(
        model=NAME, prompt=QUESTION, stream=True, extra_body=METADATA
    )
    choices = [choice for chunk in stream for choice in chunk.choices]
    return Shown("".join(choice.text for choice in choices), choices[-1].finish_reason)


def _responses(client: openai.OpenAI) -> Shown:
    said = client.responses.create(model=NAME, input=QUESTION, extra_body=METADATA)
    return Shown(said.output_text, said.status or "")


def _responses_stream(client: openai.OpenAI) -> Shown:
    """The helper, which puts the response together from its events and finds gaps."""
    with client.responses.stream(model=NAME, input=QUESTION, extra_body=METADATA) as stream:
        events = list(stream)
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    last = events[-1]
    if last.type == "response.incomplete":
        assert last.response.output_text == text
        assert last.response.incomplete_details is not None
        return Shown(text, last.response.incomplete_details.reason or "")
    assert last.type == "response.completed"
    assert last.response.output_text == text
    return Shown(text, last.response.status or "")


def _messages(client: anthropic.Anthropic) -> Shown:
    said = client.messages.create(model=NAME, max_tokens=99, messages=CHAT, extra_body=METADATA)
    return Shown(_text_of(said.content), said.stop_reason or "")


def _messages_stream(client: anthropic.Anthropic) -> Shown:
    """The helper, which puts the message together from its events."""
    with client.messages.stream(
        model=NAME, max_tokens=99, messages=CHAT, extra_body=METADATA
    ) as stream:
        text = "".join(stream.text_stream)
        said = stream.get_final_message()
    assert _text_of(said.content) == text
    return Shown(text, said.stop_reason or "")


def _text_of(blocks: Iterable[Any]) -> str:
    return "".join(block.text for block in blocks if block.type == "text")


@dataclass(frozen=True)
class Client:
    """A client and one way to use it.

    Attributes:
        name: The client.
        spoken: What it speaks.
        streams: Whether it asks for a stream.
        make: Makes the client.
        ask: Asks it.
    """

    name: str
    spoken: Spoken
    streams: bool
    make: Callable[[Gateway], Any]
    ask: Callable[[Any], Shown]

    def shown(self, own: Gateway) -> Shown:
        """What it shows of the next answer."""
        with self.make(own) as client:
            try:
                return self.ask(client)
            except (openai.APIStatusError, anthropic.APIStatusError) as error:
                return Shown("", f"{type(error).__name__} {error.status_code}")


CLIENTS = (
    Client("openai", Chat(), False, openai_client, _chat),
    Client("openai", Chat(), True, openai_client, _chat_stream),
    Client("openai", Responses(), False, openai_client, _responses),
    Client("openai", Responses(), True, openai_client, _responses_stream),
    Client("openai", Legacy(), False, openai_client, _legacy),
    Client("openai", Legacy(), True, openai_client, _legacy_stream),
    Client("openai, Azure", Chat(), False, azure_client, _chat),
    Client("openai, Azure", Chat(), True, azure_client, _chat_stream),
    Client("openai, Azure", Responses(), False, azure_client, _responses),
    Client("openai, Azure", Responses(), True, azure_client, _responses_stream),
    Client("anthropic", Messages(), False, anthropic_client, _messages),
    Client("anthropic", Messages(), True, anthropic_client, _messages_stream),
)

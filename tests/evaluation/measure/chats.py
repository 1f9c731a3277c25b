"""A language model for tests: a server on loopback that answers by a function of a question."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from groundwire.evaluation.language_model import EndpointAddress, LanguageModel
from groundwire.evaluation.language_model import ModelReply as Answer
from tests.verify.scripted import Asked, Reply

#: Pauses between tries are as short as this where an endpoint asks for it.
SOON = {"retry-after-ms": "1"}


def said(text: str | None, **more: Any) -> Reply:  # noqa: ANN401
    """A chat completion with this text."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}
    finish = more.pop("finish_reason", "stop")
    usage = more.pop("usage", {"prompt_tokens": 50, "completion_tokens": 10})
    message = {"role": "assistant", "content": text, **more}
    choice |= {"finish_reason": finish, "message": message}
    body = {"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}
    return Reply(200, json.dumps(body).encode())


def question_of(asked: Asked) -> str:
    """What a model was asked, without its sources."""
    return asked.user.rpartition("Question: ")[2]


def echo(asked: Asked) -> Reply:
    """Says which question it was asked."""
    return said(f"{asked.body['model']} says: {question_of(asked)}")


def language_model(base_url: str, *, max_retries: int = 2, timeout_s: float = 30) -> LanguageModel:
    address = EndpointAddress(base_url=base_url, api_key="sk-secret")
    return LanguageModel(address, max_retries=max_retries, timeout_s=timeout_s)


@dataclass
class ScriptedModel:
    """Answers in this process, and remembers what it was asked."""

    says: Callable[[str], str | Exception]
    base_url: str = "http://localhost/v1"
    asked: list[str] = field(default_factory=list)

    def ask(self, body: Mapping[str, Any]) -> Answer:
        question = str(body["messages"][-1]["content"]).rpartition("Question: ")[2]
        self.asked.append(question)
        said = self.says(question)
        if isinstance(said, Exception):
            raise said
        return Answer(answer=said, finish_reason="stop", prompt_tokens=5, completion_tokens=2)

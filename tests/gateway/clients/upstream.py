"""An upstream that answers each request in its dialect and in the form that it asks for."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.gateway.chats import WRONG
from tests.gateway.clients.asked import SAYS
from tests.gateway.dialects.spoken import Chat, Messages, Responses, Spoken
from tests.gateway.dialects.test_structured import ToolMessages, ToolResponses
from tests.gateway.wire import DONE, Recorded, Script, chunk, completion, event

#: What models say that are right or wrong, and the values that they return.
TEXTS = {
    "right": "The tower is in Paris. It is 330 metres tall.",
    "wrong": f"The tower is in Paris. It was built in {WRONG} by Pharaoh Ramses. It glitters.",
}
VALUES = {
    "right": {"built": "1887 to 1889", "height": 330},
    "wrong": {"built": f"in {WRONG} by Pharaoh Ramses", "height": 330},
}
#: Words of the finding and of what stands behind it; no request has them.
WITHHELD = (WRONG, "Pharaoh", "Ramses", "glitters")


class ToolChat(Chat):
    """A chat completion that calls a tool."""

    tool = "Tower"

    def _message(self, arguments: str) -> dict[str, Any]:
        function = {"name": self.tool, "arguments": arguments}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def called(self, arguments: str) -> dict[str, Any]:
        """A response."""
        answer, message = completion(None), self._message(arguments)
        del message["tool_calls"][0]["index"]
        answer["choices"][0] |= {"message": message, "finish_reason": "tool_calls"}
        return answer

    def events(self, pieces: Sequence[str]) -> list[bytes]:
        calls = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
        deltas = [self._message(""), *({"tool_calls": [call]} for call in calls)]
        chunks = [*map(chunk, deltas), chunk({}, finish="tool_calls")]
        return [*map(event, chunks), DONE]


class EchoingResponses(Responses):
    """A response that tells the form of its text, as OpenAI's do."""

    def __init__(self, form: object) -> None:
        self._form = form

    def response(self, *output: Mapping[str, Any], status: str = "completed") -> dict[str, Any]:
        return {**super().response(*output, status=status), "text": self._form}


SPOKEN: dict[str, tuple[Spoken, type[ToolChat | ToolResponses | ToolMessages]]] = {
    "/v1/chat/completions": (Chat(), ToolChat),
    "/v1/responses": (Responses(), ToolResponses),
    "/v1/messages": (Messages(), ToolMessages),
}


def pieces_of(text: str) -> list[str]:
    """A text, word by word."""
    return re.findall(r"\s*\S+", text)


def answer(request: Recorded) -> Script:
    """The answer of the model that a request names."""
    asked = request.json()
    said = SAYS[asked["model"]]
    spoken, calls = SPOKEN[request.path]
    text = TEXTS[said]
    if tools := asked.get("tools"):
        text = json.dumps(VALUES[said])
        caller = calls()
        caller.tool = tools[0].get("function", tools[0])["name"]
        body, events = caller.called(text), caller.events(pieces_of(text))
    else:
        if _wants_json(asked):
            text = json.dumps(VALUES[said])
            spoken = EchoingResponses(asked["text"]) if "text" in asked else spoken
        body, events = spoken.body(text), spoken.events(pieces_of(text))
    return Script.sse(events) if asked.get("stream") else Script.json(body)


def _wants_json(asked: dict[str, Any]) -> bool:
    """Whether a request asks for JSON, in the way of its dialect."""
    places = [asked, asked.get("text"), asked.get("output_config")]
    names = ("response_format", "format", "output_format")
    forms = [place.get(name) for place in places if isinstance(place, dict) for name in names]
    return any(isinstance(form, dict) and form.get("type") != "text" for form in forms)

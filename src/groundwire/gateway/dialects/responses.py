"""OpenAI's responses."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from groundwire.errors import InvalidConversationError
from groundwire.gateway.chat.chunks import CallPart, UnreadableChunkError
from groundwire.gateway.chat.reading import ReadEvent
from groundwire.gateway.dialects.blocks import (
    BlockEvent,
    BlockReader,
    Leaves,
    Told,
    block_event,
    number_in,
    object_in,
    only,
    unknown_event,
)
from groundwire.gateway.dialects.held_output import ENDS, EVENT, HeldOutput, text_part
from groundwire.gateway.http.sse import ServerSentEvent
from groundwire.pipeline.conversation import Answer, Said, ToolCall, answer_of

#: Of a response, what holds no text of its answer: its settings, which repeat the request.
_RESPONSE = frozenset(
    (
        *("id", "object", "created_at", "completed_at", "status", "background", "error", "output"),
        *("incomplete_details", "instructions", "max_output_tokens", "max_tool_calls", "metadata"),
        *("model", "parallel_tool_calls", "previous_response_id", "conversation", "prompt"),
        *("prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier", "store"),
        *("service_tier", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p"),
        *("truncation", "usage", "user"),
    )
)
_ITEM = ("id", "type", "status", "role", "content", "phase")
_PART = ("type", "text", "annotations", "logprobs")
#: Items and events about them that are known and hold no text of an answer.
_NO_TEXT = re.compile(r"reasoning|_call|mcp_|compaction|refusal|annotation")


class Responses:
    """``POST /v1/responses``."""

    path = "responses"

    def conversation(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """A request as the pipeline reads it; one that names a stored prompt may have no input."""
        text = body.get("text")
        wanted = text.get("format") if isinstance(text, Mapping) else None
        own = {key: value for key, value in body.items() if key != "messages" and value is not None}
        own |= {"response_format": wanted} if wanted else {}
        return {"input": [], **own}

    def answers(self, data: Any) -> tuple[Answer, ...]:  # noqa: ANN401
        """The one answer in a body: the texts of all its messages."""
        items = data.get("output") if isinstance(data, Mapping) else None
        if not isinstance(items, list) or not all(isinstance(each, Mapping) for each in items):
            raise InvalidConversationError("output", "it is no list of items", "")
        if data.get("choices") or data.get("content"):
            raise InvalidConversationError("the response", "it has text outside of output", "")
        text = _text_of(items)
        if data.get("output_text") not in (None, "", text):
            raise InvalidConversationError("output_text", "it is not the text of output", "")
        others = [str(each.get("type")) for each in items if each.get("type") != "message"]
        saids = [Said.of(each.get("content")) for each in items if each.get("type") == "message"]
        answer = answer_of(
            0,
            text=text,
            refusal="".join(said.refusal for said in saids),
            has_calls=any(kind.endswith("_call") for kind in others),
            n_skipped=sum(said.n_skipped for said in saids)
            + sum(not _NO_TEXT.search(kind) for kind in others),
            calls=tuple(
                ToolCall(name=str(each.get("name")), arguments=str(each.get("arguments", "")))
                for each in items
                if each.get("type") == "function_call"
            ),
        )
        return (answer,)

    def is_error(self, data: object) -> bool:
        """Whether a body is an error and nothing else: nobody would check text beside it."""
        if not isinstance(data, Mapping) or not data.get("error") or data.get("output"):
            return False
        return _RESPONSE.issuperset(data)

    def with_warnings(self, data: Any, warnings: Sequence[str | None]) -> Mapping[str, Any]:  # noqa: ANN401
        """A body with a warning in a part of its own, before the first text."""
        items = list(data["output"])
        for i, item in enumerate(items):
            content = item.get("content")
            if item.get("type") == "message" and content:
                content = content if isinstance(content, list) else [text_part(str(content))]
                parts = [text_part(f"{each}\n\n") for each in warnings if each]
                items[i] = {**item, "content": [*parts, *content]}
                break
        return {**data, "output": items}

    def reader(self) -> Callable[[ServerSentEvent], ReadEvent]:
        """What reads the events of one stream."""
        return _Reader()

    def held(self, *, model: str, trace_id: str, withholds: bool) -> HeldOutput:
        """What holds a stream back."""
        return HeldOutput(withholds=withholds, model=model, trace_id=trace_id)


class _Reader(BlockReader):
    """Texts come several times: in pieces, when a part or an item is done, and at the end.

    What was told before says nothing new; of what was not, the rest is text too.
    """

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[tuple[int, int], Told] = {}  # of each part, in their order
        self._last = (-1, -1)
        self._arguments: dict[int, Told] = {}  # of each call

    def read(self, data: Mapping[str, Any]) -> BlockEvent:
        kind = str(data["type"])
        match kind:
            case "keepalive":
                return block_event(data, Leaves.WITH_TEXT, known=only(data, EVENT))
            case "error":
                names = (*EVENT, "code", "message", "param", "error")
                known = only(data, names)
                return block_event(data, Leaves.LAST, known=known, is_error=True, is_end=True)
            case "response.created" | "response.in_progress" | "response.queued":
                return self._begin(data)
            case "response.output_item.added" | "response.output_item.done":
                return self._item(data, object_in(data, "item"), is_done=kind.endswith("done"))
            case "response.content_part.added" | "response.content_part.done":
                return self._part(data, object_in(data, "part"))
            case "response.output_text.delta":
                text = self.whole(data.get("delta"))
                self._told(self._place(data), has_more=bool(text)).add(text)
                known = only(data, (*EVENT, "delta", "logprobs", "obfuscation"), delta=text)
                return block_event(
                    data, Leaves.WITH_TEXT, known=known, text=text, is_divisible=True
                )
            case "response.output_text.done":
                rest = self._rest(self._place(data), data.get("text"))
                known = only(data, (*EVENT, "text", "logprobs"))
                return block_event(data, Leaves.WITH_TEXT, known=known, text=rest)
        if kind in ENDS:
            return self._end(data, object_in(data, "response"))
        said = data.get("delta")
        if kind == "response.refusal.delta" and isinstance(said, str):
            return block_event(data, Leaves.LATE, refusal=said)
        calls: tuple[CallPart, ...] = ()
        if kind == "response.function_call_arguments.delta" and isinstance(said, str):
            index = number_in(data, "output_index")
            self._arguments.setdefault(index, Told()).add(said)
            calls = (CallPart(key=str(index), name="", arguments=said),)
        elif kind == "response.function_call_arguments.done":
            calls = self._call(number_in(data, "output_index"), data.get("arguments"))
        if not _NO_TEXT.search(kind):
            return unknown_event(data)
        return block_event(data, Leaves.LATE, calls=calls)

    def _begin(self, data: Mapping[str, Any]) -> BlockEvent:
        response = object_in(data, "response")
        if response.get("output"):
            raise UnreadableChunkError("a response has output before its first item")
        known = only(data, (*EVENT, "response"), response=only(response, _RESPONSE))
        return block_event(data, Leaves.WITH_TEXT, known=known)

    def _item(
        self, data: Mapping[str, Any], item: Mapping[str, Any], *, is_done: bool
    ) -> BlockEvent:
        index, kind = number_in(data, "output_index"), str(item.get("type"))
        if kind == "message":
            rest, is_plain = self._parts_rest(index, item.get("content"))
            known = only(data, (*EVENT, "item"), item=only(item, _ITEM))
            leaves = Leaves.WITH_TEXT if is_plain else Leaves.LATE
            return block_event(data, leaves, known=known, text=rest, opens=not is_done)
        if kind == "reasoning" and not any(
            value for key, value in item.items() if key not in ("id", "type", "status")
        ):
            return block_event(data, Leaves.WITH_TEXT)
        calls: tuple[CallPart, ...] = ()
        if kind == "function_call":
            name = "" if is_done else str(item.get("name", ""))
            calls = self._call(index, item.get("arguments") or "", name)
        return block_event(
            data,
            Leaves.LATE,
            calls_tools=kind.endswith("_call"),
            calls=calls,
            is_unknown=not _NO_TEXT.search(kind),
        )

    def _call(self, index: int, arguments: object, name: str = "") -> tuple[CallPart, ...]:
        """What the arguments of a call say that was not said of it before."""
        rest = self._arguments.setdefault(index, Told()).rest(arguments)
        return (CallPart(key=str(index), name=name, arguments=rest),)

    def _part(self, data: Mapping[str, Any], part: Mapping[str, Any]) -> BlockEvent:
        place = self._place(data)
        if part.get("type") != "output_text":
            is_unknown = not _NO_TEXT.search(str(part.get("type")))
            return block_event(data, Leaves.LATE, is_unknown=is_unknown)
        rest = self._rest(place, part.get("text"))
        known = only(data, (*EVENT, "part"), part=only(part, _PART))
        leaves = Leaves.LATE if part.get("annotations") else Leaves.WITH_TEXT
        return block_event(data, leaves, known=known, text=rest)

    def _end(self, data: Mapping[str, Any], response: Mapping[str, Any]) -> BlockEvent:
        items = response.get("output") or []
        if not isinstance(items, list) or not all(isinstance(each, Mapping) for each in items):
            raise UnreadableChunkError("the output of a response is no list of items")
        is_failed = data["type"] == "response.failed"
        said, told = "".join(map(str, self._texts.values())), "" if is_failed else _text_of(items)
        if (told and not told.startswith(said)) or response.get("output_text") not in (
            *(None, "", told),
        ):
            raise UnreadableChunkError("the text of a response is not that of its events")
        known = only(data, (*EVENT, "response"), response=only(response, _RESPONSE, output=[]))
        return block_event(
            data,
            Leaves.LAST,
            known=known,
            text=told[len(said) :],
            finish=str(data["type"]),
            is_error=is_failed,
            is_end=True,
        )

    def _place(self, data: Mapping[str, Any]) -> tuple[int, int]:
        return number_in(data, "output_index"), number_in(data, "content_index")

    def _told(self, place: tuple[int, int], *, has_more: bool) -> Told:
        """What was told of a part. Clients show parts in their order, so that is how they come."""
        if has_more and place != self._last:
            if place < self._last:
                raise UnreadableChunkError("it has text for a part before the last one")
            self._last, self._texts[place] = place, Told()
        return self._texts.get(place, Told())

    def _rest(self, place: tuple[int, int], text: object) -> str:
        """What the whole text of a part says that its pieces did not."""
        has_more = bool(text) and place not in self._texts
        rest = self._told(place, has_more=has_more).rest(text)
        if rest and place != self._last:
            raise UnreadableChunkError("it has text for a part before the last one")
        return rest

    def _parts_rest(self, index: int, content: object) -> tuple[str, bool]:
        """The same of all parts of a message; and whether it holds nothing but plain texts."""
        rest, is_plain = "", True
        if not isinstance(content, (list, type(None))):
            raise UnreadableChunkError("the content of a message is no list")
        for i, part in enumerate(content or ()):
            if isinstance(part, Mapping) and part.get("type") == "output_text":
                rest += self._rest((index, i), part.get("text"))
                is_plain &= not part.get("annotations") and set(part) <= set(_PART)
            else:
                is_plain = False
        return rest, is_plain


def _text_of(items: Sequence[Mapping[str, Any]]) -> str:
    """What the messages among the items say."""
    messages = (each for each in items if each.get("type") == "message")
    return "".join(Said.of(each.get("content")).text for each in messages)

"""Reads the requests and responses of OpenAI's Responses API, and writes changed responses."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from groundwire.errors import InvalidConversationError
from groundwire.gateway.chat.blocks import (
    BlockEvent,
    BlockReader,
    Leaves,
    TextSoFar,
    block_event,
    only,
    unknown_event,
    value_in,
)
from groundwire.gateway.chat.chunks import UnreadableChunkError
from groundwire.gateway.chat.reading import ReadEvent
from groundwire.gateway.dialects import response_fields as fields
from groundwire.gateway.dialects.held_output import ENDS, EVENT, HeldOutput, text_part
from groundwire.gateway.http.sse import ServerSentEvent
from groundwire.pipeline.conversation.known_fields import (
    are_of,
    count_unread,
    is_error_body,
    without_text,
)
from groundwire.pipeline.conversation.response import Answer, Said, ToolCall, answer_of, breaks_off
from groundwire.pipeline.conversation.streamed_calls import CallPart


class Responses:
    """Reads requests and responses of ``POST /v1/responses``, and writes changed responses."""

    path = "responses"

    def conversation(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a request in the form that the pipeline reads.

        ``input`` is always set, since a request that names a stored prompt may have no ``input``.
        Fields that are ``null`` are left out, and so is ``messages``, which this API does not know.
        """
        own = {key: value for key, value in body.items() if key != "messages" and value is not None}
        return {"input": [], **own}

    def answers(self, data: Any) -> tuple[Answer, ...]:  # noqa: ANN401
        """Return the one answer in the body of a response: the texts of all its messages."""
        items = data.get("output") if isinstance(data, Mapping) else None
        if not isinstance(items, list) or not all(isinstance(each, Mapping) for each in items):
            raise InvalidConversationError("output", "it is no list of items", "")
        if data.get("choices") or data.get("content"):
            raise InvalidConversationError("the response", "it has text outside of output", "")
        text = _text_of(items)
        if data.get("output_text") not in (None, "", text):
            raise InvalidConversationError("output_text", "it is not the text of output", "")
        kinds = [str(each.get("type")) for each in items]
        saids = [Said.of(each.get("content")) for each in items if each.get("type") == "message"]
        n_unread = count_unread(data, fields.RESPONSE) + sum(map(fields.unread_in, items))
        answer = answer_of(
            0,
            text=text,
            refusal="".join(said.refusal for said in saids),
            has_calls=any(kind.endswith("_call") for kind in kinds),
            n_skipped=sum(said.n_skipped for said in saids) + n_unread,
            calls=tuple(call for each in items if (call := ToolCall.of(each)) is not None),
            has_reasoning="reasoning" in kinds,
            is_cut=breaks_off(data.get("status")),
        )
        return (answer,)

    def is_error(self, data: object) -> bool:
        """Return whether a body has an error, and no answer beside the error."""
        return is_error_body(data, fields.RESPONSE - {"output", "output_text"})

    def with_warnings(self, data: Any, warnings: Sequence[str | None]) -> Mapping[str, Any]:  # noqa: ANN401
        """Return a body with each warning in a part at the start of the first message with content.

        Without such a message, no warning is added.
        """
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
        """Return a function that reads one event; call it with the events of a stream in order."""
        return _Reader()

    def held(self, *, model: str, trace_id: str, withholds: bool) -> HeldOutput:
        """Return an empty buffer that holds back one stream."""
        return HeldOutput(withholds=withholds, model=model, trace_id=trace_id)


class _Reader(BlockReader):
    """Reads the events of one streamed response, in which each text is repeated several times.

    A text comes in pieces, then as a whole when its part or item is done, and once more at the end
    of the response. Only text that no earlier event had is added to the answer.
    """

    known = fields.OF_EVENT

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[tuple[int, int], TextSoFar] = {}  # the text of each part, in order
        self._refusals: dict[tuple[int, int], TextSoFar] = {}
        self._last = (-1, -1)
        self._calls: dict[int, tuple[str, TextSoFar]] = {}  # the name and arguments of each call

    def read(self, data: Mapping[str, Any]) -> BlockEvent:
        kind = str(data["type"])
        match kind:
            case "keepalive":
                return self._event(data, Leaves.WITH_TEXT, known=only(data, EVENT))
            case "error":
                own = {key: data.get(key) for key in ("code", "message", "param", "error")}
                known = only(data, (*EVENT, *own), **own)
                return block_event(data, Leaves.LAST, known=known, is_error=True, is_end=True)
            case "response.created" | "response.in_progress" | "response.queued":
                return self._begin(data)
            case "response.output_item.added" | "response.output_item.done":
                return self._item(data, value_in(data, "item", dict), is_done=kind.endswith("done"))
            case "response.content_part.added" | "response.content_part.done":
                return self._part(data, value_in(data, "part", dict))
            case "response.output_text.delta":
                text = self.whole(value_in(data, "delta", str))
                self._text_so_far(self._place(data), has_more=bool(text)).add(text)
                names = (*EVENT, "delta", "logprobs", "obfuscation")
                known = only(data, names, delta=text, logprobs=fields.logprobs_of(data, text))
                return self._event(
                    data, Leaves.WITH_TEXT, known=known, text=text, is_divisible=True
                )
            case "response.output_text.done":
                rest, text = self._rest(self._place(data), data.get("text")), str(data["text"])
                judged = {"text": text, "logprobs": fields.logprobs_of(data, text)}
                known = only(data, (*EVENT, *judged), **judged)
                return self._event(data, Leaves.WITH_TEXT, known=known, text=rest)
            case "response.refusal.delta" | "response.refusal.done":
                is_done = kind.endswith("done")
                said = data.get("refusal" if is_done else "delta")
                refusal = self._refusal(self._place(data), said, is_whole=is_done)
                return self._event(data, Leaves.LATE, refusal=refusal)
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                return self._event(data, Leaves.LATE, calls=self._more_of_call(data))
            case "response.function_call_arguments.done" | "response.custom_tool_call_input.done":
                said = data.get("arguments" if "function" in kind else "input")
                calls = self._call(value_in(data, "output_index", int), said)
                return self._event(data, Leaves.LATE, calls=calls)
        if kind in ENDS:
            return self._end(data, value_in(data, "response", dict))
        if not fields.EVENTS.fullmatch(kind):
            return unknown_event(data)
        return self._event(data, Leaves.LATE, has_reasoning="reasoning" in kind)

    def _begin(self, data: Mapping[str, Any]) -> BlockEvent:
        response = value_in(data, "response", dict)
        if response.get("output"):
            raise UnreadableChunkError("a response has output before its first item")
        n_unread = count_unread(response, fields.RESPONSE)
        known = only(data, (*EVENT, "response"), response=fields.begun(response))
        return self._event(data, Leaves.WITH_TEXT, known=known, n_unread=n_unread)

    def _item(
        self, data: Mapping[str, Any], item: Mapping[str, Any], *, is_done: bool
    ) -> BlockEvent:
        index, kind = value_in(data, "output_index", int), str(item.get("type"))
        n_unread, names = fields.unread_in(item), (*EVENT, "item")
        if kind == "message":
            rest, refusal, is_plain = self._parts_rest(index, item.get("content"))
            own = only(item, fields.ITEM, content=item.get("content"))
            return self._event(
                data,
                Leaves.WITH_TEXT if is_plain else Leaves.LATE,
                known=only(data, names, item=own),
                text=rest,
                refusal=refusal,
                opens=not is_done,
                n_unread=n_unread,
            )
        if kind == "reasoning" and not any(
            value for key, value in item.items() if key not in ("id", "type", "status")
        ):
            known = only(data, names, item=without_text(item, ("id", "type", "status")))
            return self._event(data, Leaves.WITH_TEXT, known=known)
        call = ToolCall.of(item)
        return self._event(
            data,
            Leaves.LATE,
            calls_tools=kind.endswith("_call"),
            calls=() if call is None else self._call(index, call.arguments, call.name),
            n_unread=n_unread,
            has_reasoning=kind == "reasoning",
        )

    def _more_of_call(self, data: Mapping[str, Any]) -> tuple[CallPart, ...]:
        """Return the piece of a tool call's arguments that an event adds."""
        index, said = value_in(data, "output_index", int), value_in(data, "delta", str)
        self._calls.setdefault(index, ("", TextSoFar()))[1].add(said)
        return (CallPart(key=str(index), name="", arguments=said),)

    def _call(self, index: int, arguments: object, name: str = "") -> tuple[CallPart, ...]:
        """Return the part of a call's name and arguments that no earlier event had.

        Args:
            index: The number of the call's item.
            arguments: The whole arguments.
            name: The whole name; empty if the event has no name.

        Raises:
            UnreadableChunkError: If ``arguments`` is not a string, or if the name or the arguments
                contradict earlier events.
        """
        known, so_far = self._calls.get(index, ("", TextSoFar()))
        if name and known and name != known:
            raise UnreadableChunkError("the name of a call has changed")
        self._calls[index] = known or name, so_far
        rest = so_far.rest(arguments)
        return (CallPart(key=str(index), name="" if known else name, arguments=rest),)

    def _refusal(self, place: tuple[int, int], said: object, *, is_whole: bool) -> str:
        """Return the part of a refusal that no earlier event had.

        Args:
            place: The numbers of the item and of the part that the refusal is in.
            said: The whole refusal, or its next piece.
            is_whole: Whether ``said`` is the whole refusal.

        Raises:
            UnreadableChunkError: If ``said`` is not a string, or contradicts earlier events.
        """
        so_far = self._refusals.setdefault(place, TextSoFar())
        if is_whole:
            return so_far.rest(said)
        if not isinstance(said, str):
            raise UnreadableChunkError(f"a refusal is of type {type(said).__name__}")
        so_far.add(said)
        return said

    def _part(self, data: Mapping[str, Any], part: Mapping[str, Any]) -> BlockEvent:
        place, n_unread = self._place(data), fields.unread_in_part(part)
        if part.get("type") == "refusal":
            refusal = self._refusal(place, part.get("refusal"), is_whole=True)
            return self._event(data, Leaves.LATE, refusal=refusal, n_unread=n_unread)
        if part.get("type") != "output_text":
            return self._event(data, Leaves.LATE, n_unread=n_unread)
        rest, text = self._rest(place, part.get("text")), str(part["text"])
        own = only(part, fields.PART, text=text, logprobs=fields.logprobs_of(part, text))
        known = only(data, (*EVENT, "part"), part=own)
        leaves = Leaves.LATE if part.get("annotations") else Leaves.WITH_TEXT
        opens = str(data["type"]).endswith("added")
        return self._event(data, leaves, known=known, text=rest, opens=opens, n_unread=n_unread)

    def _end(self, data: Mapping[str, Any], response: Mapping[str, Any]) -> BlockEvent:
        """Read the event that ends a response.

        This event repeats the whole output, and some clients read no other event. So the output
        must agree with the earlier events. The output of a failed response is not read, and while
        text is withheld, that output is not sent either.
        """
        items = response.get("output") or []
        if not isinstance(items, list) or not all(isinstance(each, Mapping) for each in items):
            raise UnreadableChunkError("the output of a response is no list of items")
        n_unread = count_unread(response, fields.RESPONSE)
        if data["type"] == "response.failed":
            own = {**fields.begun(response), "error": response.get("error"), "output": []}
            known = only(data, (*EVENT, "response"), response=own)
            return block_event(data, Leaves.LAST, known=known, is_error=True, is_end=True)
        text = _text_of(items)
        if response.get("output_text") not in (None, "", text):
            raise UnreadableChunkError("the text of a response is not that of its events")
        saids = [Said.of(each.get("content")) for each in items if each.get("type") == "message"]
        refusal = _rest_of("".join(said.refusal for said in saids), self._refusals.values())
        if refusal and any(map(str, self._texts.values())):
            raise UnreadableChunkError("a response ends with a refusal in place of its text")
        return self._event(
            data,
            Leaves.LAST,
            text=_rest_of(text, self._texts.values()),
            refusal=refusal,
            calls=self._calls_at_end(items),
            calls_tools=any(str(each.get("type")).endswith("_call") for each in items),
            has_reasoning=any(each.get("type") == "reasoning" for each in items),
            n_unread=n_unread + sum(map(fields.unread_in, items)),
            finish=str(data["type"]),
            is_end=True,
        )

    def _calls_at_end(self, items: Sequence[Mapping[str, Any]]) -> tuple[CallPart, ...]:
        """Return the parts of the calls in the final output that no earlier event had."""
        indexes = sorted(self._calls)
        following = itertools.count(max(indexes, default=-1) + 1)
        calls = [call for each in items if (call := ToolCall.of(each)) is not None]
        parts: list[CallPart] = []
        for call, index in zip(calls, itertools.chain(indexes, following), strict=False):
            parts += self._call(index, call.arguments, call.name)
        return tuple(parts)

    def _place(self, data: Mapping[str, Any]) -> tuple[int, int]:
        return value_in(data, "output_index", int), value_in(data, "content_index", int)

    def _text_so_far(self, place: tuple[int, int], *, has_more: bool) -> TextSoFar:
        """Return the text of a part so far; ``has_more`` says that text is about to be added.

        Raises:
            UnreadableChunkError: If text is about to be added, and a later part already has text.
                Clients show parts in order, so the new text would come too late.
        """
        if has_more and place != self._last:
            if place < self._last:
                raise UnreadableChunkError("it has text for a part before the last one")
            self._last, self._texts[place] = place, TextSoFar()
        return self._texts.get(place, TextSoFar())

    def _rest(self, place: tuple[int, int], text: object) -> str:
        """Return the end of a part's whole ``text`` that no earlier event had.

        Raises:
            UnreadableChunkError: If ``text`` is not a string that begins with the text so far, or
                adds text to a part before the last one.
        """
        has_more = bool(text) and place not in self._texts
        rest = self._text_so_far(place, has_more=has_more).rest(text)
        if rest and place != self._last:
            raise UnreadableChunkError("it has text for a part before the last one")
        return rest

    def _parts_rest(self, index: int, content: object) -> tuple[str, str, bool]:
        """Return the new text and refusal in a message, and whether all its parts are plain.

        A part is plain if it is a text without annotations, unknown fields or log probabilities of
        another text.
        """
        rest, refusal, is_plain = "", "", True
        if not isinstance(content, (list, type(None))):
            raise UnreadableChunkError("the content of a message is no list")
        for i, part in enumerate(content or ()):
            kind = part.get("type") if isinstance(part, Mapping) else None
            if kind == "output_text":
                rest += self._rest((index, i), part.get("text"))
                is_known = set(part) <= set(fields.PART) and not part.get("annotations")
                is_plain &= is_known and are_of(part.get("logprobs"), part["text"])
            else:
                is_plain = False
            if kind == "refusal":
                refusal += self._refusal((index, i), part.get("refusal"), is_whole=True)
        return rest, refusal, is_plain


def _rest_of(whole: str, pieces: Iterable[TextSoFar]) -> str:
    """Return the end of a response's text or refusal that no event before the last one had.

    Args:
        whole: The text or refusal in the event that ends the response; may be empty.
        pieces: The texts or refusals of all parts in earlier events, in order.

    Raises:
        UnreadableChunkError: If ``whole`` is not empty and does not begin with the pieces.
    """
    said = "".join(map(str, pieces))
    if whole and not whole.startswith(said):
        raise UnreadableChunkError("the text of a response is not that of its events")
    return whole[len(said) :]


def _text_of(items: Sequence[Mapping[str, Any]]) -> str:
    messages = (each for each in items if each.get("type") == "message")
    return "".join(Said.of(each.get("content")).text for each in messages)

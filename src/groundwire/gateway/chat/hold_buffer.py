"""Holds back a streamed chat completion, and releases the events that may be sent to the client.

The buffer takes chunks, and offsets up to which their text may be sent. It returns events as bytes.
An event can be divided if only a part of it may be sent.
"""

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundwire.explain.repair import Edit, edited
from groundwire.gateway.chat.chunks import Chunk, DeltaPart
from groundwire.gateway.chat.repairs import holds_more, without_spelling
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.http.refusals import told_of
from groundwire.gateway.http.sse import DONE, ServerSentEvent, encode
from groundwire.pipeline.conversation import known_fields
from groundwire.pipeline.conversation.known_fields import HEAD, without_text
from groundwire.pipeline.conversation.response import Said

#: Fields of a delta that may be sent with its text. While text is withheld, other fields that are
#: not empty, such as reasoning, wait for the check of the answer, as they may quote the answer.
_WITH_TEXT = ("role", "content")
#: Fields of a choice for which :func:`_divided` has a rule of its own.
_OF_CHOICE = ("delta", "finish_reason", "logprobs")
#: Other fields of a choice whose strings may be sent before the answer has passed its check, unless
#: they may be prose (see :func:`.may_hold_text`). Fields without strings may be sent anyway.
_NAMES_IN_CHOICE = ("content_filter_results",)
#: Fields of a chunk whose strings may be sent before the answer has passed its check, unless they
#: may be prose. Fields without strings may be sent anyway.
_OF_CHUNK = {*HEAD, "choices", "prompt_filter_results", "obfuscation", "provider"}
#: Fields that a chunk with nothing but text may have, and fields that its choice may have. To save
#: time, such a chunk is not divided.
_PLAIN = {*HEAD, "choices", "usage", "obfuscation"}
_PLAIN_CHOICE = {"index", "delta", "finish_reason", "logprobs"}
#: Fields of ``_PLAIN_CHOICE`` that must be empty in the choice of a chunk with nothing but text.
_EMPTY = ("finish_reason", "logprobs")
#: The first line of the error events that some upstreams send.
_ERROR_NAME = b"event: error\n"


@dataclass(slots=True)
class _Piece:
    """Text between two character offsets of an answer, and the event that sends this text."""

    start: int
    end: int
    text: str
    event: bytes
    is_divisible: bool


@dataclass(slots=True)
class HeldAnswer:
    """The events of one answer that have not been sent to the client yet.

    Attributes:
        index: Number of the answer in the response, from 0.
        stream: The buffer of the whole response.
        n_chars: Characters of text that have arrived.
        n_sent: Characters of text that have been sent.
        n_held: Characters that are held: of the text, and of delta fields that wait longer than the
            text, such as tool calls.
        n_bytes: Bytes of the events that are held.
        is_finished: Whether the upstream has sent the answer's ``finish_reason``.
        edits: The changes that repair the text, in reading order; applied when text is sent.
    """

    index: int
    stream: "HeldStream"
    n_chars: int = 0
    n_sent: int = 0
    n_held: int = 0
    n_bytes: int = 0
    is_finished: bool = False
    edits: tuple[Edit, ...] = ()
    _pieces: deque[_Piece] = field(default_factory=deque)
    _late: list[bytes] = field(default_factory=list)

    def take(
        self, part: DeltaPart, data: Mapping[str, Any], raw: bytes | None, *, is_plain: bool
    ) -> None:
        """Hold back the part of a chunk that is about this answer.

        Args:
            part: The part of the chunk.
            data: The whole chunk.
            raw: The bytes of the event; ``None`` if the event is about several answers, or must not
                be sent unchanged.
            is_plain: Whether all of the chunk but its choices may be sent with the text.
        """
        whole = {**data, "choices": [part.choice]}
        early = late = whole
        if part.finish or (self.stream.withholds and not (is_plain and _is_text_alone(part))):
            early, late = _divided(whole, part)
        if not part.finish and early == whole:
            self._keep(part, raw or self.stream.write(whole), part.choice)
            return
        if part.text:
            self._keep(part, self.stream.write(early), early["choices"][0])
            raw = None
        else:
            late = whole
        event = raw or self.stream.write(late)
        self._late.append(event)
        self.n_held += _n_chars(late["choices"][0].get("delta"))
        self.n_bytes += len(event)
        self.is_finished |= bool(part.finish)

    def clear(self, upto: int | None = None) -> list[bytes]:
        """Return the events with the text up to an offset in the answer, to be sent now.

        Without an offset, all text that has arrived is released. An event that cannot be divided is
        released once all of its text may be sent.
        """
        upto = self.n_chars if upto is None else min(upto, self.n_chars)
        out = []
        while self._pieces and self._pieces[0].end <= upto:
            piece = self._pieces.popleft()
            out.append(self._cut(piece, piece.end))
            self.n_bytes -= len(piece.event)
        if self._pieces and self._pieces[0].start < upto and self._pieces[0].is_divisible:
            out += [self._cut(self._pieces[0], upto)] if upto > self.n_sent else []
        return out

    def settle(self, *, warning: str | None = None, in_front: bool = False) -> list[bytes]:
        """Release all text of an answer that is not blocked, with a warning if there is one.

        ``in_front`` puts the warning before the text; this requires that no text has been sent yet.
        """
        out = []
        if warning and in_front:
            out.append(self._chunk({"role": "assistant", "content": f"{warning}\n\n"}))
        out += self.clear()
        if warning and not in_front:
            out.append(self._chunk({"content": f"\n\n{warning}"}))
        return out

    def finish(self, *, extension: Mapping[str, Any] | None = None) -> list[bytes]:
        """Release the rest of an answer whose text has been sent, with the event that ends it.

        An ``extension`` becomes the value of ``groundwire``: in the last event if the upstream has
        ended the answer, else in an added event.
        """
        late, self._late = self._late, []
        if self.edits:
            late = [self.stream.write(_without_spelling(self.stream.read(each))) for each in late]
        if extension is not None:
            if late and self.is_finished:
                ended = {**self.stream.read(late[-1]), "groundwire": extension}
                late[-1] = self.stream.write(ended)
            else:
                late.append(self._chunk({}, groundwire=extension))
        self.n_held = self.n_bytes = 0
        return late

    def holds_more(self) -> bool:
        """Return whether anything that is held, besides the text, may repeat words of the text."""
        late = [_without_spelling(self.stream.read(each)) for each in self._late]
        return any(holds_more(each, "") for each in (*late, *self.stream.beside))

    def _keep(self, part: DeltaPart, event: bytes, choice: Mapping[str, Any]) -> None:
        start, self.n_chars = self.n_chars, self.n_chars + len(part.text)
        content = (choice.get("delta") or {}).get("content")
        is_divisible = isinstance(content, str)
        self._pieces.append(_Piece(start, self.n_chars, part.text, event, is_divisible))
        self.n_held += len(part.text)
        self.n_bytes += len(event)

    def _cut(self, piece: _Piece, upto: int) -> bytes:
        """Return an event with a piece's unsent text up to an offset; count this text as sent."""
        begin = max(piece.start, self.n_sent)
        self.n_held -= upto - begin
        self.n_sent = upto
        text = piece.text[begin - piece.start : upto - piece.start]
        text = edited(text, self.edits, start=begin)
        is_whole = begin == piece.start and upto == piece.end
        if is_whole and not (self.edits and piece.text):
            return piece.event
        data = self.stream.read(piece.event)
        whole = data["choices"][0]
        if self.edits:
            whole = without_spelling(whole)
        delta = {"content": text}
        if begin == piece.start and "role" in whole["delta"]:
            delta["role"] = whole["delta"]["role"]
        if upto == piece.end:
            return self.stream.write({**data, "choices": [{**whole, "delta": delta}]})
        # Other fields of the event, such as log probabilities, may reveal text that is still held.
        # They are sent with the last part of the text.
        return self._chunk(delta)

    def _chunk(self, delta: Mapping[str, Any], **more: object) -> bytes:
        """Return an event with a delta of the answer; ``more`` are further fields of the chunk."""
        choice = {"index": self.index, "delta": delta, "logprobs": None, "finish_reason": None}
        return self.stream.write({**self.stream.head, "choices": [choice], **more})


class HeldStream:
    """A streamed chat completion that is held back: its answers, and chunks about no answer.

    Attributes:
        withholds: Whether fields other than the text wait until an answer has passed its check.
            Otherwise, only the event that ends the answer waits longer than the text.
        answers: The answers that are known so far, by number.
        head: The fields that all chunks of the response share, such as ``id`` and ``model``, for
            events that the buffer adds.
        usage: The token counts that the upstream sent last; ``None`` if it sent none. Counts with
            strings are ignored, since a string could be text of the answer.
    """

    #: Whether answers can be repaired: no event of such a stream repeats the text of another event.
    can_edit = True

    def __init__(self, head: Mapping[str, Any], *, trace_id: str, withholds: bool) -> None:
        """Prepare an empty buffer; the upstream's chunks later replace the fields of ``head``."""
        self.withholds, self._trace_id = withholds, trace_id
        self._front: list[bytes] = []
        self._tail: list[bytes] = []
        self._n_bytes = 0
        self.answers: dict[int, HeldAnswer] = {}
        self.head: dict[str, Any] = dict(head)
        self.usage: Any = None

    def write(self, chunk: Mapping[str, Any]) -> bytes:
        """Return the bytes of an event with this chunk."""
        return encode(chunk)

    def read(self, event: bytes) -> dict[str, Any]:
        """Return the chunk from the bytes of an event."""
        data = json.loads(ServerSentEvent.of(event).data or "{}")
        assert isinstance(data, dict)
        return data

    @property
    def beside(self) -> list[dict[str, Any]]:
        """The held chunks about no answer that are sent after all answers, such as the usage."""
        return [self.read(each) for each in self._tail if each != DONE]

    @property
    def n_held(self) -> int:
        """The number of characters that are held, in all answers."""
        return sum(answer.n_held for answer in self.answers.values())

    @property
    def n_bytes(self) -> int:
        """The number of bytes that are held, in answers and in events about no answer."""
        return self._n_bytes + sum(answer.n_bytes for answer in self.answers.values())

    def take(self, event: ServerSentEvent, chunk: Chunk) -> None:
        """Hold each part of a chunk with the answer that the part is about.

        A chunk about no answer is put before all answers if no answer has begun, else after all
        answers. While text is withheld, a chunk before the answers is sent without the fields that
        may hold text, or left out (see :func:`_before_answers`).
        """
        head = {key: value for key, value in chunk.data.items() if key in HEAD}
        has_known_head = head.items() <= self.head.items()  # as in nearly all chunks
        if not has_known_head:
            self.head.update(without_text(head, HEAD) if self.withholds else head)
        usage = chunk.data.get("usage")
        self.usage = usage if usage and not known_fields.has_strings(usage) else self.usage
        is_as_sent = chunk.is_as_sent and (event.is_plain or not self.withholds)
        if not chunk.parts:
            data = chunk.data
            if self.withholds and not self.answers:
                data = _before_answers(chunk.data)
            own = event.raw if is_as_sent and data == chunk.data else self.write(data)
            if data:
                (self._tail if self.answers else self._front).append(own)
                self._n_bytes += len(own)
            return
        raw = event.raw if len(chunk.parts) == 1 and is_as_sent else None
        is_plain = has_known_head and chunk.data.keys() <= _PLAIN and not chunk.data.get("usage")
        is_plain = is_plain and not known_fields.may_hold_text(chunk.data.get("obfuscation"))
        for part in chunk.parts:
            self.answer(part.index).take(part, chunk.data, raw, is_plain=is_plain)

    def answer(self, index: int) -> HeldAnswer:
        """Return the answer with this number; make it if it is new."""
        if index not in self.answers:
            self.answers[index] = HeldAnswer(index, self)
        return self.answers[index]

    def front(self) -> list[bytes]:
        """Release the events before all answers, such as filter results for the prompt."""
        front, self._front = self._front, []
        self._n_bytes -= sum(map(len, front))
        return front

    def tail(self, *, is_done: bool) -> list[bytes]:
        """Release the events after all answers, such as usage, and ``[DONE]`` if ``is_done``."""
        tail, self._tail = self._tail, []
        return [*tail, *([DONE] if is_done else [])]

    def error(self, event: ServerSentEvent, chunk: Chunk) -> list[bytes]:
        """Return the event that ends a stream in which the upstream sent an error.

        Text of an answer that came with the error is left out.
        """
        is_named = event.raw.startswith(_ERROR_NAME)
        known = chunk.data
        if not known_fields.is_error_body(known):
            head = {key: known[key] for key in HEAD if key in known}
            known = {**without_text(head, HEAD), "error": known["error"]}
        plain = ServerSentEvent.of(event.raw.removeprefix(_ERROR_NAME)).is_plain
        if chunk.is_as_sent and plain and known == chunk.data:
            return [event.raw]
        return [(_ERROR_NAME if is_named else b"") + encode(known)]

    def refusal(
        self, problem: Problem, *, passed: set[int], extension: Mapping[str, Any] | None = None
    ) -> list[bytes]:
        """Return the events that end a stream whose rest is withheld.

        Args:
            problem: The refusal.
            passed: Numbers of the answers that have ended for the client. All others end with the
                reason ``content_filter``; if there are no others, answer 0 does.
            extension: The result of the check, as for :func:`.refusals.told_of`.
        """
        head = {key: value for key, value in self.head.items() if key != "object"}
        usage = {} if self.usage is None else {"usage": self.usage}
        end: Mapping[str, Any] = {"delta": {}, "logprobs": None, "finish_reason": "content_filter"}
        unfinished = [index for index in self.answers if index not in passed] or [0]
        chunk = {
            **head,
            **usage,
            "object": "chat.completion.chunk",
            "choices": [{"index": index, **end} for index in unfinished],
            "groundwire": told_of(problem, trace_id=self._trace_id, extension=extension),
        }
        return [self.write(chunk), DONE]


def _without_spelling(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chunk in which fields that spell out its text, such as ``logprobs``, are empty."""
    choices = [
        without_spelling({**each, "delta": without_spelling(dict(each.get("delta") or {}))})
        for each in chunk["choices"]
    ]
    return {**chunk, "choices": choices}


def _divided(chunk: Mapping[str, Any], part: DeltaPart) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide a chunk with one choice into two chunks.

    The first has the text, and fields that may be sent with the text. The second has the rest, such
    as ``finish_reason``, which is held back longer.
    """
    choice, delta = part.choice, part.choice.get("delta")
    early, rest = _divided_delta(delta or {})
    logprobs, finish = choice.get("logprobs"), choice.get("finish_reason")
    is_of_text = known_fields.are_of(logprobs, part.text)
    others = {key: value for key, value in choice.items() if key not in _OF_CHOICE}
    may = without_text(others, _NAMES_IN_CHOICE) | {
        "delta": early if delta else delta,
        "logprobs": logprobs if is_of_text else None,
        "finish_reason": None if finish else finish,
    }
    first = {key: may[key] for key in choice if key in may}
    last = {**choice, "delta": rest, "logprobs": None if is_of_text else logprobs}
    head = without_text({**chunk, "choices": []}, _OF_CHUNK)
    return {**head, "choices": [first]}, {**chunk, "choices": [last]}


def _is_text_alone(part: DeltaPart) -> bool:
    """Return whether all of a choice may be sent with its text, as in most chunks."""
    choice, delta = part.choice, part.choice.get("delta") or {}
    is_bare = choice.keys() <= _PLAIN_CHOICE and not any(map(choice.get, _EMPTY))
    return is_bare and delta.keys() == {"content"} and isinstance(delta["content"], str)


def _divided_delta(delta: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    early = {key: value for key, value in delta.items() if key in _WITH_TEXT or not value}
    if known_fields.may_hold_text(early.get("role")):
        del early["role"]
    rest = {key: value for key, value in delta.items() if key not in early}
    content = early.get("content")
    parts = [content] if isinstance(content, Mapping) else content
    if isinstance(parts, list):
        texts = [_text_alone(each) for each in parts if Said.of(each).text]
        others = [each for each in parts if _text_alone(each) != each or not Said.of(each).text]
        if others:
            early["content"] = texts
            rest["content"] = [_without_its_text(each) for each in others]
    return early, rest


def _text_alone(part: object) -> object:
    if not isinstance(part, Mapping):
        return part
    return {key: value for key, value in part.items() if key in ("type", "text")}


def _without_its_text(part: object) -> object:
    return {**part, "text": ""} if isinstance(part, Mapping) and Said.of(part).text else part


def _before_answers(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a chunk that may be sent ahead of all answers, while text is withheld.

    The result is empty if the whole chunk is to be left out.
    """
    known = without_text(data, _OF_CHUNK)
    if "choices" in data and known == data:
        return data
    return {**known, "choices": []} if known.keys() - {*HEAD, "choices"} else {}


def _n_chars(value: object) -> int:
    """Count the characters of all strings in JSON data, except keys."""
    match value:
        case str():
            return len(value)
        case Mapping():
            return sum(map(_n_chars, value.values()))
        case Sequence():
            return sum(map(_n_chars, value))
    return 0

"""Reads and holds back streams of blocks, as in the Messages and Responses APIs.

Such a stream has one answer, in numbered blocks, such as texts and tool calls. Events open, fill
and close the blocks. Clients assemble blocks in the order of their numbers, so events are sent in
the order in which they arrived. While text is withheld, an event that might repeat the text waits
until the answer has passed its check, and so do all events after this one.
"""

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, TypeVar

from groundwire.explain.repair import Edit, edited
from groundwire.gateway.chat.chunks import (
    TEXTS,
    Chunk,
    DeltaPart,
    Halves,
    UnreadableChunkError,
    event_data,
)
from groundwire.gateway.chat.reading import ReadEvent
from groundwire.gateway.chat.repairs import holds_more
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.http.refusals import told_of
from groundwire.gateway.http.sse import ServerSentEvent, encode
from groundwire.pipeline.conversation.known_fields import count_unread, is_error_body, without_text

_T = TypeVar("_T")

_OURS = "groundwire"
#: Arguments of :func:`block_event` that are passed on as fields of :class:`.DeltaPart`.
_OF_PART = frozenset(("text", "refusal", "finish", "calls_tools", "calls", "has_reasoning"))
_TYPE = re.compile(r"[A-Za-z0-9_.-]{1,100}")


class Leaves(Enum):
    """When an event may be sent to the client."""

    WITH_TEXT = auto()  # once its own text and all text before it may be sent
    LATE = auto()  # once the answer has passed its check; like WITH_TEXT if no text is withheld
    LAST = auto()  # at the very end: the event ends the answer or the stream


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEvent(Chunk):
    """An event of a stream of blocks.

    Attributes:
        leaves: When the event may be sent to the client.
        known: The data that are sent in place of ``data`` while text is withheld, if the event is
            an error or has :attr:`Leaves.WITH_TEXT`. These data have only fields without text, and
            fields whose text is checked or describes the error.
        opens: Whether the event opens a block of text, or a part of such a block.
        is_divisible: Whether the text of the event may be sent in several pieces.
        is_end: Whether the stream ends with this event.
    """

    leaves: Leaves
    known: Mapping[str, Any]
    opens: bool = False
    is_divisible: bool = False
    is_end: bool = False

    @property
    def part(self) -> DeltaPart:
        """The part of the event that is about the answer."""
        return self.parts[0]


class BlockReader(ABC):
    """Reads the events of one stream of blocks, in their order."""

    #: Event fields that this reader knows; text in other fields is counted as unchecked.
    known: Collection[str]

    def __init__(self) -> None:
        self._halves = Halves()

    def __call__(self, event: ServerSentEvent) -> ReadEvent:
        """Read an event.

        Raises:
            UnreadableChunkError: If the event does not fit this API or the events before it, or is
                of an unknown type and may hold text of the answer.
        """
        data = event_data(event.data or "")
        own = {key: value for key, value in data.items() if key != _OURS}
        kind = own.get("type")
        if is_error_body(own):
            found = block_event(own, Leaves.LAST, is_error=True, is_end=True)
        elif isinstance(kind, str) and _TYPE.fullmatch(kind):
            found = self.read(own)
        else:
            raise UnreadableChunkError("its type is no name")
        return ReadEvent(event, replace(found, is_as_sent=own == data), is_end=found.is_end)

    @abstractmethod
    def read(self, data: Mapping[str, Any]) -> BlockEvent:
        """Read the data of an event that has a valid type and is not an error body.

        Raises:
            UnreadableChunkError: If the event does not fit this API or the events before it, or is
                of an unknown type and may hold text of the answer.
        """

    def _event(
        self,
        data: Mapping[str, Any],
        leaves: Leaves,
        *,
        n_unread: int = 0,
        **more: Any,  # noqa: ANN401 - arguments of `block_event`
    ) -> BlockEvent:
        """Make a :class:`BlockEvent`, and count its unknown fields with text as unchecked."""
        n_unread += count_unread(data, self.known)
        return block_event(data, leaves, n_unread=n_unread, **more)

    def whole(self, text: str) -> str:
        """Return the next piece of text, without half a character at its end.

        The half, one of two UTF-16 units, waits for the next call (see :class:`.Halves`).
        """
        return self._halves.whole(0, text)


def value_in(data: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    """Return the value of an object's field, if the value is of exactly the type ``kind``.

    Raises:
        UnreadableChunkError: If the field is missing, or its value is of another type.
    """
    found = data.get(name)
    if type(found) is not kind:
        raise UnreadableChunkError(f"{name} is of type {type(found).__name__}")
    return found


def only(data: Mapping[str, Any], names: Collection[str], **judged: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the fields of a JSON object that may be sent while the answer is held back.

    Args:
        data: The object.
        names: Keys of the fields to return. A field that may hold text is left out, unless it is in
            ``judged``.
        judged: New values for some of these fields. They are returned even if they hold text, so
            the caller must make sure that this text may be sent.
    """
    may = without_text(data, names) | judged
    return {key: may[key] for key in data if key in names and key in may}


def unknown_event(data: Mapping[str, Any]) -> BlockEvent:
    """Read an event of an unknown type.

    Raises:
        UnreadableChunkError: If the event has a field that may hold text of the answer.
    """
    if any(data.get(name) for name in (*TEXTS, "content_block", "part", "item", "response")):
        raise UnreadableChunkError("it is of an unknown type, and may hold text")
    return block_event(data, Leaves.LATE, n_unread=1)


class TextSoFar:
    """Collects the pieces of a text that arrives in a stream.

    The upstream may repeat the whole text later; :meth:`rest` then finds what the pieces lack.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def __str__(self) -> str:
        # The joined text replaces the pieces: joining all at every call would take quadratic time.
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def add(self, piece: str) -> None:
        """Add the next piece."""
        self._pieces.append(piece)

    def rest(self, whole: object) -> str:
        """Return the part of the whole text that follows the pieces so far, and add it as a piece.

        Raises:
            UnreadableChunkError: If ``whole`` is not a string that begins with the pieces.
        """
        said = str(self)
        if not isinstance(whole, str) or not whole.startswith(said):
            raise UnreadableChunkError("a text is not that of its pieces")
        self.add(whole[len(said) :])
        return whole[len(said) :]


def block_event(
    data: Mapping[str, Any],
    leaves: Leaves,
    *,
    known: Mapping[str, Any] | None = None,
    n_unread: int = 0,
    **more: Any,  # noqa: ANN401 - fields of two dataclasses
) -> BlockEvent:
    """Make a :class:`BlockEvent`, and the one :class:`.DeltaPart` in it.

    Args:
        data: The data of the event.
        leaves: When the event may be sent to the client.
        known: The data for :attr:`BlockEvent.known`; by default, all of ``data``.
        n_unread: Number of parts of the event that are not checked.
        more: Other fields of the event, and of its :class:`.DeltaPart`.
    """
    of_part = {name: more.pop(name) for name in _OF_PART.intersection(more)}
    part = DeltaPart(index=0, n_skipped=n_unread, **of_part)
    return BlockEvent(data=data, parts=(part,), leaves=leaves, known=known or data, **more)


@dataclass(slots=True)
class _Step:
    """A held event, with the range of its text in the answer and its size in bytes."""

    event: BlockEvent
    raw: bytes | None  # the bytes of the event, if they may be sent unchanged
    start: int
    end: int
    size: int


@dataclass(slots=True)
class HeldBlocks(ABC):
    """A buffer that holds back the events of one stream of blocks.

    For chat completions, a :class:`.HeldStream` has a :class:`.HeldAnswer` for each answer. A
    stream of blocks has one answer, so this class does the work of both classes.

    Attributes:
        withholds: Whether text is sent only after it has been checked.
        model: The model that the request names.
        trace_id: The trace id of the request.
        n_chars: Characters of text that have arrived.
        n_sent: Characters of text that have been sent.
        n_bytes: Bytes of the events that are held.
        edits: The changes that repair the text, in reading order; applied when text is sent.
    """

    withholds: bool
    model: str
    trace_id: str
    n_chars: int = 0
    n_sent: int = 0
    n_bytes: int = 0
    edits: tuple[Edit, ...] = ()
    _n_late: int = 0
    _steps: deque[_Step] = field(default_factory=deque)
    _warning: str | None = None
    _n_put_in: int = 0  # number of blocks added by the gateway; later block numbers grow by it
    _n_blocks: int = 0  # number of blocks that the upstream has opened

    #: The field of an event that holds the number of its block.
    number = "index"
    #: Whether answers can be repaired. They can if no event repeats the text of another event.
    can_edit = True

    # Methods that the subclass for each API defines or uses.

    @abstractmethod
    def _with_text(self, event: BlockEvent, text: str) -> Mapping[str, Any]:
        """Return the data of an event that adds text, but with ``text`` as the added text."""

    @abstractmethod
    def _leaving(self, data: Mapping[str, Any]) -> None:
        """Remember the data of an event that is about to be sent to the client."""

    @abstractmethod
    def _warning_block(self, number: int, text: str) -> Iterator[Mapping[str, Any]]:
        """Yield the data of events that add a block with this number and the gateway's own text."""

    @abstractmethod
    def _refused(self, extension: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the data of the events that end a stream whose rest is withheld.

        ``extension`` becomes the field ``groundwire`` of the event that ends the answer. If the
        client already has the end of the answer, ``extension`` is not sent.
        """

    def _held_part(self, kind: str, part: str) -> Mapping[str, Any]:
        """Return the field ``part`` of the first held event of a type; empty if none is held."""
        held = (step.event.known for step in self._steps)
        return next((each[part] for each in held if each.get("type") == kind), {})

    def _moved(self, data: Mapping[str, Any], *, is_ours: bool) -> Mapping[str, Any]:
        """Return the data of an event, with its block number moved by the number of added blocks.

        Events that the gateway itself writes (``is_ours``) have the right number already.
        """
        if is_ours or not self._n_put_in or not isinstance(data.get(self.number), int):
            return data
        return {**data, self.number: data[self.number] + self._n_put_in}

    # Methods that :class:`.ReleasedStream` calls.

    @property
    def answers(self) -> "Mapping[int, HeldBlocks]":
        """The one answer of the response, by its number, which is 0."""
        return {0: self}

    @property
    def n_held(self) -> int:
        """Characters of held text, plus bytes of held events that have :attr:`Leaves.LATE`."""
        return self.n_chars - self.n_sent + self._n_late

    def answer(self, index: int) -> "HeldBlocks":
        """Return the one answer of the response; ``index`` must be 0."""
        return self.answers[index]

    def front(self) -> list[bytes]:
        """Return an empty list: a stream of blocks has no events before its answer."""
        return []

    def tail(self, *, is_done: bool) -> list[bytes]:
        """Return an empty list: a stream of blocks has no events after its answer."""
        return []

    def take(self, event: ServerSentEvent, chunk: Chunk) -> None:
        """Hold back the next event, which was read as ``chunk``."""
        assert isinstance(chunk, BlockEvent)
        start, self.n_chars = self.n_chars, self.n_chars + len(chunk.part.text)
        name = _name_of(chunk.data)
        is_named = event.raw.startswith(name)
        bare = ServerSentEvent.of(event.raw.removeprefix(name)) if is_named else event
        is_judged = chunk.leaves is not Leaves.WITH_TEXT or chunk.known == chunk.data
        is_known = not self.withholds or (is_judged and bare.is_plain)
        raw = event.raw if chunk.is_as_sent and is_known else None
        number = chunk.data.get(self.number)
        if isinstance(number, int):
            self._n_blocks = max(self._n_blocks, number + 1)
        step = _Step(chunk, raw, start, self.n_chars, len(event.raw))
        self.n_bytes += step.size
        self._n_late += step.size if chunk.leaves is Leaves.LATE else 0
        self._steps.append(step)

    def clear(self, upto: int | None = None) -> list[bytes]:
        """Release events up to an offset in the answer's text; stop at an event that must wait.

        Without an offset, events up to the end of the text that has arrived are released. With an
        offset, the event that opens a block of text is released only once some of the block's text
        may be sent; otherwise clients might show an empty text.
        """
        has_more = upto is not None
        upto = self.n_chars if upto is None else min(upto, self.n_chars)
        out = []
        held = {Leaves.LATE, Leaves.LAST} if self.withholds else {Leaves.LAST}
        while (first := self._first) and first.end <= upto and first.event.leaves not in held:
            if has_more and first.event.opens and first.start >= upto:
                break
            out.append(self._let_first())
        if (
            first is not None
            and first.start < upto < first.end
            and upto > self.n_sent
            and first.event.is_divisible
        ):
            begin = max(first.start, self.n_sent) - first.start
            self.n_sent = upto
            text = first.event.part.text[begin : upto - first.start]
            text = edited(text, self.edits, start=first.start + begin)
            out.append(self._write(self._with_text(first.event, text), is_ours=True))
        return out

    def settle(self, *, warning: str | None = None, in_front: bool = False) -> list[bytes]:
        """Release the text of an answer that is not blocked, up to an event that must wait.

        A warning gets a block of its own. If ``in_front`` is true, this block comes before the
        first block of text. Otherwise, or if there is no block of text, the warning comes after all
        blocks, when :meth:`finish` releases the rest.
        """
        self._warning = warning
        if not in_front:
            return self.clear()
        out: list[bytes] = []
        while (first := self._first) and not first.event.opens:
            if first.event.leaves is Leaves.LAST:
                return out
            out.append(self._let_first())
        if first is not None and warning:
            out += self._warn(first.event.data[self.number], f"{warning}\n\n")
        return out + self.clear()

    def finish(self, *, extension: Mapping[str, Any] | None = None) -> list[bytes]:
        """Release all events that are still held, and a warning that has not been sent yet.

        The event that ends the answer gets ``extension`` as its field ``groundwire``, unless the
        event is an error.
        """
        out = []
        while (first := self._first) and first.event.leaves is not Leaves.LAST:
            out.append(self._let_first())
        if self._warning:
            out += self._warn(self._n_blocks, f"\n\n{self._warning}")
        while first := self._first:
            marks = None if first.event.is_error else extension
            out.append(self._let_first(marks))
            extension = None if marks else extension
        return out

    def holds_more(self) -> bool:
        """Return whether anything that is held, besides the text, may repeat words of the text."""
        leaving = ((step.event.leaves, step.event.data) for step in self._steps)
        return any(
            leaves is Leaves.LATE or (leaves is Leaves.LAST and holds_more(data, ""))
            for leaves, data in leaving
        )

    def error(self, event: ServerSentEvent, chunk: Chunk) -> list[bytes]:
        """Return the event with the upstream's error, which ends the stream."""
        assert isinstance(chunk, BlockEvent)
        return [self._write(chunk.known, is_ours=True)]

    def refusal(
        self, problem: Problem, *, passed: set[int], extension: Mapping[str, Any] | None = None
    ) -> list[bytes]:
        """Return the events that end a stream whose rest is withheld; they close open blocks."""
        marks = told_of(problem, trace_id=self.trace_id, extension=extension)
        return [self._write(each, is_ours=True) for each in self._refused(marks)]

    # Helpers that release held events and write events.

    @property
    def _first(self) -> _Step | None:
        return self._steps[0] if self._steps else None

    def _warn(self, number: int, text: str) -> list[bytes]:
        self._warning = None
        out = [self._write(each, is_ours=True) for each in self._warning_block(number, text)]
        self._n_put_in += 1
        return out

    def _let_first(self, extension: Mapping[str, Any] | None = None) -> bytes:
        step = self._steps.popleft()
        self.n_bytes -= step.size
        self._n_late -= step.size if step.event.leaves is Leaves.LATE else 0
        begin = max(step.start, self.n_sent)
        is_reduced = self.withholds and step.event.leaves is Leaves.WITH_TEXT
        data, raw = step.event.known if is_reduced else step.event.data, step.raw
        old = step.event.part.text[begin - step.start :]
        text = edited(old, self.edits, start=begin)
        if step.start < begin < step.end or text != old:
            data, raw = self._with_text(step.event, text), None
        self.n_sent = max(self.n_sent, step.end)
        if extension is not None:
            data, raw = {**data, _OURS: extension}, None
        return self._write(data, raw)

    def _write(
        self, data: Mapping[str, Any], raw: bytes | None = None, *, is_ours: bool = False
    ) -> bytes:
        moved = self._moved(data, is_ours=is_ours)
        self._leaving(moved)
        if raw is not None and moved is data:
            return raw
        return _name_of(data) + encode(moved)


def _name_of(data: Mapping[str, Any]) -> bytes:
    """Return the first line of an event: its type, or ``error`` if it has no valid type."""
    kind = data.get("type")
    is_name = isinstance(kind, str) and _TYPE.fullmatch(kind)
    return f"event: {kind if is_name else 'error'}\n".encode()

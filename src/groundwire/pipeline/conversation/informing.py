"""A message → what it asks, and what it informs of, each piece of evidence with its place."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundwire.pipeline.conversation.content import Piece
from groundwire.pipeline.conversation.dividing import divide
from groundwire.pipeline.conversation.messages import Message
from groundwire.pipeline.conversation.parts import Part
from groundwire.pipeline.conversation.passages import passages_of
from groundwire.pipeline.conversation.roles import Role, role_of
from groundwire.pipeline.conversation.wording import Wording, n_informing_words

#: Half a surrogate pair is no valid text; where it matters, it is refused with its place. Tokens of
#: chat templates say nothing.
_NOISE = re.compile(
    "[\ud800-\udfff]|\\[/?INST\\]|<</?SYS>>|</?s>"
    r"|<\|(?:im_start|im_end|begin_of_text|end_of_text|start_header_id|end_header_id|eot_id|end)\|>"
)
_BETWEEN_PIECES = "\n\n"
#: Sentences that stand in instructions, or around a question, inform from so many words on.
_LOOSE_WORDS_OF_SYSTEM, _LOOSE_WORDS_OF_USER = 8, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageParts:
    """What a message says, divided.

    Attributes:
        asks: What is asked: the text of a message without evidence, else the question in it.
        evidence: What it informs of.
        loose: Sentences around a question that state something. They are evidence if there is no
            other: beside evidence they belong to the question, which supports nothing.
    """

    asks: str
    evidence: tuple[Piece, ...]
    loose: tuple[Piece, ...]


def read_message(message: Message) -> MessageParts:
    """Divide the running text of a message."""
    pieces = message.says
    text = _BETWEEN_PIECES.join(piece.text for piece in pieces)
    if (fields := _fields(message, text)) is not None:
        return fields
    readable = _NOISE.sub(lambda match: " " * len(match[0]), text)
    parts = divide(readable, is_user=message.is_user)
    informing = [part for part in parts if part.does is Wording.INFORMS]
    marked = [part for part in informing if part.is_marked]
    loose = [part for part in informing if not part.is_marked]
    if message.is_assistant:
        loose = []
    n_loose = sum(
        n_informing_words(text[part.start : part.end], is_user=message.is_user) for part in loose
    )
    wanted = _LOOSE_WORDS_OF_USER if message.is_user else _LOOSE_WORDS_OF_SYSTEM
    if n_loose < wanted:
        loose = []
    if not message.is_user:
        marked, loose = sorted([*marked, *loose], key=lambda part: part.start), []
    return MessageParts(
        asks=_asks(message, text, parts, has_evidence=bool(marked or loose)),
        evidence=(*message.documents, *_pieces(pieces, text, marked)),
        loose=tuple(_pieces(pieces, text, loose)),
    )


def _fields(message: Message, text: str) -> MessageParts | None:
    """Divide a message that is a JSON object, with question and evidence in fields of their own."""
    if len(message.says) != 1 or text.strip()[:1] != "{":
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found: dict[Role | None, list[tuple[str, str]]] = {}
    for key, value in data.items():
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        found.setdefault(role_of(key), []).append((key, said))
    if not (Role.ASK in found and Role.INFORM in found):
        return None
    place = message.says[0].place
    return MessageParts(
        asks="\n".join(said for _, said in found[Role.ASK]),
        evidence=tuple(
            Piece(text=said, place=f'{place}["{key}"]')
            for key, said in found[Role.INFORM]
            if any(map(str.isalnum, said))
        ),
        loose=(),
    )


def _asks(message: Message, text: str, parts: Sequence[Part], *, has_evidence: bool) -> str:
    if message.asks:
        return "\n".join(piece.text.strip() for piece in message.asks)
    if not has_evidence:
        return "\n".join(piece.text.strip() for piece in message.says)
    for wanted in ((Wording.ASKS,), (Wording.ASKS, Wording.INSTRUCTS)):
        said = [text[part.start : part.end] for part in parts if part.does in wanted]
        if said:
            return "\n".join(said)
    return ""


def _pieces(pieces: Sequence[Piece], text: str, parts: Sequence[Part]) -> Iterator[Piece]:
    """Parts as pieces, each with its place; what stands in two parts of a message is two."""
    spans, start = [], 0
    for piece in pieces:
        spans.append((piece, start, start + len(piece.text)))
        start += len(piece.text) + len(_BETWEEN_PIECES)
    for part in parts:
        for piece, first, last in spans:
            begin, end = max(part.start, first), min(part.end, last)
            if not any(map(str.isalnum, text[begin:end])):
                continue
            place = f"{piece.place}[{begin - first}:{end - first}]"
            for passage in passages_of(text[begin:end], part.attributes):
                yield Piece(text=passage.text, place=place, id=passage.id, title=passage.title)

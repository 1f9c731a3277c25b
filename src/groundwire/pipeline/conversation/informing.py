"""Divides the text of a message into its question and its evidence."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from groundwire.pipeline.conversation import wording
from groundwire.pipeline.conversation.content import RequestText
from groundwire.pipeline.conversation.dividing import divide
from groundwire.pipeline.conversation.messages import Message
from groundwire.pipeline.conversation.parts import PromptPart
from groundwire.pipeline.conversation.passages import passages_of
from groundwire.pipeline.conversation.roles import Names, PartRole
from groundwire.pipeline.conversation.wording import Wording
from groundwire.text.cues import common_words, plain, words

#: Matches characters that are replaced by spaces while a text is divided: tokens of chat templates,
#: and lone surrogates, which are not valid text. Question and sources are taken from the unchanged
#: text.
_NOISE = re.compile(
    "[\ud800-\udfff]|\\[/?INST\\]|<</?SYS>>|</?s>"
    r"|<\|(?:im_start|im_end|begin_of_text|end_of_text|start_header_id|end_header_id|eot_id|end)\|>"
)
_BETWEEN_PIECES = "\n\n"
#: Unmarked sentences, which no label or tag sets apart, may be evidence if together they have at
#: least this many words. The first number is for system messages, the second for a user's messages.
_LOOSE_WORDS_OF_SYSTEM, _LOOSE_WORDS_OF_USER = 8, 20
#: Unmarked sentences in a user's message need only this many words to be evidence if the question
#: is about their subject, or if they report what a document says.
_LOOSE_WORDS_ASKED_ABOUT = 4
_STEM_CHARS = 4
#: Matches where a line begins with a JSON object.
_OBJECT = re.compile(r'^[ \t]*(?=\{\s*")', re.MULTILINE)


_ASKS_FOR_RESULT = re.compile(r"(?i)\b(?:give|show|send) me\b[^.?!]{0,60}\bresults?\b")
_IN_THIS_CHAT = re.compile(
    r"(?i)\b(?:results?|documents?|passages?|sources?|excerpts?|information)\b[^.?!]{0,20}"
    r"\b(?:in|of|from) this (?:chat|conversation)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageParts:
    """The question and the evidence in a message.

    Attributes:
        asks: The question, or empty. If the text ends with a JSON object that was divided, these
            are the object's fields with a question. Otherwise, it is the first of these that
            exists: the message's content parts of type ``query``; the whole text, if no evidence
            was found in it; the questions in the text; the instructions in the text.
        evidence: The pieces of evidence.
        loose: Sentences around a user's question that are evidence if the request has no other
            evidence.
    """

    asks: str
    evidence: tuple[RequestText, ...]
    loose: tuple[RequestText, ...]


def read_message(message: Message, names: Names) -> MessageParts:
    """Divide a message into its question and its evidence, which includes its documents."""
    pieces = message.says
    text = _BETWEEN_PIECES.join(piece.text for piece in pieces)
    if (fields := _fields(message, text, names)) is not None:
        return fields
    parts = divide(_without_noise(text), is_user=message.is_user, names=names)
    marked = [part for part in parts if part.does is Wording.INFORMS and part.is_marked]
    loose = _told(message, text, parts, is_beside_marks=bool(marked))
    if not message.is_user:
        marked, loose = sorted([*marked, *loose], key=lambda part: part.start), []
    return MessageParts(
        asks=_asks(message, text, parts, has_evidence=bool(marked or loose)),
        evidence=(*message.documents, *_pieces(pieces, text, marked)),
        loose=tuple(_pieces(pieces, text, loose)),
    )


def handed_over(message: Message, names: Names) -> tuple[RequestText, ...]:
    """Return the evidence of an assistant's message that consists only of evidence.

    Some applications put such a message, which no model wrote, before the first message of the
    user. The message must begin with a name of evidence, such as "Context:". For any other message,
    the result is empty.
    """
    text = _BETWEEN_PIECES.join(piece.text for piece in message.says)
    parts = divide(_without_noise(text), is_user=False, names=names)
    is_evidence = all(part.does is Wording.INFORMS and part.is_marked for part in parts)
    if not (parts and is_evidence) or names.role_of(text[: parts[0].start]) is not PartRole.INFORM:
        return ()
    return tuple(_pieces(message.says, text, parts))


def _without_noise(text: str) -> str:
    return _NOISE.sub(lambda match: " " * len(match[0]), text)


def asks_for_result(message: Message) -> bool:
    """Return whether a user's message asks for results, which the next message may contain."""
    return message.is_user and any(_ASKS_FOR_RESULT.search(each.text) for each in message.says)


def speaks_of_results(message: Message) -> bool:
    """Return whether a user refers to results or documents "in this chat"."""
    return message.is_user and any(_IN_THIS_CHAT.search(each.text) for each in message.says)


def _told(
    message: Message, text: str, parts: Iterable[PromptPart], *, is_beside_marks: bool
) -> list[PromptPart]:
    """Return the unmarked sentences that state something, if they are evidence.

    The sentences are evidence if they have enough words in total. A user's sentences need fewer
    words if the question is about them, or if they report what a document says. In a system message
    with marked evidence, sentences without a number do not count, because they are mostly
    instructions. An assistant's sentences are never evidence.
    """
    if message.role == "assistant":
        return []
    informing, asked, n_words = [], [], 0
    for part in parts:
        said = text[part.start : part.end]
        if part.does is not Wording.INFORMS:
            asked.append(said)
        elif not part.is_marked and (
            message.is_user or not is_beside_marks or wording.has_figure(said.split())
        ):
            informing.append(part)
            if (missing := _LOOSE_WORDS_OF_USER - n_words) > 0:
                n_words += wording.n_informing_words(said, is_user=message.is_user, up_to=missing)
    wanted = _LOOSE_WORDS_OF_SYSTEM
    if message.is_user:
        wanted = _LOOSE_WORDS_OF_USER
        if _LOOSE_WORDS_ASKED_ABOUT <= n_words < wanted:
            stated = _stems(text[part.start : part.end] for part in informing)
            is_about = not stated.isdisjoint(_stems(asked))
            if is_about or any(
                wording.is_attributed(text[part.start : part.end]) for part in informing
            ):
                wanted = _LOOSE_WORDS_ASKED_ABOUT
    return informing if n_words >= wanted else []


def _stems(texts: Iterable[str]) -> set[str]:
    """Return the first four letters of each content word of three or more letters."""
    found = {word for text in texts for word in words(plain(text))}
    found = found.difference(*common_words().values())
    return {word[:_STEM_CHARS] for word in found if len(word) > 2}


def _fields(message: Message, text: str, names: Names) -> MessageParts | None:
    """Divide a message that ends with a JSON object whose keys name parts of a prompt.

    This is done in three cases: the keys name a question and evidence, but no answer; the keys name
    only questions or inputs, which end with a question mark; or the keys name only instructions and
    evidence, and no user wrote the message. In other cases, return ``None``.
    """
    if len(message.says) != 1 or (start := _OBJECT.search(text)) is None:
        return None
    try:
        data = json.loads(text[start.end() :])
    except (ValueError, RecursionError):
        return None
    found: dict[PartRole | None, list[tuple[str, str]]] = {}
    for key, value in data.items():
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        found.setdefault(names.role_of(key), []).append((key, said))
    asking = (PartRole.ASK, PartRole.OPEN)
    asked = [said for role in asking for _, said in found.get(role, ())]
    asks_alone = found.keys() <= set(asking) and "".join(asked).endswith(("?", "？"))
    has_both = PartRole.ASK in found and PartRole.INFORM in found and PartRole.ANSWER not in found
    has_rules = not message.is_user and found.keys() == {PartRole.INSTRUCT, PartRole.INFORM}
    if not (asks_alone or has_both or has_rules):
        return None
    place = message.says[0].place
    asks = "\n".join(asked if asks_alone else [said for _, said in found.get(PartRole.ASK, ())])
    evidence = [
        RequestText(text=said, place=f'{place}["{key}"]')
        for key, said in found.get(PartRole.INFORM, ())
        if any(map(str.isalnum, said))
    ]
    return MessageParts(asks=asks, evidence=(*message.documents, *evidence), loose=())


def _asks(message: Message, text: str, parts: Sequence[PromptPart], *, has_evidence: bool) -> str:
    if message.asks:
        return "\n".join(piece.text.strip() for piece in message.asks)
    if not has_evidence:
        return "\n".join(piece.text.strip() for piece in message.says)
    for wanted in ((Wording.ASKS,), (Wording.ASKS, Wording.INSTRUCTS)):
        said = [text[part.start : part.end] for part in parts if part.does in wanted]
        if said:
            return "\n".join(said)
    return ""


def _pieces(
    pieces: Sequence[RequestText], text: str, parts: Sequence[PromptPart]
) -> Iterator[RequestText]:
    """Yield the passages in some parts of a message's text, each with its place in the request.

    ``text`` was joined from ``pieces``. A part that extends over several pieces is divided.
    """
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
            yield from passages_of(text[begin:end], place, part.attributes)

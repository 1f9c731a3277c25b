"""What of a span is evidence: questions, instructions and headings assert nothing.

A question that is quoted back ("Was it built in 1950?") must not support "It was built in 1950",
nor "Reply with YES" a verdict. Each sentence of a span is looked at by itself, so a question hides
no statement beside it. A first word alone decides nothing: "When it opened, 300 people came",
"Which is why it closed", "May 2021 saw a record", "Will Smith won" and "Select committees report to
the House" are statements, and stay.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from groundwire.segment import segment

_MAX_HEADING_WORDS = 10


class NonEvidence(StrEnum):
    """Why a sentence does not count."""

    QUESTION = "QUESTION"
    INSTRUCTION = "INSTRUCTION"
    OPTION = "OPTION"
    HEADING = "HEADING"
    EMPTY = "EMPTY"

    @property
    def mark(self) -> str:
        """What stands in its place in a prompt."""
        return f"[NON-EVIDENCE:{self}]"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A span without what is no evidence.

    Attributes:
        text: What is left; empty if nothing is.
        shown: The same with a mark in place of each sentence that was left out.
        kinds: What was left out, in order.
    """

    text: str
    shown: str
    kinds: tuple[NonEvidence, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    kind: NonEvidence | None


_PREFIXED = re.compile(r"(?:question|q|prompt|task)\s*\d{0,3}\s*[:.)](?!\w)", re.IGNORECASE)
_SUBJECT = (
    r"(?:the|an?|it|its|he|his|she|they|their|we|our|you|your|i|my|this|that|these|those|there|any|"
    r"some|all|each|every)"
)
_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|shall|should|would|will|may|might|"
    r"must|isn['’]t|aren['’]t|wasn['’]t|doesn['’]t|didn['’]t|can['’]t|won['’]t)"
)
# Without a question mark: only what no statement begins with, and only as all of a short line.
_ASKED = re.compile(
    rf"(?:(?:who|whom|whose|what|when|where|why|how(?:\s+(?:many|much|long|far|old|often|tall))?)"
    rf"\s+(?:\w+\s+)?{_AUXILIARY}\s+{_SUBJECT}\b|{_AUXILIARY}\s+{_SUBJECT}\b)[^.!,;:]*",
    re.IGNORECASE,
)
_MAX_UNMARKED_QUESTION_WORDS = 12
_END = r"[\"'”’)]?\s*[.!]?\s*$"
# "Return true if the key exists" and "Print no header" say what something does.
_ANSWER_WORD = (
    r"[\"'“‘]?(?:(?:yes|unsure|supported|entailed)\b"
    rf"|(?:no|true|false|[a-hynu])\b{_END})"
)
_INSTRUCTION = re.compile(
    r"(?:(?:system|assistant|developer|user)\s*:\s*)?(?:please\s+)?"
    r"(?:(?:options|answers|choices|instructions?)\s*:"
    r"|(?:reply|respond|answer)\s+(?:only\s+|just\s+|always\s+)?"
    r"(?:with\b|using\b|in\s+(?:one|an?|json|english|the\s+form)|"
    rf"(?:the|this|each|every)\s+(?:following\s+)?questions?\b|{_ANSWER_WORD})"
    rf"|(?:say|output|print|write|return|emit)\s+(?:only\s+|just\s+)?{_ANSWER_WORD}"
    r"|(?:choose|select|pick|mark|tick|circle)\s+(?:one\b|two\b|all\s+that|only\s+one|"
    r"from\b|between\b|an?\s+(?:option|answer)|(?:the\s+|your\s+)?(?:single\s+)?"
    r"(?:correct|best|right|most\s+appropriate|appropriate|answer|option|following))\b"
    r"|(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|the\s+|your\s+|these\s+)*"
    r"(?:previous|prior|above|earlier|preceding|other|instructions?|rules?|evidence|spans?|"
    r"quotes?|sources?)\b)",
    re.IGNORECASE,
)
_OPTION = re.compile(r"\(?[a-h]\)\s", re.IGNORECASE)
_HASHES = re.compile(r"#{1,6}\s+")
_LEAD = re.compile(r"[\s>*_\-–•·\"'“‘(\[]{0,12}")
_QUOTES = "\"'”’»"
_TRAIL = " \t)]*_"
_QUESTION_END = ("?", "？", "؟", "?!", "!?")


def clean(text: str) -> Cleaned:
    """Leave out of a span what is no evidence.

    >>> cleaned = clean("Is it tall? The tower is 330 m tall.")
    >>> cleaned.text, cleaned.shown
    ('The tower is 330 m tall.', '[NON-EVIDENCE:QUESTION] The tower is 330 m tall.')
    """
    shown, kept = [], []
    kinds: list[NonEvidence] = []
    last: NonEvidence | None = None
    for line in text.splitlines():
        if not line.strip():
            shown.append("")
            kept.append("")
            continue
        pieces = list(_pieces(line, after=last))
        last = pieces[-1].kind
        kinds += [piece.kind for piece in pieces if piece.kind]
        shown.append(_joined(pieces, is_shown=True))
        if any(piece.kind is None for piece in pieces):
            kept.append(_joined(pieces, is_shown=False))
    left = "\n".join(kept).strip("\n")
    if not left.strip():
        mark = NonEvidence.EMPTY.mark
        return Cleaned("", "\n".join(shown).strip() or mark, tuple(kinds) or (NonEvidence.EMPTY,))
    if not kinds:  # as given, whatever its line breaks are
        return Cleaned(text, text, ())
    return Cleaned(left, "\n".join(shown).strip("\n"), tuple(kinds))


def _joined(pieces: list[_Piece], *, is_shown: bool) -> str:
    if not any(piece.kind for piece in pieces):
        return "".join(piece.text for piece in pieces)
    parts = []
    for piece in pieces:
        if piece.kind is None:
            parts.append(piece.text)
        elif is_shown:
            parts.append(f"{piece.kind.mark} ")
    return "".join(parts).strip()


def _pieces(line: str, *, after: NonEvidence | None) -> Iterator[_Piece]:
    """The sentences of a line, each with what follows it up to the next."""
    kind = _kind_of_line(line, after=after)
    if kind is not None:
        yield _Piece(line, kind)
        return
    starts = [found.start for found in segment(line)]
    if len(starts) < 2:
        yield _Piece(line, kind_of(line))
        return
    ends = [*starts[1:], len(line)]
    for start, end in zip([0, *starts[1:]], ends, strict=True):
        yield _Piece(line[start:end], kind_of(line[start:end]))


def _kind_of_line(line: str, *, after: NonEvidence | None) -> NonEvidence | None:
    """What a line is as a whole."""
    bare = line.strip()
    n_words = len(bare.split())
    if hashes := _HASHES.match(bare):
        title = bare[hashes.end() :].rstrip("# ")
        if title.endswith(_QUESTION_END):
            return NonEvidence.QUESTION
        is_title = n_words <= _MAX_HEADING_WORDS + 1 and not title.endswith((".", "!"))
        return NonEvidence.HEADING if is_title else None
    # Options stand below what they are options of; elsewhere a) begins an item like any other.
    follows = after in (NonEvidence.QUESTION, NonEvidence.INSTRUCTION, NonEvidence.OPTION)
    if follows and _OPTION.match(bare):
        return NonEvidence.OPTION
    if bare.rstrip("*_").endswith((":", "：")) and n_words <= _MAX_HEADING_WORDS:
        is_asked = _INSTRUCTION.match(bare) or _PREFIXED.match(bare)
        return NonEvidence.INSTRUCTION if is_asked else NonEvidence.HEADING
    return None


def kind_of(sentence: str) -> NonEvidence | None:
    """Why a sentence is no evidence; ``None`` if it is."""
    tidy = " ".join(sentence.split())  # runs of blanks would cost the patterns their square
    lead = _LEAD.match(tidy)
    bare = tidy[lead.end() if lead else 0 :]
    if not any(char.isalnum() for char in bare):
        return None  # a rule or a bullet alone: neither says anything nor asks
    if _PREFIXED.match(bare) or _ends_as_question(tidy):
        return NonEvidence.QUESTION
    if _INSTRUCTION.match(bare):
        return NonEvidence.INSTRUCTION
    if len(bare.split()) <= _MAX_UNMARKED_QUESTION_WORDS and _ASKED.fullmatch(bare):
        return NonEvidence.QUESTION
    return None


def _ends_as_question(sentence: str) -> bool:
    bare = sentence.strip(_TRAIL)
    if bare.endswith(tuple(_QUOTES)):
        # He asked: "Is it tall?" tells what he did.
        return bare[0] in "\"'“‘«" and bare.rstrip(_QUOTES).endswith(_QUESTION_END)
    return bare.endswith(_QUESTION_END)

"""A request → what is known before its answer: the question, and the sources with their origin."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from groundwire.detection.example import Example, Source, read_sources, require_text
from groundwire.detection.source_limits import limit_by
from groundwire.detection.values import FrozenMapping, Reason
from groundwire.errors import InvalidConversationError
from groundwire.pipeline.conversation.content import Piece, Skipped
from groundwire.pipeline.conversation.markers import divide
from groundwire.pipeline.conversation.messages import Message, read_messages
from groundwire.pipeline.conversation.response import Answer

_METADATA_KEY = "grounding.sources"


class SourceOrigin(StrEnum):
    """Where a source comes from. The first that has any is the evidence; the others are not."""

    METADATA = "metadata"  # metadata["grounding.sources"]: who sends sources wants a check
    TOOL = "tool"  # the result of a tool or a function
    CONTEXT = "context"  # retrieved context in a system or user message


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedSource:
    """One source, where it comes from, and where it stands in the request.

    ``place`` is a path such as ``messages[3].content`` or ``metadata["grounding.sources"][0]``.
    """

    source: Source
    origin: SourceOrigin
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a request says about the answer to come; kept until the answer is there.

    Attributes:
        question: What the user says last, without retrieved context; ``None`` if nothing.
        previous: What the user said in the turn before, likewise: a short question may be about it.
        offered: The evidence, most relevant first; empty if there is none.
        is_explicit: Whether the caller names sources, within the limits or not.
        has_tools: Whether tools or functions are defined. Definitions are no evidence: without a
            result the answer is ``unverified``, with or without them.
        unused: Sources of each origin that were not used, since an earlier origin had some.
        skipped: What could not be read, and how often.
        reasons: How many sources the limits left out, as ``dropped_long`` and
            ``dropped_over_cap``: coverage has the same names.
        dropped_chars: Characters of these sources.
    """

    question: str | None
    offered: tuple[OfferedSource, ...]
    previous: str | None = None
    is_explicit: bool = False
    has_tools: bool = False
    unused: Mapping[SourceOrigin, int] = field(default_factory=dict)
    skipped: Mapping[Skipped, int] = field(default_factory=dict)
    reasons: Mapping[Reason, int] = field(default_factory=dict)
    dropped_chars: int = 0

    def __post_init__(self) -> None:
        for name in ("unused", "skipped", "reasons"):
            object.__setattr__(self, name, FrozenMapping(getattr(self, name)))

    @property
    def sources(self) -> tuple[Source, ...]:
        """The evidence, as a detector takes it."""
        return tuple(offered.source for offered in self.offered)

    @property
    def origin(self) -> SourceOrigin | None:
        """Where the evidence comes from; ``None`` if there is none."""
        return self.offered[0].origin if self.offered else None

    @property
    def lost(self) -> Mapping[Reason, int]:
        """Evidence that was offered and is not read, by reason: coverage has the same names.

        What origins that are not used hold is not lost.
        """
        n_unread = self.skipped.get(Skipped.SOURCE, 0)
        if self.origin is not SourceOrigin.METADATA:
            n_unread += self.skipped.get(Skipped.RESULT_PART, 0)
        unread = {Reason.UNREAD_EVIDENCE: n_unread} if n_unread else {}
        return FrozenMapping({**self.reasons, **unread})

    def example(self, answer: Answer | str) -> Example:
        """Put the answer beside its question and sources.

        Raises:
            EmptyAnswerError: If the answer has no visible text, as one that only calls tools.
            InvalidTextError: If it holds a lone surrogate.
        """
        text = answer if isinstance(answer, str) else answer.text
        return Example.of(sources=self.sources, answer=text, question=self.question)


def read_request(
    body: object,
    *,
    max_sources: int = 0,
    max_source_chars: int = 0,
    metadata_only: bool = False,
) -> Conversation:
    """Read the question and the evidence of a chat request.

    Args:
        body: The body of the request, as :func:`json.loads` gives it.
        max_sources: At most so many sources are used, the most relevant ones; 0 or less is no
            limit.
        max_source_chars: A source of more characters is left out as a whole, before sources are
            counted; 0 or less is no limit.
        metadata_only: Whether only sources in ``metadata["grounding.sources"]`` are evidence.

    Raises:
        InvalidConversationError: If it is no request: no object, without a list of messages, with
            a message or metadata that is no object, or sources that are neither list nor text.
        InvalidTextError: If the question or a source holds a lone surrogate.
    """
    if not isinstance(body, Mapping):
        problem = f"its type is {type(body).__name__}"
        raise InvalidConversationError(
            "the request", problem, 'It must be an object such as {"messages": [...]}.'
        )
    messages, skipped = read_messages(body)
    explicit = _explicit(body.get("metadata"), skipped)
    asked, context = _asked_and_context(messages, skipped)
    found: dict[SourceOrigin, Sequence[Piece]] = {SourceOrigin.METADATA: explicit}
    if not metadata_only:
        found |= {SourceOrigin.TOOL: _latest_turn_first(messages), SourceOrigin.CONTEXT: context}
    offered: tuple[OfferedSource, ...] = ()
    unused: dict[SourceOrigin, int] = {}
    reasons: Counter[Reason] = Counter()
    dropped_chars = 0
    for origin, pieces in found.items():
        if offered:
            unused |= {origin: len(pieces)} if pieces else {}
            continue
        named = _named(pieces, origin)
        limited = limit_by(
            named, _n_chars, max_sources=max_sources, max_source_chars=max_source_chars
        )
        offered = limited.kept
        reasons.update(limited.reasons)
        dropped_chars += limited.dropped_chars
    return Conversation(
        question=asked[0] or None,
        previous=asked[1] or None,
        offered=offered,
        is_explicit=bool(explicit or skipped[Skipped.SOURCE]),
        has_tools=any(bool(body.get(key)) for key in ("tools", "functions")),
        unused=unused,
        skipped=dict(+skipped),
        reasons=reasons,
        dropped_chars=dropped_chars,
    )


def _explicit(metadata: object, skipped: Counter[Skipped]) -> list[Piece]:
    """The sources that the caller names. What is no text among them is counted, and ignored."""
    if metadata is None:
        return []
    if not isinstance(metadata, Mapping):
        problem = f"its type is {type(metadata).__name__}"
        remedy = f'It must be an object such as {{"{_METADATA_KEY}": ["..."]}}.'
        raise InvalidConversationError("metadata", problem, remedy)
    entries, place = metadata.get(_METADATA_KEY), f'metadata["{_METADATA_KEY}"]'
    if entries is None:
        return []
    if isinstance(entries, str):
        entries = _sources_in_text(entries)
    if not isinstance(entries, (list, tuple)):
        problem = f"its type is {type(entries).__name__}"
        remedy = "It must be a list of texts, one text, or a JSON list in a text."
        raise InvalidConversationError(place, problem, remedy)
    skipped[Skipped.SOURCE] += sum(not isinstance(entry, str) for entry in entries)
    return [
        Piece(text=entry, place=f"{place}[{i}]", id=f"S{i}")
        for i, entry in enumerate(entries)
        if isinstance(entry, str) and entry.strip()
    ]


def _sources_in_text(text: str) -> list[str]:
    """The sources in a text: the elements of a JSON list, else the text itself.

    OpenAI's clients allow nothing but texts in ``metadata``.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    if isinstance(found, str):
        return [found]
    if not isinstance(found, list):
        return [text]
    return [
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in found
    ]


def _latest_turn_first(messages: Iterable[Message]) -> list[Piece]:
    """All tool results: those of the last turn first, within a turn as they stand."""
    turns: list[list[Piece]] = [[]]
    for message in messages:
        if message.begins_turn:
            turns.append([])
        turns[-1] += message.results
    return [piece for turn in reversed(turns) for piece in turn]


def _asked_and_context(
    messages: Sequence[Message], skipped: Counter[Skipped]
) -> tuple[list[str], list[Piece]]:
    """What the user says in the last turn and the one before; retrieved context, latest first."""
    asked: list[str] = []
    context: list[Piece] = []
    for message in reversed(messages):
        if not (message.is_user or message.is_system):
            continue
        said: list[str] = []
        context += message.documents
        for piece in message.says:
            divided = divide(piece.text, is_system=message.is_system)
            skipped[Skipped.MARKER] += divided.n_unpaired
            said.append(divided.outside)
            context += (
                Piece(text=each.text, place=piece.place, id=each.id, title=each.title)
                for each in divided.passages
            )
        if message.begins_turn and len(asked) < 2:
            text = "\n".join(filter(None, said))
            if text:
                require_text(text, f"question in {message.says[0].place}")
            asked.append(text)
    return [*asked, "", ""][:2], context


def _named(pieces: Iterable[Piece], origin: SourceOrigin) -> list[OfferedSource]:
    """Make sources of pieces, each with an id of its own: a second ``call_1`` is ``call_1#2``.

    Raises:
        InvalidTextError: If a text holds a lone surrogate.
    """
    places, sources = [], []
    for piece, id_ in _with_ids(pieces):
        require_text(piece.text, f"text of {piece.place}")
        places.append(piece.place)
        sources.append(Source(text=piece.text, id=id_, title=piece.title))
    return [
        OfferedSource(source=source, origin=origin, place=place)
        for source, place in zip(read_sources(sources), places, strict=True)
    ]


def _with_ids(pieces: Iterable[Piece]) -> Iterator[tuple[Piece, str]]:
    """Each piece with the id that it has in the request, made its own; or with none."""
    taken: set[str] = set()
    n_seen: Counter[str] = Counter()
    for piece in pieces:
        id_ = piece.id
        while id_ and id_ in taken:
            n_seen[piece.id] += 1
            id_ = f"{piece.id}#{n_seen[piece.id] + 1}"
        taken.add(id_)
        yield piece, id_


def _n_chars(offered: OfferedSource) -> int:
    return len(offered.source.text)

"""Reads a chat request: the question, and the sources with their origin."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from groundwire.detection.example import Example, Source, read_sources, require_text
from groundwire.detection.source_limits import limit_by
from groundwire.detection.values import FrozenMapping, Reason
from groundwire.errors import InvalidConversationError
from groundwire.pipeline.conversation import content, informing
from groundwire.pipeline.conversation.answer_form import AnswerForm, read_form
from groundwire.pipeline.conversation.content import Content, RequestText, Skipped
from groundwire.pipeline.conversation.messages import Message, read_messages
from groundwire.pipeline.conversation.response import Answer
from groundwire.pipeline.conversation.roles import Names

_METADATA_KEY = "grounding.sources"


class SourceOrigin(StrEnum):
    """The origins of a source. The caller names the sources of the first two origins.

    If sources of these two origins are used, no sources of the other two are used.
    """

    METADATA = "metadata"  # the list metadata["grounding.sources"]
    DOCUMENTS = "documents"  # the key "documents"; "grounding_source" parts of system messages
    TOOL = "tool"  # the result of a tool or a function
    CONTEXT = "context"  # information in a message: retrieved passages, facts of a system prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedSource:
    """A source in a request, with its origin and its place.

    ``place`` is a path such as ``messages[3].content`` or ``metadata["grounding.sources"][0]``.
    """

    source: Source
    origin: SourceOrigin
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The content of a request that a check needs: the question, the evidence, the answer's form.

    Attributes:
        question: The user's text in the last turn, without retrieved context; ``None`` if there is
            no such text.
        previous: The user's text in the turn before the last, to which a short question may refer;
            ``None`` if there is no such text.
        offered: The evidence, in order of precedence; empty if there is none.
        is_explicit: Whether the caller names sources, even if they are left out or unreadable.
        has_tools: Whether tools or functions are defined. The definitions are not evidence; only
            the results of tools are.
        unused: Origin → the number of sources of this origin that were not used, because other
            sources had precedence.
        skipped: The number of things that could not be read, by kind.
        reasons: The number of sources that the limits left out, by reason.
        dropped_chars: The number of characters of the sources that the limits left out.
        form: The form of the answer that the request asks for.
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
    form: AnswerForm = field(default_factory=AnswerForm)

    def __post_init__(self) -> None:
        for name in ("unused", "skipped", "reasons"):
            object.__setattr__(self, name, FrozenMapping(getattr(self, name)))

    @property
    def sources(self) -> tuple[Source, ...]:
        """The evidence as sources for a detector, without origins and places."""
        return tuple(offered.source for offered in self.offered)

    @property
    def origin(self) -> SourceOrigin | None:
        """The origin of the first source; ``None`` without evidence."""
        return self.offered[0].origin if self.offered else None

    @property
    def lost(self) -> Mapping[Reason, int]:
        """How often evidence was left out or could not be read, by reason.

        The reasons are those in the coverage of a detection. If the first source comes from the
        metadata, unreadable documents in messages and unreadable parts of tool results do not
        count. If its origin is ``documents``, unreadable documents in messages do not count.
        """
        n_unread = self.skipped.get(Skipped.SOURCE, 0)
        if self.origin is not SourceOrigin.METADATA:
            n_unread += self.skipped.get(Skipped.RESULT_PART, 0)
        if self.origin not in (SourceOrigin.METADATA, SourceOrigin.DOCUMENTS):
            n_unread += self.skipped.get(Skipped.DOCUMENT, 0)
        unread = {Reason.UNREAD_EVIDENCE: n_unread} if n_unread else {}
        return FrozenMapping({**self.reasons, **unread})

    def example(self, answer: Answer | str) -> Example:
        """Return an answer with the question and the sources, as an example for a detector.

        Raises:
            EmptyAnswerError: If the answer has no visible text, for example if it only calls tools.
            InvalidTextError: If the answer has a lone surrogate.
        """
        text = answer if isinstance(answer, str) else answer.text
        return Example.of(sources=self.sources, answer=text, question=self.question)


def read_request(
    body: object,
    *,
    max_sources: int = 0,
    max_source_chars: int = 0,
    metadata_only: bool = False,
    final_tools: frozenset[str] = frozenset(),
    names: Iterable[str] = (),
) -> Conversation:
    """Read the question and the evidence of a chat request.

    Args:
        body: The body of the request, as :func:`json.loads` gives it.
        max_sources: Limit on the sources that are used; the first ones are kept. 0 or less: no
            limit.
        max_source_chars: Limit on the characters of a source. A longer source is left out, and does
            not count towards ``max_sources``. 0 or less: no limit.
        metadata_only: Whether only sources in ``metadata["grounding.sources"]`` are evidence.
        final_tools: Tools whose arguments are the final output, beside those of known frameworks.
        names: Further names of evidence in prompts, such as ``<kb_hit>`` or ``Vorgang:``.

    Raises:
        InvalidConversationError: If the list of messages is missing, or if the body, a message or
            the metadata is malformed.
        InvalidTextError: If a question or a source has a lone surrogate.
    """
    if not isinstance(body, Mapping):
        remedy = 'It must be an object such as {"messages": [...]}.'
        raise InvalidConversationError("the request", content.type_problem(body), remedy)
    form = read_form(body, final_tools=final_tools)
    messages, skipped = read_messages(body, final_tools=form.final_tools)
    explicit = _explicit(body.get("metadata"), skipped)
    asked, context, loose = _asked_and_context(messages, Names(names))
    named_sources = {SourceOrigin.METADATA: explicit}
    found = [named_sources]
    if metadata_only:
        # Documents and tool results are not evidence with this setting, so unreadable ones are not
        # counted as unread evidence.
        for kind in (Skipped.DOCUMENT, Skipped.RESULT_PART):
            skipped[Skipped.PART] += skipped.pop(kind, 0)
    else:
        named_sources[SourceOrigin.DOCUMENTS] = _documents(body, messages, skipped)
        found += [
            {SourceOrigin.TOOL: _latest_turn_first(messages), SourceOrigin.CONTEXT: context},
            {SourceOrigin.CONTEXT: loose},
        ]
    offered: tuple[OfferedSource, ...] = ()
    unused: Counter[SourceOrigin] = Counter()
    reasons: Counter[Reason] = Counter()
    dropped_chars = 0
    for pieces in found:
        if offered:
            unused.update({origin: len(each) for origin, each in pieces.items()})
            continue
        limited = limit_by(
            _named(pieces),
            lambda each: len(each.source.text),
            max_sources=max_sources,
            max_source_chars=max_source_chars,
        )
        offered = limited.kept
        reasons.update(limited.reasons)
        dropped_chars += limited.dropped_chars
    return Conversation(
        question=asked[0] or None,
        previous=asked[1] or None,
        offered=offered,
        is_explicit=any(named_sources.values()) or bool(skipped[Skipped.SOURCE]),
        has_tools=any(bool(body.get(key)) for key in ("tools", "functions")),
        unused=dict(+unused),
        skipped=dict(+skipped),
        reasons=reasons,
        dropped_chars=dropped_chars,
        form=form,
    )


def _explicit(metadata: object, skipped: Counter[Skipped]) -> list[RequestText]:
    """Return the sources in the metadata; count entries that are not texts in ``skipped``."""
    if metadata is None:
        return []
    if not isinstance(metadata, Mapping):
        remedy = f'It must be an object such as {{"{_METADATA_KEY}": ["..."]}}.'
        raise InvalidConversationError("metadata", content.type_problem(metadata), remedy)
    entries, place = metadata.get(_METADATA_KEY), f'metadata["{_METADATA_KEY}"]'
    if entries is None:
        return []
    if isinstance(entries, str):
        entries = _sources_in_text(entries)
    if not isinstance(entries, (list, tuple)):
        remedy = "It must be a list of texts, one text, or a JSON list in a text."
        raise InvalidConversationError(place, content.type_problem(entries), remedy)
    skipped[Skipped.SOURCE] += sum(not isinstance(entry, str) for entry in entries)
    return [
        RequestText(text=entry, place=f"{place}[{i}]", id=f"S{i}")
        for i, entry in enumerate(entries)
        if isinstance(entry, str) and entry.strip()
    ]


def _sources_in_text(text: str) -> list[str]:
    """Return the sources in a text: the elements of a JSON list, a JSON string, or the text itself.

    OpenAI's clients allow only texts in ``metadata``, so a list has to be sent as a text.
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


def _latest_turn_first(messages: Iterable[Message]) -> list[RequestText]:
    """Return all tool results, the last turn first; results of one turn keep their order."""
    turns: list[list[RequestText]] = [[]]
    for message in messages:
        if message.begins_turn:
            turns.append([])
        turns[-1] += message.results
    return [piece for turn in reversed(turns) for piece in turn]


def _asked_and_context(
    messages: Sequence[Message], names: Names
) -> tuple[list[str], list[RequestText], list[RequestText]]:
    """Find the questions of the last two turns, and the evidence in messages, latest first.

    Returns:
        The questions of the last turn and the turn before; the evidence; and sentences of the last
        turn that are evidence only if there is no other evidence.
    """
    asked: list[str] = []
    context: list[RequestText] = []
    loose: list[RequestText] = []
    holds_results = bool(messages) and informing.speaks_of_results(messages[-1])
    n_before_user = next((i for i, each in enumerate(messages) if each.is_user), 0)
    for i, message in enumerate(reversed(messages)):
        if message.role == "assistant" and i:
            # Earlier answers of the model are not evidence. But an application may put evidence
            # into messages of the assistant: before the user's first message, or after a message in
            # which the user asks for results (if the last message speaks of results in this chat).
            index = len(messages) - 1 - i
            if index < n_before_user:
                context += informing.handed_over(message, names)
            elif holds_results and informing.asks_for_result(messages[index - 1]):
                context += message.says
            continue
        if not message.role:
            continue
        if message.is_user:
            context += message.grounding
        parts = informing.read_message(message, names)
        context += parts.evidence
        if message.begins_turn and len(asked) < 2:
            if parts.asks:
                place = next(piece.place for piece in (*message.asks, *message.says))
                require_text(parts.asks, f"question in {place}")
            if not asked:
                loose += parts.loose
            asked.append(parts.asks)
    return [*asked, "", ""][:2], context, loose


def _documents(
    body: Mapping[str, object], messages: Iterable[Message], skipped: Counter[Skipped]
) -> list[RequestText]:
    """Return documents beside the messages, and grounding sources in messages not from users."""
    found = Content()
    documents = content.items_of(body.get("documents"))
    content.read_documents(documents, "documents", found, Skipped.SOURCE)
    skipped.update(found.skipped)
    return [
        *found.grounding,
        *(piece for each in messages if not each.is_user for piece in each.grounding),
    ]


def _named(pieces: Mapping[SourceOrigin, Sequence[RequestText]]) -> list[OfferedSource]:
    """Turn texts of a request into sources, and give each source an id of its own.

    If two texts have the id ``call_1``, the second gets the id ``call_1#2``. A text without an id
    gets an id such as ``S3``.
    """
    flat = [(piece, origin) for origin, each in pieces.items() for piece in each]
    sources: list[Source] = []
    taken: set[str] = set()
    n_seen: Counter[str] = Counter()
    for piece, _ in flat:
        require_text(piece.text, f"text of {piece.place}")
        id_ = piece.id
        while id_ and id_ in taken:
            n_seen[piece.id] += 1
            id_ = f"{piece.id}#{n_seen[piece.id] + 1}"
        taken.add(id_)
        sources.append(Source(text=piece.text, id=id_, title=piece.title))
    return [
        OfferedSource(source=source, origin=origin, place=piece.place)
        for source, (piece, origin) in zip(read_sources(sources), flat, strict=True)
    ]

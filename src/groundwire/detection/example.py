"""The input of a check: sources, question and answer."""

import json
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from numbers import Real
from typing import Any, Protocol, Self, TypeAlias

from groundwire.errors import EmptyAnswerError, InvalidSourceError, InvalidTextError
from groundwire.text.spelling import did_you_mean

_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN_CHARS = 80

#: Keys under which a document can have its text. If a document has several of these keys, the first
#: whose text is not blank is used, or else the first with a blank text.
TEXT_KEYS = ("text", "page_content", "content", "snippet")

#: A mapping without a text under any of :data:`TEXT_KEYS` causes a warning if it has a text of at
#: least this many words, since this may be the text of a document.
_DOCUMENT_WORDS = 4


class SourceWarning(UserWarning):
    """Warns that a source is read as JSON data, but may be a document.

    The source has no text under any of :data:`TEXT_KEYS`, which hold the text of a document.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One text that the answer may rest on: a retrieved passage, a tool result, a document.

    Attributes:
        text: The text. Plain text, Markdown with tables, JSON and lists of numbered passages are
            recognised; character offsets always count in this text.
        id: Name of the source in results. An empty id is replaced by ``S`` and the position of the
            source, such as ``S0``, or by ``S`` and a number beyond all positions if another source
            was given that id.
        title: The subject of the text, if the text does not name it. The title helps to find and
            to read the source, but is not evidence itself.
    """

    text: str
    id: str = ""
    title: str | None = None

    @classmethod
    def of(cls, value: "SourceLike", index: int = 0, *, metadata: Collection[str] = ()) -> Self:
        """Make a source from a value of any accepted kind.

        Args:
            value: A text, a :class:`Source`, a document, or JSON data. A document is a mapping with
                a text under one of :data:`TEXT_KEYS`, or an object with a text, such as a LangChain
                or Haystack ``Document`` or a LlamaIndex node. It may be in a pair with its score,
                ``(document, score)``. Of a document, only text, id, title and the fields in
                ``metadata`` are used. Any other mapping or list is taken as JSON data and written
                out; offsets then count in :attr:`text`. If such a mapping has a text of several
                words, a :class:`SourceWarning` names the keys that a document can have.
            index: Position of the source among the sources, for the error message.
            metadata: Names of metadata fields of a document that are evidence as well. Each field
                that the document has is written on a line of its own before the document's text.

        Raises:
            InvalidSourceError: If the value is of no accepted kind, or is data that cannot be
                written as JSON.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            return cls(text=value)
        document = unscored(value)
        text = text_of(document)
        if text is not None:
            id_, title = id_of(document), _described(document, "title")
            described = [(name, _described(document, name)) for name in metadata]
            lines = [f"{name}: {value}\n" for name, value in described if value is not None]
            return cls(
                text="".join([*lines, text]),
                id="" if id_ is None else str(id_),
                title=None if title is None else str(title),
            )
        if not isinstance(value, Mapping | list | tuple):
            raise InvalidSourceError(index, f"its type is {type(value).__name__}")
        if isinstance(value, Mapping):
            _warn_of_document(value)
        try:
            return cls(text=json.dumps(value, ensure_ascii=False, indent=1))
        except (TypeError, ValueError, RecursionError) as error:
            problem = f"it is not JSON data ({error})"
            if not isinstance(value, Mapping) and any(text_of(each) for each in value):
                problem = "it is a list of documents, and each of them is a source"
            raise InvalidSourceError(index, problem) from error


def _warn_of_document(data: Mapping[str, object]) -> None:
    """Warn if data without a text under any of :data:`TEXT_KEYS` may be a document."""
    keys = [
        str(key)
        for key, value in data.items()
        if isinstance(value, str) and len(value.split(maxsplit=_DOCUMENT_WORDS)) >= _DOCUMENT_WORDS
    ]
    if keys:
        hints = (did_you_mean(key, TEXT_KEYS) for key in keys[:10])
        # The message quotes no key of the mapping: a key may come from a client, and text from
        # clients must not get into logs. The stack level is that of the caller of Detector.detect.
        warnings.warn(
            f"A source is a mapping without a text under {', '.join(TEXT_KEYS)}, so all of it is "
            f"evidence, as JSON data.{next(filter(None, hints), '')} Put the text of a document "
            "under one of these keys, and data into a list of their own: [data].",
            SourceWarning,
            stacklevel=6,
        )


class _LangChainDocument(Protocol):
    @property
    def page_content(self) -> str: ...


class _HaystackDocument(Protocol):
    @property
    def content(self) -> str | None: ...


class _LlamaIndexNode(Protocol):
    def get_content(self) -> str: ...


_Document: TypeAlias = _LangChainDocument | _HaystackDocument | _LlamaIndexNode
#: Types that :meth:`Source.of` takes.
SourceLike: TypeAlias = Source | str | Mapping[str, object] | Sequence[object] | _Document


def text_of(document: object) -> str | None:
    """Return the text of a document, without its metadata; ``None`` for a value without a text.

    >>> text_of({"page_content": "It is 330 m tall.", "metadata": {"page": 12}})
    'It is 330 m tall.'
    """
    # For some LlamaIndex nodes, reading ``text`` raises an error, so ``get_content`` is called.
    if callable(get_content := getattr(document, "get_content", None)):
        found = [get_content()]
    else:
        found = [_get(document, key) for key in TEXT_KEYS]
    texts = [each for each in found if isinstance(each, str)]
    return next(filter(str.strip, texts), next(iter(texts), None))


def id_of(document: object) -> object:
    """Return the id of a document; ``None`` if it has none."""
    found = (_get(document, key) for key in ("sid", "id", "id_"))
    return next((each for each in found if each is not None and each != ""), None)


def unscored(value: object) -> object:
    """Return the document of a ``(document, score)`` pair, and any other value unchanged."""
    match value:
        case (document, Real()) if isinstance(value, tuple) and text_of(document) is not None:
            return document
    return value


def _get(document: object, name: str) -> object:
    return document.get(name) if isinstance(document, Mapping) else getattr(document, name, None)


def _described(document: object, name: str) -> object:
    """Return a field of a document, or else of its metadata; ``None`` if neither has it."""
    metadata = (_get(document, key) for key in ("metadata", "meta"))
    places = [document, *(each for each in metadata if isinstance(each, Mapping))]
    return next((found for each in places if (found := _get(each, name)) is not None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Sources, a question and an answer: the input of one check.

    Attributes:
        sources: The texts that the answer may rest on; each has an id.
        answer: The text to check.
        question: The question that the answer replies to. It helps to find evidence, and is never
            evidence itself.
    """

    sources: tuple[Source, ...]
    answer: str
    question: str | None = None

    @classmethod
    def of(cls, *, sources: Iterable[SourceLike], answer: str, question: str | None = None) -> Self:
        """Build an example; its sources may be of any kind that :meth:`Source.of` accepts.

        Raises:
            EmptyAnswerError: If the answer is empty or only white space.
            InvalidTextError: If a text is not a ``str``, or has a lone surrogate.
            InvalidSourceError: If the sources or one of them cannot be read, or two different texts
                have the same id.
        """
        require_text(answer, "answer")
        if not answer.strip():
            raise EmptyAnswerError
        if question is not None:
            require_text(question, "question")
        return cls(sources=read_sources(sources), answer=answer, question=question)


def read_sources(sources: Iterable[SourceLike]) -> tuple[Source, ...]:
    """Read sources of any kind, or a single one, and give an id to those that have none.

    Raises:
        InvalidTextError: If a text is not a ``str``, or has a lone surrogate.
        InvalidSourceError: If the sources or one of them cannot be read, or two different texts
            have the same id.
    """
    found = []
    for i, value in enumerate(as_list(sources)):
        source = Source.of(value, i)
        require_text(source.text, f"text of source {i}")
        require_text(source.id, f"id of source {i}")
        if source.title is not None:
            require_text(source.title, f"title of source {i}")
        found.append(source)
    return _give_ids(found)


def as_list(sources: object) -> Iterable[Any]:
    """Return sources as an iterable; a single text, mapping or document becomes a list of one.

    Raises:
        InvalidSourceError: If ``sources`` is neither a source nor iterable, or is ``bytes`` or a
            ``bytearray``.
    """
    if isinstance(sources, str | Source | Mapping) or text_of(sources) is not None:
        return [sources]
    if isinstance(sources, bytes | bytearray) or not isinstance(sources, Iterable):
        kind = "None" if sources is None else f"a single {type(sources).__name__}"
        remedy = "Pass a text, a list of sources, or sources=[] if there are none."
        raise InvalidSourceError(None, f"they are {kind}", remedy)
    return sources


def _give_ids(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Give an id to each source that has none, and refuse two different texts with the same id.

    The id is ``S`` and the position of the source. If another source already has this id, the
    number is the first free one after all positions.
    """
    given: dict[str, int] = {}
    for i, source in enumerate(sources):
        first = given.setdefault(source.id, i)
        if source.id and source.text != sources[first].text:
            shown = source.id[:_SHOWN_CHARS]  # callers may pass ids of any length
            problem = f"its id {shown!r} is that of source {first}, which has another text"
            raise InvalidSourceError(i, problem, "Give each text an id of its own, or none.")
    free = (id_ for n in count(len(sources)) if (id_ := f"S{n}") not in given)
    return tuple(
        source if source.id else replace(source, id=next(free) if f"S{i}" in given else f"S{i}")
        for i, source in enumerate(sources)
    )


def require_text(text: object, where: str) -> None:
    """Refuse a value that is not valid text.

    Raises:
        InvalidTextError: If the value is not a ``str``, or has a lone surrogate, which cannot be
            written as UTF-8.
    """
    if not isinstance(text, str):
        raise InvalidTextError(where, None, f"its type is {type(text).__name__}")
    if found := _SURROGATE.search(text):
        code = f"U+{ord(found.group()):04X}"
        raise InvalidTextError(where, found.start(), f"the lone surrogate {code}")

"""The input of a check: sources, question and answer."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Self, TypeAlias, Union

from groundwire.errors import EmptyAnswerError, InvalidSourceError, InvalidTextError

_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One text that the answer may rest on: a retrieved passage, a tool result, a document.

    Attributes:
        text: The text. Plain text, Markdown with tables, JSON and lists of numbered passages
            are each read as what they are; character offsets always count in this text.
        id: Names the source in results. If it is empty, the source gets its position, ``S0``,
            ``S1``..., or a number beyond all positions if another source was given that id.
        title: The subject of the text, if its own words do not name it. It helps to find and to
            read the source, and is not evidence itself.
    """

    text: str
    id: str = ""
    title: str | None = None

    @classmethod
    def of(cls, value: "SourceLike", index: int = 0) -> Self:
        """Read a source from any of the kinds that users have at hand.

        Args:
            value: A text; a :class:`Source`; a mapping with a text under ``text`` and perhaps
                ``id`` and ``title``, whose other keys (a retriever's ``score``, ``metadata``...)
                are ignored; any other mapping or list, which is taken as JSON data and written
                out (offsets then count in :attr:`text`).
            index: Its position among the sources, for the error message.

        Raises:
            InvalidSourceError: If it is none of these.
        """
        match value:
            case cls():
                return value
            case str():
                return cls(text=value)
            case Mapping() if isinstance(value.get("text"), str):
                id_, title = value.get("id"), value.get("title")
                return cls(
                    text=str(value["text"]),
                    id="" if id_ is None else str(id_),
                    title=None if title is None else str(title),
                )
            case Mapping() | list() | tuple():
                try:
                    return cls(text=json.dumps(value, ensure_ascii=False, indent=1))
                except (TypeError, ValueError, RecursionError) as error:
                    raise InvalidSourceError(index, f"it is not JSON data ({error})") from error
        raise InvalidSourceError(index, f"its type is {type(value).__name__}")


#: Types that :meth:`Source.of` takes.
SourceLike: TypeAlias = Union[Source, str, Mapping[str, object], Sequence[object]]  # noqa: UP007


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Sources, a question and an answer: the input of one check.

    Attributes:
        sources: The texts that the answer may rest on; each has an id.
        answer: The text to check.
        question: The question. It tells what the answer is about and is never evidence.
    """

    sources: tuple[Source, ...]
    answer: str
    question: str | None = None

    @classmethod
    def of(cls, *, sources: Iterable[SourceLike], answer: str, question: str | None = None) -> Self:
        """Build an example from the kinds of values that users have at hand.

        Raises:
            EmptyAnswerError: If the answer has no visible text.
            InvalidTextError: If a text is not a ``str``, or holds a lone surrogate.
            InvalidSourceError: If a source is of no known kind, or two texts have the same id.
        """
        require_text(answer, "answer")
        if not answer.strip():
            raise EmptyAnswerError
        if question is not None:
            require_text(question, "question")
        return cls(sources=read_sources(sources), answer=answer, question=question)


def read_sources(sources: Iterable[SourceLike]) -> tuple[Source, ...]:
    """Read sources of any kind, and give an id to those that have none.

    Raises:
        InvalidTextError: If a text is not a ``str``, or holds a lone surrogate.
        InvalidSourceError: If one is of no known kind, two texts have the same id, or ``sources``
            is a single text or no list.
    """
    single = (str, bytes, bytearray, Mapping, Source)
    if sources is None:
        remedy = "Pass a list of them, or sources=[] if there are none."
        raise InvalidSourceError(None, "they are None", remedy)
    if isinstance(sources, single) or not isinstance(sources, Iterable):
        raise InvalidSourceError(
            None, f"they are a single {type(sources).__name__}; pass a list: sources=[...]"
        )
    found = []
    for i, value in enumerate(sources):
        source = Source.of(value, i)
        require_text(source.text, f"text of source {i}")
        require_text(source.id, f"id of source {i}")
        if source.title is not None:
            require_text(source.title, f"title of source {i}")
        found.append(source)
    return _give_ids(found)


def _give_ids(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Give an id of its own to each source that has none: ``S`` and its position.

    If another source was given that id, it is the first number beyond all positions that is free.
    """
    given: dict[str, int] = {}
    for i, source in enumerate(sources):
        first = given.setdefault(source.id, i)
        if source.id and source.text != sources[first].text:
            raise InvalidSourceError(
                i,
                # An id is anyone's text, and may be as long as they like.
                f"its id {source.id[:_SHOWN_CHARS]!r} is that of source {first}, which has another "
                "text",
                "Give each text an id of its own, or none.",
            )
    free = (id_ for n in count(len(sources)) if (id_ := f"S{n}") not in given)
    return tuple(
        source if source.id else replace(source, id=next(free) if f"S{i}" in given else f"S{i}")
        for i, source in enumerate(sources)
    )


def require_text(text: object, where: str) -> None:
    """Raise an error unless a value is valid text.

    Raises:
        InvalidTextError: If it is not a ``str`` or holds half a surrogate pair, which cannot be
            written as UTF-8.
    """
    if not isinstance(text, str):
        raise InvalidTextError(where, None, f"its type is {type(text).__name__}")
    if found := _SURROGATE.search(text):
        code = f"U+{ord(found.group()):04X}"
        raise InvalidTextError(where, found.start(), f"the lone surrogate {code}")

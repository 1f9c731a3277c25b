"""Reads the spans (passages of evidence) that callers pass; gives ids to spans without an id."""

from collections import Counter
from collections.abc import Mapping
from itertools import count

from groundwire.detection.example import Source, as_list, id_of, require_text, text_of, unscored
from groundwire.errors import InvalidSourceError, InvalidTextError
from groundwire.verify.errors import NotVerifiedError

_SHOWN_CHARS = 80
_NEXT = 'Pass a list such as [{"sid": "S0", "text": "..."}].'


def read_spans(spans: object) -> tuple[Source, ...]:
    """Read spans in every form that :meth:`.Source.of` reads, except JSON data without a text.

    A span without an id gets ``s1``, ``s2``... by its position, or the next id that is free.
    Only the ids of mappings and of :class:`.Source` count as ids.

    >>> [span.id for span in read_spans([{"sid": "S0", "text": "Tall."}, {"snippet": "Old."}])]
    ['S0', 's2']

    Raises:
        NotVerifiedError: If there are no spans (``no_spans``), or they cannot be used, for instance
            because two spans have the same id (``malformed_spans``).
    """
    try:
        listed = [] if spans is None else list(as_list(spans))
    except InvalidSourceError as error:
        raise _malformed(f"the spans cannot be read: {error.problem}. {_NEXT}") from error
    if not listed:
        raise NotVerifiedError(
            "no_spans", f"There are no spans, so nothing can support the answer. {_NEXT}"
        )
    read = [_read(span, at) for at, span in enumerate(listed)]
    given = Counter(sid for sid, _ in read if sid)
    if twice := [sid for sid, n in given.items() if n > 1]:
        shown = ", ".join(repr(sid[:_SHOWN_CHARS]) for sid in twice[:5])
        raise _malformed(
            f"duplicate span ids: {shown}. A citation must name one text; give each its own id."
        )
    taken = set(given)
    return tuple(
        Source(id=sid or _free(at + 1, taken), text=text) for at, (sid, text) in enumerate(read)
    )


def _malformed(message: str) -> NotVerifiedError:
    return NotVerifiedError("malformed_spans", message)


def _read(span: object, at: int) -> tuple[str, str]:
    document = unscored(span)
    text = span if isinstance(span, str) else text_of(document)
    if text is None or not text.strip():
        raise _malformed(f"span {at} has no text. {_NEXT}")
    # Answers cite only ids of mappings and sources. The id of another object, such as a retrieved
    # document, is a key in the store that the object comes from.
    is_named = isinstance(document, Mapping | Source)
    sid = _id(id_of(document), at) if is_named else ""
    try:
        require_text(sid, f"id of span {at}")
        require_text(text, f"text of span {at}")
    except InvalidTextError as error:
        raise _malformed(str(error)) from error
    return sid, text


def _id(value: object, at: int) -> str:
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise _malformed(f"span {at} has a {type(value).__name__} as its id. Pass a text.")
    return value.strip()


def _free(number: int, taken: set[str]) -> str:
    sid = next(name for n in count(number) if (name := f"s{n}") not in taken)
    taken.add(sid)
    return sid

"""The claims of an answer, with the spans that they cite.

Claims are the segmenter's sentences, or lines. A citation belongs to the claim it stands in; after
the full stop to the sentence before it, alone on a line to the line before. ``[S0]``, ``[1]``,
``[S0, S1]`` and ``[S1-S3]`` are citations, and so are the brackets that
:mod:`groundwire.verify.brackets` reads. A regular expression with a group ``id`` replaces all of
these.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

from groundwire.detection.asides import AsideFinder
from groundwire.detection.example import Source
from groundwire.detection.values import AsideKind
from groundwire.text.keywords import PatternError, compile_pattern
from groundwire.text.segment import Citation, Segment, parse_citations, round_ids, segment
from groundwire.verify.brackets import bracketed, masked
from groundwire.verify.citing import IdMap, Normalization
from groundwire.verify.errors import invalid_argument

#: Memory of a compiled pattern: much for a citation, and little enough to let strangers choose it.
_MAX_PATTERN_BYTES = 2**20
# "[S1]: https://..." at the foot of a text says where a source is, and nothing of its own.
_DEFINITION = re.compile(
    r"^[ \t]*\[\^?([^\[\]\n]{1,64})\]:[ \t]*<?[a-z][a-z0-9+.-]{1,16}://[^\s<>]+>?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
# Brackets of other scripts, read as those that citations usually have.
_AS_BRACKETS = str.maketrans("【】［］", "[][]")
_ROUND_ID = re.compile(r"\b[A-Za-z_]{1,16}[0-9]{1,6}\b")
_VARIABLE = re.compile(r"(?<!\w)[b-z]$")
_WRAPS = re.compile(r"\](?:\([^()\s]{1,200}\))?")
_SPACE_BEFORE_MARK = re.compile(r"\s+(?=[.,;:!?…](?:\s|$))")
_EMPTY_BRACKETS = re.compile(r"\(\s*(?:see|cf\.?|source|sources)?\s*[:,;]?\s*\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiableClaim:
    """One statement of an answer, or one step of a trace.

    Attributes:
        idx: Its number, from 0; of a step, the number it was given.
        text: The statement, without citations.
        raw_text: The statement as written, with its citations.
        cites: Ids of the spans it cites, each once, in order.
        raw_cites: The ids as written.
        normalizations: Ids that were not taken literally.
        unknown: Ids that name no span.
        target: The probability it has to reach, if it has one of its own.
    """

    idx: int
    text: str
    raw_text: str
    cites: tuple[str, ...] = ()
    raw_cites: tuple[str, ...] = ()
    normalizations: tuple[Normalization, ...] = ()
    unknown: tuple[str, ...] = ()
    target: float | None = None

    @property
    def has_citations(self) -> bool:
        """Whether it cites anything, known or not."""
        return bool(self.raw_cites)

    def resolved(self, ids: IdMap) -> Self:
        """The claim with the spans that its written ids mean."""
        found = ids.read(self.raw_cites)
        return replace(
            self, cites=found.ids, normalizations=found.normalizations, unknown=found.unknown
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """An answer, divided.

    Attributes:
        claims: Its claims, in order.
        asides: Its parts that claim nothing, such as headings, each with its kind; nothing in them
            is verified.
    """

    claims: tuple[VerifiableClaim, ...]
    asides: tuple[tuple[AsideKind, str], ...] = ()


@dataclass(slots=True)
class _Piece:
    start: int
    end: int
    marks: list[Citation]


def read_claims(
    answer: str,
    *,
    span_ids: Sequence[str],
    claim_split: str = "sentences",
    citation_regex: str | None = None,
) -> tuple[VerifiableClaim, ...]:
    """Read all sentences or lines of an answer as claims, headings and greetings included.

    >>> [(c.text, c.cites) for c in read_claims("It is tall. [S0] It is old [1].", span_ids=["S0"])]
    [('It is tall.', ('S0',)), ('It is old.', ())]

    Args:
        answer: The answer.
        span_ids: Ids of the spans that may be cited.
        claim_split: ``sentences`` or ``lines``.
        citation_regex: Pattern of a citation, with a group ``id`` (RE2's syntax, whose time grows
            with the length of the answer alone); ``None``: as described above.

    Raises:
        NotVerifiedError: If the regular expression cannot be used.
    """
    known = frozenset(span_ids)
    read = _without_definitions(answer.translate(_AS_BRACKETS), known)
    pieces = _with_text(_pieces(read, known, claim_split, citation_regex), read)
    return _as_claims(answer, read, pieces, known)


def read_answer(
    answer: str, spans: Sequence[Source], *, claim_split: str, citation_regex: str | None
) -> ReadAnswer:
    """Divide an answer into claims and asides; arguments and errors are those of `read_claims`."""
    known = frozenset(span.id for span in spans)
    read = _without_definitions(answer.translate(_AS_BRACKETS), known)
    pieces = _with_text(_pieces(read, known, claim_split, citation_regex), read)
    finder = AsideFinder((f"{span.title or ''}\n{span.text}" for span in spans), known, None)
    segments = [
        Segment(start=piece.start, end=piece.end, citations=tuple(piece.marks)) for piece in pieces
    ]
    kinds = [kind for _, kind in finder.feed(read, segments, is_end=True)]
    found = list(zip(pieces, kinds, strict=True))
    return ReadAnswer(
        claims=_as_claims(answer, read, [piece for piece, kind in found if kind is None], known),
        asides=tuple((kind, answer[p.start : p.end]) for p, kind in found if kind is not None),
    )


def _as_claims(
    answer: str, read: str, pieces: Sequence[_Piece], known: frozenset[str]
) -> tuple[VerifiableClaim, ...]:
    written = [tuple(dict.fromkeys(id_ for m in p.marks for id_ in m.ids)) for p in pieces]
    ids = IdMap.of(known, (id_ for each in written for id_ in each))
    return tuple(
        VerifiableClaim(
            idx=idx,
            text=_text_of(piece, read),
            raw_text=answer[piece.start : piece.end],
            raw_cites=raw,
        ).resolved(ids)
        for idx, (piece, raw) in enumerate(zip(pieces, written, strict=True))
    )


def bare_text(text: str, marks: Iterable[tuple[int, int]]) -> str:
    """The text without some stretches, its spaces tidied.

    >>> bare_text("It is tall [S0].", [(11, 15)])
    'It is tall.'
    """
    parts, position = [], 0
    for start, end in sorted(marks):
        parts.append(text[position:start])
        position = max(position, end)
    joined = " ".join(" ".join([*parts, text[position:]]).split())
    return _SPACE_BEFORE_MARK.sub("", _EMPTY_BRACKETS.sub("", joined)).strip()


def find_citations(
    text: str, known: frozenset[str], citation_regex: str | None = None
) -> tuple[Citation, ...]:
    """Find all citations of a text, in order.

    Raises:
        NotVerifiedError: If the regular expression cannot be used.
    """
    if citation_regex is not None:
        return tuple(_matches(text, citation_regex))
    plain = parse_citations(text, known=_round_ids(text, known))
    found = [*plain, *bracketed(text, known, taken=plain)]
    # The index of a variable, x[0], names an element of it.
    return tuple(
        _with_outer_brackets(text, each)
        for each in sorted(found, key=lambda each: each.start)
        if not _VARIABLE.search(text[max(0, each.start - 2) : each.start])
    )


def _round_ids(text: str, known: frozenset[str]) -> frozenset[str]:
    """The ids that count in round brackets: beside a known one, unknown ones of the same form."""
    ids = round_ids(known)
    letters = {
        id_.rstrip("0123456789") for each in parse_citations(text, known=ids) for id_ in each.ids
    }
    return ids | {each for each in _ROUND_ID.findall(text) if each.rstrip("0123456789") in letters}


def _with_outer_brackets(text: str, mark: Citation) -> Citation:
    """A citation with the brackets around it, as of ``[[S1]]`` and ``[[1]](https://...)``."""
    wraps = _WRAPS.match(text, mark.end) if text[mark.start - 1 : mark.start] == "[" else None
    if wraps is None:
        return mark
    return Citation(start=mark.start - 1, end=wraps.end(), ids=mark.ids)


def _pieces(
    answer: str, known: frozenset[str], claim_split: str, citation_regex: str | None
) -> list[_Piece]:
    marks = find_citations(answer, known, citation_regex)
    text = masked(answer, marks, " ")
    if claim_split == "lines":
        ranges = list(_lines(text))
    else:
        ranges = [(each.start, each.end) for each in segment(text)]
    return _assigned([_Piece(start, end, []) for start, end in ranges], marks, answer)


def _without_definitions(answer: str, known: frozenset[str]) -> str:
    """Blank out the lines that give the web addresses of spans."""
    ids = IdMap(known)

    def blank(line: re.Match[str]) -> str:
        return line.group() if ids.meaning(line[1].strip()) is None else " " * len(line.group())

    return _DEFINITION.sub(blank, answer) if "]:" in answer else answer


def _lines(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    for line in text.splitlines(keepends=True):
        if any(char.isalnum() for char in line):
            start = position + len(line) - len(line.lstrip())
            yield start, position + len(line.rstrip())
        position += len(line)


def _assigned(pieces: list[_Piece], marks: Iterable[Citation], text: str) -> list[_Piece]:
    """Give each citation to the piece it stands in, else to that before, unless it opens a line."""
    at = 0
    for mark in marks:
        while at < len(pieces) and pieces[at].end <= mark.start:
            at += 1
        before, after = at - 1, at if at < len(pieces) else None
        if after is not None and (
            pieces[after].start < mark.end
            or before < 0
            or (
                "\n" in text[pieces[before].end : mark.start]
                and "\n" not in text[mark.end : pieces[after].start]
            )
        ):
            pieces[after].marks.append(mark)
            pieces[after].start = min(pieces[after].start, mark.start)
        elif before >= 0:
            pieces[before].marks.append(mark)
            pieces[before].end = max(pieces[before].end, mark.end)
    return pieces


def _with_text(pieces: Iterable[_Piece], answer: str) -> list[_Piece]:
    """Keep pieces with words; the citations of others go to the piece before, or else after."""
    kept: list[_Piece] = []
    waiting: list[Citation] = []
    for piece in pieces:
        piece.marks = sorted([*waiting, *piece.marks], key=lambda mark: mark.start)
        waiting = []
        if any(char.isalnum() for char in _text_of(piece, answer)):
            kept.append(piece)
        elif kept:
            kept[-1].marks += piece.marks
        else:
            waiting = piece.marks
    return kept


def _text_of(piece: _Piece, answer: str) -> str:
    inside = [
        (max(mark.start, piece.start) - piece.start, min(mark.end, piece.end) - piece.start)
        for mark in piece.marks
        if mark.start < piece.end and mark.end > piece.start
    ]
    return bare_text(answer[piece.start : piece.end], inside)


def _matches(text: str, pattern: str) -> Iterator[Citation]:
    for match in compiled_citation(pattern)(text):
        id_ = (match.group("id") or "").strip()
        if id_ and match.end() > match.start():
            yield Citation(start=match.start(), end=match.end(), ids=(id_,))


@lru_cache(maxsize=16)
def compiled_citation(pattern: str) -> Callable[[str], Iterator["re.Match[str]"]]:
    """The function that finds the citations a regular expression describes.

    Raises:
        NotVerifiedError: If it cannot be used.
    """
    try:
        compiled = compile_pattern(pattern, is_case_sensitive=True, max_bytes=_MAX_PATTERN_BYTES)
    except PatternError as error:
        raise invalid_argument(
            f"citation_regex cannot be used: {error}. It is in RE2's syntax, without back "
            r"references and looking around, such as \[(?P<id>S\d+)\]."
        ) from error
    if "id" not in compiled.groupindex:
        raise invalid_argument(
            r"citation_regex has no group named id. Name one, as in \[(?P<id>S\d+)\]."
        )
    find: Callable[[str], Iterator[re.Match[str]]] = compiled.finditer
    return find

"""Divides an answer into claims, and finds the spans that each claim cites.

A span is a passage of the evidence with an id. Claims are sentences or lines. A citation belongs to
the claim around it, or else usually to the claim before it.

Citations are ids in square brackets, such as ``[S0]``, ``[1]``, ``[S0, S1]`` and ``[S1-S3]``, and
the other brackets that :mod:`groundwire.verify.brackets` finds. Round brackets are a citation if
they have only ids of spans, such as ``(S1)``, or ids with the same letters as an id that the answer
cites: ``(S9)`` if the answer cites ``[S1]``. East Asian brackets, 【】 and ［］, are read as square
brackets. If the caller passes a regular expression with a group ``id``, only its matches are
citations.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

from groundwire.config.tree import Verify
from groundwire.detection.asides import AsideFinder
from groundwire.detection.asides.known_words import words_in
from groundwire.detection.example import Source
from groundwire.detection.values import AsideKind
from groundwire.text.keywords import PatternError, compile_pattern
from groundwire.text.segment import Citation, Segment, parse_citations, segment
from groundwire.text.segment.citations import TARGET, round_ids
from groundwire.verify.brackets import bracketed, masked, without_code
from groundwire.verify.citing import IdMap, Normalization
from groundwire.verify.errors import invalid_argument

#: Limit on a compiled citation pattern, in bytes; the pattern may come from strangers.
_MAX_PATTERN_BYTES = 2**20
# A line such as "[S1]: https://...". If S1 is a span, the line is neither a claim nor a citation.
_DEFINITION = re.compile(
    r"(?im)^[ \t]*[\[【［]\^?([^\[\]【】［］\n]{1,64})[\]】］]:"
    r"[ \t]*<?[a-z][a-z0-9+.-]{1,16}://[^\s<>]+>?[ \t]*$"
)
# East Asian brackets are read as square brackets.
_AS_BRACKETS = str.maketrans("【】［］", "[][]")
_ROUND_ID = re.compile(r"\b[A-Za-z_]{1,16}[0-9]{1,6}\b")
_VARIABLE = re.compile(r"(?<!\w)[b-z]\Z")
_WRAPS = re.compile(rf"\](?:{TARGET})?")
_SPACE_BEFORE_MARK = re.compile(r"\s+(?=[.,;:!?…](?:\s|$))")
_EMPTY_BRACKETS = re.compile(r"\(\s*(?:see|cf\.?|source|sources)?\s*[:,;]?\s*\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiableClaim:
    """One statement of an answer, or one step of a trace.

    Attributes:
        idx: Number of the claim, from 0; for a step, its ``idx``, if the caller gave one.
        text: The statement, without citations.
        raw_text: The statement as written, with its citations.
        cites: Ids of the spans that the claim cites, each once, in order.
        raw_cites: The ids as written, each once.
        normalizations: Written ids that were not taken literally, each with the id of its span.
        unknown: Ids that name no span.
        target: Probability that the claim has to reach; ``None`` for the default target.
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
        """Whether the claim cites anything, a span or an unknown id."""
        return bool(self.raw_cites)

    def resolved(self, ids: IdMap) -> Self:
        """Return the claim with its written ids mapped to spans."""
        meanings = [(raw, ids.meaning(raw)) for raw in self.raw_cites]
        named = [(raw, sid) for raw, sid in meanings if sid is not None]
        return replace(
            self,
            cites=tuple(dict.fromkeys(sid for _, sid in named)),
            normalizations=tuple(Normalization(raw, sid) for raw, sid in named if raw != sid),
            unknown=tuple(raw for raw, sid in meanings if sid is None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """An answer divided into claims and asides, or a trace read as claims.

    Attributes:
        claims: The claims, in order.
        asides: Parts that claim nothing, such as headings, each with its kind.
    """

    claims: tuple[VerifiableClaim, ...]
    asides: tuple[tuple[AsideKind, str], ...] = ()


@dataclass(slots=True)
class _Piece:
    start: int
    end: int
    marks: list[Citation]
    text: str = ""  # without citations


def read_claims(
    answer: str,
    *,
    span_ids: Sequence[str],
    claim_split: str = "sentences",
    citation_regex: str | None = None,
) -> tuple[VerifiableClaim, ...]:
    """Read all sentences or lines with words as claims, headings and greetings included.

    >>> [(c.text, c.cites) for c in read_claims("It is tall. [S0] It is old [1].", span_ids=["S0"])]
    [('It is tall.', ('S0',)), ('It is old.', ())]

    Args:
        answer: The answer.
        span_ids: Ids of the spans that may be cited.
        claim_split: ``sentences`` or ``lines``.
        citation_regex: Pattern of a citation in RE2's syntax, with a group ``id``; ``None`` for the
            forms that this module describes.

    Raises:
        NotVerifiedError: If the regular expression cannot be used.
    """
    known = frozenset(span_ids)
    _, pieces = _read(answer, known, Verify(claim_split=claim_split, citation_regex=citation_regex))
    return _as_claims(answer, pieces, known)


def read_answer(answer: str, spans: Sequence[Source], settings: Verify) -> ReadAnswer:
    """Divide an answer into claims and asides.

    The settings say whether claims are sentences or lines, and what citations look like.

    Raises:
        NotVerifiedError: If the regular expression cannot be used.
    """
    known = frozenset(span.id for span in spans)
    read, pieces = _read(answer, known, settings)
    finder = AsideFinder((f"{span.title or ''}\n{span.text}" for span in spans), known, None)
    segments = [
        Segment(start=piece.start, end=piece.end, citations=tuple(piece.marks)) for piece in pieces
    ]
    kinds = [kind for _, kind in finder.feed(read, segments, is_end=True)]
    found = [
        (piece, AsideKind.REMARK if kind is None and _is_remark(piece, finder) else kind)
        for piece, kind in zip(pieces, kinds, strict=True)
    ]
    return ReadAnswer(
        claims=_as_claims(answer, [piece for piece, kind in found if kind is None], known),
        asides=tuple((kind, answer[p.start : p.end]) for p, kind in found if kind is not None),
    )


def _is_remark(piece: _Piece, finder: AsideFinder) -> bool:
    # "Yes" or "No" alone says nothing without its question, which is not known here.
    is_answer = bool(words := words_in(piece.text)) and {"yes", "no"}.issuperset(words)
    return not piece.marks and (is_answer or finder.is_absence(piece.text, may_name_some=True))


def _as_claims(
    answer: str, pieces: Sequence[_Piece], known: frozenset[str]
) -> tuple[VerifiableClaim, ...]:
    written = [tuple(dict.fromkeys(id_ for m in p.marks for id_ in m.ids)) for p in pieces]
    ids = IdMap.of(known, (id_ for each in written for id_ in each))
    return tuple(
        VerifiableClaim(
            idx=idx, text=piece.text, raw_text=answer[piece.start : piece.end], raw_cites=raw
        ).resolved(ids)
        for idx, (piece, raw) in enumerate(zip(pieces, written, strict=True))
    )


def tidied(masked_text: str) -> str:
    """Remove extra spaces and empty brackets from a text whose citations were replaced by spaces.

    >>> tidied("It is tall (see     ).")
    'It is tall.'
    """
    joined = " ".join(masked_text.split())
    return _SPACE_BEFORE_MARK.sub("", _EMPTY_BRACKETS.sub("", joined)).strip()


def find_citations(
    text: str, known: frozenset[str], citation_regex: str | None = None
) -> tuple[Citation, ...]:
    """Find all citations of a text, in order; ``known`` are the ids of the spans.

    Raises:
        NotVerifiedError: If the regular expression cannot be used.
    """
    if citation_regex is not None:
        return tuple(_matches(text, citation_regex))
    text = without_code(text.translate(_AS_BRACKETS))
    plain = parse_citations(text, known=_round_ids(text, known))
    found = [*plain, *bracketed(text, known, taken=plain)]
    # The bracket in x[0] is the index of a variable, not a citation.
    return tuple(
        _with_outer_brackets(text, each)
        for each in sorted(found, key=lambda each: each.start)
        if not _VARIABLE.search(text[max(0, each.start - 2) : each.start])
    )


def _round_ids(text: str, known: frozenset[str]) -> frozenset[str]:
    """Return the ids that count as citations in round brackets.

    These are the ids of spans (``S2`` for a span ``2``), and all ids in the text that have the same
    letters before their number as an id that the text cites: if the text cites ``[S1]``, ``(S9)``
    is a citation too.
    """
    ids = round_ids(known)
    letters = {
        id_.rstrip("0123456789") for each in parse_citations(text, known=ids) for id_ in each.ids
    }
    return ids | {each for each in _ROUND_ID.findall(text) if each.rstrip("0123456789") in letters}


def _with_outer_brackets(text: str, mark: Citation) -> Citation:
    """Extend a citation to brackets around it, as in ``[[S1]]`` and ``[[1]](https://...)``."""
    wraps = _WRAPS.match(text, mark.end) if text[mark.start - 1 : mark.start] == "[" else None
    if wraps is None:
        return mark
    return Citation(start=mark.start - 1, end=wraps.end(), ids=mark.ids)


def _read(answer: str, known: frozenset[str], settings: Verify) -> tuple[str, list[_Piece]]:
    """Divide an answer into pieces (sentences or lines) that have words, each with its citations.

    Returns:
        The answer, with spaces in place of lines that give the web address of a span, and with
        square brackets in place of East Asian ones unless a regular expression for citations is
        set; and the pieces. Replacements keep the length, so the offsets of the pieces are valid in
        ``answer`` too.
    """
    own = answer if settings.citation_regex else answer.translate(_AS_BRACKETS)
    read = _without_definitions(own, known)
    marks = find_citations(read, known, settings.citation_regex)
    text = masked(read, marks, " ")
    if settings.claim_split == "lines":
        ranges = list(_lines(text))
    else:
        ranges = [(each.start, each.end) for each in segment(text)]
    pieces = _assigned([_Piece(start, end, []) for start, end in ranges], marks, read)
    for piece in pieces:
        piece.text = tidied(text[piece.start : piece.end])
    return read, _with_text(pieces)


def _without_definitions(answer: str, known: frozenset[str]) -> str:
    """Blank out the lines that give the web addresses of spans."""
    ids = IdMap(known)

    def blank(line: re.Match[str]) -> str:
        return line.group() if ids.meaning(line[1].strip()) is None else " " * len(line.group())

    return _DEFINITION.sub(blank, answer) if "://" in answer else answer


def _lines(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    for line in text.splitlines(keepends=True):
        if any(char.isalnum() for char in line):
            start = position + len(line) - len(line.lstrip())
            yield start, position + len(line.rstrip())
        position += len(line)


def _assigned(pieces: list[_Piece], marks: Iterable[Citation], text: str) -> list[_Piece]:
    """Give each citation to the piece (sentence or line) around it, or else to the piece before.

    A citation between two pieces belongs to the second piece if the citation opens the line in
    which this piece begins. A citation before all pieces belongs to the first piece. Pieces are
    extended to include their citations.
    """
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


def _with_text(pieces: Iterable[_Piece]) -> list[_Piece]:
    """Drop pieces (sentences or lines) without words; give their citations to the piece before.

    If no piece is before, the next piece with words gets the citations.
    """
    kept: list[_Piece] = []
    waiting: list[Citation] = []
    for piece in pieces:
        piece.marks = sorted([*waiting, *piece.marks], key=lambda mark: mark.start)
        waiting = []
        if any(map(str.isalnum, piece.text)):
            kept.append(piece)
        elif kept:
            kept[-1].marks += piece.marks
        else:
            waiting = piece.marks
    return kept


def _matches(text: str, pattern: str) -> Iterator[Citation]:
    for match in compiled_citation(pattern)(text):
        id_ = (match.group("id") or "").strip()
        if id_ and match.end() > match.start():
            yield Citation(start=match.start(), end=match.end(), ids=(id_,))


@lru_cache(maxsize=16)
def compiled_citation(pattern: str) -> Callable[[str], Iterator["re.Match[str]"]]:
    """Compile a pattern of citations, and return a function that finds its matches in a text.

    Raises:
        NotVerifiedError: If the pattern is not valid, needs too much memory or has no group ``id``.
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

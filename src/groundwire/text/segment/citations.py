"""Parses citations, which are references to sources in a text: ``[S0]`` or ``[1, 3-5]``."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from groundwire.text.segment.characters import BLANKS
from groundwire.text.segment.inline_code import code_span_end
from groundwire.text.segment.view import View

#: Limit on the ids in a citation. Brackets with more ids, such as ``[1-999999]``, are not read as
#: a citation here.
MAX_CITED_IDS = 50

_INSIDE = r"A-Za-z0-9_^,; \t\u00a0\u202f–—\-"
_BRACKET = re.compile(rf"(?<!\\)\[([{_INSIDE}]{{1,200}})\]")
_BRACKET_BEGUN = re.compile(rf"(?<!\\)\[[{_INSIDE}]{{0,200}}")
_ROUND = re.compile(
    rf"\((?:(?:see|sources?|refs?|cf\.):? )?([{_INSIDE}]{{1,200}})\)", re.IGNORECASE
)
_ROUND_BEGUN = re.compile(rf"\([{_INSIDE}:.]{{0,212}}")
#: Pattern of the target of a link; an address may have round brackets, as in ``.../Paris_(Texas)``.
TARGET = r"\((?!\))[^()\s]{0,500}(?:\([^()\s]{0,200}\)[^()\s]{0,200}){0,5}\)"
_TARGET = re.compile(TARGET)
_TARGET_BEGUN = re.compile(r"\((?!\))[^()\s]{0,500}(?:\([^()\s]{0,200}(?:\)[^()\s]{0,200})?){0,5}")
_CITED = re.compile(
    r"\s*\^?([A-Za-z_]{0,16})([0-9]{1,6})(?:\s*[\-–—]\s*([A-Za-z_]{0,16})([0-9]{1,6}))?\s*"
)
_MARK_OR_BRACKET = re.compile(r"`+|[\[(]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A reference to sources in a text, such as ``[S0]`` or ``[1, 3-5]``.

    Attributes:
        start: Offset of the first character, usually a bracket, in the text.
        end: Offset after the citation; the target of a Markdown link, ``[1](https://...)``, is part
            of it.
        ids: The ids that the citation names, in order, each once; at least one. A citation that
            :func:`parse_citations` finds has at most ``MAX_CITED_IDS`` ids, with ranges written
            out: ``("1", "3", "4", "5")``.
    """

    start: int
    end: int
    ids: tuple[str, ...]


def round_ids(ids: Collection[str]) -> frozenset[str]:
    """Return the ids by which sources can be cited in round brackets.

    The source ``2`` is cited as ``(S2)``, because ``(2)`` may be an ordinary number in brackets.

    >>> sorted(round_ids(["S0", "2"]))
    ['S0', 'S2']
    """
    return frozenset(f"S{each}" if each.isdecimal() else each for each in ids)


def parse_citations(
    text: str, start: int = 0, end: int | None = None, *, known: Collection[str] = ()
) -> tuple[Citation, ...]:
    """Find the citations in ``text[start:end]``; offsets count in ``text``.

    An id is up to 16 letters or underscores, then 1 to 6 digits: ``S0``, ``1``, ``doc12``. Ids are
    separated by commas or semicolons; a range joins two with a hyphen or a dash (``[S1-S3]``,
    ``[1–3]``). Footnotes (``[^1]``) count, brackets in inline code do not. Round brackets are a
    citation only if all their ids are in ``known``: ``(see S0, S1)``.
    """
    end = len(text) if end is None else end
    found = []
    position = start
    while match := _MARK_OR_BRACKET.search(text, position, end):
        position = match.end()
        if match.group()[0] == "`":
            position = code_span_end(text, match.start(), position, end) or position
        elif citation := _citation_at(text, match.start(), end, known):
            found.append(citation)
            position = citation.end
    return tuple(found)


def _citation_at(text: str, position: int, end: int, known: Collection[str]) -> Citation | None:
    """Return the citation whose bracket opens at ``position``; ``None`` if there is none."""
    is_round = text[position] == "("
    match = (_ROUND if is_round else _BRACKET).match(text, position, end)
    ids = _cited_ids(match.group(1)) if match else ()
    if match is None or not ids or (is_round and not all(each in known for each in ids)):
        return None
    target = None if is_round else _TARGET.match(text, match.end(), end)
    return Citation(start=position, end=(target or match).end(), ids=tuple(dict.fromkeys(ids)))


def _cited_ids(inside: str) -> list[str]:
    """Return the ids in the text between two brackets; empty if the text is not a citation."""
    ids: list[str] = []
    for part in re.split("[,;]", inside):
        named = written_out(part)
        ids += named
        if not named or len(ids) > MAX_CITED_IDS:
            return []
    return ids


def written_out(part: str) -> list[str]:
    """Return the ids in one part of a citation, ranges written out; empty if the part is invalid.

    >>> written_out("S1-3"), written_out("3-1")
    (['S1', 'S2', 'S3'], [])
    """
    match = _CITED.fullmatch(part)
    if match is None:
        return []
    prefix, low, last_prefix, high = match.groups()
    if high is None:
        return [prefix + low]
    count = int(high) - int(low) + 1
    if last_prefix not in ("", prefix) or not 1 <= count <= MAX_CITED_IDS:
        return []
    # Leading zeros are kept: [01-03] names 01, 02 and 03.
    return [f"{prefix}{number:0{len(low)}d}" for number in range(int(low), int(high) + 1)]


def citations_end(view: View, position: int) -> int:
    """Return the offset after the citations at ``position``, or ``position`` if there are none."""
    while True:
        bracket = view.run(BLANKS, position)
        char = view.at(bracket)
        if char != "[" and not (char == "(" and view.known):
            return position
        stop = _citation_end(view, bracket)
        if stop is None:
            return position
        position = stop


def _citation_end(view: View, position: int) -> int | None:
    citation = _citation_at(view.text, position, view.end, view.known)
    is_round = view.at(position) == "("
    if citation is None:
        view.wait_if_begun(_ROUND_BEGUN if is_round else _BRACKET_BEGUN, position)
        return None
    if not is_round and view.at(citation.end) == "(":
        view.wait_if_begun(_TARGET_BEGUN, citation.end)  # the target of a Markdown link
    return citation.end

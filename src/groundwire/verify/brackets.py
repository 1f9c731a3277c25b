"""Finds citations in brackets that :mod:`groundwire.text.segment` does not find.

A span, here, is a passage of the evidence with an id. In most cases, the text in brackets shows
whether the brackets are a citation. ``[intro]`` is a citation if a span has the id ``intro``, and
``[note-9]`` if a span has an id that differs only in the number, such as ``note-1``. An id of a
usual form, such as ``Source 3`` or ``S0``, makes a citation, even if a comma and other words
follow: ``[S0, nope]`` is a citation, and ``nope`` is an unknown id if no span has it. A single word
in brackets can be a citation because of its position (:func:`bracketed`). A range of ids that is
too long, or runs backwards such as ``S9-S1``, is read as one id.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from groundwire.text.segment.citations import MAX_CITED_IDS, TARGET, Citation, written_out
from groundwire.verify.citing import IdMap

_BRACKET = re.compile(rf"(?<!\\)\[([^\[\]\n\0]{{1,2000}})\]({TARGET})?")
_CODE = re.compile(
    r"^[ \t>]*(`{3,}|~{3,})[^\n`]*\n.*?(?:^[ \t>]*\1|\Z)|`[^`\n]*`", re.MULTILINE | re.DOTALL
)
_SEPARATOR = re.compile(r"\s*[,;，；、]\s*|\s+(?:and|&)\s+")
_LED_BY = re.compile(r"(?:see|cf\.?|sources?|refs?|citations?|evidence)\s*:?\s+", re.IGNORECASE)
_NAMED = (
    r"(?i:S[ _-]?[0-9]+"
    r"|(?:source|span|doc|document|passage|ref|reference|context|chunk|snippet)[ _#-]*[0-9]+)"
)
_MAX_SHAPES = 100

#: Matches a single word in brackets that may be an id.
_WORD = re.compile(
    r"[A-Za-z]\w{0,63}|(?=\S*[A-Za-z])[\w.:/#-]{1,63}[0-9]|\w+\.[a-z]{1,8}", re.ASCII
)
#: Words that editors put in brackets. They are not ids.
_EDITORIAL = re.compile(
    "sic|notes?|nb|emphasis|applause|laughter|laughs|crosstalk|inaudible|unintelligible|redacted|"
    "deleted|omitted|censored|expletive|blank|name|edit|edited|updated?|translat(?:ed|ion)|"
    "paraphrased|abridged|link|here|pdf|video|audio|image|figure|table|ok|x",
    re.IGNORECASE,
)
# The patterns below are matched against an answer in which NUL characters replace the citations
# that were found already.
# Between a word and a citation there is a blank. Without a blank, the text is code: list[str].
_AFTER_WORD = re.compile(r"[\w\"'”’)*%][ \t\u00a0]+\Z")
_AFTER_CITATION = re.compile(r"(?:\0|[.!?…。])[ \t\u00a0]*\Z")
_ENDS_SENTENCE = re.compile(r"[\"'”’)*_]{0,4}(?:[.!?…。]|\s*$|[ \t]*\|)", re.MULTILINE)
_BEFORE_CITATION = re.compile(r"[ \t\u00a0]*\0")


def bracketed(
    text: str, known: frozenset[str], *, taken: Sequence[Citation]
) -> tuple[Citation, ...]:
    """Find the citations in brackets that ``parse_citations`` does not find.

    A single word in brackets can be a citation, even if no span has this id: beside a citation,
    right after a sentence, or between a word and the end of a sentence, line or table cell.
    Exceptions are editors' words such as ``[sic]``, and the texts of links. Brackets in code are
    not citations.

    >>> [each.ids for each in bracketed("A [intro]. B [S0, nope].", frozenset({"S0"}), taken=())]
    [('intro',), ('S0', 'nope')]

    Args:
        text: The answer.
        known: Ids of the spans, which are passages of the evidence.
        taken: Citations that ``parse_citations`` found in the answer.
    """
    if "[" not in text:
        return ()
    grammar = _grammar_of(known)
    outside = masked(without_code(text), taken)
    found = [
        Citation(start=match.start(), end=match.end(), ids=ids)
        for match in _BRACKET.finditer(outside)
        if (ids := grammar.ids(match[1]))
    ]
    hidden = masked(outside, found)
    for match in _BRACKET.finditer(hidden):
        word = match[1].strip()
        is_word = _WORD.fullmatch(word) and not _EDITORIAL.fullmatch(word) and not match[2]
        if is_word and _is_where_citations_stand(hidden, match):
            found.append(Citation(start=match.start(), end=match.end(), ids=(word,)))
            hidden = masked(hidden, found[-1:])
    return tuple(sorted(found, key=lambda each: each.start))


def without_code(text: str) -> str:
    """Replace code with spaces; lines and offsets stay as they are."""
    return _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), text)


def masked(text: str, citations: Iterable[Citation], fill: str = "\0") -> str:
    """Replace citations, given in order, with fill characters, so that offsets stay valid."""
    parts, position = [], 0
    for each in citations:
        parts += [text[position : each.start], fill * (each.end - each.start)]
        position = each.end
    return "".join([*parts, text[position:]])


def _is_where_citations_stand(hidden: str, match: re.Match[str]) -> bool:
    """Return whether a bracket stands where citations usually stand.

    Citations usually stand after another citation or the end of a sentence, without a letter or
    digit right behind the bracket; before another citation; and between a word and the end of a
    sentence, line or table cell. ``hidden`` is the answer, with NUL characters in place of the
    citations that were found already.
    """
    before = hidden[max(0, match.start() - 8) : match.start()]
    if _AFTER_CITATION.search(before):
        return not hidden[match.end() : match.end() + 1].isalnum()
    if _BEFORE_CITATION.match(hidden, match.end()):
        return True
    return bool(_AFTER_WORD.search(before) and _ENDS_SENTENCE.match(hidden, match.end()))


class _Grammar:
    """Regular expressions for the ids in a bracket, made from the ids of the spans.

    Attributes:
        plain: The map from written ids to spans, for an answer that does not count spans from 1.
        named: Matches an id of a usual form (``S1``, ``source 2``), or of the form of a span's id
            that is not a plain number; a page or the like may follow (``S1: p. 3``). Also matches a
            range of such ids.
        one: Matches a single id of the forms in ``named``, or a number with or without letters
            before it.
        several: Matches a range of ids that ``one`` matches, such as ``S1-S3``.
    """

    def __init__(self, known: frozenset[str]) -> None:
        ids = sorted(each for each in known if not each.isdecimal())
        # Ids that differ only in their numbers share one pattern.
        shapes = {re.sub("[0-9]+", "[0-9]+", re.escape(each)): None for each in ids}
        named = "|".join([_NAMED, *list(shapes)[:_MAX_SHAPES]])
        numbered = rf"{named}|[A-Za-z_]{{0,16}}[0-9]+"
        joiner = r"\s*(?:[-–—]|\.{2,3}|…|\bto\b)\s*"
        self.plain = IdMap(known)
        self.named = re.compile(rf"(?:{named})(?:\s?[:§#@|].*|{joiner}(?:{named}))?")
        self.one = re.compile(numbered)
        self.several = re.compile(rf"({numbered}){joiner}({numbered})")

    def ids(self, inside: str) -> tuple[str, ...]:
        """Return the ids in the text inside a bracket; empty if the text may be prose."""
        if inside.strip() in self.plain.known:
            return (inside.strip(),)
        parts = self._parts(_LED_BY.sub("", _tidy(inside), count=1))
        if not parts or not self._is_citation(parts):
            return ()
        ids = tuple(dict.fromkeys(id_ for part in parts for id_ in self._written_out(part)))
        # With more ids than one citation may have, each range stays as written, as one id.
        return ids if len(ids) <= MAX_CITED_IDS else tuple(dict.fromkeys(parts))

    def _parts(self, inside: str) -> list[str]:
        parts: list[str] = []
        for part in _SEPARATOR.split(inside):
            words = part.split()
            parts += words if all(map(self._is_numbered, words)) else [part.strip()]
        return list(filter(None, parts))

    def _is_citation(self, parts: Sequence[str]) -> bool:
        if any(map(self.named.fullmatch, parts)) or all(map(self._is_numbered, parts)):
            return True
        is_known = any(self.plain.meaning(part) is not None for part in parts)
        return is_known and all(self._is_numbered(p) or _WORD.fullmatch(p) for p in parts)

    def _is_numbered(self, part: str) -> bool:
        return bool(self.one.fullmatch(part) or self.several.fullmatch(part))

    def _written_out(self, part: str) -> Sequence[str]:
        joined = None if self.one.fullmatch(part) else self.several.fullmatch(part)
        return (joined and written_out(f"{joined[1]}-{joined[2]}")) or (part,)


_grammar_of = lru_cache(maxsize=16)(_Grammar)


def _tidy(inside: str) -> str:
    """Normalize the text of a bracket, so that ids can be compared.

    Invisible characters, carets before ids (``^1``), and a dagger with the text after it
    (``1†source``) are removed.
    """
    plain = unicodedata.normalize("NFKC", inside)
    seen = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    return " ".join(re.sub(r"†[^,;]*|(?<![^\s,;])\^", "", seen).split())

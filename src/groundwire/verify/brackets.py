"""Brackets that cite, beyond those that every text has: what an answer made up must not vanish.

``[S0]``, ``[1, 3-5]`` and the like are read by :mod:`.text.segment`. With spans at hand more
is certain: ``[intro]`` and ``[doc-1]`` name spans, ``[doc-9]`` looks as if it did, and of
``[S0, nope]`` one part does, so the other is an id that nobody has. A range that is too long or
runs backwards is one id as written, and unknown. One word alone is an id where citations stand:
beside one, or where a sentence ends. The words of an editor, ``[sic]`` or ``[emphasis added]``, are
none.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from groundwire.text.segment import MAX_CITED_IDS, Citation, written_out
from groundwire.verify.citing import IdMap

_INSIDE = r"[^\[\]【】［］\n]{1,2000}"
_BRACKET = re.compile(
    rf"(?<!\\)(?:\[({_INSIDE})\]|【({_INSIDE})】|［({_INSIDE})］)(\([^()\s]{{1,200}}\))?"
)
_OPENS = re.compile(r"[\[【［]")
_FENCED = re.compile(
    r"^[ \t>]*(`{3,}|~{3,})[^\n`]*\n.*?(?:^[ \t>]*\1|\Z)", re.MULTILINE | re.DOTALL
)
_INLINE_CODE = re.compile(r"`[^`\n]*`")

_SEPARATOR = re.compile(r"\s*[,;，；、]\s*|\s+(?:and|&)\s+")
_LED_BY = re.compile(r"(?:see|cf\.?|sources?|refs?|citations?|evidence)\s*:?\s+", re.IGNORECASE)
_JOINER = re.compile(r"\s*(?:[-–—]|\.{2,3}|…|\bto\b)\s*")

_NUMBERED = re.compile(r"[A-Za-z_]{0,16}[0-9]+")
_NAMED = re.compile(
    r"S[ _-]?[0-9]+"
    r"|(?:source|span|doc|document|passage|ref|reference|context|chunk|snippet)[ _#-]*[0-9]+",
    re.IGNORECASE,
)
_PLACED = re.compile(r"([^\s:§#@|]{1,64})\s?[:§#@|]")
_WORD = re.compile(r"[A-Za-z]\w*|(?=\S*[A-Za-z])\w+(?:[-.:/#]\w+)*(?<=[0-9])", re.ASCII)
_MAX_WORD_CHARS = 64
_MAX_SHAPES = 100
#: What editors put in brackets, at the end of a sentence too.
_EDITORIAL_WORDS = (
    "sic note notes nb emphasis applause laughter laughs crosstalk inaudible unintelligible "
    "redacted deleted omitted censored expletive blank name edit edited update updated translated "
    "translation paraphrased abridged link here pdf video audio image figure table ok x"
)
_EDITORIAL = frozenset(_EDITORIAL_WORDS.split())
_ENDS_SENTENCE = re.compile(r"[\"'”’)*_]{0,4}(?:[.!?…。]|\s*$|[ \t]*\|)", re.MULTILINE)
_BLANK = " \t\u00a0"


def bracketed(
    text: str, known: frozenset[str], *, taken: Sequence[Citation]
) -> tuple[Citation, ...]:
    """The citations in brackets that are not citations in every text.

    >>> [each.ids for each in bracketed("A [intro]. B [S0, nope].", frozenset({"S0"}), taken=())]
    [('intro',), ('S0', 'nope')]

    Args:
        text: The answer.
        known: Ids of the spans.
        taken: What :func:`~groundwire.text.segment.parse_citations` found in it.
    """
    if not _OPENS.search(text):
        return ()
    grammar = _Grammar.of(known)
    outside = _INLINE_CODE.sub(_blank, _FENCED.sub(_blank, text))
    found: list[Citation] = []
    words: list[tuple[re.Match[str], str]] = []
    for match in _free(_BRACKET.finditer(outside), taken):
        inside = next(filter(None, match.groups()[:3]))
        if ids := grammar.ids(inside):
            found.append(Citation(start=match.start(), end=match.end(), ids=ids))
        elif match[1] and not match[4] and (word := _word(inside)):
            words.append((match, word))
    return _sorted(chain(found, _made_up(outside, words, [*taken, *found])))


def _blank(match: re.Match[str]) -> str:
    return "".join(char if char == "\n" else " " for char in match.group())


def _sorted(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    return tuple(sorted(citations, key=lambda each: each.start))


def _free(matches: Iterable[re.Match[str]], taken: Sequence[Citation]) -> Iterator[re.Match[str]]:
    """Those that no citation touches."""
    at = 0
    for match in matches:
        while at < len(taken) and taken[at].end <= match.start():
            at += 1
        if at == len(taken) or match.end() <= taken[at].start:
            yield match


@dataclass(frozen=True, slots=True)
class _Grammar:
    """What ids look like where some spans are given."""

    plain: IdMap
    shape: re.Pattern[str] | None

    @classmethod
    def of(cls, known: frozenset[str]) -> "_Grammar":
        shapes = sorted({_shape(each) for each in known if re.search("[0-9]|[.]", each)})
        return cls(
            IdMap(known), re.compile("|".join(shapes[:_MAX_SHAPES]), re.I) if shapes else None
        )

    def ids(self, inside: str) -> tuple[str, ...]:
        """The ids that a bracket names; none if it is no citation, or may be prose."""
        if inside.strip() in self.plain.known:
            return (inside.strip(),)
        tidy = _tidy(inside)
        led = _LED_BY.match(tidy)
        parts = self._parts(tidy[led.end() :] if led else tidy)
        if not parts or not self._is_citation(parts):
            return ()
        ids = tuple(dict.fromkeys(id_ for part in parts for id_ in self._written_out(part)))
        # More than a claim may cite: ranges stay as written, which no span is called.
        return ids if len(ids) <= MAX_CITED_IDS else tuple(dict.fromkeys(parts))

    def _parts(self, inside: str) -> list[str]:
        parts: list[str] = []
        for part in _SEPARATOR.split(inside):
            words = part.split()
            if len(words) > 1 and all(map(self._is_numbered, words)):
                parts += words
            elif part.strip():
                parts.append(part.strip())
        return parts

    def _is_citation(self, parts: Sequence[str]) -> bool:
        if any(self._is_named(part) for part in parts):
            return True
        if all(self._is_numbered(part) for part in parts):
            return True
        is_known = any(self.plain.meaning(part) is not None for part in parts)
        return is_known and all(self._is_numbered(part) or _word(part) for part in parts)

    def _is_named(self, part: str) -> bool:
        """Whether it is as only ids are: a name that a span has, or one of that shape."""
        return (
            (part in self.plain.known and not part.isdecimal())
            or self._is_shaped(part)
            or any(self._is_shaped(low) and self._is_shaped(high) for low, high in _ranges(part))
            or self._is_with_place(part)
        )

    def _is_with_place(self, part: str) -> bool:
        """Whether it is such an id and a place in it, ``S1: p. 3``, which no span is called."""
        placed = _PLACED.match(part)
        return placed is not None and self._is_shaped(placed[1])

    def _is_shaped(self, part: str) -> bool:
        if _NAMED.fullmatch(part):
            return True
        return self.shape is not None and bool(self.shape.fullmatch(part)) and not part.isdecimal()

    def _is_numbered(self, part: str) -> bool:
        """Whether it is a number, perhaps after letters, or a range of them."""
        return self._is_one(part) or any(
            self._is_one(low) and self._is_one(high) for low, high in _ranges(part)
        )

    def _is_one(self, part: str) -> bool:
        return bool(_NUMBERED.fullmatch(part)) or part in self.plain.known or self._is_shaped(part)

    def _written_out(self, part: str) -> Sequence[str]:
        if part in self.plain.known or self._is_shaped(part):
            return (part,)
        for low, high in _ranges(part):
            if self._is_one(low) and self._is_one(high):
                return written_out(f"{low}-{high}") or (part,)
        return (part,)


def _shape(id_: str) -> str:
    """An expression for ids that differ from one in their numbers, or as names of files do."""
    stem, dot, ending = id_.rpartition(".")
    if dot and stem and re.fullmatch("[A-Za-z][A-Za-z0-9]{0,7}", ending):
        return rf"[\w./-]+\.{re.escape(ending)}"
    return "[0-9]+".join(re.escape(each) for each in re.split("[0-9]+", id_))


def _tidy(inside: str) -> str:
    """Without what is not seen, letters and digits of other widths, and what follows a dagger."""
    plain = unicodedata.normalize("NFKC", inside)
    seen = "".join(
        str(unicodedata.decimal(char)) if char.isdecimal() else char
        for char in plain
        if unicodedata.category(char) != "Cf"
    )
    return " ".join(re.sub(r"†[^,;]*|(?<![^\s,;])\^", "", seen).split())


def _ranges(part: str) -> Iterator[tuple[str, str]]:
    for joiner in _JOINER.finditer(part[:_MAX_WORD_CHARS]):
        yield part[: joiner.start()], part[joiner.end() :]


def _word(inside: str) -> str:
    """The one word that a bracket holds, if it may be an id; else nothing."""
    word = inside.strip()
    is_id = len(word) <= _MAX_WORD_CHARS and _WORD.fullmatch(word)
    return word if is_id and word.lower() not in _EDITORIAL else ""


def _made_up(
    text: str, words: Iterable[tuple[re.Match[str], str]], citations: Iterable[Citation]
) -> Iterator[Citation]:
    """Words in brackets where citations stand: beside one, or where a sentence ends."""
    starts = {each.start for each in citations}
    ends = {each.end for each in citations}
    for match, word in words:
        before, after = _beside(text, match)
        if before in ends or after in starts or _is_at_end(text, match, before):
            ends.add(match.end())
            yield Citation(start=match.start(), end=match.end(), ids=(word,))


def _beside(text: str, match: re.Match[str]) -> tuple[int, int]:
    """Where what stands before it ends, and where what stands after it begins."""
    before, after = match.start(), match.end()
    while before and text[before - 1] in _BLANK:
        before -= 1
    while after < len(text) and text[after] in _BLANK:
        after += 1
    return before, after


def _is_at_end(text: str, match: re.Match[str], before: int) -> bool:
    """Whether it follows a sentence, or its last word after a blank: ``list[str]`` is code."""
    last = text[before - 1] if before else "\n"
    if last in ".!?…。":
        return not text[match.end() : match.end() + 1].isalnum()
    follows_word = last.isalnum() or last in "\"'”’)*_%"
    return before < match.start() and follows_word and bool(_ENDS_SENTENCE.match(text, match.end()))

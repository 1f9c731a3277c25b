"""Decides for each segment of an answer whether it is an aside, which claims nothing."""

import re
import sys
from collections.abc import Collection, Iterable, Sequence

from groundwire.detection.asides.known_words import LISTS, WORD, KnownWords, asserts, words_in
from groundwire.detection.asides.phrases import MAX_TITLE_WORDS, Phrases, is_name
from groundwire.detection.asides.shape import BOLD, MARKS, Shape
from groundwire.detection.comparison.words import words_of
from groundwire.detection.values import AsideKind
from groundwire.text.language import writes_out
from groundwire.text.segment import Segment
from groundwire.text.vocabulary import words

_SOURCE_TITLES = words(LISTS["source_titles"])
_MAX_ASIDE_CHARS = 200
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})", re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")
_URL = re.compile(r"https?://[^\s<>()\[\]]+")
_PLACE = re.compile(r"\b(?:pages?|pp?\.|section|chapter|line|no\.) ?\d{1,4}\b", re.IGNORECASE)
_DEFINITION = re.compile(r"(?:\d{1,2}[.)] )?\[\^?[^\[\]\n]{1,64}\]:?|[¹²³⁴-⁹]")
_IMPORT = re.compile(
    r"(?:import|from|using|use|require|#include|package)\b[\w\s.,*{}'\"/@<>;:-]*|"
    r"(?:const|let|var)\s+\w+\s*=\s*require\(['\"][\w./@-]+['\"]\);?"
)
_CODE_WORDS = words("import from as using use require include package const let var")
_IO = re.compile(
    r"(?:print|console\.log|puts|echo|println!?)[( ]\s*[A-Za-z_]+\s*\)?;?|"
    r"\w+ = (?:input|prompt)\((?:\"[A-Za-z ]{0,20}:? ?\")?\);?"
)
_COMMENT = re.compile(r"(?:#|//|--|/\*|<!--)\s*(.+?)\s*(?:\*/|-->)?$")


class AsideFinder:
    """Finds the asides of one answer, the parts that claim nothing, while the answer arrives."""

    def __init__(self, texts: Iterable[str], ids: Collection[str], question: str | None) -> None:
        """Make a finder for one answer, from the texts and ids of its sources, and the question."""
        self._known, n = KnownWords(texts, question or ""), len(ids)
        # An answer may cite a source by its position. Positions count from 0 or from 1, as in
        # "[1]", but after an "S" only from 0.
        positions = (*map(str, range(n + 1)), *(f"{s}{i}" for s in "Ss" for i in range(n)))
        self._names = frozenset((*ids, *positions))
        self._phrases = Phrases(self._known)
        self._asks = bool(question)
        self._open: Segment | None = None
        self._end = 0  # offset after the previous segment
        self._is_code = self._is_source_list = self._is_signed = self._has_claim = False
        self._is_in_table = False
        self._links: set[str] = set()

    def feed(
        self, answer: str, segments: Sequence[Segment], *, is_end: bool = False
    ) -> list[tuple[Segment, AsideKind | None]]:
        """Take the next segments of an answer, and decide which segments are asides.

        ``answer`` is all of the answer so far.

        Returns:
            The segments that are decided now, in order, each with its kind of aside, or ``None``
            for a claim. The last segment may wait for a later call, unless ``is_end``.
        """
        decided = []
        for segment in segments:
            if self._open is not None:
                decided.append((self._open, self._decide(answer, self._open, segment.start)))
            self._open = segment if self._may_lead(answer, segment) else None
            if self._open is None:
                decided.append((segment, self._decide(answer, segment, None)))
        if self._open is not None and is_end:
            decided.append((self._open, self._decide(answer, self._open, None)))
            self._open = None
        return decided

    def shares_nothing(self, claim: str) -> bool:
        """Return whether a claim has content words, and the sources have none of them.

        The result is false if the sources are too long to search, or if the claim has a negation: a
        refusal ("I do not know the price") need not share a word with the sources.
        """
        return self._known.lacks(words_of(claim))

    def is_absence(self, text: str, *, may_name_some: bool = False) -> bool:
        """Return whether a text only says that the sources lack something.

        See :meth:`.Phrases.is_absence`.
        """
        return self._phrases.is_absence(text, may_name_some=may_name_some)

    def writes_out(self, figure: str) -> bool:
        """Return whether a source has the word for a number in a language other than English.

        ``figure`` is the number in digits; :func:`groundwire.text.language.writes_out` names the
        numbers that are found.
        """
        return any(writes_out(text, figure) for text in self._known.texts)

    def _may_lead(self, answer: str, segment: Segment) -> bool:
        """Return whether a segment must wait for the text after it, which may make it an aside."""
        gap, text = answer[self._end : segment.start], answer[segment.start : segment.end]
        if self._is_code != _turns_code(gap) or len(text) > _MAX_ASIDE_CHARS:
            return False
        before, bare = gap.rpartition("\n")[2].strip(), text.rstrip(MARKS)
        if "#" in before or bare.endswith(":") or BOLD.fullmatch(text.strip()):
            return True
        if "|" in before or "|" in text:
            return not self._is_in_table  # only the first row may be a header
        is_bullet = bool(before) and not before[0].isalnum()
        is_short = len(text.split()) <= MAX_TITLE_WORDS
        return is_short and not is_bullet and not bare.endswith((".", "!", "?"))

    def _decide(self, answer: str, segment: Segment, next_start: int | None) -> AsideKind | None:
        gap = answer[self._end : segment.start]
        self._is_code ^= _turns_code(gap)
        after = "" if next_start is None else answer[segment.end : next_start]
        _, line_break, before = gap.rpartition("\n")
        text, begins_line = answer[segment.start : segment.end], bool(line_break) or not self._end
        shape = Shape(text, before=before, begins_line=begins_line, after=after)
        kind = self._kind(segment, shape)
        if kind is None:
            self._has_claim = True
            self._links |= {
                link[2]
                for citation in segment.citations
                if self._names.issuperset(citation.ids)
                for link in _LINK.finditer(answer, citation.start, citation.end)
            }
        leads_with_id = any(each.start == segment.start for each in segment.citations)
        self._is_source_list = kind is AsideKind.SOURCES or (
            self._is_source_list and (leads_with_id or (shape.is_item and kind is not None))
        )
        self._is_signed = kind is AsideKind.CLOSING and (self._is_signed or not shape.ends_sentence)
        self._is_in_table = "|" in before or "|" in text
        self._end = segment.end
        return kind

    def _kind(self, segment: Segment, shape: Shape) -> AsideKind | None:
        if self._is_code:
            return AsideKind.CODE if self._is_plain_code(shape.text) else None
        text = _without(shape.text, segment)
        cited = {id_ for citation in segment.citations for id_ in citation.ids}
        if self._is_source_text(shape, text, cited):
            return AsideKind.SOURCES
        if shape.is_header:
            cells = [cell for each in text.split("|") if (cell := each.strip(MARKS))]
            return AsideKind.TABLE_HEADER if all(map(self._phrases.is_title, cells)) else None
        if len(text) > _MAX_ASIDE_CHARS or not self._names.issuperset(cited):
            return None
        kind = self._phrases.kind_of(text) or self._phrases.farewell(shape.text)
        if cited or (kind and not shape.is_item):
            return None if shape.is_item else kind
        if self._is_signed and shape.begins_line and len(text.split()) <= 5 and is_name(text):
            return AsideKind.CLOSING
        if shape.leads and self._phrases.is_intro(text):
            return AsideKind.INTRO
        if not shape.is_item and shape.begins_line and self._phrases.is_question(text):
            return AsideKind.CLOSING
        is_new = self._asks and not self._has_claim
        is_marked = shape.is_title and self._phrases.is_title(text, is_new=is_new)
        is_heading = is_marked or (shape.is_bare and self._phrases.is_title(text, is_bare=True))
        return AsideKind.HEADING if is_heading else None

    def _is_source_text(self, shape: Shape, text: str, cited: Collection[str]) -> bool:
        """Return whether a text is the title or an entry of a list of sources."""
        label, colon, rest = text.strip(MARKS + "()[]").partition(":")
        titles = words_in(label)
        is_titled = bool(titles) and set(titles) <= _SOURCE_TITLES
        if is_titled and not cited and not any(map(str.isalnum, rest)):
            return True
        if is_titled and colon:
            return self._is_entry(shape.text.partition(":")[2], cited)
        definition = _DEFINITION.match(shape.text)
        marker = definition[0] if definition and shape.begins_line else ""
        is_listed = self._is_source_list and (shape.is_item or bool(marker))
        # A footnote such as "[^1]: ..." or "¹ ..." needs no list of sources above it.
        return (is_listed or marker[-1:] not in ("", "]")) and self._is_entry(shape.text, cited)

    def _is_entry(self, text: str, cited: Collection[str]) -> bool:
        """Return whether a text may be an entry of a list of sources.

        An entry consists of ids, web addresses, and at most 12 other words. The other words must be
        known (:meth:`.KnownWords.admits`), and assert nothing.
        """
        text = _LINK.sub(lambda link: f" {link[1]} {link[2]} ", text)
        urls = [url.rstrip(".,;:") for url in _URL.findall(text)]
        rest = re.sub("[⁴-⁹¹²³^]", " ", _PLACE.sub(" ", _URL.sub(" ", text)))
        listed = WORD.findall(rest)
        others = [word.casefold() for word in listed if word not in self._names]
        # An entry that names exactly one source, and has no comma, may have any web address, which
        # is taken for the address of that source. In other entries, each address must be in a
        # source, or in an earlier claim's citation.
        is_of_one = len(listed) - len(others) == 1 and "," not in text
        is_placed = is_of_one or all(url in self._links or self._known.writes(url) for url in urls)
        if not is_placed or not self._names.issuperset(cited) or len(others) > 12:
            return False
        return all(not asserts(word) and self._known.admits(word) for word in others)

    def _is_plain_code(self, line: str) -> bool:
        """Return whether a line of code claims nothing.

        Such lines are imports in which each name is a module of Python's standard library, or a
        word of a source or the question; lines that only print a variable or read an input; and
        comments that are titles.
        """
        if comment := _COMMENT.fullmatch(line):
            return self._phrases.is_title(comment[1])
        if _IO.fullmatch(line):
            return True
        return bool(_IMPORT.fullmatch(line)) and all(
            word in _CODE_WORDS
            or word.partition(".")[0] in sys.stdlib_module_names
            or self._known.has(word)
            for word in words_in(line)
        )


def _turns_code(gap: str) -> bool:
    """Return whether a code block begins or ends in the gap between two segments.

    This is so if the gap has an odd number of code fences.
    """
    return len(_FENCE.findall(gap)) % 2 == 1


def _without(text: str, segment: Segment) -> str:
    """Return the text of a segment without its citations, and without ``MARKS`` at its ends.

    Each run of white space becomes one space.
    """
    for citation in reversed(segment.citations):
        start, end = citation.start - segment.start, citation.end - segment.start
        text = f"{text[: max(start, 0)]} {text[max(end, 0) :]}"
    return " ".join(text.split()).strip(MARKS)

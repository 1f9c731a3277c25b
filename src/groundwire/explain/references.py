"""References in an answer to what is not among its sources: ids, links, works, sections."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from groundwire.detection import Claim, Span
from groundwire.example import Source
from groundwire.explain.finding import Subtype
from groundwire.explain.words import Word, words_of
from groundwire.segment import parse_citations
from groundwire.vocabulary import FUNCTION_WORDS


class ReferenceKind(StrEnum):
    """What is referred to."""

    SOURCE_ID = "source_id"
    URL = "url"
    DOI = "doi"
    TITLE = "title"
    SECTION = "section"
    WORK = "work"  # by author and year


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference in an answer; ``answer[start:end] == text``."""

    start: int
    end: int
    text: str
    kind: ReferenceKind

    @property
    def subtype(self) -> Subtype:
        """Works and titles are names."""
        is_name = self.kind in (ReferenceKind.TITLE, ReferenceKind.WORK)
        return Subtype.ENTITY if is_name else Subtype.OTHER


_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'“”\])]{3,500}", re.IGNORECASE)
_DOI = re.compile(r"(?<![\w/.])10\.[0-9]{4,9}/[^\s<>\"“”\])]{1,200}")
_TRAILING = ".,;:!?*_'’"
_SCHEME = re.compile(r"^(?:https?://)?(?:www\.)?", re.IGNORECASE)
_QUOTED = re.compile(r"\"([^\"\n]{3,200})\"|“([^”\n]{3,200})”")
_WORK_BEFORE = re.compile(
    r"(?:titled|entitled|called|named|report|paper|book|article|study|guide|document|essay|novel"
    r"|section|chapter|page|manual|policy),?\s*$",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"(?:(?P<name>section|sec\.|chapter|article|clause|paragraph|appendix|table|figure|fig\.|page)"
    r"\s|§\s?)(?P<number>[0-9]{1,4}(?:\.[0-9]{1,4}){0,5}|[A-Z](?:\.[0-9]{1,3}){0,3}(?!\w))",
    re.IGNORECASE,
)
_AUTHOR = r"[^\W\d_][\w'’-]{1,40}"
_WORK = re.compile(
    rf"(?P<author>{_AUTHOR})(?: et al\.?|(?:,? (?:and|&) {_AUTHOR}))"
    r"(?:,? \(?(?P<year>(?:19|20)[0-9]{2})[a-z]?\)?)?"
    rf"|\((?P<cited>{_AUTHOR}), (?P<cited_year>(?:19|20)[0-9]{{2}})[a-z]?\)"
)


def fabricated_references(claim: Claim, sources: Sequence[Source]) -> tuple[Reference, ...]:
    """The references in a claim to what stands in no source.

    * ids of sources, ``[S7]``: no source has the id, nor is its number the place of one (counted
      from 0 or from 1), nor do the sources count passages up to it themselves;
    * links and DOIs, without scheme and ``www.``: a source, its id or its title has them;
    * titles in quotes: all words one after the other;
    * "Section 4.2": the number, after that word or at the start of a line; "4.2" anywhere;
    * "Smith et al. (2019)", "(Smith, 2019)": the name and the year in one source.

    In doubt it is no fabrication.

    Returns:
        References in reading order, with offsets in the answer.
    """
    found = [
        Reference(start=claim.start + start, end=claim.start + end, text=text, kind=kind)
        for start, end, kind in _referred(claim.text)
        if (text := claim.text[start:end]) and not _stands(text, kind, sources)
    ]
    found += _unknown_citations(claim, sources)
    return tuple(sorted(found, key=lambda reference: (reference.start, reference.end)))


def fabricated_reference(span: Span, claim: Claim, sources: Sequence[Source]) -> Reference | None:
    """The first such reference that a span touches."""
    return next(
        (
            reference
            for reference in fabricated_references(claim, sources)
            if reference.start < span.end and reference.end > span.start
        ),
        None,
    )


def _referred(text: str) -> Iterator[tuple[int, int, ReferenceKind]]:
    for pattern, kind in ((_URL, ReferenceKind.URL), (_DOI, ReferenceKind.DOI)):
        for match in pattern.finditer(text):
            end = match.start() + len(match[0].rstrip(_TRAILING))
            # The DOI in a link is part of the link.
            if kind is ReferenceKind.URL or "://" not in text[: match.start()].rpartition(" ")[2]:
                yield match.start(), end, kind
    for match in _QUOTED.finditer(text):
        group = 1 if match[1] is not None else 2
        if _is_title(match[group], text[max(0, match.start() - 20) : match.start()]):
            yield *match.span(group), ReferenceKind.TITLE
    for match in _SECTION.finditer(text):
        if match["name"] or text[match.start()] == "§":
            yield *match.span(), ReferenceKind.SECTION
    for match in _WORK.finditer(text):
        author = match["author"] or match["cited"]
        if author[0].isupper() and ("et al" in match[0] or match["year"] or match["cited"]):
            yield *match.span(), ReferenceKind.WORK


def _is_title(quoted: str, before: str) -> bool:
    words = [word for word in words_of(quoted) if word.lower not in FUNCTION_WORDS]
    if len(words) < 2:
        return False
    is_headline = all(not word.text[0].islower() for word in words)
    return is_headline or (_WORK_BEFORE.search(before) is not None and quoted[0].isupper())


def _stands(text: str, kind: ReferenceKind, sources: Iterable[Source]) -> bool:
    return any(
        _stands_in(text, kind, part)
        for source in sources
        for part in (source.text, source.id, source.title or "")
    )


def _stands_in(text: str, kind: ReferenceKind, part: str) -> bool:
    match kind:
        case ReferenceKind.TITLE:
            return _plain(words_of(text)) in _plain(words_of(part))
        case ReferenceKind.SECTION:
            return _has_section(text, part)
        case ReferenceKind.WORK:
            words = [word.lower for word in words_of(text)]
            known = {word.lower for word in words_of(part)}
            year = re.search("[0-9]{4}", text)
            return words[0] in known and (year is None or year[0] in part)
        case _:
            return _SCHEME.sub("", text).rstrip("/").casefold() in part.casefold()


def _plain(words: Iterable[Word]) -> str:
    return f" {' '.join(word.lower for word in words)} "


def _has_section(text: str, part: str) -> bool:
    match = _SECTION.match(text)
    if match is None:
        return True
    number, name = re.escape(match["number"]), (match["name"] or "")[:3]
    ends = r"(?![0-9]|\.[0-9])"
    if "." in number:
        return re.search(rf"(?<![0-9.]){number}{ends}", part, re.IGNORECASE) is not None
    stem = "" if not name else rf"{re.escape(name)}\w*\.?"
    after = rf"(?:{stem or 'sec[a-z]*'}|§)\W{{0,4}}{number}{ends}(?!\w)"
    begins = rf"^[#\s*]{{0,10}}{number}[.):\s]"
    return re.search(f"(?:{after})|{begins}", part, re.IGNORECASE | re.MULTILINE) is not None


def _unknown_citations(claim: Claim, sources: Sequence[Source]) -> Iterator[Reference]:
    known = {source.id.casefold() for source in sources}
    for citation in parse_citations(claim.text):
        unknown = [
            id_
            for id_ in citation.ids
            if id_ in claim.citations
            and id_.casefold() not in known
            and not _is_numbered(id_, sources)
        ]
        if unknown:
            yield Reference(
                start=claim.start + citation.start,
                end=claim.start + citation.end,
                text=claim.text[citation.start : citation.end],
                kind=ReferenceKind.SOURCE_ID,
            )


def _is_numbered(id_: str, sources: Sequence[Source]) -> bool:
    """Whether an id may be a number of a source, or of a passage that a source numbers itself."""
    letters = id_.rstrip("0123456789")
    number = int(id_[len(letters) :])
    if not letters and number >= 1000:
        return True  # "[2019]" is a year
    is_place = number < len(sources) if letters.casefold() == "s" else number <= len(sources)
    if is_place and (len(letters) > 1 or letters.casefold() in ("", "s")):
        return True
    own = rf"(?:\[{re.escape(id_)}\]|^\W{{0,5}}{number}[.):]\s"
    own += rf"|\b(?:passage|source|document|doc|excerpt)\W{{0,4}}{number}\b)"
    pattern = re.compile(own, re.IGNORECASE | re.MULTILINE)
    return any(pattern.search(source.text) for source in sources)

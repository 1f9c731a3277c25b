"""Finds fabricated references in an answer: source ids, links and works that no source has."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from groundwire.detection.comparison.words import words_of
from groundwire.detection.example import Source
from groundwire.detection.values import Claim
from groundwire.text.segment import parse_citations


class ReferenceKind(StrEnum):
    """The kinds of things that references name."""

    SOURCE_ID = "source_id"
    URL = "url"
    DOI = "doi"
    WORK = "work"  # a publication, named by its author and mostly by its year too


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference in an answer to a source, a link or a work; ``answer[start:end] == text``."""

    start: int
    end: int
    text: str
    kind: ReferenceKind


_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'“”\])]{3,500}", re.IGNORECASE)
_DOI = re.compile(r"(?<![\w/.])10\.[0-9]{4,9}/[^\s<>\"“”\])]{1,200}")
_TRAILING = ".,;:!?*_'’"
_SCHEME = re.compile(r"^(?:https?://)?(?:www\.)?", re.IGNORECASE)
_AUTHOR = r"[^\W\d_][\w'’-]{1,40}"
_WORK = re.compile(
    rf"(?P<author>{_AUTHOR})(?: et al\.?|(?:,? (?:and|&) {_AUTHOR}))"
    r"(?:,? \(?(?P<year>(?:19|20)[0-9]{2})[a-z]?\)?)?"
    rf"|\((?P<cited>{_AUTHOR}), (?P<cited_year>(?:19|20)[0-9]{{2}})[a-z]?\)"
)

# Matches the number of a passage within a source: "[3]", "[S3]"; "passage 3"; "3." or "(3)" at the
# start of a line.
_OWN_ID = re.compile(
    r"\[(?P<id>[A-Za-z_]{0,16}[0-9]{1,6})\]"
    r"|\b(?:passage|source|document|doc|excerpt)\W{0,4}(?P<number>[0-9]{1,6})\b"
    r"|^\W{0,5}(?P<first>[0-9]{1,6})[.):]\s",
    re.IGNORECASE | re.MULTILINE,
)


class Library:
    """Looks up whether sources have the ids, links and works that an answer refers to."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._n_sources = len(sources)
        self._ids = {source.id.casefold() for source in sources}
        self._works = tuple(
            "\n".join((source.title or "", source.id, source.text)) for source in sources
        )

    def has(self, text: str, kind: ReferenceKind) -> bool:
        """Return whether a source has the link, DOI or work that a text refers to.

        A source has a work if it has the author's name, and the year if the text gives a year.
        """
        if kind is ReferenceKind.WORK:
            author = words_of(text)[0].lower
            year = re.search("[0-9]{4}", text)
            return any(
                author in words and (year is None or year[0] in work)
                for words, work in zip(self._words, self._works, strict=True)
            )
        link = _SCHEME.sub("", text).rstrip("/").casefold()
        return any(link in folded for folded in self._folded)

    def has_id(self, id_: str) -> bool:
        """Return whether an id is, or may be, that of a source or of a passage in a source.

        The numbers of sources and passages count as ids too. The result is true for every id that
        does not end with a digit, and for every number from 1000 on, which may be a year.
        """
        letters = id_.rstrip("0123456789").casefold()
        digits = id_[len(letters) :]
        if id_.casefold() in self._ids or not digits:
            return True
        number = int(digits)
        if not letters and number >= 1000:
            return True  # "[2019]" is a year
        # Numbers count sources from 0 or from 1, as in "[1]" or "[doc1]", but after an "S" only
        # from 0. A number after any other single letter does not count sources.
        last = self._n_sources - (letters == "s")
        is_place = number <= last and (len(letters) != 1 or letters == "s")
        return is_place or f"{letters}{number}" in self._own_ids

    @cached_property
    def _own_ids(self) -> frozenset[str]:
        """Numbers and labels that sources give their passages: "[3]", "[S3]", "passage 3", "3."."""
        return frozenset(
            match["id"].casefold() if match["id"] else str(int(match["number"] or match["first"]))
            for work in self._works
            for match in _OWN_ID.finditer(work)
        )

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        return tuple(work.casefold() for work in self._works)

    @cached_property
    def _words(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(word.lower for word in words_of(work)) for work in self._works)


def fabricated_references(claim: Claim, library: Library) -> tuple[Reference, ...]:
    """Find the references of a claim to things that no source has.

    * The id of a source, such as ``[S7]``, is fabricated if no source, and no passage in a source,
      has it as id or number.
    * A link or DOI is fabricated if no source has it, without scheme and ``www.``, in its text,
      title or id.
    * A work, such as "Smith et al. (2019)" or "(Smith, 2019)", is fabricated if no source has both
      the name and, if one is given, the year.

    If it is unclear whether a reference is fabricated, it is not reported.

    Returns:
        References in reading order, with offsets in the answer.
    """
    text, begin = claim.text, claim.start
    found = [each for each in _referred(text) if not library.has(text[each[0] : each[1]], each[2])]
    found += [
        (citation.start, citation.end, ReferenceKind.SOURCE_ID)
        for citation in parse_citations(text)
        if not all(library.has_id(id_) for id_ in citation.ids if id_ in claim.citations)
    ]
    return tuple(
        Reference(start=begin + start, end=begin + end, text=text[start:end], kind=kind)
        for start, end, kind in sorted(found)
    )


def _referred(text: str) -> Iterator[tuple[int, int, ReferenceKind]]:
    for pattern, kind in ((_URL, ReferenceKind.URL), (_DOI, ReferenceKind.DOI)):
        for match in pattern.finditer(text):
            end = match.start() + len(match[0].rstrip(_TRAILING))
            before = text[max(0, match.start() - 200) : match.start()].rpartition(" ")[2]
            # The DOI in a link is part of the link.
            if kind is ReferenceKind.URL or "://" not in before:
                yield match.start(), end, kind
    for match in _WORK.finditer(text):
        author = match["author"] or match["cited"]
        if author[0].isupper() and ("et al" in match[0] or match["year"] or match["cited"]):
            yield *match.span(), ReferenceKind.WORK

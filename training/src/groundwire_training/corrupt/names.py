"""Finds names of people, places and organisations by their capital letters."""

import re
from collections import Counter
from collections.abc import Iterator

from groundwire.text.vocabulary import CALENDAR, OFFICES, OPENERS, PEOPLES
from groundwire_training.corrupt.wording import listed

_NAME = re.compile(r"\b[A-Z][a-z]+(?:-[A-Z][a-z]+)?(?: [A-Z][a-z]+(?:-[A-Z][a-z]+)?)*\b")
#: Capitalised words that are not names: offices, peoples, months and days, and words that open a
#: sentence.
_NO_NAMES = OFFICES | PEOPLES | OPENERS | CALENDAR
_PEOPLES = re.compile(r"(?:ian|ean|ish|ese|ans|ians|ists|ism|ites)$")
_STATES = frozenset(
    listed("""
    Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Georgia
    Hawaii Idaho Illinois Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts
    Michigan Minnesota Mississippi Missouri Montana Nebraska Nevada Ohio Oklahoma Oregon
    Pennsylvania Tennessee Texas Utah Vermont Virginia Washington Wisconsin Wyoming
    """)
)
_ORGANISATION = re.compile(
    r"(?:University|College|School|Club|Company|Inc|Corp|Group|Agency|Institute|Association|"
    r"United|City|County|Hospital|Bank|Church|Park|River|Lake|Museum|Foundation|Times|Post|News|"
    r"Stadium|Security|Network|Studios|Force|Team|Show|Island|Bridge|Road|Hall|House|Building|"
    r"Street|Avenue|Award|Awards|Cup|League|Center|Centre|Act|Day|War|Court|Party|Council)$"
)
_PERSON_BEFORE = re.compile(
    r"\b(?:[Mm]r|[Mm]rs|[Mm]s|[Dd]r|[Pp]resident|[Mm]inister|[Ss]enator|[Ss]en|actor|actress|coach|"
    r"director|singer|writer|author|husband|wife|son|daughter|brother|sister|mother|father|"
    r"forward|striker|spokesman|spokeswoman|defender|midfielder|captain|officer|named)\.?,?$"
)
_PERSON_AFTER = re.compile(
    r",? (?:said|told|says|was born|wrote|added|explained|played|scored|argued|admitted|"
    r"tweeted|claimed|testified|who|believes|pleaded|stated|has said|announced|did not)\b"
)
_PLACE_BEFORE = re.compile(r"\b(?:in|near|across|outside|throughout)$")
_LONGER_BEFORE = re.compile(
    r"(?:[A-Z][\w.’']*|[A-Z]\w*,|&|\bof|\bthe|[A-Z]\w* (?:and|or)) $|[\w’'\"“-]$"
)
_LONGER_AFTER = re.compile(r" [A-Z&(]|, [A-Z]|[-\w’'\"”/]| (?:and|or|of|de|the) [A-Z]|\.[A-Z]")


def name_spans(text: str) -> Iterator[re.Match[str]]:
    """Find runs of one to three capitalised words that may be names."""
    for match in _NAME.finditer(text):
        words = match[0].lower().split()
        if len(words) <= 3 and not any(w in _NO_NAMES or _PEOPLES.search(w) for w in words):
            yield match


def names_of(text: str) -> dict[str, str]:
    """Find the names in a text, with their kinds.

    A name counts if it occurs within a sentence, and none of its words occurs in lower case. Its
    kind is "person", "place" or "organisation", or "" if the words around it do not show it.
    """
    votes: dict[str, Counter[str]] = {}
    small = set(re.findall(r"\b[a-z]+\b", text))
    for match in name_spans(text):
        if not begins_sentence(text, match.start()) and not small & set(match[0].lower().split()):
            votes.setdefault(match[0], Counter())[_kind_at(match)] += 1
    return {
        name: next((kind for kind, _ in kinds.most_common() if kind), "")
        for name, kinds in votes.items()
    }


def _kind_at(match: re.Match[str]) -> str:
    if _ORGANISATION.search(match[0]):
        return "organisation"
    if match[0] in _STATES:
        return "place"
    before = match.string[max(0, match.start() - 24) : match.start()].rstrip()
    if _PERSON_AFTER.match(match.string, match.end()) or _PERSON_BEFORE.search(before):
        return "person"
    return "place" if _PLACE_BEFORE.search(before) else ""


def begins_sentence(text: str, place: int) -> bool:
    """Return whether a word at ``place`` begins a sentence, line or list, and so has a capital."""
    before = text[:place].rstrip()
    return not before or before[-1] in ".!?:\n\"'“”‘*-•>#|" or "\n" in text[len(before) : place]


def may_be_one(one: str, other: str) -> bool:
    """Return whether two names may mean the same: they share a word, or a word's beginning."""
    return any(
        a[:4] == b[:4] or a in b or b in a
        for a in one.lower().replace("-", " ").split()
        for b in other.lower().replace("-", " ").split()
    )


def touches_name(match: re.Match[str]) -> bool:
    """Return whether a name is part of a longer name, a list of names, or a place with state."""
    before = match.string[: match.start()][-12:]
    return bool(_LONGER_BEFORE.search(before) or _LONGER_AFTER.match(match.string, match.end()))

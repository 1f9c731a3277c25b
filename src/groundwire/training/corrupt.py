"""Mistakes made by program: a supported stretch of an answer becomes a wrong one.

A kind of mistake is one function of :data:`KINDS`: it looks at an answer and at what the sources
say, and proposes edits, or nothing where it cannot be sure that its text would be wrong. What an
edit writes is marked to the character; spans that were there are kept, moved, and never touched.
"""

import ast
import json
import random
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import TypeVar

from groundwire.quantities import Kind, Match, Quantity, QuantityIndex, quantities
from groundwire.segment import Segment, segment
from groundwire.training.sets import Marked, Record

_UNSUPPORTED, _CONTRADICTED = 1, 2

_T = TypeVar("_T")


def _listed(words: str) -> list[str]:
    return words.split()


_WORD = re.compile(r"\w+")
_FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?")
_MAGNITUDE = re.compile(r"(?<=[\d\s])(thousand|million|billion|trillion)\b")
_YEAR = re.compile(r"(?<![\d$€£,.#/–-])(?:1[5-9]|20)\d\d(?![\d%,/–-]|\.\d|\s?(?:km|kg|m|feet)\b)")
_SMALL = _listed(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
)
_MONTHS = _listed(
    "January February March April May June July August September October November December"
)
_DAYS = _listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_MONTH = re.compile(
    rf"(?:(?<=[Ii]n )|(?<=since )|(?<=until )|(?<=[Oo]n ))(?:{'|'.join(_MONTHS)})\b"
    rf"|\b(?:{'|'.join(_MONTHS)})(?=\s\d)"
)
_DAY_OF_MONTH = re.compile(
    rf"(?<=\b)(?:{'|'.join(_MONTHS)})\s(\d\d?)(?=[\s,.])(?!\s?(?:-|–|to\b|and\b|or\b))"
)
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(_DAYS)})(?=s?\b)")
_RANGE = re.compile(r"\s*(?:-|–|—|to|through|thru|till|until|/)\s*")
_CLOCK = re.compile(r"\b(\d{1,2})((?::\d\d)?)(\s?)([AaPp])([Mm]\b|\.[Mm]\.)")


@dataclass(frozen=True, slots=True)
class Edit:
    """``answer[start:end]`` becomes ``text``, which is marked but for the space around it."""

    start: int
    end: int
    text: str
    label: int = _CONTRADICTED


class Grounds:
    """What the sources of a record say, read once for all its answers.

    Args:
        sources: Their texts.
        strangers: Other records, whose names and sentences do not belong here.
    """

    def __init__(self, sources: Sequence[str], strangers: Sequence[Record] = ()) -> None:
        self.sources = tuple(sources)
        self.strangers = tuple(strangers)
        self.text = "\n".join(self.sources)

    @cached_property
    def words(self) -> Counter[str]:
        """Lower-cased words, with how often they stand in the sources."""
        return Counter(_WORD.findall(self.text.lower()))

    @cached_property
    def plain(self) -> str:
        """The words of the sources in lower case, each with one space around it."""
        return _plain(self.text)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Sentences, and fields of what is data."""
        return tuple(filter(None, re.split(r"(?<=[.!?])\s+|\n+|[{}\[\]]|, (?=['\"])", self.text)))

    @cached_property
    def _stems(self) -> tuple[frozenset[str], ...]:
        return tuple(_stems(line) for line in self.lines)

    @cached_property
    def found(self) -> tuple[Quantity, ...]:
        """Numbers, times and dates of the sources."""
        return quantities(self.text)

    @cached_property
    def index(self) -> QuantityIndex:
        """The same, to compare with."""
        return QuantityIndex.of(self.found)

    @cached_property
    def numbers(self) -> list[float]:
        """Every number in figures or words, before and after conversion, ascending."""
        figures = {float(f.replace(",", "")) for f in _FIGURE.findall(self.text) if len(f) < 300}
        read = {n for q in self.found if isinstance(q.value, float) for n in (q.number, q.value)}
        return sorted(figures | read)

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of the sources, each with what it seems to name."""
        return _names_of(self.text)

    @cached_property
    def data(self) -> tuple[object, ...]:
        """The sources that are JSON, or Python values written out, read."""
        return tuple(value for source in self.sources if (value := _read(source)) is not None)

    def has_number_near(self, value: float, spread: float) -> bool:
        """Whether a number within ``spread`` of a value stands anywhere in the sources."""
        place = bisect_left(self.numbers, value - spread)
        return place < len(self.numbers) and self.numbers[place] <= value + spread

    def tells(self, word: str, sentence: str, *, share: float) -> bool:
        """Whether a line with a word has a share of the sentence's other content words."""
        wanted = _stems(sentence) - _stems(word)
        return any(
            len(wanted & stems) >= share * len(wanted)
            for line, stems in zip(self.lines, self._stems, strict=True)
            if _stands(word, line)
        )


def _plain(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _stems(text: str) -> frozenset[str]:
    """The beginnings of words long enough to mean something."""
    return frozenset(word[:5] for word in _WORD.findall(text.lower()) if len(word) > 3)


def _stands(words: str, text: str) -> bool:
    return _plain(words) in _plain(text)


def _read(source: str) -> object | None:
    if not source.lstrip().startswith(("{", "[")):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value: object = read(source)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return value
    return None


# Numbers.

_AT_LEAST = re.compile(r"(?:over|more than|at least|exceed\w*|above|beyond|minimum of)\W*$", re.I)
_AT_MOST = re.compile(
    r"(?:under|less than|fewer than|up to|at most|below|within|maximum of|nearly|almost)\W*$", re.I
)
_ABOUT = re.compile(r"(?:about|around|approximately|roughly|estimated|some|circa|~)\W*$", re.I)


def _number(answer: Marked, grounds: Grounds, rng: random.Random) -> tuple[Edit, ...] | None:
    """Another number of the same form, or another word of magnitude."""
    text = answer.text
    for quantity in _shuffled(quantities(text), rng):
        if not _is_counted(quantity, text, grounds):
            continue
        written = text[quantity.start : quantity.end]
        figures = list(_FIGURE.finditer(written))
        if len(figures) == 1:
            match = figures[0]
            start, end = (quantity.start + place for place in match.span())
            if text[start - 1 : start] in ("/", "-", "–") or text[end : end + 1] in ("/", "–"):
                continue
            magnitude = _MAGNITUDE.search(written)
            if magnitude and rng.random() < 0.5:
                others = [m for m in ("million", "billion", "trillion") if m != magnitude[0]]
                new = written[match.start() : magnitude.start()] + rng.choice(others)
                return (Edit(start, quantity.start + magnitude.end(), new),)
            for new in _near_misses(quantity, match[0], text, grounds, rng):
                return (Edit(start, end, new),)
        elif (small := written.split()[0].lower()) in _SMALL and not figures:
            value = _SMALL.index(small) + 2
            for other in _shuffled(range(max(2, value - 3), min(16, value + 4)), rng):
                if other != value and not grounds.has_number_near(other, 0.0):
                    new = _SMALL[other - 2]
                    new = new.capitalize() if written[0].isupper() else new
                    return (Edit(quantity.start, quantity.start + len(small), new),)
    return None


def _is_counted(quantity: Quantity, text: str, grounds: Grounds) -> bool:
    """Whether a quantity is a number that the sources state, and no year, rank or "1"."""
    written = text[quantity.start : quantity.end]
    return (
        quantity.kind is Kind.NUMBER
        and quantity.name != "th"
        and quantity.number not in (0.0, 1.0)
        and not _YEAR.fullmatch(written)
        # A part of a range may still be true, and half of a score says little.
        and not re.match(r"\s?(?:-|–|to|/)\s?\S?\d", text[quantity.end :][:8])
        and not re.search(r"\d\s?(?:-|–|to|/)\s?\S?$", text[: quantity.start][-8:])
        and grounds.index.match(quantity) is Match.EQUAL
    )


def _near_misses(
    quantity: Quantity, figure: str, text: str, grounds: Grounds, rng: random.Random
) -> Iterator[str]:
    """Numbers that look like this one and that the sources do not state here."""
    decimals = len(figure.partition(".")[2])
    value = float(figure.replace(",", ""))
    step = 10.0**-decimals
    before, after = text[max(0, quantity.start - 20) : quantity.start], text[quantity.end :][:8]
    if _AT_LEAST.search(before):
        tries = [value * 2, value * 3, value * 10]
    elif _AT_MOST.search(before):
        tries = [value * 4, value // 2, value // 3, value // 4]
        tries = tries[1:] if "near" not in before and "alm" not in before else tries
    else:
        tries = [value + sign * step * n for n in (1, 2, 3, 10) for sign in (1, -1)]
        digits = figure.replace(",", "")
        for i in range(len(digits) - 1):
            turned = digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :]
            if "." not in digits[i : i + 2] and turned[0] != "0":
                tries.append(float(turned))
        tries += [n for n in grounds.numbers if 0 < value / 10 < n < value * 10]
    if _ABOUT.search(before) or value >= 1000:
        tries = [n for n in tries if abs(n - value) > 0.3 * value] or [value * 2, value // 2]
    is_share = quantity.unit == "%" or re.match(r"[\s-]*(?:out of|star)", after)
    is_share = is_share or re.search(r"(?:rat|scor)(?:e|ing) of $", before)
    top = max(value, (100.0 if quantity.unit == "%" else 5.0) if is_share else value * 20)
    here = text[max(0, quantity.start - 40) : quantity.end + 40]
    for new in _shuffled(tries, rng):
        new = round(new, decimals)
        if new in (0.0, 1.0, value) or not 0 < new <= top:
            continue
        if grounds.has_number_near(new, 0.5 * step) and (
            not _is_elsewhere(new, here, grounds) or new != int(new)
        ):
            continue
        yield f"{new:,.{decimals}f}" if "," in figure else f"{new:.{decimals}f}"


def _is_elsewhere(number: float, here: str, grounds: Grounds) -> bool:
    """Whether the sources state a number, but nowhere among words like those around it here."""
    around = _stems(re.sub(r"\d", " ", here))
    places = [q for q in grounds.found if q.kind is Kind.NUMBER and q.number == number]
    return bool(places) and not any(
        around & _stems(grounds.text[max(0, q.start - 60) : q.end + 60]) for q in places
    )


# Dates and times.


def _date(answer: Marked, grounds: Grounds, rng: random.Random) -> tuple[Edit, ...] | None:
    """Another year, month, day, weekday, hour, or half of the day."""
    text = answer.text
    options = [
        *((match, _other_year) for match in _YEAR.finditer(text)),
        *((match, _other_month) for match in _MONTH.finditer(text)),
        *((match, _other_day) for match in _DAY_OF_MONTH.finditer(text)),
        *((match, _other_weekday) for match in _WEEKDAY.finditer(text)),
        *((match, _other_hour) for match in _CLOCK.finditer(text)),
    ]
    for match, other in _shuffled(options, rng):
        edit = other(match, grounds, rng)
        if edit and _is_absent(text, edit, grounds):
            return (edit,)
    return None


def _is_absent(text: str, edit: Edit, grounds: Grounds) -> bool:
    """Whether the date or time that comes of an edit is none that the sources state."""
    low = max(0, edit.start - 60)
    near = text[low : edit.start] + edit.text + text[edit.end : edit.end + 60]
    at = edit.start - low
    equal = (Match.EQUAL, Match.DATE_EQUAL, Match.TIME_EQUAL)
    return not any(
        q.start < at + len(edit.text) and at < q.end and grounds.index.match(q) in equal
        for q in quantities(near)
    )


def _other_year(match: re.Match[str], grounds: Grounds, rng: random.Random) -> Edit | None:
    if match[0] not in grounds.words:
        return None
    year = int(match[0])
    for shift in _shuffled((-20, -10, -9, -3, -2, -1, 1, 2, 3, 4, 10, 100), rng):
        if str(year + shift) not in grounds.text and year + shift < 2100:
            return Edit(match.start(), match.end(), str(year + shift))
    return None


def _other_month(match: re.Match[str], grounds: Grounds, rng: random.Random) -> Edit | None:
    if match[0].lower() not in grounds.words:
        return None
    for month in _shuffled(_MONTHS, rng):
        if month != match[0] and not {month.lower(), month[:3].lower()} & grounds.words.keys():
            return Edit(match.start(), match.end(), month)
    return None


def _other_day(match: re.Match[str], grounds: Grounds, rng: random.Random) -> Edit | None:
    if not _stands(match[0], grounds.text):
        return None
    for day in _shuffled(range(1, 29), rng):
        if abs(day - int(match[1])) < 12 and str(day) not in grounds.words:
            return Edit(match.start(1), match.end(1), str(day))
    return None


def _other_weekday(match: re.Match[str], grounds: Grounds, rng: random.Random) -> Edit | None:
    text = match.string
    if match[0].lower() not in grounds.words:
        return None
    # One end of "Monday to Friday" says less than a day of its own: what is left may be true.
    if _RANGE.match(text, match.end()) or re.search(
        r"(?:-|–|to|through|until|till|and|,|&)\s*$", text[: match.start()]
    ):
        return None
    if re.match(r"s?(?:,| and| or|\s?&)", text[match.end() :]):
        return None
    hours = _hours(grounds)
    for day in _shuffled(_DAYS, rng):
        if day == match[0] or day in _sentence(text, match.start()):
            continue
        if hours and hours.get(day) == hours.get(match[0]):
            continue
        if hours or not {day.lower(), day[:3].lower()} & grounds.words.keys():
            return Edit(match.start(), match.end(), day)
    return None


def _hours(grounds: Grounds) -> dict[str, object]:
    for value in grounds.data:
        hours = value.get("hours") if isinstance(value, dict) else None
        if isinstance(hours, dict):
            return {str(day): at for day, at in hours.items()}
    return {}


def _other_hour(match: re.Match[str], grounds: Grounds, rng: random.Random) -> Edit | None:
    stated = [q for q in quantities(match[0]) if q.kind is Kind.TIME]
    if not stated or grounds.index.match(stated[0]) is not Match.TIME_EQUAL:
        return None
    _, minutes, gap, half, rest = match.groups()
    if rng.random() < 0.25:
        other = {"a": "p", "p": "a", "A": "P", "P": "A"}[half]
        return Edit(match.start(4), match.end(), other + rest)
    hour = rng.choice([h for h in range(1, 13) if h != int(match[1])])
    new = f"{hour}{minutes}{gap}{half}{rest}"
    times = [q for q in quantities(new) if q.kind is Kind.TIME]
    if not times or grounds.index.match(times[0]) is Match.TIME_EQUAL:
        return None
    if str(hour) + minutes in match.string:
        return None
    return Edit(match.start(), match.end(2), f"{hour}{minutes}")


# Units.

_UNITS = [
    ("km", "miles"),
    ("kilometers", "miles"),
    ("kilometres", "miles"),
    ("meters", "feet"),
    ("metres", "feet"),
    ("kg", "pounds"),
    ("kilograms", "pounds"),
    ("grams", "ounces"),
    ("inches", "centimeters"),
    ("mph", "km/h"),
    ("°C", "°F"),
    ("Celsius", "Fahrenheit"),
    ("ml", "liters"),
    ("gallons", "liters"),
    ("GB", "MB"),
    ("hours", "days"),
    ("minutes", "hours"),
    ("seconds", "minutes"),
    ("days", "weeks"),
    ("weeks", "months"),
    ("months", "years"),
    ("acres", "hectares"),
    ("dollars", "euros"),
    ("calories", "grams"),
    ("cups", "tablespoons"),
    ("tablespoons", "teaspoons"),
]
_OTHER_UNITS: dict[str, list[str]] = {}
for _one, _other in _UNITS:
    _OTHER_UNITS.setdefault(_one, []).append(_other)
    _OTHER_UNITS.setdefault(_other, []).append(_one)
_UNIT = re.compile(
    rf"(?:(?<=\d)\s?|(?<=\d)\s|\b(?:{'|'.join(_SMALL)})\s)"
    rf"({'|'.join(sorted(map(re.escape, _OTHER_UNITS), key=len, reverse=True))})(?!\w)(?!/)"
)
_PERIOD = re.compile(r"\b(?:per|each|every) (day|week|month|year|hour|minute)\b(?! of)")


def _unit(answer: Marked, grounds: Grounds, rng: random.Random) -> tuple[Edit, ...] | None:
    """Another unit, which the sources do not use, after a number that they state."""
    options = [(match, list(_OTHER_UNITS[match[1]])) for match in _UNIT.finditer(answer.text)]
    periods = ["hour", "day", "week", "month", "year"]
    options += [
        (match, [period for period in periods if period != match[1]])
        for match in _PERIOD.finditer(answer.text)
    ]
    for match, others in _shuffled(options, rng):
        if match[1].lower() not in _unit_words(grounds):
            continue
        fresh = [unit for unit in others if not _unit_words(grounds) & _forms(unit)]
        if fresh:
            return (Edit(match.start(1), match.end(1), rng.choice(fresh)),)
    return None


def _unit_words(grounds: Grounds) -> AbstractSet[str]:
    signs = {sign.lower() for sign in ("°C", "°F") if sign in grounds.text}
    return grounds.words.keys() | signs


def _forms(unit: str) -> set[str]:
    """A unit as it may be written: singular, plural and short."""
    short = {"miles": "mi", "feet": "ft", "pounds": "lbs", "liters": "l", "hour": "hourly"}
    more = {"day": "daily", "euros": "eur", "months": "mo", "years": "annual"}
    one = unit.lower().removesuffix("s")
    return {
        unit.lower(),
        one,
        one + "s",
        one + "ly",
        *(d[unit] for d in (short, more) if unit in d),
    }


# Names.

_NAME = re.compile(r"\b[A-Z][a-z]+(?:-[A-Z][a-z]+)?(?: [A-Z][a-z]+(?:-[A-Z][a-z]+)?)*\b")
# Not a name alone: the words of offices, peoples, calendars and of what begins a sentence.
_NO_NAMES = frozenset(
    _listed("""
    president minister senator governor king queen prince princess pope judge doctor professor
    officer chief captain general secretary chairman director manager mayor prime mr mrs ms dr sir
    lord lady coach attorney police court state states united government party republican democrat
    democratic republicans democrats congress senate house supreme federal national international
    department north south east west northern southern eastern western american british english
    french german dutch greek swiss spanish christian muslim jewish islamic arab iraqi israeli
    pakistani saudi thai internet web christmas easter ramadan god bible passage passages source
    however the this that these those there they then when while where what which who whom how why
    also according additionally overall based customers reviewers review reviews restaurant some
    many most both all other others yes no not if in on at for from with and but or as it its he
    she we you your our their his her street avenue road drive place ave blvd after before during
    since until because although despite here i'm note see summary answer question instruction
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december american americans mexican italian chinese
    japanese indian european asian african australian canadian russian iranian ukrainian""")
)
_PEOPLE = re.compile(r"(?:ian|ean|ish|ese|ans|ians|ists|ism|ites)$")
_PLACE_BEFORE = re.compile(r"\b(?:in|near|from|to|at|of|across|outside|throughout)$")
_PERSON_AFTER = re.compile(
    r"^(?:,? (?:said|told|says|was born|wrote|added|explained|played|scored|argued|admitted|"
    r"tweeted|claimed|testified|who|believes|pleaded|stated|has said|announced|did not))\b"
)
_PERSON_BEFORE = re.compile(
    r"\b(?:[Mm]r|[Mm]rs|[Mm]s|[Dd]r|[Pp]resident|[Mm]inister|[Ss]enator|[Ss]en|actor|actress|coach|"
    r"director|singer|writer|author|husband|wife|son|daughter|brother|sister|mother|father|"
    r"forward|striker|spokesman|spokeswoman|defender|midfielder|captain|officer|named)\.?,?$"
)
_ORGANISATION = re.compile(
    r"(?:University|College|School|Club|Company|Inc|Corp|Group|Agency|Institute|Association|"
    r"United|City|County|Hospital|Bank|Church|Park|River|Lake|Museum|Foundation|Times|Post|News|"
    r"Stadium|Security|Network|Studios|Force|Team|Show|Island|Bridge|Road|Hall|House|Building|"
    r"Street|Avenue|Award|Awards|Cup|League|Center|Centre|Act|Day|War|Court|Party|Council)$"
)
_STATES = frozenset(
    _listed("""
    Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Georgia
    Hawaii Idaho Illinois Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts
    Michigan Minnesota Mississippi Missouri Montana Nebraska Nevada Ohio Oklahoma Oregon
    Pennsylvania Tennessee Texas Utah Vermont Virginia Washington Wisconsin Wyoming""")
)


def _name_spans(text: str) -> Iterator[re.Match[str]]:
    """Runs of one to three capitalised words that may be names, not those of headings."""
    for match in _NAME.finditer(text):
        words = match[0].lower().split()
        if len(words) <= 3 and not any(w in _NO_NAMES or _PEOPLE.search(w) for w in words):
            yield match


def _begins_sentence(text: str, place: int) -> bool:
    before = text[:place].rstrip()
    return not before or before[-1] in ".!?:\n\"'“”‘*-•>#|" or "\n" in text[len(before) : place]


def _names_of(text: str) -> dict[str, str]:
    """Names that stand within sentences, their words never written small, with their kind."""
    votes: dict[str, Counter[str]] = {}
    small = set(re.findall(r"\b[a-z]+\b", text))
    for match in _name_spans(text):
        if _begins_sentence(text, match.start()) or small & set(match[0].lower().split()):
            continue
        votes.setdefault(match[0], Counter())[_kind_at(text, match)] += 1
    return {
        name: next((kind for kind, _ in kinds.most_common() if kind), "")
        for name, kinds in votes.items()
    }


def _kind_at(text: str, match: re.Match[str]) -> str:
    if _ORGANISATION.search(match[0]):
        return "organisation"
    if match[0] in _STATES:
        return "place"
    before, after = text[max(0, match.start() - 24) : match.start()].rstrip(), text[match.end() :]
    if _PERSON_AFTER.search(after[:24]) or _PERSON_BEFORE.search(before):
        return "person"
    return "place" if re.search(r"\b(?:in|near|across|outside|throughout)$", before) else ""


def _may_be_one(one: str, other: str) -> bool:
    """Whether two names may name the same: a word or its beginning is shared."""
    return any(
        a[:4] == b[:4] or a in b or b in a
        for a in one.lower().replace("-", " ").split()
        for b in other.lower().replace("-", " ").split()
    )


def _entity(answer: Marked, grounds: Grounds, rng: random.Random) -> tuple[Edit, ...] | None:
    """Another name of the same kind, from the sources or from other records."""
    text = answer.text
    used = [match[0] for match in _name_spans(text)]
    foreign = _foreign_names(grounds, rng) if rng.random() < 0.5 or grounds.data else {}
    for match in _shuffled(list(_name_spans(text)), rng):
        name, kind = match[0], grounds.names.get(match[0])
        if kind is None or _touches_name(text, match):
            continue
        # Of one word alone, its kind has to be known: it may be no name at all.
        if not kind and " " not in name:
            continue
        if _begins_sentence(text, match.start()) and " " not in name and kind != "person":
            continue
        sentence = _sentence(text, match.start())
        others = foreign or grounds.names
        for other, its_kind in _shuffled(sorted(others.items()), rng):
            if its_kind != kind or (len(name.split()) > 1) != (len(other.split()) > 1):
                continue
            if any(_may_be_one(other, known) for known in (name, *_in(used, sentence))):
                continue
            if other in grounds.names and (
                _are_joined(name, other, grounds)
                or grounds.tells(other, sentence.replace(name, " "), share=0.4)
            ):
                continue
            return (Edit(match.start(), match.end(), other),)
    return None


def _in(names: list[str], sentence: str) -> list[str]:
    return [name for name in names if name in sentence]


def _touches_name(text: str, match: re.Match[str]) -> bool:
    """Whether a name is part of a longer one, of a list of names or of a place with its state."""
    before, after = text[: match.start()][-12:], text[match.end() :][:12]
    return bool(
        re.search(
            r"(?:[A-Z][\w.’']*|[A-Z]\w*,|&|\bof|\bthe|[A-Z]\w* (?:and|or)) $|[\w’'\"“-]$", before
        )
        or re.match(r"(?: [A-Z&(]|, [A-Z]|[-\w’'\"”/]| (?:and|or|of|de|the) [A-Z]|\.[A-Z])", after)
    )


def _are_joined(one: str, other: str, grounds: Grounds) -> bool:
    """Whether two names stand so close together that they may share what is said of them."""
    joint = r".{0,25}"
    pattern = f"{re.escape(one)}{joint}{re.escape(other)}|{re.escape(other)}{joint}{re.escape(one)}"
    return re.search(pattern, grounds.text) is not None


def _foreign_names(grounds: Grounds, rng: random.Random) -> dict[str, str]:
    found: dict[str, str] = {}
    for stranger in rng.sample(grounds.strangers, min(4, len(grounds.strangers))):
        text = "\n".join(source.text for source in stranger.sources)[:4000]
        found |= {
            name: kind
            for name, kind in _names_of(text).items()
            # A capital letter alone makes no name of one word: it may stand in a heading.
            if " " in name or text.count(name) > 1
        }
    return {
        name: kind
        for name, kind in found.items()
        if kind and not any(word in grounds.words for word in name.lower().split())
    }


_SYMMETRIC = re.compile(
    r"\b(?:and|or|with|met|meet|meets|married|marry|between|both|vs|versus|against|near|joined|"
    r"dating|friend\w*|brother\w*|sister\w*|cousin\w*|twins?|partner\w*|couple|wedding|marriage|"
    r"borders?|neighbou?r\w*|as well|alongside|relationship|divorced?|like|similar|than)\b|[(&/]"
)


def _swap(answer: Marked, grounds: Grounds, rng: random.Random) -> tuple[Edit, ...] | None:
    """Two names, or two numbers, of one sentence change places."""
    text = answer.text
    for piece in _shuffled(segment(text), rng):
        for a, b in _shuffled(list(combinations(_movable(text, piece, grounds), 2)), rng):
            one, other = text[a[0] : a[1]], text[b[0] : b[1]]
            between = text[a[1] : b[0]]
            if a[2] != b[2] or one == other or not re.search(r"[a-z]{3}", between):
                continue
            if a[2] in ("person", "place"):
                if _SYMMETRIC.search(text, a[1], piece.end) or _may_be_one(one, other):
                    continue
                if len(between) > 60 or text[piece.start : piece.end].count(one) > 1:
                    continue
            elif (
                _are_far(one, other)
                or _RANGE.fullmatch(between)
                or re.fullmatch(r"\W*(?:and|or|to|the|by|times|x|a|between)\W*", between)
            ):
                continue
            return (Edit(a[0], a[1], other), Edit(b[0], b[1], one))
    return None


def _are_far(one: str, other: str) -> bool:
    """Whether two numbers are so different that nobody would take one for the other."""
    figures = [_FIGURE.search(text) for text in (one, other)]
    low, high = sorted(float(figure[0].replace(",", "")) if figure else 1.0 for figure in figures)
    return high > 20 * low


def _movable(text: str, piece: Segment, grounds: Grounds) -> list[tuple[int, int, str]]:
    """Names and figures of a sentence, with a kind that only those have that can change places."""
    found = []
    for match in _name_spans(text):
        if piece.start <= match.start() and match.end() <= piece.end:
            kind = grounds.names.get(match[0], "")
            if kind == "person" and not _touches_name(text, match):
                found.append((match.start(), match.end(), kind))
    for quantity in quantities(text):
        if not (piece.start <= quantity.start and quantity.end <= piece.end):
            continue
        written = text[quantity.start : quantity.end]
        if _YEAR.fullmatch(written) and written in grounds.words:
            found.append((quantity.start, quantity.end, "year"))
        elif _is_counted(quantity, text, grounds) and len(_FIGURE.findall(written)) == 1:
            form = "#.#" if "." in written else "#"
            after = re.sub(r"[\d,.]+", form, written) + str(quantity.unit)
            found.append((quantity.start, quantity.end, after))
    return sorted(found)


# Negation.

_VERBS = dict(
    pair.split("/")
    for pair in _listed("""
    offers/offer provides/provide includes/include accepts/accept allows/allow
    serves/serve features/feature requires/require supports/support contains/contain takes/take
    needs/need operates/operate opens/open closes/close covers/cover works/work lives/live
    owns/own sells/sell causes/cause means/mean affects/affect produces/produce receives/receive
    occurs/occur lasts/last appears/appear remains/remain believes/believe plans/plan
    involves/involve depends/depend refers/refer has/have boasts/boast describes/describe
    recommends/recommend claims/claim wants/want mentions/mention states/state says/say
    uses/use makes/make gives/give shows/show helps/help returns/return holds/hold
    belongs/belong applies/apply exists/exist stores/store""")
)
_BASES = {base: third for third, base in _VERBS.items()}
_NEGATIVE = re.compile(
    r"\b(?:not|no|never|none|neither|nor|nothing|without|cannot|only|hardly|lack\w*|few|little|"
    r"if|unless|whether|when|some|several|all|every|each|both|everyone|most|many|also|too|already|"
    r"still|either|any|until|yet|such as|as well|will be\.)\b|n['’]t",
    re.I,
)
_POLAR = re.compile(
    r"\b(?:any|either|until|till|but|yet|ever|or|nor|rather|anymore|instead|as well)\b"
)
_INSERT = re.compile(
    r"(?<=[\w,)] )(?P<verb>is|are|was|were|can|should|must|will)(?= (?P<next>[a-z]+))"
    rf"|(?<=[\w)] )(?P<third>{'|'.join(_VERBS)})(?= (?:a|an|the|its|both|free|[a-z]+s|[a-z]+ing)\b)"
)
_REMOVE = re.compile(
    r"\b(?:(?P<verb>is|are|was|were|could|will|would|should|has|have|had|did|must|can)"
    r"(?: not|n['’]t)|(?P<can>cannot|can['’]t)"
    r"|(?P<does>do|does)(?: not|n['’]t) (?P<base>[a-z]+))\b(?= (?P<next>[a-z]+)|[.,;])"
)
_UNNEGATED = frozenset(
    _listed("""not no never only just always also still already both either neither often sometimes
    nothing none likely usually generally now then to whether that because how what why where
    when if mainly mostly primarily due about such possible like as there it this he she they
    probably more than necessarily yet merely simply been even much very all limited""")
)


def _negation(answer: Marked, grounds: Grounds, rng: random.Random) -> tuple[Edit, ...] | None:
    """A "not" put in or left out."""
    text = answer.text
    options = [(match, _negated) for match in _INSERT.finditer(text)]
    options += [(match, _affirmed) for match in _REMOVE.finditer(text)]
    for match, turn in _shuffled(options, rng):
        new = turn(match, _piece(text, match.start()))
        if new:
            return (Edit(match.start(), match.end(), new),)
    return None


def _negated(match: re.Match[str], piece: tuple[int, int]) -> str | None:
    sentence = match.string[slice(*piece)]
    before = match.string[piece[0] : match.start()]
    if _NEGATIVE.search(sentence) or re.match(
        r"(?:Yes|No|What|How|Why|Who|Where|Here|Sure|Note)\b", sentence
    ):
        return None
    last = (_WORD.findall(before.lower()) or [""])[-1]
    if match["third"]:
        plural = last.endswith("s") and not last.endswith("ss") and before.count(" ") < 3
        if last in ("the", "its", "their", "and", "or", "to", "of", "a", "which", "special"):
            return None
        return None if plural or last.endswith("ly") else f"does not {_VERBS[match['third']]}"
    if last in ("there", "it", "what", "or", "and") or match["next"] in _UNNEGATED:
        return None
    if match["next"].endswith("ly"):
        return None
    return "cannot" if match["verb"] == "can" else f"{match['verb']} not"


def _affirmed(match: re.Match[str], piece: tuple[int, int]) -> str | None:
    rest = match.string[match.end() : piece[1]]
    if re.search(r"\b(?:if|unless|when|whether)\b", match.string[slice(*piece)], re.I):
        return None
    if _POLAR.search(rest) or (match["next"] or "") in _UNNEGATED:
        return None
    if len(re.findall(r"\bnot\b|n['’]t|\bno\b|cannot", match.string[slice(*piece)])) > 1:
        return None
    if match["can"]:
        return "can"
    if match["verb"]:
        return str(match["verb"])
    base = match["base"]
    if base in _UNNEGATED or base.endswith("ly") or base in ("be", "currently"):
        return None
    return str(base) if match["does"] == "do" else _BASES.get(base)


# Quantifiers, certainty and opposites.

_OPPOSITES = _listed("""before/after increased/decreased increases/decreases increase/decrease
increasing/decreasing higher/lower highest/lowest larger/smaller largest/smallest older/younger
oldest/youngest longer/shorter longest/shortest rose/fell best/worst positive/negative male/female
maximum/minimum legal/illegal public/private won/lost accepted/rejected inside/outside
indoor/outdoor northern/southern eastern/western cheaper/costlier stronger/weaker faster/slower
optional/mandatory enabled/disabled bought/sold buy/sell guilty/innocent
upper/lower earlier/later above/below temporary/permanent hot/cold warm/cool internal/external
safe/unsafe allowed/forbidden enables/disables open/closed friendly/rude 
casual/formal affordable/expensive early/late husband/wife son/daughter father/mother
brother/sister approved/rejected supported/opposed majority/minority success/failure
successful/unsuccessful strong/weak""")
_TURNED: dict[str, tuple[str, int]] = {
    "some": ("all", _CONTRADICTED),
    "many": ("most", _CONTRADICTED),
    "most": ("all", _CONTRADICTED),
    "several": ("all", _CONTRADICTED),
    "sometimes": ("always", _CONTRADICTED),
    "often": ("always", _CONTRADICTED),
    "usually": ("always", _CONTRADICTED),
    "rarely": ("often", _CONTRADICTED),
    "never": ("often", _CONTRADICTED),
    "first": ("last", _CONTRADICTED),
    "last": ("first", _CONTRADICTED),
    "up to": ("at least", _CONTRADICTED),
    "at least": ("at most", _CONTRADICTED),
    "more than": ("less than", _CONTRADICTED),
    "less than": ("more than", _CONTRADICTED),
    "may": ("will", _UNSUPPORTED),
    "might": ("will", _UNSUPPORTED),
    "could": ("will", _UNSUPPORTED),
    "possibly": ("certainly", _UNSUPPORTED),
    "likely": ("certain", _UNSUPPORTED),
    "allegedly": ("demonstrably", _UNSUPPORTED),
}
for _one, _other in (pair.split("/") for pair in _OPPOSITES):
    _TURNED.setdefault(_one, (_other, _CONTRADICTED))
    _TURNED.setdefault(_other, (_one, _CONTRADICTED))
_TURN = re.compile(
    rf"(?<![\w.`_/-])(?:{'|'.join(sorted(_TURNED, key=len, reverse=True))})\b(?![-’'])"
)
# What must stand around a word for its opposite to be grammatical and wrong there.
_AROUND: dict[str, tuple[str, str]] = {
    "some": (
        r"(?<!of)\s$|^$",
        r" (?:of the |cases|people|users|customers|states|countries|[a-z]+s\b)",
    ),
    "many": (
        r"(?<!how)(?<!as)(?<!so)(?<!too)(?<!the)\s$|^$",
        r" (?!years|times|more|other)[a-z]+s\b",
    ),
    "most": (
        r"(?:^|[a-z,.;] )(?<!the )(?<!its )(?<!at )$",
        r" (?:of the|people|states|countries|users)\b",
    ),
    "several": (
        r"\b(?:in|for|by|of|and|from) $",
        r" (?:cases|areas|states|countries|people|customers)\b",
    ),
    "first": (
        r"\bthe $",
        r" (?!lady|aid|name|hand|place|of|time|and|half|part|few|amendment)[a-z]+",
    ),
    "last": (r"\bthe $", r" (?!of|few|name|and|several|two|three|\d|decade|year|month|week)[a-z]+"),
    "up to": ("", r" (?:\$|\d|two|three|four|five|six|ten)"),
    "at least": ("", r" (?:\$|\d|two|three|four|five|six|ten)"),
    "more than": (r"(?<!no)(?<!not) $", r" (?:\$|\d|half|two|three|four|five)"),
    "less than": (r"(?<!no)(?<!not) $", r" (?:\$|\d|half|two|three|four|five)"),
    "may": (r"[a-z] $", r" (?!not|also|be able|well|or)[a-z]+"),
    "might": (r"[a-z] $", r" (?!not|also|be able|well|or|have)[a-z]+"),
    "could": (r"[a-z] $", r" (?!not|also|be able|only|no|have|use)[a-z]+"),
    "possibly": ("", " "),
    "likely": (r"\b(?:is|are) $", r" (?:to|that)\b"),
    "before": (r"[a-z] $", r" (?:the|being|a|he|she|they|it|\d|[a-z]+ing)\b"),
    "after": (
        r"(?<!named)(?<!looking)(?<!look)(?<!looks)(?<!soon)(?<!called)(?<!sought)(?<!shortly) $",
        r" (?:the|being|a|he|she|they|it|\d|[a-z]+ing)\b",
    ),
    "best": (r"\b(?:the|its) $", r" (?!known)[a-z]+"),
    "lost": (
        r"(?<!has)(?<!have)(?<!had)(?<!was)(?<!were)(?<!is)(?<!been)(?<!of) $",
        r" (?:the|a)\b",
    ),
    "won": (r"(?<!been)(?<!was)(?<!were)(?<!is) $", r" (?:the|a)\b"),
    "rose": (r"[a-z] $", r" (?:by|to|from|\d)"),
    "fell": (r"[a-z%] $", r" (?:by|to|from|\d)\b"),
    "open": (r"\b(?:is|are|was|were|remains) $", r"[ ,.](?!to\b)"),
    "closed": (r"\b(?:is|are|remains) $", r"[ ,.]"),
    "public": ("", r" (?:schools?|property|sector|university|hospital)\b"),
    "private": ("", r" (?:schools?|property|sector|university|hospital)\b"),
    "lower": ("", r" (?!back|case|\d)"),
    "upper": ("", r" (?:level|floor|limit|bound|respiratory|half)\b"),
    "later": (r"\b(?:years|days|months|weeks|hours|minutes) $", ""),
    "earlier": (r"\b(?:years|days|months|weeks|hours|minutes) $", ""),
    "early": (r"\b(?:in|in the|until|since) $", " "),
    "late": (r"\b(?:in|in the|until|since) $", r" (?!night)"),
    "above": ("", r" (?:\d|the|\$)"),
    "below": ("", r" (?:\d|the|\$)"),
    "hot": ("", r" (?!dog|pot|sauce|chocolate|tub|topic|spot)"),
    "longer": (r"(?<!no) $", " "),
    "increase": (r"\b(?:an|the|to|can|may|will|and) $", " "),
    "decrease": (r"\b(?:a|the|to|can|may|will|and) $", " "),
    "strong": ("", r" (?!coffee|man)"),
    "supported": (r"(?:was|were|is|are|has|have) $", " "),
    "cool": (r"\b(?:is|are|be|was) $", "[ .,]"),
    "warm": (r"\b(?:is|are|be|was) $", "[ .,]"),
}


def _opposite(answer: Marked, grounds: Grounds, rng: random.Random) -> tuple[Edit, ...] | None:
    """A word of amount, order, direction or certainty that is the sources' own becomes another."""
    text = answer.text
    for match in _shuffled(list(_TURN.finditer(text)), rng):
        word = match[0]
        other, label = _TURNED[word]
        left, right = _AROUND.get(word, ("", ""))
        if not re.search(left, text[: match.start()][-24:]):
            continue
        if not re.match(right, text[match.end() :][:24]):
            continue
        sentence = _sentence(text, match.start())
        # A paraphrase may have chosen the word: what the sources write themselves is firm.
        if not grounds.tells(word, sentence, share=0.3) or _stands(other, sentence):
            continue
        if grounds.tells(other, sentence, share=0.3) or _NOT.search(sentence):
            continue
        return (Edit(match.start(), match.end(), other, label),)
    return None


_NOT = re.compile(r"\b(?:not|no|never|neither|nor|without|whether|or)\b|n['’]t", re.I)


# Sentences of others.

_NO_START = re.compile(
    r"(?:It|They|This|These|Those|That|He|She|His|Her|Its|Their|However|Overall|Additionally|Yes|"
    r"In addition|Based|Therefore|Also|But|And|So|According|Passage|Both|Unfortunately|Sorry|I|"
    r"Here|Note|For example|Another|The passages?|The text|Sure)\b|[^A-Z]"
)


def _foreign(answer: Marked, grounds: Grounds, rng: random.Random) -> tuple[Edit, ...] | None:
    """A whole sentence of another record's answer between two sentences."""
    if not grounds.strangers:
        return None
    other = rng.choice(rng.choice(grounds.strangers).answers)
    sentences = [
        other.text[piece.start : piece.end]
        for piece in segment(other.text)
        if not any(start < piece.end and piece.start < end for start, end, _ in other.spans)
    ]
    text = answer.text
    places = [
        piece.end
        for piece in segment(text)
        if re.search(r"[a-z)%]\.$", text[: piece.end][-2:])
        and re.match(r" [A-Z]|\n|$", text[piece.end : piece.end + 2])
    ]
    for sentence in _shuffled(sentences, rng):
        if places and _is_foreign(sentence, grounds):
            place = rng.choice(places)
            return (Edit(place, place, f" {sentence}", _UNSUPPORTED),)
    return None


def _is_foreign(sentence: str, grounds: Grounds) -> bool:
    if not 40 <= len(sentence) <= 260 or sentence[-1] != "." or _NO_START.match(sentence):
        return False
    if re.search(r"passage|provided|context", sentence, re.I):
        return False
    known = frozenset(word[:5] for word in grounds.words)
    stems = _stems(sentence)
    own = re.findall(r"(?<=[a-z,] )[A-Z][a-z]{2,}|\d+", sentence)
    strange = [word for word in own if word.lower() not in grounds.words]
    return bool(strange) and len(stems - known) >= max(3, 0.4 * len(stems)) and "\n" not in sentence


# Values of records.

_Leaf = tuple[str, tuple[str, ...], str, str]  # value, what names it, its group, its type


def _value(answer: Marked, grounds: Grounds, rng: random.Random) -> tuple[Edit, ...] | None:
    """The value of one key of a record becomes that of its sibling."""
    text = answer.text
    leaves = [leaf for value in grounds.data for leaf in _leaves(value)]
    hours = _clock_values(text, grounds)
    for piece in _shuffled(segment(text), rng):
        sentence = text[piece.start : piece.end]
        for value, names, group, type_ in _shuffled(leaves, rng):
            place = _only(value, sentence)
            if place is None or not any(_calls(name, sentence) for name in names):
                continue
            for other, its_names, its_group, its_type in _shuffled(leaves, rng):
                if (its_group, its_type) != (group, type_) or _stands(other, sentence):
                    continue
                if _shape(value) != _shape(other) or _are_far(value, other):
                    continue
                if value.lower() in other.lower() or other.lower() in value.lower():
                    continue
                if not any(_calls(name, sentence) for name in its_names):
                    start = piece.start + place
                    return (Edit(start, start + len(value), other),)
    return hours(rng)


def _leaves(value: object) -> Iterator[_Leaf]:
    """Short values of a record, each with the keys or titles by which a text may call it."""
    if isinstance(value, dict):
        for key, below in value.items():
            if not _is_short(below):
                yield from _leaves(below)
            # A word that is no name means nothing under another key.
            elif not isinstance(below, str) or re.fullmatch(r"[A-Z]\w*(?: [A-Z]\w*)+", below):
                yield (str(below), (_spoken(key),), str(id(value)), type(below).__name__)
    elif isinstance(value, list):
        for row in value:
            if isinstance(row, list):
                cells: dict[object, object] = dict(enumerate(row))
                named = [cells.get(0)]
            elif isinstance(row, dict):
                cells = dict(row)
                named = [cells.get(key) for key in ("name", "title", "id", "label")]
            else:
                continue
            titles = tuple(str(title) for title in named if _is_short(title))
            for key, below in cells.items():
                if titles and _is_short(below) and str(below) not in titles:
                    yield (str(below), titles, f"{id(value)} {key}", type(below).__name__)
        for below in value:
            yield from _leaves(below)


def _calls(name: str, sentence: str) -> bool:
    """Whether a sentence uses the words by which a value is called."""
    return _stands(name, sentence) or frozenset() < _stems(name) <= _stems(sentence)


def _shape(value: str) -> str:
    """What kinds of characters a value is made of: a date is no price and no name."""
    return re.sub(r"[^\W\d]+(?:\W+[^\W\d]+)*", "a", re.sub(r"[\d,.]+", "0", value))


def _is_short(value: object) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int | float):
        return value not in (0, 1)
    return isinstance(value, str) and 2 < len(value) <= 40 and value.count(" ") < 4


def _spoken(key: object) -> str:
    """A key as a text would say it: ``bikeParking`` and ``bike_parking`` are "bike parking"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", str(key))


def _only(value: str, sentence: str) -> int | None:
    """Where a value stands in a sentence, if it does so once and whole."""
    found = [
        m.start() for m in re.finditer(rf"(?<![\w.,]){re.escape(value)}(?![\w]|[.,]\d)", sentence)
    ]
    return found[0] if len(found) == 1 else None


def _clock_values(
    text: str, grounds: Grounds
) -> Callable[[random.Random], tuple[Edit, ...] | None]:
    """Exchanges an hour of one weekday with that of another."""

    def exchange(rng: random.Random) -> tuple[Edit, ...] | None:
        hours = {day: _ends(str(at)) for day, at in _hours(grounds).items()}
        for match in _shuffled(list(_CLOCK.finditer(text)), rng):
            sentence = _sentence(text, match.start())
            days = [day for day in _DAYS if day in sentence]
            stated = [q.value for q in quantities(match[0]) if q.kind is Kind.TIME]
            if len(days) != 1 or len(stated) != 1 or stated[0] not in hours.get(days[0], ()):
                continue
            side = hours[days[0]].index(stated[0])
            for ends in _shuffled(list(hours.values()), rng):
                new = _clock(ends[side], match) if len(ends) == 2 else None
                if new and ends[side] not in hours[days[0]] and new not in sentence:
                    return (Edit(match.start(), match.end(), new),)
        return None

    return exchange


def _ends(hours: str) -> list[object]:
    """Opening and closing of "9:0-17:30", in minutes of the day."""
    found = [q.value for q in quantities(hours) if q.kind is Kind.TIME]
    return list(found) if len(found) == 2 and found != [0.0, 0.0] else []


def _clock(minutes: object, like: re.Match[str]) -> str | None:
    """A time of day in the form of another."""
    if not isinstance(minutes, float) or (minutes % 60 and not like[2]):
        return None
    hour, minute = divmod(int(minutes), 60)
    half = "P" if hour >= 12 else "A"
    half = half if like[4].isupper() else half.lower()
    past = f":{minute:02}" if like[2] else ""
    return f"{(hour - 1) % 12 + 1}{past}{like[3]}{half}{like[5]}"


# All together.

_Corrupt = Callable[[Marked, Grounds, random.Random], tuple[Edit, ...] | None]

#: The kinds of mistakes. Each proposes edits, or ``None`` where it does not apply.
KINDS: dict[str, _Corrupt] = {
    "number": _number,
    "date": _date,
    "unit": _unit,
    "entity": _entity,
    "swap": _swap,
    "negation": _negation,
    "opposite": _opposite,
    "foreign": _foreign,
    "value": _value,
}


def corrupt(
    answer: Marked, grounds: Grounds, rng: random.Random, *, kind: str, tries: int = 4
) -> Marked | None:
    """Put one mistake of a kind into an answer.

    Args:
        answer: Text and the spans it has; what is outside them is taken to be supported.
        grounds: What its sources say.
        rng: Chooses the place and the mistake; the only source of chance.
        kind: A key of :data:`KINDS`.
        tries: How often to look for a place that is free and surely wrong.

    Returns:
        The answer with the mistake marked, or ``None`` if the kind does not apply.
    """
    for _ in range(tries):
        edits = KINDS[kind](answer, grounds, rng)
        if edits is None:
            return None
        edits = tuple(_with_article(answer.text, edit) for edit in edits)
        if _is_free(answer, edits) and not any(_is_said(answer.text, e, grounds) for e in edits):
            return applied(answer, edits)
    return None


def applied(answer: Marked, edits: Sequence[Edit]) -> Marked:
    """Carry out edits that touch neither each other nor a span."""
    text, at = "", 0
    spans = []
    moves: list[tuple[int, int]] = []  # from here on, so many characters further
    for edit in sorted(edits, key=lambda edit: edit.start):
        text += answer.text[at : edit.start]
        start = len(text) + len(edit.text) - len(edit.text.lstrip())
        spans.append((start, len(text) + len(edit.text.rstrip()), edit.label))
        text += edit.text
        at = edit.end
        moves.append((at, len(text) - at))
    for start, end, label in answer.spans:
        shift = next((by for place, by in reversed(moves) if start >= place), 0)
        spans.append((start + shift, end + shift, label))
    return Marked(text + answer.text[at:], tuple(sorted(spans)))


def _is_free(answer: Marked, edits: Sequence[Edit]) -> bool:
    """Whether edits leave a character between them and every span, and are apart."""
    ordered = sorted(edits, key=lambda edit: edit.start)
    return all(a.end < b.start for a, b in pairwise(ordered)) and not any(
        edit.start <= end and start <= edit.end for edit in edits for start, end, _ in answer.spans
    )


def _is_said(text: str, edit: Edit, grounds: Grounds) -> bool:
    """Whether the new words stand in the sources between the same neighbours."""
    before = _WORD.findall(text[: edit.start][-40:])[-1:]
    after = _WORD.findall(text[edit.end :][:40])[:1]
    return _plain(" ".join([*before, edit.text, *after])) in grounds.plain


def _with_article(text: str, edit: Edit) -> Edit:
    """An edit that takes "a" or "an" before it along where another is due."""
    article = re.search(r"\b([Aa])(n?) $", text[: edit.start])
    if not article or not edit.text.strip() or edit.start == edit.end:
        return edit
    is_vowel = re.match(r"[aeioAEIO]|un(?!i)|8|11(?!\d)|18(?!\d)", edit.text) is not None
    if is_vowel == bool(article[2]):
        return edit
    new = f"{article[1]}{'n' if is_vowel else ''} {edit.text}"
    return replace(edit, start=article.start(), text=new)


def _piece(text: str, place: int) -> tuple[int, int]:
    """Where the sentence that holds a character begins and ends."""
    for piece in segment(text):
        if piece.start <= place < piece.end:
            return piece.start, piece.end
    return place, min(len(text), place + 1)


def _sentence(text: str, place: int) -> str:
    return text[slice(*_piece(text, place))]


def _shuffled(values: Sequence[_T], rng: random.Random) -> list[_T]:
    return rng.sample(values, len(values))


#: How often a kind is tried first, in proportion.
_WEIGHTS = {
    "number": 3,
    "date": 3,
    "unit": 2,
    "entity": 4,
    "swap": 2,
    "negation": 2,
    "opposite": 2,
    "foreign": 1,
    "value": 3,
}


def corrupt_any(
    answer: Marked, grounds: Grounds, rng: random.Random, *, kinds: Collection[str] = KINDS
) -> Marked | None:
    """Put one mistake of any of some kinds into an answer, in random order of kinds."""
    order = sorted(kinds, key=lambda kind: -(rng.random() ** (1 / _WEIGHTS[kind])))
    for kind in order:
        if (wrong := corrupt(answer, grounds, rng, kind=kind)) is not None:
            return wrong
    return None


def draw_corrupted(
    record: Record, n: int, rng: random.Random, strangers: Sequence[Record]
) -> tuple[Marked, ...]:
    """Corrupted versions of a record's answers, those with the fewest spans first.

    Args:
        record: With answers of any kind; they are not changed.
        n: How many to make, at most. An answer is used again when there are fewer of them.
        rng: The only source of chance.
        strangers: Other records, for names and sentences that do not belong here.

    Returns:
        Up to ``n`` answers that differ, with one or two mistakes each.
    """
    grounds = Grounds([source.text for source in record.sources], strangers)
    answers = _shuffled(record.answers, rng)
    answers.sort(key=lambda answer: len(answer.spans))
    made: dict[Marked, None] = {}
    for i in range(n if answers else 0):
        wrong = corrupt_any(answers[i % len(answers)], grounds, rng)
        if wrong is not None and rng.random() < 0.4:
            wrong = corrupt_any(wrong, grounds, rng) or wrong
        if wrong is not None:
            made[wrong] = None
    return tuple(made)


_PREMISES = (
    "Is it true that {}?",
    "Is it correct that {}?",
    "I read that {}. Is that right?",
    "Can you confirm that {}?",
)
_OPENING = re.compile(
    r"(?:Overall|Additionally|However|In addition|Furthermore|Also|Finally|Moreover|Lastly|"
    r"Note that|On the other hand|Unfortunately|For example|Meanwhile|Therefore|In summary),? "
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|may|might|will|would|does|do|did|\w{2,}ed)\b"
)


_LOWERED = frozenset(
    _listed("""A An Another What The It Its They Their This That These There He She His Her In On
    Once When While Based Despite Although After Before As For To With By At From During Since""")
)


def _asked(sentence: str, known: str) -> str | None:
    """A sentence as the clause after "that", unless it is no statement."""
    clause = _OPENING.sub("", sentence.rstrip(".!"), count=1)
    if (
        not _FINITE.search(clause)
        or clause[-1:] in "?:"
        or re.search(r"[*|#\n]|^\W|^(?:Here|Yes|No)\b|passage", clause)
    ):
        return None
    first = _WORD.findall(clause)[0]
    # "Roast the pork until it is browned" tells what to do.
    if first not in _LOWERED and re.match(r"\w+ (?:the|an?|your|it|them|each|for|in|on)\b", clause):
        return None
    is_word = (
        not re.match(r"\w+ [A-Z]", clause) and re.search(rf"\b{re.escape(first.lower())}\b", known)
    ) or first[-3:] in ("lly", "ing")
    if first in _LOWERED or (is_word and first != "I"):
        clause = clause[0].lower() + clause[1:]
    return clause


def false_premise(record: Record, rng: random.Random) -> Record | None:
    """Ask whether something false is so: the question repeats it and is no evidence for it.

    Returns:
        The record with such a question and two answers: one of its own, faithful, and the false
        sentence itself, marked. ``None`` if no answer without spans could be corrupted.
    """
    grounds = Grounds([source.text for source in record.sources])
    kinds = [kind for kind in KINDS if kind != "foreign"]
    for answer in _shuffled([answer for answer in record.answers if not answer.spans], rng):
        wrong = corrupt_any(answer, grounds, rng, kinds=kinds)
        if wrong is None:
            continue
        low, high = _piece(wrong.text, wrong.spans[0][0])
        spans = tuple((s - low, e - low, label) for s, e, label in wrong.spans if low <= s < high)
        sentence = wrong.text[low:high]
        if spans[-1][1] > len(sentence):
            continue
        asked = _asked(sentence, f"{grounds.text} {answer.text}")
        if asked is None:
            continue
        return replace(
            record,
            question=rng.choice(_PREMISES).format(asked),
            answers=(answer, Marked(sentence, spans)),
            slots=None,
        )
    return None

"""Numbers, times and dates in a text, and whether other texts state the same ones.

``quantities`` finds them and normalises what it finds: "$1.2 million" is 1,200,000 usd, "330 m"
equals "0.33 km", "4:30 PM" is "16:30". A ``QuantityIndex`` holds those of the evidence and
answers, for one quantity of an answer, how well the evidence agrees.

No units library: the usual one takes longer to import than a whole check may take, and a table
of factors is all that comparing needs.

What is no quantity: "one" alone, ordinal words, weekday names, list markers and citations
("1. " at the start of a line, "[1]"), and digits that name something: identifiers ("AB-1234",
"S0", "passage 2", "step 3"), versions, IP addresses, phone numbers, ISBNs; nor the scale in
"4.5 out of 5" and the idioms "seven days a week" and "24 hours a day".

Equal means:

* numbers: the same base unit, and values within one in a million; where the units were written
  with different names also within 0.5 % (0.5 degrees for temperatures), because conversions in
  prose are rounded: "1 mile" equals "1.61 km", but "1.60 km" does not equal "1.61 km";
* "165 degrees", of no stated scale, equal 165 °F and 165 °C;
* ages are bare numbers: "15-year-old", "15 years old" and "aged 15" are equal;
* a bare year equals the year of a date; "1990s" is the number 1990;
* times: the same minute of the day; dates: every part the answer states.

Numeric dates that can be read both ways are read month first ("03/04/1945"), with dots day
first ("03.04.1945"): the same literal always equals itself.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from functools import cached_property


class Kind(StrEnum):
    """What a quantity is."""

    NUMBER = "number"
    TIME = "time"
    DATE = "date"


Date = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, time of day or date, and where it stands.

    Attributes:
        start: First character, counted in Python characters of the text.
        end: One past the last; the sign, the currency sign and the unit are inside.
        kind: What it is.
        value: A number in base units; a time in minutes of the day, in [0, 1440); a date as
            year, month, day, with ``None`` for what is not stated.
        unit: The base unit of a number ("m", "kg", "s", "usd", "%"), or ``None``.
        number: The number before conversion: 5.0 for "5 km". 0.0 for a date.
        name: The unit before conversion ("km"), or "th" for an ordinal in digits ("4th").
    """

    start: int
    end: int
    kind: Kind
    value: float | Date
    unit: str | None = None
    number: float = 0.0
    name: str | None = None


class Match(IntEnum):
    """How the evidence agrees with a quantity. The codes are part of trained weights."""

    NONE = 0  # not a quantity
    EQUAL = 1  # value and unit
    UNIT_DIFFERS = 2  # the same number with another unit, or one of the two without
    ABSENT = 3
    TIME_EQUAL = 4
    TIME_ABSENT = 5
    DATE_EQUAL = 6  # every part stated agrees with one date
    DATE_PARTLY = 7  # the same year or month, not the same date
    DATE_ABSENT = 8


# -- units: base unit, factor, aliases; the first alias is the name that tells units apart --------

_UNIT_TABLE = """
m 1: m metre metres meter meters
m 1000: km kms kilometre kilometres kilometer kilometers
m 0.01: cm centimetre centimetres centimeter centimeters
m 0.001: mm millimetre millimetres millimeter millimeters
m 1e-6: µm μm micron microns micrometre micrometres micrometer micrometers
m 1e-9: nm nanometre nanometres nanometer nanometers
m 1609.344: mile miles mi
m 1852: nautical-mile nautical_mile nautical_miles nmi
m 0.9144: yard yards yd yds
m 0.3048: foot feet ft
m 0.0254: inch inches in
m 9.4607304725808e15: light-year light_year light_years
kg 1: kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes
kg 0.001: g gram grams gramme grammes gm
kg 1e-6: mg milligram milligrams
kg 1e-9: mcg µg μg microgram micrograms
kg 1000: tonne tonnes metric_ton metric_tons t
kg 907.18474: ton tons short_ton short_tons
kg 0.45359237: lb lbs pound pounds
kg 0.028349523125: oz ounce ounces
s 1: s sec secs second seconds
s 0.001: ms millisecond milliseconds
s 60: min mins minute minutes
s 3600: h hr hrs hour hours
s 86400: day days
s 604800: week weeks wk wks
s 2629800: month months mo mos
s 31557600: year years yr yrs
s 315576000: decade decades
s 3155760000: century centuries
m2 1: m2 m² m^2 sqm sq_m square_metre square_metres square_meter square_meters
m2 1e6: km2 km² km^2 sq_km square_kilometre square_kilometres square_kilometer square_kilometers
m2 1e-4: cm2 cm² sq_cm square_centimetre square_centimetres square_centimeter square_centimeters
m2 10000: ha hectare hectares
m2 4046.8564224: acre acres
m2 2589988.110336: sq-mi sq_mi square_mile square_miles mi²
m2 0.09290304: sq-ft sq_ft sqft square_foot square_feet ft² ft2
m2 0.83612736: sq-yd sq_yd square_yard square_yards
m2 0.00064516: sq-in sq_in square_inch square_inches
l 1: l litre litres liter liters L
l 0.001: ml mL millilitre millilitres milliliter milliliters cc
l 0.01: cl centilitre centilitres
l 1000: m3 m³ m^3 cubic_metre cubic_metres cubic_meter cubic_meters
l 1e12: km3 km³ cubic_kilometre cubic_kilometres cubic_kilometer cubic_kilometers
l 0.001: cm3 cm³ cubic_centimetre cubic_centimetres cubic_centimeter cubic_centimeters
l 28.316846592: cubic-foot cubic_foot cubic_feet cu_ft
l 3.785411784: gallon gallons gal gals
l 0.946352946: quart quarts qt
l 0.473176473: pint pints
l 0.2365882365: cup cups
l 0.0295735295625: fl-oz fl_oz fluid_ounce fluid_ounces
l 0.01478676478125: tbsp tablespoon tablespoons tbs
l 0.00492892159375: tsp teaspoon teaspoons
l 158.987294928: barrel barrels
m/s 1: m/s mps metres_per_second meters_per_second metre_per_second meter_per_second
m/s 0.2777777777777778: km/h kph kmh kmph kilometres_per_hour kilometers_per_hour km_per_hour
m/s 0.44704: mph miles_per_hour mile_per_hour mi/h
m/s 0.5144444444444445: knot knots kn
m/s 0.3048: ft/s feet_per_second
°C 1: °C ℃ C degrees_Celsius degree_Celsius degrees_C degrees_centigrade Celsius centigrade
°C 0.5555555555555556 -32: °F ℉ F degrees_Fahrenheit degree_Fahrenheit degrees_F Fahrenheit
°C 1 -273.15: kelvin kelvins
° 1: ° degree degrees deg
B 1: byte bytes
B 1e3: kB KB kilobyte kilobytes
B 1e6: MB megabyte megabytes
B 1e9: GB gigabyte gigabytes
B 1e12: TB terabyte terabytes
B 1e15: PB petabyte petabytes
B 1024: KiB kibibyte kibibytes
B 1048576: MiB mebibyte mebibytes
B 1073741824: GiB gibibyte gibibytes
B 0.125: bit bits
B 125000: Mb Mbit megabit megabits
B 125000000: Gb Gbit gigabit gigabits
B/s 125: kbps kbit/s
B/s 125000: Mbps Mbit/s Mb/s
B/s 125000000: Gbps Gbit/s Gb/s
J 1: J joule joules
J 1000: kJ kilojoule kilojoules
J 1e6: MJ megajoule megajoules
J 3600: Wh watt_hour watt_hours watt-hours
J 3.6e6: kWh kilowatt_hour kilowatt_hours
J 3.6e9: MWh megawatt_hour megawatt_hours
J 3.6e12: GWh gigawatt_hour gigawatt_hours
J 3.6e15: TWh terawatt_hour terawatt_hours
J 4184: kcal kilocalorie kilocalories Calories calories calorie cal
W 1: W watt watts
W 1000: kW kilowatt kilowatts
W 1e6: MW megawatt megawatts
W 1e9: GW gigawatt gigawatts
W 1e12: TW terawatt terawatts
W 745.6998715822702: hp horsepower bhp
Hz 1: Hz hertz
Hz 1e3: kHz kilohertz
Hz 1e6: MHz megahertz
Hz 1e9: GHz gigahertz
% 1: % percent percentage per_cent pct percentage_point percentage_points
usd 1: usd dollar dollars USD $ US$ us_dollar us_dollars bucks
usd 0.01: cent cents ¢
eur 1: eur euro euros EUR €
gbp 1: gbp GBP £ pounds_sterling quid
gbp 0.01: pence
jpy 1: jpy JPY ¥ yen
cny 1: cny CNY RMB yuan renminbi
inr 1: inr INR ₹ rupee rupees Rs
chf 1: chf CHF franc francs
aud 1: aud AUD A$
cad 1: cad CAD C$ CA$
hkd 1: hkd HKD HK$
krw 1: krw KRW ₩ won
rub 1: rub RUB ₽ rouble roubles ruble rubles
"""


@dataclass(frozen=True, slots=True)
class _Unit:
    base: str
    name: str
    factor: float
    offset: float = 0.0  # added before the factor

    def convert(self, number: float) -> float:
        return (number + self.offset) * self.factor


def _units() -> dict[str, _Unit]:
    table = {}
    for line in _UNIT_TABLE.strip().splitlines():
        head, aliases = line.split(": ")
        base, factor, *offset = head.split()
        names = aliases.split()
        unit = _Unit(base, names[0], float(factor), float(offset[0]) if offset else 0.0)
        for alias in names:
            table[alias.replace("_", " ")] = unit
    for alias, unit in list(
        table.items()
    ):  # "KM", "Litres", "MPH"; single letters stay as they are
        if len(alias) > 1:
            table.setdefault(alias.lower(), unit)
    return table


_UNITS = _units()
_POUND_STERLING = _UNITS["gbp"]
# Words that are far more often something else after a space: "5 in the morning", "it won 5 won".
_ONLY_GLUED = frozenset({"in", "won", "kn", "t"})

_MAGNITUDES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "dozen": 12.0,
    "k": 1e3,
    "mn": 1e6,
    "mln": 1e6,
    "m": 1e6,
    "bn": 1e9,
    "b": 1e9,
    "t": 1e12,
}
_MONTH_NAMES = (
    "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|"
    "september sept sep|october oct|november nov|december dec"
)
_MONTHS = {
    name: number
    for number, names in enumerate(_MONTH_NAMES.split("|"), start=1)
    for name in names.split()
}
_SMALL_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {word: value for value, word in enumerate(_SMALL_NAMES.split())}
_TENS = {word: 10 * value for value, word in enumerate(_TENS_NAMES.split(), start=2)}
_LARGE = ("hundred", "thousand", "million", "billion", "trillion", "dozen")
_FRACTIONS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
_FRACTIONS |= {f"{word}s": value for word, value in _FRACTIONS.items()} | {"halves": 2}
_VULGAR = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 0.125}

# -- expressions. Repetitions are bounded, or possessive and consumed once: time is linear. -------

_SPACE = "[ \u00a0\u2009\u202f]"
_MONTH = (
    r"(?:(?:Jan|JAN)(?:uary|UARY)?|(?:Feb|FEB)(?:ruary|RUARY)?|(?:Mar|MAR)(?:ch|CH)?"
    r"|(?:Apr|APR)(?:il|IL)?|May|MAY|(?:Jun|JUN)[eE]?|(?:Jul|JUL)[yY]?|(?:Aug|AUG)(?:ust|UST)?"
    r"|(?:Sep|SEP)(?:tember|TEMBER|t|T)?|(?:Oct|OCT)(?:ober|OBER)?|(?:Nov|NOV)(?:ember|EMBER)?"
    r"|(?:Dec|DEC)(?:ember|EMBER)?)(?!\w)(?:(?:(?<=\b[A-Za-z]{3})|(?<=\bSept))\.)?"
)
# "29 may" is a date in tables that were put in lower case, and a verb in prose.
_LOWER_MONTH = (
    r"(?:(?:january|february|april|june|july|august|september|october|november|december"
    r"|jan|feb|apr|aug|sept?|oct|nov|dec)(?!\w)"
    r"|(?:may|march)(?=[\"'|,\n]|[ ][|]|,?[ ][12][0-9]{3}))"
)
_LOWER_WORD = r"(?<![A-Za-z])(?!of|the|st|nd|rd|th)[a-z]{3,9}"
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"
_YEAR = (
    rf"(?:,?{_SPACE}{{1,2}}(?:of{_SPACE})?|,)[12][0-9]{{3}}(?![0-9\w]|[.,:][0-9]|-[0-9]{{1,2}}-)"
)
_ENDS = r"(?![0-9\w]|[.,:][0-9])"
_SMALL_WORD = "|".join(sorted([*_SMALL, *_TENS], key=len, reverse=True))
_NUMBER_WORD = f"(?:{_SMALL_WORD}|{'|'.join(_LARGE)})"

_MASTER = re.compile(
    rf"""
    (?:(?<!\w)|(?<=[0-9]T)|(?=\[))(?:
    (?P<marker>^[ \t*\#>-]{{0,16}}(?:[0-9]{{1,2}}[.)]|\([0-9]{{1,2}}\))(?=\s))
    |(?P<citation>(?<!:)(?<!:[ ])\[[0-9]{{1,3}}(?:[ ]?[,–-][ ]?[0-9]{{1,3}}){{0,20}}\])
    |(?P<phone>(?:\+[0-9]{{1,3}}[ .-]?)?\([0-9]{{2,4}}\)[ ]?[0-9]{{3,4}}[- .][0-9]{{3,4}}(?!\w)
        |\+[0-9]{{1,3}}(?:[ .-]?[0-9]{{2,4}}){{2,5}}(?!\w))
    |(?P<entity>&\#[0-9]{{1,6}};)
    |(?:
        (?=[0-9])(?:
            (?P<iso>[12][0-9]{{3}}([-/])[01]?[0-9]\g<-1>[0-3]?[0-9](?=T[0-9]|(?![-/\w]|\.[0-9])))
            |(?P<numeric>[0-3]?[0-9]([./-])[0-3]?[0-9]\g<-2>(?:[12][0-9]{{3}}|[0-9]{{2}})
                (?![-/\w]|[.,][0-9]))
            |(?P<day_month>{_DAY}(?:st|nd|rd|th)?(?:{_SPACE}|-|{_SPACE}of{_SPACE})
                (?:{_MONTH}|{_LOWER_MONTH})(?:{_YEAR}|-[12][0-9]{{3}}(?!\w))?)
            |(?P<year_month>[12][0-9]{{3}},?{_SPACE}{_MONTH}
                (?:{_SPACE}{_DAY}{_ENDS}|(?=["'|.,;)\n])))
            |(?P<height>[3-8]['’′]{_SPACE}?(?:1[01]|[0-9])(?:["”″]|''))
            |(?P<always>(?:7{_SPACE}days{_SPACE}(?:a|per){_SPACE}week
                |24{_SPACE}hours{_SPACE}(?:a|per){_SPACE}day)(?!\w))
            |(?P<clock>[0-9]{{1,2}}:[0-9]{{1,2}}(?::[0-9]{{2}}(?:\.[0-9]{{1,9}})?)?Z?(?![:\w]|\.[0-9])
                |[0-9]{{1,2}}(?::[0-9]{{2}})?(?={_SPACE}?(?i:[ap]\.?m)(?!\w)|{_SPACE}o['’]clock))
            |(?P<chain>[0-9]++(?:[.-][0-9]++){{2,}}+(?:-[xX])?\w*+|[0-9]++(?:/[0-9]++){{2,}}+
                |[0-9]{{3}}-[0-9]{{4}}(?!\w)|24/7(?!\w)|[0-9]{{1,3}}(?:,[0-9]{{3}}){{10,}}+)
            |(?P<fraction>(?:[0-9]{{1,3}}(?:{_SPACE}|-))?[0-9]{{1,2}}[/⁄](?:2|3|4|8|16)(?![/\w]|[.,][0-9]))
        )
        |(?=[^\W\d])(?:
            (?P<link>(?:https?://|www\.)\S++)
            |(?P<label>(?ai:passages?|sources?|excerpts?|documents?|steps?){_SPACE}[0-9]{{1,2}}
                (?:(?:,|,?{_SPACE}and|{_SPACE}?[-–&])?{_SPACE}?[0-9]{{1,2}}(?!\w)){{0,9}}(?!\w|\.[0-9]):?)
            |(?P<every_day>(?ai:seven{_SPACE}days{_SPACE}(?:a|per){_SPACE}week)(?!\w))
            |(?P<isbn>ISBN(?:-1[03])?:?{_SPACE}?[0-9-]{{9,20}}[xX]?)
            |(?P<month_day>(?=[JFMASONDjfmasond])(?:{_MONTH}|(?!may|march){_LOWER_MONTH}){_SPACE}{{1,2}}(?:the{_SPACE})?{_DAY}(?:st|nd|rd|th)?
                (?:{_SPACE}?[-–]{_SPACE}?(?P<last_day>{_DAY})(?:st|nd|rd|th)?{_ENDS})?
                (?:{_YEAR}|{_ENDS}))
            |(?P<month_year>(?=[JFMASOND]){_MONTH}(?:,?{_SPACE}(?:of{_SPACE})?)[12][0-9]{{3}}{_ENDS})
            |(?P<named>(?ai:noon|midnight|midday)(?!\w))
            |(?P<words>(?=[aAbBdDeEfFhHmMnNoOsStTzZ])(?ai:(?:an?{_SPACE})?{_NUMBER_WORD}
                (?:(?:[ -]|{_SPACE}and{_SPACE}){_NUMBER_WORD}){{0,9}})(?!\w))
            |(?P<identifier>[A-Z]{{1,10}}-[0-9][\w-]*+|(?!(?:USD|EUR|GBP|Rs)[0-9])
                [^\W\d]++[0-9]\w*+(?:[.-]\w++)*+)
        )
    )
    |(?P<number>
        (?P<sign>(?<![\w)\]%.-])[-−](?=[$€£¥₹₩.]?[0-9.]))?
        (?:(?P<currency>(?<![^\W\d])(?:US|A|CA?|HK)?\$|[€£¥₹₩₽]|(?<!\w)(?:USD|EUR|GBP|JPY|CNY|INR|CHF|AUD|CAD|HKD|KRW|RUB|Rs\.?))
            {_SPACE}?-?)?
        (?<![\w])(?<![0-9]\.)(?P<digits>(?:[0-9]{{1,3}}(?:,[0-9]{{3}}){{1,10}}+(?![0-9])
            |[0-9]{{1,3}}(?:[\u00a0\u2009\u202f][0-9]{{3}}){{1,10}}+(?![0-9])
            |[0-9]++)(?:\.[0-9]++)?+
            |(?<!\.)\.[0-9]++)
        (?P<exponent>[eE][+-]?[0-9]{{1,2}}(?!\w))?
        (?(sign)(?!:[0-9]))
        (?P<vulgar>[½¼¾⅓⅔⅛])?
    )
    |(?P<bare_vulgar>[½¼¾⅓⅔⅛]))
    """.replace(r"\g<-1>", "(?P=iso_mark)")
    .replace(r"\g<-2>", "(?P=numeric_mark)")
    .replace("{3}([-/])", "{3}(?P<iso_mark>[-/])")
    .replace("([./-])", "(?P<numeric_mark>[./-])"),
    re.VERBOSE | re.MULTILINE,
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)(?!\w)", re.IGNORECASE)
_DECADE = re.compile(r"['’]?s(?!\w)")
_MAGNITUDE = re.compile(
    rf"(bn|mn|mln|[kKMB])(?!\w)"
    rf"|(?:{_SPACE}|-)?((?ai:hundred|thousand|million|billion|trillion|dozen)|bn|mn|mln)(?!\w)"
)
_MONEY_MAGNITUDE = re.compile(rf"{_SPACE}?(bn|mn|mln|[kKmMbBtT])(?!\w)")
_UNIT_WORD = r"[^\W\d_]{1,16}"
_UNIT = re.compile(
    rf"(?P<gap>\+?(?:{_SPACE}|-)?)(?P<text>"
    rf"[°º˚]{_SPACE}?[CF](?!\w)|[°º˚℃℉%¢]|(?:[€£¥₹]|(?:US)?\$)(?!{_SPACE}?[0-9.])"
    rf"|(?:mi|km|m|ft|kbit|Mbit|Gbit|Mb|Gb)/[hs](?!\w)"
    rf"|(?:km|cm|m|ft|mi)(?:\^?[23](?![\w])|[²³])"
    rf"|(?:(?:sq|cu|fl|U\.?S)\.?(?:{_SPACE}|-)?)?{_UNIT_WORD}(?!\w)"
    rf"(?:(?:{_SPACE}|-){_UNIT_WORD}(?!\w)(?:(?:{_SPACE}|-){_UNIT_WORD}(?!\w))?)?)"
)
_MERIDIEM = re.compile(rf"{_SPACE}?(?:([ap])(?:\.m\.?|m)(?!\w)|o['’]clock)", re.IGNORECASE)
_SCALE = re.compile(r"/5(?![\w./])|(?: stars?)? out of (?:5(?:\.0)?|five)(?![\w]|[.,][0-9])")
_WORD = re.compile(r"\w*+")
_NUMBER_WORDS = re.compile(r"[A-Za-z]+")
_FRACTION_WORD = re.compile(r"[ -]((?ai:halves|half|thirds?|quarters?|fifths?|tenths?))(?!\w)")
_AGE = re.compile(r"[ -]olds?(?!\w)| of age(?!\w)")
_PARTS = re.compile(f"{_SPACE}(?:and{_SPACE})?")
_STAR = re.compile(r"[ -]stars?(?!\w)", re.IGNORECASE)
_RANGE = re.compile(
    rf"{_SPACE}?(?:[-–—−]|(?:to|and|or|until|till|through)(?={_SPACE})){_SPACE}?", re.IGNORECASE
)
_MAX_DIGITS = 30
_DAY_MINUTES = 1440.0


def quantities(text: str) -> tuple[Quantity, ...]:
    """Find the numbers, times and dates of a text.

    Args:
        text: Any text; nothing in it raises. Time is linear in its length.

    Returns:
        The quantities in reading order. They never overlap.
    """
    return tuple(_Scan(text).run())


@dataclass(slots=True)
class _Found:
    """A quantity, and what the next one may still need to know of it."""

    quantity: Quantity
    raw: float = 0.0  # before the magnitude
    magnitude: float = 1.0
    money_first: bool = False  # "$5"
    meridiem: bool | None = None  # of a clock time: stated, or not
    plain: bool = False  # digits alone: no unit, magnitude, ordinal


class _Scan:
    """One walk over a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[_Found] = []

    def run(self) -> list[Quantity]:
        text, position = self.text, 0
        while match := _MASTER.search(text, position):
            position = max(self._read(match), match.start() + 1)
        return [found.quantity for found in self.found]

    def _read(self, match: re.Match[str]) -> int:
        """Take in one match; return where to go on."""
        group = match.lastgroup
        for name in ("number", "words", "clock", "iso", "numeric", "fraction", "last_day"):
            if match[name] is not None:
                group = name
                break
        if group == "number":
            return self._number(match)
        if group == "words":
            return self._words(match)
        if group in ("clock", "named"):
            return self._clock(match)
        if group == "fraction":
            return self._fraction(match)
        if group == "bare_vulgar":
            return self._amount(match.start(), match.end(), _VULGAR[match[0]])
        if match["height"] is not None:
            return self._height(match)
        if match["iso"] is not None or match["numeric"] is not None:
            return self._numeric_date(match)
        if match["month_day"] or match["month_year"] or match["day_month"] or match["year_month"]:
            return self._written_date(match)
        return match.end()  # a name, not a quantity

    # -- numbers ------------------------------------------------------------------------------

    def _number(self, match: re.Match[str]) -> int:
        digits = match["digits"]
        if len(digits) > 2 * _MAX_DIGITS or sum(map(str.isdigit, digits)) > _MAX_DIGITS:
            return _end(_WORD, self.text, match.end())
        plain = re.sub("[,\u00a0\u2009\u202f]", "", digits)
        number = float(plain + (match["exponent"] or ""))
        number += _VULGAR.get(match["vulgar"] or "", 0.0)
        if match["sign"] or (match["currency"] and match["currency"] + "-" in match[0]):
            number = -number
        return self._amount(
            match.start(), match.end(), number, currency=match["currency"], digits=digits
        )

    def _fraction(self, match: re.Match[str]) -> int:
        *whole, part = re.split(f"{_SPACE}|-", match[0])
        above, below = re.split("[/⁄]", part)
        if int(above) >= int(below):  # "9/4" is no fraction in prose
            end = match.start() + re.match("[0-9]+", match[0]).end()  # type: ignore[union-attr]
            return self._amount(
                match.start(), end, float(self.text[match.start() : end]), digits="0"
            )
        number = int(above) / int(below) + (float(whole[0]) if whole else 0.0)
        return self._amount(match.start(), match.end(), number)

    def _amount(
        self,
        start: int,
        end: int,
        raw: float,
        *,
        currency: str | None = None,
        digits: str | None = None,
        spoken: bool = False,
    ) -> int:
        """A number is read up to ``end``: add what follows it, magnitude, unit, ordinal."""
        text = self.text
        name: str | None = None
        magnitude = 1.0
        before = end
        if digits is not None and currency is None:
            if ordinal := _ORDINAL.match(text, end):
                self._keep(
                    _Found(Quantity(start, ordinal.end(), Kind.NUMBER, raw, None, raw, "th"))
                )
                return ordinal.end()
            round_number = digits.isdigit() and 2 <= len(digits) <= 4 and digits[-1] == "0"
            if round_number and (decade := _DECADE.match(text, end)):
                self._keep(_Found(Quantity(start, decade.end(), Kind.NUMBER, raw, None, raw)))
                return decade.end()
        for _ in range(0 if spoken else 2):
            found = _MAGNITUDE.match(text, end)
            if found is None and currency is not None:
                found = _MONEY_MAGNITUDE.match(text, end)
            if found is None:
                break
            magnitude *= _MAGNITUDES[(found[1] or found[2]).lower()]
            end = found.end()
        unit, unit_end = self._unit(end)
        if unit is not None and unit.name == "year" and (age := _AGE.match(text, unit_end)):
            unit, unit_end = None, age.end()  # "15 years old" is "aged 15", and "Ann, 15,"
        if unit is not None and unit.name == "lb" and magnitude >= 1e3:
            unit = _POUND_STERLING  # "5 million pounds"
        if currency is not None:
            stated = _UNITS[currency.rstrip(".")]
            if unit is None or unit.base != stated.base:
                unit, unit_end = stated, end
        end = unit_end
        if digits is not None and end < len(text) and (text[end].isalnum() or text[end] == "_"):
            return _end(_WORD, text, end)  # digits glued to letters: "5ab", "4x4"
        number = raw * magnitude
        value = number
        if unit is not None:
            value, name = unit.convert(number), unit.name
        self._keep(
            _Found(
                Quantity(start, end, Kind.NUMBER, value, unit.base if unit else None, number, name),
                raw=raw,
                magnitude=magnitude,
                money_first=currency is not None,
                plain=before == end and currency is None,
            )
        )
        if scale := _SCALE.match(text, end):
            return scale.end()  # "4.5 out of 5": the scale is nothing that evidence states
        return end

    def _unit(self, position: int) -> tuple[_Unit | None, int]:
        """The longest unit that begins here, and where it ends."""
        match = _UNIT.match(self.text, position)
        if match is None:
            return None, position
        written, gap, start = match["text"], match["gap"], match.start("text")
        while True:
            key = written.replace(".", "").replace("-", " ").replace("º", "°").replace("˚", "°")
            key = re.sub(_SPACE, " ", key).replace("° ", "°")
            unit = _UNITS.get(key)
            if unit is None and len(key) > 1:
                unit = _UNITS.get(key.lower())
            if unit is not None and not (gap and self._is_doubtful(key, gap, start + len(written))):
                return unit, start + len(written)
            cut = max(written.rfind(mark) for mark in " -\u00a0\u2009\u202f")
            if cut < 0:
                return None, position
            written = written[:cut]

    def _is_doubtful(self, key: str, gap: str, end: int) -> bool:
        """Whether a unit after a gap is more likely a word: "5 in all", "1736 C Street"."""
        if key.lower() in _ONLY_GLUED:
            return key != "in" or re.match(r"\.?\)|\. [a-z]", self.text[end : end + 3]) is None
        if len(key) > 1 or not key.isascii() or not key.isalpha():
            return False
        following = self.text[end : end + 2]
        if gap == "-":
            return key.isupper() or following[:1] == "-"
        return key.isupper() and following[1:].isupper()

    def _words(self, match: re.Match[str]) -> int:
        start, text = match.start(), self.text
        tokens = [
            (token[0].lower(), match.start() + token.start(), match.start() + token.end())
            for token in _NUMBER_WORDS.finditer(match[0])
        ]
        total, current, end = 0.0, None, start
        has_article = tokens[0][0] in ("a", "an")
        position = 1 if has_article else 0
        if tokens[position][0] in _LARGE:
            if not has_article:
                return tokens[position][2]  # "hundred" alone: how many is not said
            current = 1.0
        elif has_article:
            start = tokens[1][1]
        limit = 1e15  # magnitudes fall: "two million three hundred thousand"
        room = 0.0  # how large a small number may still be added to ``current``
        magnitude = 1.0
        while position < len(tokens):
            word, _, token_end = tokens[position]
            if word == "and":
                if end == start or room < 100 or position + 1 == len(tokens):
                    break
                following = tokens[position + 1][0]
                if following in _LARGE or room < 100:
                    break
                position += 1
                continue
            small = _SMALL.get(word, _TENS.get(word))
            if small is not None:
                if current is None:
                    current, room = float(small), 10.0 if word in _TENS else 0.0
                elif 0 < small < room:
                    current += small
                    room = 10.0 if word in _TENS else 0.0
                else:
                    break
            elif word in ("hundred", "dozen"):
                if current is None or not 1 <= current < 100:
                    break
                current *= _MAGNITUDES[word]
                room = 100.0 if word == "hundred" else 0.0
            else:
                magnitude = _MAGNITUDES[word]
                if current is None or magnitude >= limit:
                    break
                total, current, limit, room = total + current * magnitude, 0.0, magnitude, 1000.0
            end = token_end
            position += 1
        if end == start or current is None:
            return tokens[min(position, len(tokens) - 1)][2]
        number = total + current
        part = _FRACTION_WORD.match(text, end) if number in (1.0, 2.0, 3.0, 4.0) else None
        if part is not None and (number > 1.0) == part[1].lower().endswith("s"):
            return self._amount(start, part.end(), number / _FRACTIONS[part[1].lower()])
        if number == 1.0:
            unit, _ = self._unit(end)
            if not _STAR.match(text, end) and (
                unit is None or self.text[end + 1 : end + 4].lower() == "day"
            ):
                return end  # "one" is a pronoun, "one day" a beginning
        if self._spoken_hour(start, end, number):
            return _end(_MERIDIEM, text, end)
        return self._amount(start, end, number, spoken=True)

    def _height(self, match: re.Match[str]) -> int:
        feet, inches = map(int, re.findall("[0-9]+", match[0]))
        number = feet + inches / 12.0
        value = _UNITS["feet"].convert(number)
        self._keep(
            _Found(
                Quantity(match.start(), match.end(), Kind.NUMBER, value, "m", number, "foot inch")
            )
        )
        return match.end()

    # -- times --------------------------------------------------------------------------------

    def _spoken_hour(self, start: int, end: int, hour: float) -> bool:
        """Keep "nine o'clock" and "nine p.m." as the times they are."""
        match = _MERIDIEM.match(self.text, end)
        if match is None or not 1 <= hour <= 12:
            return False
        if match[1] is not None and "." not in match[0] and not match[0].isupper():
            return False  # "two am" may be a verb
        value = _minutes(hour, 0.0, match[1])
        meridiem = match[1] is not None
        self._keep(_Found(Quantity(start, match.end(), Kind.TIME, value), hour, meridiem=meridiem))
        return True

    def _clock(self, match: re.Match[str]) -> int:
        start, end = match.span()
        if match["named"] is not None:
            value = 0.0 if match[0].lower() == "midnight" else 720.0
            self._keep(_Found(Quantity(start, end, Kind.TIME, value), meridiem=True))
            return end
        hour, minute, second = (
            [float(part) for part in match[0].rstrip("Z").split(":")] + [0.0, 0.0]
        )[:3]
        half = _MERIDIEM.match(self.text, end)
        meridiem = half[1] if half else None
        if half:
            end = half.end()
        if hour > 24 or minute > 59 or second >= 61 or (meridiem and hour > 12 and hour < 13):
            return end
        value = _minutes(hour, minute + second / 60.0, meridiem)
        self._keep(
            _Found(Quantity(start, end, Kind.TIME, value), raw=hour, meridiem=meridiem is not None)
        )
        return end

    # -- dates --------------------------------------------------------------------------------

    def _numeric_date(self, match: re.Match[str]) -> int:
        start, end = match.span()
        if match["iso"] is not None:
            year, month, day = map(int, match[0].split(match["iso_mark"]))
        else:
            mark = match["numeric_mark"]
            first, second, year = map(int, match[0].split(mark))
            if year < 100:
                if mark != "/":
                    return end  # "1.2.34" is a version, "12-34-56" a number of something
                year += 2000 if year < 50 else 1900
            month, day = (second, first) if mark == "." else (first, second)
            if month > 12:
                month, day = day, month
        if 1 <= month <= 12 and 1 <= day <= 31:
            self._keep(_Found(Quantity(start, end, Kind.DATE, (year, month, day))))
        return end + 1 if self.text[end : end + 1] == "T" else end

    def _written_date(self, match: re.Match[str]) -> int:
        start, end = match.span()
        name = re.search(f"{_MONTH}|{_LOWER_WORD}", match[0])
        month = _MONTHS.get(name[0].rstrip(".").lower()) if name else None
        numbers = [(int(found[0]), found) for found in re.finditer("[0-9]+", match[0])]
        years = [value for value, found in numbers if len(found[0]) == 4]
        days = [(value, found) for value, found in numbers if len(found[0]) < 4]
        year = years[0] if years else None
        if len(days) == 2:  # "March 3-5, 2015"
            cut = start + days[0][1].end()
            self._keep(_Found(Quantity(start, cut, Kind.DATE, (year, month, days[0][0]))))
            start = start + days[1][1].start()
        day = days[-1][0] if days else None
        self._keep(_Found(Quantity(start, end, Kind.DATE, (year, month, day))))
        return end

    # -- ranges -------------------------------------------------------------------------------

    def _keep(self, found: _Found) -> None:
        """Add a quantity; the two ends of a range share what only one of them states."""
        if self.found:
            last = self.found[-1]
            gap_end = found.quantity.start
            glue = _PARTS.fullmatch(self.text, last.quantity.end, gap_end)
            if glue is not None and (whole := _sum(last, found, glue[0])):
                self.found[-1] = whole
                return
            join = _RANGE.match(self.text, last.quantity.end)
            if join is not None and join.end() == gap_end:
                self.found[-1], found = _share(last, found)
        self.found.append(found)


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _minutes(hour: float, minute: float, meridiem: str | None) -> float:
    """Minutes of the day."""
    if meridiem is not None and hour <= 12:
        hour = hour % 12 + (12 if meridiem in "pP" else 0)
    return (hour * 60.0 + minute) % _DAY_MINUTES


def _share(first: _Found, second: _Found) -> tuple[_Found, _Found]:
    """The ends of a range, with unit, half of the day or month wherever one end has it."""
    left, right = first.quantity, second.quantity
    if right.kind is Kind.TIME and second.meridiem and isinstance(right.value, float):
        hour = left.value if first.plain else first.raw
        clock = left.kind is Kind.TIME and first.meridiem is False
        if (first.plain or clock) and isinstance(hour, float) and hour in range(1, 13):
            minute = left.value % 60 if clock and isinstance(left.value, float) else 0.0
            same = _minutes(hour, minute, "p" if right.value >= 720 else "a")
            other = _minutes(hour, minute, "a" if right.value >= 720 else "p")
            # "9-11 PM" begins in the evening, "10-9 PM" and "9-5 PM" in the morning.
            end = right.value or _DAY_MINUTES
            value = same if same < end else other
            first = replace(
                first, quantity=Quantity(left.start, left.end, Kind.TIME, value), meridiem=True
            )
    elif right.kind is Kind.DATE and first.plain and isinstance(right.value, tuple):
        year, month, day = right.value
        if day is not None and left.value in range(1, 32) and isinstance(left.value, float):
            date = Quantity(left.start, left.end, Kind.DATE, (year, month, int(left.value)))
            first = replace(first, quantity=date)
    elif left.kind is right.kind is Kind.NUMBER:
        bare = first.plain or first.money_first
        shares_unit = right.unit is not None and left.unit in (None, right.unit)
        if bare and (shares_unit or (second.magnitude > 1.0 and first.raw < second.raw)):
            first = _with_unit(first, second)
        if first.money_first and right.unit is None and right.name is None:
            second = replace(second, quantity=replace(right, unit=left.unit, name=left.name))
    return first, second


def _sum(first: _Found, second: _Found, glue: str) -> _Found | None:
    """One quantity of two parts, "4 h 23 min" or "5 feet 8 inches", if they are that."""
    left, right = first.quantity, second.quantity
    unit = _UNITS.get((left.name or "").rpartition(" ")[2])
    if unit is None or unit.base not in ("s", "m", "kg") or left.unit != unit.base:
        return None
    if not isinstance(left.value, float) or not isinstance(right.value, float):
        return None
    part, name = right.value, right.name
    if unit.name == "h" and second.plain and len(glue) == 1 and part in range(60):
        part, name = part * 60.0, "min"  # "4 h 23"
    elif right.kind is not Kind.NUMBER or right.unit != unit.base or part >= unit.factor:
        return None
    value = left.value + part
    number = value / _UNITS[(left.name or "").partition(" ")[0]].factor
    return _Found(
        Quantity(
            left.start, right.end, Kind.NUMBER, value, unit.base, number, f"{left.name} {name}"
        ),
        raw=number,
    )


def _with_unit(first: _Found, second: _Found) -> _Found:
    """The first end of "10-12 km" or "$2-3 million" with the unit and magnitude of the second."""
    left, right = first.quantity, second.quantity
    shared = first.magnitude == 1.0 and first.raw < second.raw
    number = first.raw * second.magnitude if shared else left.number
    unit = _UNITS[right.name] if right.name in _UNITS and right.unit else None
    if unit is None:
        value, base, name = number, left.unit, left.name
    else:
        value, base, name = unit.convert(number), unit.base, unit.name
    return replace(
        first, quantity=Quantity(left.start, left.end, Kind.NUMBER, value, base, number, name)
    )


# -- comparing --------------------------------------------------------------------------------

_EXACT = 1e-6
_ROUNDED = 0.005


class QuantityIndex:
    """What some texts state, ready to compare with.

    Built per passage with ``of``, joined per selection with ``union``; both are cheap, and a
    joined index answers as one built from all the quantities would.
    """

    def __init__(self, entries: frozenset[Quantity]) -> None:
        self._entries = entries

    @classmethod
    def of(cls, found: Iterable[Quantity]) -> "QuantityIndex":
        """The index of the quantities of one text, or of several."""
        # Where they stand no longer matters: the same quantity counts once.
        return cls(frozenset(replace(quantity, start=0, end=0) for quantity in found))

    @classmethod
    def union(cls, indexes: Iterable["QuantityIndex"]) -> "QuantityIndex":
        """The index of everything that any of these states."""
        return cls(frozenset().union(*(index._entries for index in indexes)))

    def __len__(self) -> int:
        return len(self._entries)

    @cached_property
    def _numbers(self) -> dict[str | None, dict[str | None, list[float]]]:
        """By base unit and by name of the unit, the values, ascending."""
        table: dict[str | None, dict[str | None, list[float]]] = {}
        for entry in self._entries:
            if isinstance(entry.value, float) and entry.kind is Kind.NUMBER:
                names = table.setdefault(entry.unit, {})
                names.setdefault(entry.name, []).append(entry.value)
        for names in table.values():
            for values in names.values():
                values.sort()
        return table

    @cached_property
    def _written(self) -> list[float]:
        """The numbers before and after conversion, and the full hours of times, ascending."""
        values = set()
        for entry in self._entries:
            if isinstance(entry.value, tuple):
                continue
            if entry.kind is Kind.NUMBER:
                values |= {entry.number, entry.value}
            elif entry.value % 60 == 0:
                hour = entry.value // 60
                values |= {hour, hour % 12 or 12.0}
        return sorted(values)

    @cached_property
    def _times(self) -> frozenset[float]:
        values = {
            entry.value
            for entry in self._entries
            if entry.kind is Kind.TIME and isinstance(entry.value, float)
        }
        return frozenset(values | {value // 1 for value in values})

    @cached_property
    def _lengths(self) -> frozenset[float]:
        """What is written like a time of day may be a time span: in seconds."""
        return frozenset(value * 60.0 for value in self._times)

    @cached_property
    def _degrees(self) -> dict[str, frozenset[float]]:
        """By what the other side may say, numbers of degrees with and without a scale."""
        scaled = frozenset(entry.number for entry in self._entries if entry.unit == "°C")
        bare = frozenset(entry.number for entry in self._entries if entry.unit == "°")
        return {"°": scaled, "°C": bare}

    @cached_property
    def _dates(self) -> frozenset[Date]:
        """The dates, each with every choice of its parts: what an answer may state of it."""
        return frozenset(
            (year, month, day)
            for entry in self._entries
            if isinstance(entry.value, tuple)
            for year in {entry.value[0], None}
            for month in {entry.value[1], None}
            for day in {entry.value[2], None}
        )

    def match(self, quantity: Quantity) -> Match:
        """How well the texts agree with a quantity.

        Args:
            quantity: One quantity of an answer.

        Returns:
            The best agreement found; never ``Match.NONE``.
        """
        if isinstance(quantity.value, tuple):
            return self._match_date(quantity.value)
        if quantity.kind is Kind.TIME:
            return Match.TIME_EQUAL if quantity.value in self._times else Match.TIME_ABSENT
        if self._has_equal(quantity, quantity.value):
            return Match.EQUAL
        for number in (quantity.number, quantity.value):
            if _has_near(self._written, number, abs(number) * _EXACT):
                return Match.UNIT_DIFFERS
        return Match.ABSENT

    def _has_equal(self, quantity: Quantity, value: float) -> bool:
        names = self._numbers.get(quantity.unit, {})
        if any(_has_near(values, value, abs(value) * _EXACT) for values in names.values()):
            return True
        if quantity.unit is None:
            date = (None, None, value) if quantity.name == "th" else (value, None, None)
            return date in self._dates
        if value in self._lengths and " " in (quantity.name or ""):
            return True  # "4 h 23" of a table that says "4:23"
        if quantity.unit in ("°", "°C") and quantity.number in self._degrees[quantity.unit]:
            return True
        spread = 0.5 if quantity.unit == "°C" else abs(value) * _ROUNDED
        return any(
            name != quantity.name and _has_near(values, value, spread)
            for name, values in names.items()
        )

    def _match_date(self, stated: Date) -> Match:
        if stated in self._dates:
            return Match.DATE_EQUAL
        year, month, _ = stated
        shares_year = year is not None and (
            (year, None, None) in self._dates
            or _has_near(self._numbers.get(None, {}).get(None, []), year, 0.0)
        )
        if shares_year or (month is not None and (None, month, None) in self._dates):
            return Match.DATE_PARTLY
        return Match.DATE_ABSENT


def _has_near(values: list[float], value: float, spread: float) -> bool:
    """Whether one of the ascending values lies within ``spread`` of a value."""
    position = bisect_left(values, value - spread)
    return position < len(values) and values[position] <= value + spread

"""Units of measure: what they are called, and how they convert to their base unit.

No units library: the usual one takes longer to import than a whole check may take, and a table
of factors is all that comparing needs.
"""

import re
from dataclasses import dataclass
from functools import cache

from groundwire.text.quantities.quantity import Quantity, QuantityKind
from groundwire.text.quantities.reading import SPACE

# Base unit, factor, perhaps an offset; then the aliases, "_" for a space. The first alias is the
# name that tells units apart.
_TABLE = """
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
class Unit:
    """A unit.

    Attributes:
        base: The base unit.
        name: What the unit is called: "km".
        factor: How many base units it has.
        offset: Added before the factor, in the unit.
    """

    base: str
    name: str
    factor: float
    offset: float = 0.0

    def convert(self, number: float) -> float:
        """The number in base units."""
        return (number + self.offset) * self.factor


def _read_table() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for line in _TABLE.strip().splitlines():
        head, aliases = line.split(": ")
        base, factor, *offset = head.split()
        name, *_ = names = aliases.split()
        unit = Unit(base, name, float(factor), float(offset[0]) if offset else 0.0)
        units |= {alias.replace("_", " "): unit for alias in names}
    # "KM", "Litres", "MPH"; single letters stay as they are.
    lowered = {alias.lower(): unit for alias, unit in reversed(units.items()) if len(alias) > 1}
    return lowered | units


#: The units by alias.
UNITS = _read_table()

# Words that are far more often something else after a space: "5 in the morning", "it won 5 won".
_ONLY_GLUED = frozenset({"in", "won", "kn", "t"})
_AFTER_INCHES = re.compile(r"\.?\)|\. [a-z]")


@cache
def _written_unit() -> re.Pattern[str]:
    """The expression of what may be a unit; compiled on first use, which takes a while."""
    word = r"[^\W\d_]{1,16}"
    return re.compile(
        rf"(?P<gap>\+?(?:{SPACE}|-)?)(?P<text>"
        rf"[°º˚]{SPACE}?[CF](?!\w)|[°º˚℃℉%¢]|(?:[€£¥₹]|(?:US)?\$)(?!{SPACE}?[0-9.])"
        rf"|(?:mi|km|m|ft|kbit|Mbit|Gbit|Mb|Gb)/[hs](?!\w)"
        rf"|(?:km|cm|m|ft|mi)(?:\^?[23](?![\w])|[²³])"
        rf"|(?:(?:sq|cu|fl|U\.?S)\.?(?:{SPACE}|-)?)?{word}(?!\w)"
        rf"(?:(?:{SPACE}|-){word}(?!\w)(?:(?:{SPACE}|-){word}(?!\w))?)?)"
    )


def unit_at(text: str, position: int) -> tuple[Unit | None, int]:
    """The longest unit that begins here, perhaps after a gap, and where it ends.

    Without a unit, ``None`` and ``position``.
    """
    match = _written_unit().match(text, position)
    if match is None:
        return None, position
    written, gap, start = match["text"], match["gap"], match.start("text")
    while written:
        key = _key(written)
        end = start + len(written)
        unit = UNITS.get(key) or (UNITS.get(key.lower()) if len(key) > 1 else None)
        if unit is not None and not (gap and _is_doubtful(key, gap, text[end : end + 3])):
            return unit, end
        last_gap = max(written.rfind(mark) for mark in " -\u00a0\u2009\u202f")
        written = written[: max(last_gap, 0)]
    return None, position


def _key(written: str) -> str:
    """A unit as the table spells it: "sq.-ft" as "sq ft"."""
    key = written.replace(".", "").replace("-", " ").replace("º", "°").replace("˚", "°")
    return re.sub(SPACE, " ", key).replace("° ", "°")


def _is_doubtful(key: str, gap: str, following: str) -> bool:
    """Whether a unit after a gap is more likely a word: "5 in all", "1736 C Street"."""
    if key.lower() in _ONLY_GLUED:
        return key != "in" or _AFTER_INCHES.match(following) is None
    if len(key) > 1 or not key.isascii() or not key.isalpha():
        return False
    if gap == "-":
        return key.isupper() or following[:1] == "-"
    return key.isupper() and following[1:2].isupper()


def measured(number: float, unit: Unit, *, start: int, end: int) -> Quantity:
    """A number of units as a quantity in base units."""
    return Quantity(
        start, end, QuantityKind.NUMBER, unit.convert(number), unit.base, number, unit.name
    )

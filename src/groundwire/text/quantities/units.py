"""Finds units of measure in texts, and converts numbers to base units by the table ``units.txt``.

No library for units is used, because importing one would take longer than a whole check may take.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from groundwire.text.quantities.quantity import Quantity, QuantityKind
from groundwire.text.quantities.reading import SPACE


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measure, and how it is converted to its base unit.

    Attributes:
        base: Name of the base unit, such as "m".
        name: Name of the unit, such as "km".
        factor: Number of base units in one unit: 1000 for "km".
        offset: Number that is added before the multiplication by ``factor``: -32 for "°F".
    """

    base: str
    name: str
    factor: float
    offset: float = 0.0

    def convert(self, number: float) -> float:
        """Convert a number of this unit to base units."""
        return (number + self.offset) * self.factor


def _read_table() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for line in Path(__file__).with_name("units.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        head, aliases = line.split(": ")
        base, factor, *offset = head.split()
        name, *_ = names = aliases.split()
        unit = Unit(base, name, float(factor), float(offset[0]) if offset else 0.0)
        units |= {alias.replace("_", " "): unit for alias in names}
    # The lower-case forms let ``unit_at`` find units in any mix of capitals: "KWH" is "kWh". Single
    # letters keep their case: "M" is not "m".
    lowered = {alias.lower(): unit for alias, unit in reversed(units.items()) if len(alias) > 1}
    return lowered | units


#: Alias of a unit, such as "kilometres" → the unit.
UNITS = _read_table()

# Units that count only right after the number, because after a space or hyphen these words are far
# more often something else: "5 in the morning", "the 5 won". Yet "(5 in)" and "5 in. long" are
# inches.
_ONLY_GLUED = frozenset({"in", "won", "kn", "t"})
_AFTER_INCHES = re.compile(r"\.?\)|\. [a-z]")


@cache
def _written_unit() -> re.Pattern[str]:
    """Return the pattern of text that may be a unit; it is compiled at the first use."""
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
    """Find the longest unit at ``position``, perhaps after a plus sign, space or hyphen.

    Returns:
        The unit and the offset after it; without a unit, ``None`` and ``position``.
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
    """Return a unit with the signs that :data:`UNITS` uses: "sq.-ft" becomes "sq ft"."""
    key = written.replace(".", "").replace("-", " ").replace("º", "°").replace("˚", "°")
    return re.sub(SPACE, " ", key).replace("° ", "°")


def _is_doubtful(key: str, gap: str, following: str) -> bool:
    """Return whether a unit after a gap is probably something else: "5 in all", "1736 C Street"."""
    if key.lower() in _ONLY_GLUED:
        return key != "in" or _AFTER_INCHES.match(following) is None
    if len(key) > 1 or not key.isascii() or not key.isalpha():
        return False
    if gap == "-":
        return key.isupper() or following[:1] == "-"
    return key.isupper() and following[1:2].isupper()


def measured(number: float, unit: Unit, *, start: int, end: int) -> Quantity:
    """Make a quantity, in base units, of a number and its unit."""
    return Quantity(
        start, end, QuantityKind.NUMBER, unit.convert(number), unit.base, number, unit.name
    )

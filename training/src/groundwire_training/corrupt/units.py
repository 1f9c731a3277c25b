"""Mistakes in units: a unit of measure, or the period of a rate, becomes another."""

import random
import re
from collections import defaultdict

from groundwire_training.corrupt.edits import Edit, Mistakes, shuffled
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.wording import SMALL_NUMBERS, listed, pairs

_TAKEN_FOR_EACH_OTHER = pairs("""
    km/miles kilometers/miles kilometres/miles meters/feet metres/feet inches/centimeters
    kg/pounds kilograms/pounds grams/ounces calories/grams mph/km/h °C/°F Celsius/Fahrenheit
    ml/liters gallons/liters cups/tablespoons tablespoons/teaspoons acres/hectares GB/MB
    dollars/euros seconds/minutes minutes/hours hours/days days/weeks weeks/months months/years
""")
_OTHERS: dict[str, list[str]] = defaultdict(list)
for _one, _other in _TAKEN_FOR_EACH_OTHER:
    _OTHERS[_one].append(_other)
    _OTHERS[_other].append(_one)
#: Other spellings of units, besides singular, plural and adverb ("weekly").
_ALSO = dict(
    pairs("""
    miles/mi feet/ft pounds/lbs liters/l euros/eur day/daily days/daily months/mo
    year/annual years/annual
""")
)
_PERIODS = listed("hour day week month year")
_UNIT = re.compile(
    rf"(?:(?<=\d)\s?|\b(?:{'|'.join(SMALL_NUMBERS)})\s)"
    rf"({'|'.join(sorted(map(re.escape, _OTHERS), key=len, reverse=True))})(?!\w|/)"
)
_PERIOD = re.compile(r"\b(?:per|each|every) (day|week|month|year|hour|minute)\b(?! of)")


def unit(text: str, grounds: Grounds, rng: random.Random) -> Mistakes:
    """Propose edits that replace a unit of the sources by a unit that they do not have."""
    options = [(match, _OTHERS[match[1]]) for match in _UNIT.finditer(text)]
    options += [(match, _PERIODS) for match in _PERIOD.finditer(text)]
    for match, others in shuffled(options, rng):
        fresh = [other for other in others if not any(map(grounds.says, _forms(other)))]
        if fresh and grounds.says(match[1]):
            yield (Edit(*match.span(1), rng.choice(fresh)),)


def _forms(unit: str) -> set[str]:
    """Return the spellings of a unit: singular, plural, adverb and abbreviation."""
    one = unit.removesuffix("s")
    return {unit, one, f"{one}s", f"{one}ly", _ALSO.get(unit, unit)}

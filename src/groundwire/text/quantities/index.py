"""Finds how well the evidence agrees with a quantity of an answer."""

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import replace
from enum import IntEnum
from functools import cached_property
from itertools import permutations

from groundwire.text.quantities.quantity import Date, Quantity, QuantityKind

# Greatest relative difference of equal values; it allows for errors of floating point.
_EXACT = 1e-6
# Greatest relative difference of values that may be rounded, from a conversion or a calculation.
_ROUNDED = 0.005
#: Highest number of different numbers and years in the evidence for which the results of
#: :attr:`QuantityIndex._derived` are computed. Of many numbers, some pair gives almost any result.
_FEW = 12
# ``_DEGREES``: base unit of degrees → the base unit that may be meant instead. ``_POUNDS``: name of
# a pound, as money or weight → the name that may be meant instead.
_DEGREES, _POUNDS = {"°": "°C", "°C": "°"}, {"gbp": "lb", "lb": "gbp"}


class Match(IntEnum):
    """How the evidence agrees with a quantity. Models are trained with these fixed codes."""

    NONE = 0  # there is no quantity to compare
    EQUAL = 1  # equal, as the docstring of ``groundwire.text.quantities`` describes
    UNIT_DIFFERS = 2  # the same number with another unit
    ABSENT = 3
    TIME_EQUAL = 4
    TIME_ABSENT = 5
    DATE_EQUAL = 6  # every part that the answer states agrees with one date of the evidence
    DATE_PARTLY = 7  # the same year or month, but not the same date
    DATE_ABSENT = 8
    UNIT_MISSING = 9  # the same number, without a unit in the answer or in the evidence
    DERIVED = 10  # can be computed from two numbers or years, if the evidence has few


class QuantityIndex:
    """The quantities of some texts, indexed for comparison."""

    def __init__(self, entries: frozenset[Quantity]) -> None:
        self._entries = entries

    @classmethod
    def of(cls, found: Iterable[Quantity]) -> "QuantityIndex":
        """Make the index of the quantities of one text or of several texts."""
        # Offsets are dropped, so that equal quantities count once.
        return cls(frozenset(replace(quantity, start=0, end=0) for quantity in found))

    @classmethod
    def union(cls, indexes: Iterable["QuantityIndex"]) -> "QuantityIndex":
        """Join several indexes into one."""
        return cls(frozenset().union(*(index._entries for index in indexes)))

    def __len__(self) -> int:
        return len(self._entries)

    @cached_property
    def _numbers(self) -> dict[str | None, dict[str | None, list[float]]]:
        """The values of all numbers, ascending, by base unit and then by the name of the unit."""
        table: dict[str | None, dict[str | None, list[float]]] = {}
        for entry in self._entries:
            if isinstance(entry.value, float) and entry.kind is QuantityKind.NUMBER:
                insort(table.setdefault(entry.unit, {}).setdefault(entry.name, []), entry.value)
        return table

    @cached_property
    def _written(self) -> list[float]:
        """All numbers, before and after conversion, and the hours of times such as "4:00"."""
        values = set()
        for entry in self._entries:
            if isinstance(entry.value, tuple):
                continue
            if entry.kind is QuantityKind.NUMBER:
                values |= {entry.number, entry.value}
            elif entry.value % 60 == 0:
                hour = entry.value // 60
                values |= {hour, hour % 12 or 12.0}
        return sorted(values)

    @cached_property
    def _times(self) -> frozenset[float]:
        times = (entry.value for entry in self._entries if entry.kind is QuantityKind.TIME)
        values = {value for value in times if isinstance(value, float)}
        return frozenset(values | {value // 1 for value in values})

    def _has_twin(self, quantity: Quantity) -> bool:
        """Return whether the evidence has the same number with a unit that may mean the same.

        "20°" may mean "20 °C" or "20 °F", and "55 pounds" may mean "£55" or a weight.
        """
        unit, name = _DEGREES.get(quantity.unit or ""), _POUNDS.get(quantity.name or "")
        return any(
            entry.number == quantity.number and (entry.unit == unit if unit else entry.name == name)
            for entry in (self._entries if unit or name else ())
        )

    @cached_property
    def _dates(self) -> frozenset[Date]:
        """The dates, each in all forms in which an answer may state it: whole, or in part."""
        return frozenset(
            (year, month, day)
            for entry in self._entries
            if isinstance(entry.value, tuple)
            for year in {entry.value[0], None}
            for month in {entry.value[1], None}
            for day in {entry.value[2], None}
        )

    def match(self, quantity: Quantity) -> Match:
        """Find how well the texts agree with a quantity of an answer.

        The result is never ``Match.NONE``.
        """
        if isinstance(quantity.value, tuple):
            return self._match_date(quantity.value)
        if quantity.kind is QuantityKind.TIME:
            return Match.TIME_EQUAL if quantity.value in self._times else Match.TIME_ABSENT
        if self._has_equal(quantity, quantity.value):
            return Match.EQUAL
        for number in (quantity.number, quantity.value):
            if _has_near(self._written, number, abs(number) * _EXACT):
                other = quantity.unit is not None and not self._is_bare(number)
                return Match.UNIT_DIFFERS if other else Match.UNIT_MISSING
        number = abs(quantity.number)
        is_derived = _has_near(self._derived, number, number * _ROUNDED)
        return Match.DERIVED if is_derived else Match.ABSENT

    def _is_bare(self, number: float) -> bool:
        names = self._numbers.get(None, {})
        return any(_has_near(values, number, abs(number) * _EXACT) for values in names.values())

    @cached_property
    def _derived(self) -> list[float]:
        """Numbers that can be computed from two numbers or years of the evidence, ascending.

        The list is empty if the evidence has fewer than two different numbers and years, or more
        than ``_FEW``. Zeros of the evidence are left out.
        """
        years = {float(date[0]) for date in self._dates if date[0] is not None}
        stated = {e.number for e in self._entries if e.kind is QuantityKind.NUMBER and e.number}
        known = sorted(years | stated)
        if not 2 <= len(known) <= _FEW:
            return []
        found = set()
        for a, b in permutations(known, 2):
            found |= {a + b, abs(a - b), a * b, a / b, 100 * a / b, 100 * abs(a - b) / b}
        return sorted(found)

    def _has_equal(self, quantity: Quantity, value: float) -> bool:
        names = self._numbers.get(quantity.unit, {})
        if any(_has_near(values, value, abs(value) * _EXACT) for values in names.values()):
            return True
        if quantity.unit is None:
            date = (None, None, value) if quantity.name == "th" else (value, None, None)
            return date in self._dates
        if " " in (quantity.name or "") and value in {time * 60.0 for time in self._times}:
            return True  # "4 h 23" is stated by a table that says "4:23"
        if self._has_twin(quantity):
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
        bare = self._numbers.get(None, {}).get(None, [])
        shares_year = year is not None and ((year, None, None) in self._dates or year in bare)
        if shares_year or (month is not None and (None, month, None) in self._dates):
            return Match.DATE_PARTLY
        return Match.DATE_ABSENT


def _has_near(values: list[float], value: float, spread: float) -> bool:
    """Return whether one of the ascending ``values`` is within ``spread`` of ``value``."""
    position = bisect_left(values, value - spread)
    return position < len(values) and values[position] <= value + spread

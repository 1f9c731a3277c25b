"""Rules that compare the numbers, units, dates and times of a claim with the evidence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice, pairwise, permutations, product

from groundwire.detection.comparison.aligned_span import ComparedText, Lines
from groundwire.detection.comparison.counterpart import other_days, same_kind
from groundwire.detection.comparison.differences import STATED, is_rounded
from groundwire.detection.comparison.words import likeness
from groundwire.detection.rules.basis import MAX_PLACES, Basis, is_field, quantities_in
from groundwire.detection.rules.conflict import ConflictKind, RuleFinding
from groundwire.text.quantities import Match, Quantity, QuantityIndex, QuantityKind
from groundwire.text.vocabulary import CALENDAR, WEEKDAYS

_ABSENT = frozenset({Match.ABSENT, Match.DATE_ABSENT, Match.DATE_PARTLY})
_MONEY = frozenset({"usd", "eur", "gbp", "jpy", "cny", "inr"})
#: A value of a line counts as replacing a value of the claim if the score of the two is at least
#: this. The score is the likeness of the words around both values, plus ``_ALL_AROUND``,
#: ``_SAME_UNIT`` and ``_NEAR_MISS`` where they apply.
_IN_PLACE = 0.6
#: Added to the score if the words near the claim's value are also near the line's value; see
#: :func:`_is_all_around`.
_ALL_AROUND = 0.1
#: Added to the score if both values have the same base unit, such as metres for "5 m" and "6 km".
_SAME_UNIT = 0.1
#: Added to the score if the two values differ by a slip, as "15 November" and "15 December", or
#: 1,487 and 1,847; see :func:`_is_near_miss`.
_NEAR_MISS = 0.6
#: A day or month of a line counts as replacing one of the claim if its score from
#: :func:`.other_days` is at least this.
_DAY_IN_PLACE = 0.3
#: Pattern of a range of weekdays: "Monday to Friday", "Mon-Fri".
_DAYS_RANGE = "{0}[a-z]*\\.?\\s*(?:to|through|until|till|[-–])\\s*{0}".format(
    r"\b(?:mon|tue|wed|thu|fri|sat|sun)"
)
#: Two numbers with the same digits in another order count as a slip only if they have at least this
#: many digits, zeros at the end not counted.
_FIGURES = 3
#: Matches a word, or "%", that shows that a claim compares or computes. In such a claim, more
#: numbers may be operands; see :func:`_is_computed`.
_COMPARES = re.compile(
    r"\b(?:than|more|less|fewer|difference|between|after|later|earlier|per ?cent|share|out of|so"
    r"|sum|total|totals?|together|altogether|combined|remain\w*|left|taken|in all)\b|%",
    re.IGNORECASE,
)
#: Limit on the numbers that are tried together as operands. Among more numbers, two often give the
#: result by chance.
_MOST_OPERANDS = 12
#: Numbers from this many of the best lines may be operands. For some amounts of money, numbers from
#: all lines may be operands.
_OPERAND_LINES = 2
#: Greatest relative difference at which a stated and a computed number count as equal.
_ROUNDED = 0.005
#: Matches the words between a rate and the number that the rate is for: 2.8 per 1,000.
_PER = re.compile(r"\s+(?:\w+\s+)?(?:per|in|for every|out of)\s+")
_BASES = (100, 1_000, 10_000, 100_000, 1_000_000)
_DAY = 24 * 60
_ALIKE = ({"m", "min"}, {"m", "month"})
_FIRST_YEAR, _LAST_YEAR = 1000, 2199


def values(claim: ComparedText, lines: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find numbers, dates and times of a claim that differ from the evidence.

    A time that the evidence lacks is a finding by itself, unless a line has it as a bare hour
    ("opens at 9"). So is a number that a line has with another unit. Any other number or date that
    the evidence lacks is a finding only if a line has a different one in its place. Numbers that
    the answer may have rounded, counted or computed are left out, and so are most times in words.
    """
    near = QuantityIndex.of(_stated_by(lines[:_OPERAND_LINES]))
    for quantity in quantities_in(claim):
        match = basis.stated.match(quantity)
        if _is_counted(claim, quantity, match, lines) or is_rounded(claim.text, quantity, lines):
            continue
        is_other = (match is Match.TIME_ABSENT and not _is_bare_hour(quantity, lines)) or (
            match is Match.UNIT_DIFFERS and _has_other_unit(quantity, lines)
        )
        is_absent = match in _ABSENT and near.match(quantity) is not Match.DERIVED
        if match is Match.DERIVED and quantity.unit in _MONEY:
            # ``DERIVED`` ignores units, which is not enough for money: 25 is 100 · 3 / 12, but
            # "3 projects" and "$12" do not make $25.
            others = (other for other in quantities_in(claim) if other != quantity)
            operands = [*others, *_stated_by(lines)][:_MOST_OPERANDS]
            is_absent = not _is_worth(quantity, operands)
        if is_other or (is_absent and _is_replaced(claim, quantity, lines)):
            yield RuleFinding(quantity.start, quantity.end, _kind(quantity, match), is_other)


def days(claim: ComparedText, lines: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find weekdays and months of a claim that the evidence lacks.

    A weekday is a finding only if a line has another weekday in its place, and a month only if a
    line has another month in its place.
    """
    named = (word for word in claim.words if word.lower in CALENDAR and word.text[0].isupper())
    for word in islice(named, MAX_PLACES):
        others = () if _has_day(word.lower, basis) else other_days(claim, word, lines)
        if any(other.score >= _DAY_IN_PLACE for other in others):
            yield RuleFinding(word.start, word.end, ConflictKind.DATE)


def settled(
    claim: ComparedText, lines: Lines, basis: Basis, before: str = ""
) -> tuple[tuple[int, int], ...]:
    """Find numbers and times of a claim that follow from the evidence without being stated in it.

    A number follows if the claim marks it as rounded and a line has an exact number that fits, or
    if it can be computed (:func:`_is_computed`). A time follows if it can be computed
    (:func:`_is_shifted`). A number or time in words does not count as following.

    If any number or time can be computed, the claim's numbers, times and dates that the best lines
    state are found as well, since they may be operands. ``before`` is the previous claim. Its
    numbers may be operands too: "It costs $12 and $3. In total, that is $15."

    Returns:
        Ranges ``[start, end)`` of the claim's text, in reading order.
    """
    earlier = [q for q in quantities_in(ComparedText(before)) if basis.stated.match(q) in STATED]
    del earlier[_MOST_OPERANDS:]
    known = [other for other in quantities_in(claim) if basis.stated.match(other) in STATED]
    near = _stated_by(lines[:_OPERAND_LINES])[:_MOST_OPERANDS]
    found: list[Quantity] = []
    computes = False
    for quantity in quantities_in(claim):
        if quantity in known or not _has_figures(claim, quantity):
            continue
        own = [*known, *found][:_MOST_OPERANDS]
        is_round = is_rounded(claim.text, quantity, lines)
        is_later = quantity.kind is QuantityKind.TIME and _is_shifted(quantity, [*own, *near])
        follows = is_later or _is_computed(claim, quantity, own, near, earlier)
        if is_round or follows:
            found.append(quantity)
        computes = computes or follows
    if computes:
        stated = QuantityIndex.of(near)
        found += [other for other in known if stated.match(other) in STATED]
    return tuple(sorted((quantity.start, quantity.end) for quantity in found))


def _has_day(lower: str, basis: Basis) -> bool:
    """Return whether the evidence may state a day of the week or a month.

    This is so if a line has the name, or its first three letters as a word. For a day of the week,
    a range of weekdays is enough, since the range may include the day.
    """
    either = rf"\b(?:{lower.removesuffix('s')}|{lower[:3]}\b)"
    either += f"|{_DAYS_RANGE}" if lower in WEEKDAYS else ""
    return re.search(either, basis.all_text, re.IGNORECASE) is not None


def _kind(quantity: Quantity, match: Match) -> ConflictKind:
    if match is Match.UNIT_DIFFERS:
        return ConflictKind.UNIT
    return ConflictKind.NUMBER if quantity.kind is QuantityKind.NUMBER else ConflictKind.DATE


def _has_other_unit(quantity: Quantity, lines: Lines) -> bool:
    """Return whether a line has the same number with another unit.

    "14m" may mean 14 minutes or months.
    """
    return any(
        other.number == quantity.number
        and other.unit is not None
        and other.name != quantity.name
        and {other.name, quantity.name} not in _ALIKE
        for other in _stated_by(lines)
    )


def _is_bare_hour(time: Quantity, lines: Lines) -> bool:
    """Return whether a time is a full hour that a line has as a number without a unit.

    An example is a line with "opens at 9" for the time "9 am".
    """
    if not isinstance(time.value, float):
        return False
    hour, minute = divmod(time.value, 60)
    return minute == 0 and any(
        other.kind is QuantityKind.NUMBER
        and other.unit is None
        and other.number in (hour, hour % 12 or 12)
        for other in _stated_by(lines)
    )


def _is_replaced(claim: ComparedText, quantity: Quantity, lines: Lines) -> bool:
    if "=" in claim.text:
        return False
    others = QuantityIndex.of(other for other in quantities_in(claim) if other != quantity)
    context = claim.near(quantity.start, quantity.end)
    return any(
        likeness(context, around := line.near(other.start, other.end))
        + _ALL_AROUND * _is_all_around(context, around, line)
        + _SAME_UNIT * (quantity.unit is not None and quantity.unit == other.unit)
        + _NEAR_MISS * _is_near_miss(claim, quantity, line, other)
        >= _IN_PLACE
        for line in lines
        for other in quantities_in(line)
        if _may_replace(claim, quantity, line, other)
        # A value that the claim states elsewhere does not replace ``quantity``.
        and others.match(other) not in STATED
    )


def _is_all_around(
    context: Mapping[str, int], around: Mapping[str, int], line: ComparedText
) -> bool:
    """Return whether all content words near the claim's value are also near the line's value.

    If the line is a field or a table row, such as "built: 1887", the reverse is enough: all content
    words near the line's value are also near the claim's value. Without content words near one of
    the values, the result is false.
    """
    if not context or not around:
        return False
    is_named = is_field(line.text) and around.keys() <= context.keys()
    return is_named or context.keys() <= around.keys()


def _may_replace(claim: ComparedText, one: Quantity, line: ComparedText, other: Quantity) -> bool:
    """Return whether a quantity of a line may correct a quantity of the claim.

    The two must be of one kind (:func:`.same_kind`), and dates must disagree. If two numbers have
    the same digits in another order, the number of the line may lack the unit.
    """
    if _agrees(one, other):
        return False
    if same_kind(one, claim.text, other, line.text):
        return True
    is_bare = other.unit is None and one.unit is not None and one.kind is other.kind
    return is_bare and _is_near_miss(claim, one, line, other)


def _agrees(one: Quantity, other: Quantity) -> bool:
    """Return whether two dates are equal in all parts (year, month, day) that both state.

    "13 March" agrees with 13 March of any year. The result is false if there is no part that both
    state, or if one of the quantities is not a date.
    """
    same = _same_parts(one, other)
    return bool(same and all(same))


def _same_parts(one: Quantity, other: Quantity) -> list[bool] | None:
    """Return, for each part (year, month, day) that two dates both state, whether it is equal.

    The result is ``None`` if one of the quantities is not a date.
    """
    if not (isinstance(one.value, tuple) and isinstance(other.value, tuple)):
        return None
    return [a == b for a, b in zip(one.value, other.value, strict=True) if a and b]


def _is_near_miss(claim: ComparedText, one: Quantity, line: ComparedText, other: Quantity) -> bool:
    """Return whether two quantities differ by a slip.

    Dates differ by a slip if one part (year, month, day) that both state differs, and another is
    equal. Other quantities do if they have the same digits in another order, at least three digits
    without zeros at the end.
    """
    if (same := _same_parts(one, other)) is not None:
        return same.count(False) == 1 and any(same)
    ours, theirs = _figures(claim, one), _figures(line, other)
    return len(ours) >= _FIGURES and ours != theirs and sorted(ours) == sorted(theirs)


def _has_figures(claim: ComparedText, quantity: Quantity) -> bool:
    return any(letter.isdigit() for letter in claim.text[quantity.start : quantity.end])


def _is_counted(claim: ComparedText, quantity: Quantity, match: Match, lines: Lines) -> bool:
    """Return whether a number in words may be the answer's own count: "two ways: A and B".

    The result is false for a number in digits, and for a number that the evidence has with another
    unit. It is also false for "three children" if the best line has a number in words before the
    same word ("two children"), and the claim has no ":" after the number.
    """
    if _has_figures(claim, quantity) or match is Match.UNIT_DIFFERS:
        return False
    counted = _following(claim, quantity)
    if counted is None or ":" in claim.text[quantity.end :]:
        return True
    return not any(
        not _has_figures(line, other) and counted == _following(line, other)
        for line in lines[:1]
        for other in quantities_in(line)
    )


def _following(text: ComparedText, quantity: Quantity) -> str | None:
    """Return the stem of the word right after a quantity; ``None`` if no content word is there."""
    after = next((word for word in text.words if word.start >= quantity.end), None)
    return after.stem if after is not None and after.is_content else None


def _figures(text: ComparedText, quantity: Quantity) -> str:
    return "".join(re.findall(r"\d", text.text[quantity.start : quantity.end])).rstrip("0")


def _is_shifted(time: Quantity, others: Sequence[Quantity]) -> bool:
    """Return whether a time is another time plus or minus a duration: 9:50 is 9:10 + 40 min."""
    times = [o.value for o in others if o.kind is QuantityKind.TIME and isinstance(o.value, float)]
    lengths = [o.value / 60 for o in others if o.unit == "s" and isinstance(o.value, float)]
    return isinstance(time.value, float) and any(
        abs((other + sign * length - time.value) % _DAY) < 1
        for other, length, sign in product(times, lengths, (1, -1))
    )


def _stated_by(lines: Lines) -> list[Quantity]:
    return [other for line in lines for other in quantities_in(line)]


def _is_computed(
    claim: ComparedText,
    quantity: Quantity,
    own: Sequence[Quantity],
    near: Sequence[Quantity],
    earlier: Sequence[Quantity],
) -> bool:
    """Return whether a number can be computed from stated numbers.

    The number may be a sum, a difference, the years between two dates, a share in per cent, a rate
    such as 2.8 per 1,000, or a price times a count. The result is false for an end of a range.

    Operands are in ``own``: numbers of the claim that the evidence states, or that follow from it.
    Operands of a rate may also be in ``near``, the numbers of the best lines. In a claim that
    compares (:data:`_COMPARES`), other operands may be in ``near`` too, except those of a price,
    and operands of a sum may be in ``earlier``, the numbers of the previous claim.
    """
    if quantity.kind is not QuantityKind.NUMBER or _is_in_range(claim, quantity):
        return False
    compares = _COMPARES.search(claim.text) is not None
    groups = (own, near, earlier) if compares else (own,)
    if _is_rate(claim, quantity, [*own, *near][:_MOST_OPERANDS]) or any(
        _is_sum(quantity, group) for group in groups
    ):
        return True
    if any(_is_price(a, b, quantity) for a, b in permutations(own, 2)):
        return True
    operands = (own, [*own, *near][:_MOST_OPERANDS]) if compares else (own,)
    return any(_gives(a, b, quantity) for group in operands for a, b in permutations(group, 2))


def _is_rate(claim: ComparedText, quantity: Quantity, own: Sequence[Quantity]) -> bool:
    """Return whether a number is part of a rate that follows from two other numbers.

    For example, 18 of 6,400 are 2.8 per 1,000.
    """
    for rate, base in pairwise(quantities_in(claim)):
        per = _PER.fullmatch(claim.text[rate.end : base.start])
        if per and quantity in (rate, base) and base.number in _BASES:
            pairs = (pair for pair in permutations(own, 2) if 0 < pair[0].number < pair[1].number)
            return any(_is_close(base.number * a.number / b.number, rate.number) for a, b in pairs)
    return False


def _is_sum(result: Quantity, parts: Sequence[Quantity]) -> bool:
    """Return whether a number is the sum of two, or of all, of the parts that have its unit."""
    # The number of a date or time is 0.
    numbers = [part.number for part in parts if part.unit == result.unit and part.number]
    sums = [a + b for a, b in combinations(numbers, 2)]
    sums += [sum(numbers)] if len(numbers) > 1 else []
    return any(_is_close(each, result.number) for each in sums)


def _is_in_range(claim: ComparedText, quantity: Quantity) -> bool:
    before = claim.text[: quantity.start].rstrip()
    after = claim.text[quantity.end :].lstrip()
    return before.endswith(("-", "–", " to")) or after.startswith(("-", "–", "to "))


def _gives(a: Quantity, b: Quantity, result: Quantity) -> bool:
    one, other = _amount(a), _amount(b)
    if one is None or other is None or one[1] != other[1]:
        return False
    (x, unit), (y, _), wanted = one, other, result.number
    if result.unit == "%":
        return 0 < x < y and _is_close(100 * x / y, wanted)
    if unit == "year":
        return result.unit in ("s", None) and x > y and _is_close(x - y, wanted)
    is_sum = _is_close(wanted, x + y)
    return unit == result.unit and (is_sum or (x > y and _is_close(wanted, x - y)))


def _is_price(count: Quantity, each: Quantity, result: Quantity) -> bool:
    """Return whether a result is a count times an amount of the same unit: three at $24 are $72."""
    is_of_one = each.unit == result.unit is not None and count.unit is None
    return is_of_one and count.number > 1 and _is_close(result.number, count.number * each.number)


def _is_worth(money: Quantity, stated: Sequence[Quantity]) -> bool:
    """Return whether an amount of money can be computed from numbers with fitting units.

    The amount may be the sum or the difference of two amounts in the same currency, or one such
    amount multiplied or divided by a number.
    """
    return any(
        _gives(a, b, money)
        or (
            a.unit == money.unit
            and b.kind is QuantityKind.NUMBER
            and b.number > 0
            and any(
                _is_close(each, money.number) for each in (a.number * b.number, a.number / b.number)
            )
        )
        for a, b in permutations(stated, 2)
    )


def _amount(quantity: Quantity) -> tuple[float, str | None] | None:
    """Return a quantity's number and unit; of a date, its year and the unit ``year``.

    A number like a year, such as 1950, also has the unit ``year``. The result is ``None`` for a
    time, and for a date without a year.
    """
    if isinstance(quantity.value, tuple):
        year = quantity.value[0]
        return None if year is None else (float(year), "year")
    if quantity.kind is not QuantityKind.NUMBER:
        return None
    is_year = quantity.unit is None and _FIRST_YEAR <= quantity.number <= _LAST_YEAR
    is_whole = quantity.number == int(quantity.number)
    return (quantity.number, "year" if is_year and is_whole else quantity.unit)


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= _ROUNDED * abs(other)

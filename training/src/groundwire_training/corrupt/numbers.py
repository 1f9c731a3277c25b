"""Mistakes in numbers: a number becomes another of the same form."""

import random
import re
from collections.abc import Iterator

from groundwire.text.quantities import Match, Quantity, QuantityKind, quantities
from groundwire_training.corrupt.edits import Edit, Mistakes, shuffled
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.wording import FIGURE, RANGE, SMALL_NUMBERS, YEAR, stems

_MAGNITUDE = re.compile(r"(?<=[\d\s])(?:thousand|million|billion|trillion)\b")
_AT_LEAST = re.compile(r"(?:over|more than|at least|exceed\w*|above|beyond|minimum of)\W*$", re.I)
_AT_MOST = re.compile(
    r"(?:under|less than|fewer than|up to|at most|below|within|maximum of)\W*$", re.I
)
_ABOUT = re.compile(
    r"(?:about|around|approximately|roughly|estimated|some|circa|nearly|almost|~)\W*$", re.I
)
_SCALE_BEFORE = re.compile(r"(?:rat|scor)(?:e|ing) of $")
_SCALE_AFTER = re.compile(r"[\s-]*(?:out of|star)")


def number(text: str, grounds: Grounds, rng: random.Random) -> Mistakes:
    """Propose edits that change a number to one of the same form, or "million" to "billion"."""
    for quantity in shuffled(quantities(text), rng):
        if is_counted(quantity, text, grounds):
            figures = list(FIGURE.finditer(text, quantity.start, quantity.end))
            edit = None
            if not figures:
                edit = _other_word(quantity, text, grounds, rng)
            elif len(figures) == 1:
                edit = _other_figure(quantity, figures[0], grounds, rng)
            if edit:
                yield (edit,)


def is_counted(quantity: Quantity, text: str, grounds: Grounds) -> bool:
    """Return whether the sources state a quantity that is a number other than a year, rank, 0 or 1.

    A number in a range or a score, such as 3-1, does not count either.
    """
    before, after = text[: quantity.start][-12:], text[quantity.end :][:12]
    return (
        quantity.kind is QuantityKind.NUMBER
        and quantity.name != "th"
        and quantity.number not in (0.0, 1.0)
        and not YEAR.fullmatch(text, quantity.start, quantity.end)
        # A range may still be true with another end.
        and not re.match(rf"{RANGE.pattern}\S?\d", after)
        and not re.search(rf"\d{RANGE.pattern}\S?$", before)
        and grounds.index.match(quantity) is Match.EQUAL
    )


def _other_word(quantity: Quantity, text: str, grounds: Grounds, rng: random.Random) -> Edit | None:
    word = text[quantity.start : quantity.end].split()[0]
    if word.lower() not in SMALL_NUMBERS:
        return None
    value = SMALL_NUMBERS.index(word.lower()) + 2
    for other in shuffled(range(max(2, value - 3), min(16, value + 4)), rng):
        if other != value and not grounds.has_number_near(other, 0.0):
            new = SMALL_NUMBERS[other - 2]
            new = new.capitalize() if word[0].isupper() else new
            return Edit(quantity.start, quantity.start + len(word), new)
    return None


def _other_figure(
    quantity: Quantity, figure: re.Match[str], grounds: Grounds, rng: random.Random
) -> Edit | None:
    text, (start, end) = figure.string, figure.span()
    if text[start - 1 : start] in ("/", "-", "–") or text[end : end + 1] in ("/", "–"):
        return None
    magnitude = _MAGNITUDE.search(text, end, quantity.end)
    if magnitude and rng.random() < 0.5:
        others = [m for m in ("million", "billion", "trillion") if m != magnitude[0]]
        return Edit(start, magnitude.end(), text[start : magnitude.start()] + rng.choice(others))
    new = next(_near_misses(quantity, figure, grounds, rng), None)
    return Edit(start, end, new) if new else None


def _near_misses(
    quantity: Quantity, figure: re.Match[str], grounds: Grounds, rng: random.Random
) -> Iterator[str]:
    """Yield similar numbers that the sources do not state about the same subject."""
    text = figure.string
    decimals = len(figure[0].partition(".")[2])
    step = 10.0**-decimals
    value = float(figure[0].replace(",", ""))
    top = _highest(value, quantity, text)
    here = text[max(0, quantity.start - 40) : quantity.end + 40]
    for candidate in shuffled(_candidates(figure, quantity, grounds), rng):
        new = round(candidate, decimals)
        if new in (0.0, 1.0, value) or not 0 < new <= top:
            continue
        is_stated = grounds.has_number_near(new, 0.5 * step)
        if not is_stated or (new == int(new) and _is_elsewhere(new, here, grounds)):
            yield f"{new:,.{decimals}f}" if "," in figure[0] else f"{new:.{decimals}f}"


def _candidates(figure: re.Match[str], quantity: Quantity, grounds: Grounds) -> list[float]:
    """Return values to try in place of a number.

    After words such as "at least" or "about", only values that make the statement wrong are
    returned: those far enough from the number.
    """
    before = figure.string[max(0, quantity.start - 20) : quantity.start]
    digits = figure[0].replace(",", "")
    value = float(digits)
    if _AT_LEAST.search(before):
        return [value * 2, value * 3, value * 10]
    if _AT_MOST.search(before):
        return [value // 2, value // 3, value // 4]
    step = 10.0 ** -len(digits.partition(".")[2])
    values = [value + sign * step * n for n in (1, 2, 3, 10) for sign in (1, -1)]
    for i in range(len(digits) - 1):
        turned = digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :]
        if "." not in digits[i : i + 2] and turned[0] != "0":
            values.append(float(turned))
    values += [n for n in grounds.numbers if 0 < value / 10 < n < value * 10]
    # A number that is approximate, or large and so perhaps rounded, is wrong only if far off.
    if value >= 1000 or _ABOUT.search(before):
        return [n for n in values if abs(n - value) > 0.3 * value] or [value * 2, value // 2]
    return values


def _highest(value: float, quantity: Quantity, text: str) -> float:
    """Return the largest value that is still plausible in place of a quantity's value."""
    if quantity.unit == "%":
        return max(value, 100.0)
    if _SCALE_AFTER.match(text, quantity.end) or _SCALE_BEFORE.search(text[: quantity.start]):
        return max(value, 5.0)
    return value * 20


def _is_elsewhere(number: float, here: str, grounds: Grounds) -> bool:
    """Return whether the sources state a number, but never near any word of ``here``."""
    around = stems(re.sub(r"\d", " ", here))
    places = [q for q in grounds.found if q.kind is QuantityKind.NUMBER and q.number == number]
    return bool(places) and not any(
        around & stems(grounds.text[max(0, q.start - 60) : q.end + 60]) for q in places
    )

"""Writes the values of an answer in other formats, which a detector must not flag.

Examples are "1,234" for "1234", "5 percent" for "5%", "5 m" for "5 metres", "10:00" for "10 AM",
"5 January" for "January 5", "three" for "3", and a number in bold. Marked text is not changed.
"""

import random
import re
from collections.abc import Callable

from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.corrupt.wording import listed

_WORDS = listed("zero one two three four five six seven eight nine ten eleven twelve")
_MONTHS = listed(
    "January February March April May June July August September October November December"
)
_MONTH = "|".join(_MONTHS)
#: Symbol of a unit → its name.
_UNITS = {
    "m": "metres",
    "km": "kilometres",
    "cm": "centimetres",
    "mm": "millimetres",
    "kg": "kilograms",
    "g": "grams",
    "ml": "millilitres",
    "min": "minutes",
    "h": "hours",
    "GB": "gigabytes",
}
_SIGNS = {
    name.replace("metre", spelt): sign
    for sign, name in _UNITS.items()
    for spelt in ("metre", "meter")
}


def _grouped(match: re.Match[str]) -> str:
    return f"{int(match[0]):,}"


def _plain(match: re.Match[str]) -> str:
    return match[0].replace(",", "")


def _sign(match: re.Match[str]) -> str:
    return f"{match[1]}%"


def _percent(match: re.Match[str]) -> str:
    return f"{match[1]} percent"


def _unit_sign(match: re.Match[str]) -> str:
    return f"{match[1]} {_SIGNS[match[2]]}"


def _unit_name(match: re.Match[str]) -> str:
    return f"{match[1]} {_UNITS[match[2]]}"


def _day_first(match: re.Match[str]) -> str:
    return f"{match[2]} {match[1]}" + (f" {match[3]}" if match[3] else "")


def _month_first(match: re.Match[str]) -> str:
    return f"{match[2]} {match[1]}" + (f", {match[3]}" if match[3] else "")


def _iso(match: re.Match[str]) -> str:
    return f"{match[3]}-{_MONTHS.index(match[1]) + 1:02}-{int(match[2]):02}"


def _full_day(match: re.Match[str]) -> str:
    hour = int(match[1]) % 12 + (12 if match[3][0] in "pP" else 0)
    return f"{hour}:{match[2] or '00'}"


def _half_day(match: re.Match[str]) -> str:
    hour, minute = int(match[1]), match[2]
    meridiem = "PM" if hour >= 12 else "AM"
    return f"{hour % 12 or 12}{'' if minute == '00' else ':' + minute} {meridiem}"


def _word(match: re.Match[str]) -> str:
    return _WORDS[int(match[0])]


def _digits(match: re.Match[str]) -> str:
    return str(_WORDS.index(match[0].lower()))


def _bold(match: re.Match[str]) -> str:
    return f"**{match[0]}**"


#: Bold fits every number, so it is chosen less often than the other changes.
_BOLD_SHARE = 0.3
_ALONE = r"(?<![\w.,:/$€£#*-])"
_END = r"(?![\w%*]|[.,:/-]\d|\s?(?:AM|PM|am|pm|a\.m|p\.m))"
#: Patterns of values, each with the function that rewrites a match. A number of four digits that
#: may be a year gets no comma.
_WAYS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern), way)
    for pattern, way in (
        (_ALONE + r"(?:[3-9]\d{3}|\d{5,9})" + _END, _grouped),
        (_ALONE + r"\d{1,3}(?:,\d{3})+" + _END, _plain),
        (_ALONE + r"(\d+(?:\.\d+)?) (?:percent|per cent)\b", _sign),
        (_ALONE + r"(\d+(?:\.\d+)?)%(?!\w)", _percent),
        (_ALONE + rf"(\d[\d,.]*) ({'|'.join(_SIGNS)})\b", _unit_sign),
        (_ALONE + rf"(\d[\d,.]*) ?({'|'.join(_UNITS)})" + _END, _unit_name),
        (rf"\b({_MONTH}) (\d{{1,2}})(?:, (\d{{4}}))?" + _END, _day_first),
        (_ALONE + rf"(\d{{1,2}}) ({_MONTH})(?: (\d{{4}}))?" + _END, _month_first),
        (rf"\b({_MONTH}) (\d{{1,2}}), (\d{{4}})" + _END, _iso),
        (_ALONE + r"(1[0-2]|[1-9])(?::([0-5]\d))? ?(AM|PM|am|pm|[ap]\.m\.)(?!\w)", _full_day),
        (_ALONE + r"([01]?\d|2[0-3]):([0-5]\d)" + _END, _half_day),
        (_ALONE + r"(?:[2-9]|1[0-2])(?= [a-z]{3})", _word),
        (
            r"(?<![-\w])(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b(?!-)",
            _digits,
        ),
        (_ALONE + r"[$€£]?\d(?:[\d,.]*\d)?%?" + _END, _bold),
    )
)


def reformatted(answer: MarkedAnswer, rng: random.Random, *, share: float = 0.5) -> MarkedAnswer:
    """Write about a share of an answer's numbers, dates and times in another way.

    Args:
        answer: The answer; its marked text is not changed.
        rng: The only source of randomness.
        share: Probability that a value is rewritten, in [0, 1].
    """
    taken = [(start, end) for start, end, _ in answer.spans]
    edits: list[tuple[int, int, str]] = []
    for pattern, way in rng.sample(_WAYS, len(_WAYS)):
        for match in pattern.finditer(answer.text):
            start, end = match.span()
            if any(start < e and end > s for s, e in taken):
                continue
            taken.append((start, end))
            if rng.random() < (share * _BOLD_SHARE if way is _bold else share):
                edits.append((start, end, way(match)))
    return _rewritten(answer, sorted(edits))


def _rewritten(answer: MarkedAnswer, edits: list[tuple[int, int, str]]) -> MarkedAnswer:
    text, at = "", 0
    moves: list[tuple[int, int]] = []  # ends of edits, and how far text after them moves
    for start, end, new in edits:
        text += answer.text[at:start] + new
        at = end
        moves.append((end, len(new) - (end - start)))
    text += answer.text[at:]

    def moved(place: int) -> int:
        return place + sum(by for end, by in moves if end <= place)

    spans, doubts = (
        tuple((moved(s), moved(e), label) for s, e, label in stretches)
        for stretches in (answer.spans, answer.doubts)
    )
    return MarkedAnswer(text, spans, doubts)

"""Mistakes of order: two figures of one sentence change places."""

import random
import re
from itertools import combinations

from groundwire.text.quantities import quantities
from groundwire.text.segment import segment
from groundwire_training.corrupt.edits import Edit, Mistakes, shuffled
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.numbers import is_counted
from groundwire_training.corrupt.wording import FIGURE, RANGE, YEAR

_JOINT = re.compile(rf"{RANGE.pattern}|\W*(?:and|or|to|the|by|times|x|a|between)\W*")


def swap(text: str, grounds: Grounds, rng: random.Random) -> Mistakes:
    """Propose edits that swap two years, or two numbers of the same form and unit.

    Numbers with only a word such as "and" between them are not swapped: it may change nothing.
    """
    movable = []
    for quantity in quantities(text):
        written = text[quantity.start : quantity.end]
        if YEAR.fullmatch(written) and written in grounds.words:
            movable.append((quantity, "year"))
        elif len(FIGURE.findall(written)) == 1 and is_counted(quantity, text, grounds):
            form = re.sub(r"[\d,.]+", "#.#" if "." in written else "#", written)
            movable.append((quantity, f"{form} {quantity.unit}"))
    for piece in shuffled(segment(text), rng):
        within = [m for m in movable if piece.start <= m[0].start and m[0].end <= piece.end]
        for (a, form), (b, other_form) in shuffled(list(combinations(within, 2)), rng):
            one, other, between = (
                text[a.start : a.end],
                text[b.start : b.end],
                text[a.end : b.start],
            )
            if (
                form == other_form
                and one != other
                and re.search(r"[a-z]{3}", between)
                and not _JOINT.fullmatch(between)
                # Numbers of very different size are not a plausible mistake.
                and max(a.number, b.number) <= 20 * min(a.number, b.number)
            ):
                yield Edit(a.start, a.end, other), Edit(b.start, b.end, one)

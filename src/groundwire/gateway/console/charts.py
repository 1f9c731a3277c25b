"""Computes charts of stacked bars or of ranges; ``console_charts.html`` draws them as SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import NamedTuple

#: Edges of the area for stacked bars, in units of the picture, which is 480 wide.
LEFT, TOP, RIGHT, BOTTOM = 44, 10, 474, 182
#: Height of a row with one range, in the same units.
_ROW = 24


class Box(NamedTuple):
    """A bar of a chart; ``x`` and ``y`` are its upper left corner.

    The CSS class of the bar is ``is-`` followed by ``look``, and its tooltip is ``title``.
    """

    x: float
    y: float
    width: float
    height: float
    look: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart; all positions are in units of its picture.

    Attributes:
        boxes: The bars.
        ticks: Position and text of each value on the axis of values.
        labels: Position and text of the names on the other axis.
        height: The height of the picture.
    """

    boxes: tuple[Box, ...]
    ticks: tuple[tuple[float, str], ...]
    labels: tuple[tuple[float, str], ...]
    height: float = 210


def stacked(columns: Sequence[tuple[str, Mapping[str, int]]], looks: Sequence[str]) -> Chart:
    """Return a chart in which each column is a stack of bars.

    Args:
        columns: The label of each column, and the value of each bar by look (see :class:`Box`).
        looks: The looks, from the bottom of a column to its top.
    """
    top = _round(max((sum(each.values()) for _, each in columns), default=0))
    step, unit = (RIGHT - LEFT) / max(len(columns), 1), (BOTTOM - TOP) / top
    boxes = []
    for place, (label, numbers) in enumerate(columns):
        y = float(BOTTOM)
        for look in looks:
            if n := numbers.get(look, 0):
                y -= n * unit
                title = f"{label}: {n:,} {look}"
                boxes.append(Box(LEFT + place * step + 1, y, step - 2, n * unit, look, title))
    every = ceil(len(columns) / 6)
    return Chart(
        boxes=tuple(boxes),
        ticks=tuple((BOTTOM - top * part / 4 * unit, f"{top * part // 4:,}") for part in range(5)),
        labels=tuple(
            (LEFT + (place + 0.5) * step, label)
            for place, (label, _) in enumerate(columns)
            if place % every == 0
        ),
    )


def ranges(rows: Sequence[tuple[str, float, float]], *, unit: str) -> Chart:
    """Return a chart with a bar from a low to a high value in each row, on a logarithmic axis.

    Args:
        rows: The name of each row, and its low and high value, both above 0.
        unit: The unit of the values.
    """
    first = floor(log10(min((low for _, low, _ in rows), default=1)))
    last = max(ceil(log10(max((high for _, _, high in rows), default=1))), first + 1)

    def at(value: float) -> float:
        return 92 + (log10(value) - first) / (last - first) * (RIGHT - 92)

    boxes = tuple(
        Box(
            at(low),
            TOP + place * _ROW + 5,
            max(at(high) - at(low), 3),
            _ROW - 12,
            "range",
            f"{name}: {low:.3g} to {high:.3g} {unit}",
        )
        for place, (name, low, high) in enumerate(rows)
    )
    return Chart(
        boxes=boxes,
        ticks=tuple((at(10.0**power), f"{10.0**power:g}") for power in range(first, last + 1)),
        labels=tuple((TOP + place * _ROW + 15, name) for place, (name, _, _) in enumerate(rows)),
        height=TOP + len(rows) * _ROW + 24,
    )


def _round(highest: int) -> int:
    """Return a round number, not below ``highest``, whose quarter is a round number too.

    >>> [_round(n) for n in (0, 3, 9, 41, 1000)]
    [4, 4, 12, 60, 1000]
    """
    quarter = max(ceil(highest / 4), 1)
    power: int = 10 ** (len(str(quarter)) - 1)
    tenths = (10, 15, 20, 25, 30, 40, 50, 60, 80, 100)
    return 4 * next(ceil(n * power / 10) for n in tenths if n * power >= 10 * quarter)

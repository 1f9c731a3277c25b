"""Plots of a report as data: lines, dots and bars, which the template ``plot.svg`` draws.

No plotting library is used. Matplotlib is large, and writes letters as paths, which screen readers
cannot read. Pygal puts a style sheet and a script into each chart, and a strict
Content-Security-Policy forbids both.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from groundwire.evaluation.intervals import wilson
from groundwire.evaluation.reports.curves import Curve, Point

#: Edges of the plotted rectangle, in a picture of 350 by 290 units.
_LEFT, _TOP, _RIGHT, _BOTTOM = 50, 12, 338, 244


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot with both axes in per cent.

    All points are in the unit square; :func:`at` converts them to coordinates of the picture.

    Attributes:
        name: Title of the plot.
        says: Description of the plot, as its caption and for screen readers.
        x: Name of the horizontal axis.
        y: Name of the vertical axis.
        top: Value at the upper end of the vertical axis, as a share.
        lines: Points of each line, and the line's class in the style sheet.
        dots: Point and title of each dot.
        bars: The lower left corner, the upper right corner and the title of each bar.
    """

    name: str
    says: str
    x: str
    y: str
    top: float = 1.0
    lines: Sequence[tuple[Sequence[Point], str]] = ()
    dots: Sequence[tuple[Point, str]] = ()
    bars: Sequence[tuple[Point, Point, str]] = ()


def at(point: Point) -> tuple[str, str]:
    """Convert a point of the unit square to coordinates of the picture."""
    x, y = point
    return _number(_LEFT + x * (_RIGHT - _LEFT)), _number(_TOP + (1 - y) * (_BOTTOM - _TOP))


def of_curve(curve: Curve, says: str) -> Plot:
    """Plot a curve, the line of a random detector, and a dot at the detector's threshold."""
    top = top_of(curve) if curve.is_fitted else 1.0
    points = tuple(_stepped(curve.points)) if curve.is_stepped else curve.points
    lines = [(_under(curve.chance, top), "chance"), (_under(points, top), "curve")]
    dots = []
    if curve.at is not None:
        x, y = curve.at
        dots.append(((x, y / top), f"at the threshold: {100 * x:.1f} and {100 * y:.1f} %"))
    x_name, y_name = curve.axes
    return Plot(name=curve.name, says=says, x=x_name, y=y_name, top=top, lines=lines, dots=dots)


def top_of(curve: Curve) -> float:
    """Choose where the vertical axis ends: at 1, or lower if the whole curve is low."""
    points = (*curve.points, *curve.chance, *([curve.at] if curve.at else []))
    highest = max(y for _, y in points)
    return next(top for top in (0.02, 0.1, 0.2, 0.4, 0.6, 1.0) if highest <= top or top == 1.0)


def of_bins(bins: Sequence[Mapping[str, Any]]) -> Plot:
    """Plot a reliability diagram: frequency, Wilson's interval and size of non-empty bins."""
    filled = [each for each in bins if each["n"]]
    largest = max((each["n"] for each in filled), default=0)
    lines: list[tuple[Sequence[Point], str]] = [(((0, 0), (1, 1)), "chance")]
    dots, bars = [], []
    for each in filled:
        said, so, n = each["confidence"], each["frequency"], each["n"]
        found = wilson(round(so * n), n)
        title = f"{n:,} answers said to be {each['low']:.0%} to {each['high']:.0%}"
        bars.append(((each["low"], 0.0), (each["high"], 0.12 * n / largest), title))
        lines.append((((said, found.low), (said, found.high)), "whisker"))
        dots.append(((said, so), f"said {said:.1%}, was so {so:.1%} of {n:,}"))
    return Plot(
        name="Reliability",
        says="On the dashed line what was said is what was so. Lines: 95 % intervals of Wilson. "
        "Bars: how many answers.",
        x="Said to be hallucinated",
        y="Was so",
        lines=lines,
        dots=dots,
        bars=bars,
    )


def _stepped(points: Sequence[Point]) -> Iterator[Point]:
    """Yield the corners of a stepped curve, in which each point is the right end of a step.

    The first step begins at the left edge of the plot, where x is 0.
    """
    if points:
        yield (0.0, points[0][1])
        yield points[0]
    for (x, _), (right, y) in pairwise(points):
        yield (x, y)
        yield (right, y)


def _under(points: Sequence[Point], top: float) -> list[Point]:
    return [(x, y / top) for x, y in points]


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")

"""Plots as SVG, drawn by a few pure functions.

Plotting libraries were weighed and left: matplotlib is forty times the size of this package's own
code and writes glyphs as paths, which no screen reader reads and no style turns dark; pygal puts a
style sheet and a script into each chart, which a strict Content-Security-Policy forbids. What is
needed is the unit square with two axes.

Colours and line styles are classes of the page's style sheet.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import Element

from groundwire.evaluation.intervals import wilson
from groundwire.evaluation.reports.curves import Curve, Point
from groundwire.evaluation.reports.markup import element

_WIDTH, _HEIGHT = 350, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 12, 12, 46
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def plot(name: str, says: str, x: str, y: str, *content: Element, top: float = 1.0) -> Element:
    """A rectangle in per cent, with axes.

    Args:
        name: What is plotted; an id is made of it.
        says: What is to be seen, for who does not see it.
        x: Name of the horizontal axis.
        y: Name of the vertical axis.
        content: What is drawn.
        top: Where the vertical axis ends.
    """
    id_ = name.lower().replace(" ", "-")
    return element(
        "svg",
        element("title", name, id=f"{id_}-title"),
        element("desc", says, id=f"{id_}-says"),
        *_axes(x, y, top),
        *content,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_labelledby=f"{id_}-title {id_}-says",
    )


def of_curve(curve: Curve, *, is_stepped: bool, top: float = 1.0) -> tuple[Element, ...]:
    """A curve with its line of chance and the place of the detector.

    Args:
        curve: What to draw.
        is_stepped: Whether nothing lies between two points, so that no slope joins them.
        top: Where the vertical axis ends.
    """
    points = _stepped(curve.points) if is_stepped else curve.points
    drawn = [_line(_under(curve.chance, top), "chance"), _line(_under(points, top), "curve")]
    if curve.at is not None:
        (at,) = _under([curve.at], top)
        drawn.append(_dot(at, 5, "at", _said(curve.at)))
    return tuple(drawn)


def top_of(curve: Curve) -> float:
    """Where a vertical axis may end so that a low curve can be read."""
    points = (*curve.points, *curve.chance, *([curve.at] if curve.at else []))
    highest = max(y for _, y in points)
    return next(top for top in (0.02, 0.1, 0.2, 0.4, 0.6, 1.0) if highest <= top or top == 1.0)


def of_bins(bins: Sequence[Mapping[str, Any]]) -> tuple[Element, ...]:
    """Bins of a reliability diagram: how often it was so, with the interval of Wilson."""
    drawn = [_line(((0, 0), (1, 1)), "chance")]
    largest = max((each["n"] for each in bins), default=0)
    for each in bins:
        if each["n"]:
            drawn += _bin(each, largest)
    return tuple(drawn)


def _bin(each: Mapping[str, Any], largest: int) -> Iterator[Element]:
    said, so, n = each["confidence"], each["frequency"], each["n"]
    found = wilson(round(so * n), n)
    left, top = _at((each["low"], 0.12 * n / largest))
    right, bottom = _at((each["high"], 0))
    yield element(
        "rect",
        element("title", f"{n:,} answers said to be {each['low']:.0%} to {each['high']:.0%}"),
        x=_number(left + 1),
        y=_number(top),
        width=_number(right - left - 2),
        height=_number(bottom - top),
        class_="bin",
    )
    yield _line(((said, found.low), (said, found.high)), "whisker")
    yield _dot((said, so), 4, "at", f"said {said:.1%}, was so {so:.1%} of {n:,}")


def _axes(x: str, y: str, top: float) -> Iterator[Element]:
    for tick in _TICKS:
        yield _line(((tick, 0), (tick, 1)), "grid")
        yield _line(((0, tick), (1, tick)), "grid")
        across, down = _at((tick, tick))
        yield _text(f"{100 * tick:g}", across, _HEIGHT - _BOTTOM + 17, "middle")
        yield _text(f"{100 * top * tick:g}", _LEFT - 7, down + 4, "end")
    yield _line(((0, 1), (0, 0), (1, 0)), "axis")
    yield _text(f"{x} (%)", (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, "middle")
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    yield element(
        "text",
        f"{y} (%)",
        x=13,
        y=_number(middle),
        text_anchor="middle",
        transform=f"rotate(-90 13 {_number(middle)})",
    )


def _text(words: str, x: float, y: float, anchor: str) -> Element:
    return element("text", words, x=_number(x), y=_number(y), text_anchor=anchor)


def _line(points: Sequence[Point], class_: str) -> Element:
    path = " ".join(f"{_number(x)},{_number(y)}" for x, y in map(_at, points))
    return element("polyline", points=path, class_=class_)


def _dot(point: Point, radius: int, class_: str, says: str) -> Element:
    x, y = _at(point)
    return element(
        "circle", element("title", says), cx=_number(x), cy=_number(y), r=radius, class_=class_
    )


def _stepped(points: Sequence[Point]) -> tuple[Point, ...]:
    """Level up to each point, as a precision holds for all recalls below it."""
    if not points:
        return ()
    corners = [(0.0, points[0][1]), points[0]]
    for (x, _), (right, y) in pairwise(points):
        corners += [(x, y), (right, y)]
    return tuple(corners)


def _under(points: Sequence[Point], top: float) -> list[Point]:
    return [(x, y / top) for x, y in points]


def _said(point: Point) -> str:
    return f"at the threshold: {100 * point[0]:.1f} and {100 * point[1]:.1f} %"


def _at(point: Point) -> Point:
    """Where a point of the unit square lies in the picture."""
    x, y = point
    across, up = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    return _LEFT + x * across, _TOP + (1 - y) * up


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")

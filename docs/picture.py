"""Draws a detection as a picture: source, question, and the answer with its marked words.

``docs/generate.py`` calls this module with the result of README's first command, once with colours
for light pages and once for dark ones. Pictures show no probabilities, which differ between
machines.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

_WIDTH, _MARGIN, _COLUMNS = 820, 26, 90
_LINE, _CHAR = 25, 8.7  # pixels: height of a line, width of a character at this size of font
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace"
_SANS = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Colours:
    """The colours of a picture, as CSS writes them."""

    page: str
    border: str
    text: str
    faint: str
    wrong: str
    wrong_back: str
    evidence_back: str


LIGHT = Colours("#ffffff", "#d1d9e0", "#1f2328", "#59636e", "#b3261e", "#ffdfdb", "#d9f2e0")
DARK = Colours("#0d1117", "#3d444d", "#f0f6fc", "#9198a1", "#ff8f85", "#5a1e1b", "#123d24")

Range = tuple[int, int]


def draw(
    detection: Mapping[str, Any],
    *,
    sources: Sequence[str],
    question: str,
    answer: str,
    colours: Colours,
) -> str:
    """Draw a detection as SVG.

    Args:
        detection: The detection, as ``groundwire check --json`` prints it.
        sources: The sources of the check; their ids are ``S0``, ``S1``...
        question: The question of the check.
        answer: The answer that was checked.
        colours: The colours of the page around the picture.
    """
    spans = detection["spans"]
    evidence = [span["evidence"][0] for span in spans if span["evidence"]]
    parts: list[str] = []
    y = _MARGIN + 4
    for i, source in enumerate(sources):
        of_it = [(e["start"], e["end"]) for e in evidence if e["source_id"] == f"S{i}"]
        y = _block(parts, y, ("Source", source), of_it, (colours.evidence_back, None), colours)
    y = _block(parts, y, ("Question", question), [], (colours.page, None), colours)
    marked = [(span["start"], span["end"]) for span in spans]
    y = _block(parts, y, ("Answer", answer), marked, (colours.wrong_back, colours.wrong), colours)
    labels = sorted({span["label"] for span in spans})
    words = ", ".join(f"“{span['text']}”" for span in spans)
    verdict = f"{detection['outcome'].capitalize()}: {' and '.join(labels)} by the source: {words}"
    parts.append(_text(_MARGIN, y + 4, verdict, colours.wrong, size=15, weight=600))
    height = y + _MARGIN
    title = f"An answer checked by Groundwire. {answer} {verdict}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">',
            f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="10" '
            f'fill="{colours.page}" stroke="{colours.border}"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _block(
    parts: list[str],
    y: int,
    titled: tuple[str, str],
    ranges: Sequence[Range],
    marks: tuple[str, str | None],
    colours: Colours,
) -> int:
    """Add a title and its text with marked ranges; return where the next block begins."""
    title, text = titled
    back, ink = marks
    parts.append(_text(_MARGIN, y, title, colours.faint, size=12))
    for start, end in _lines(text):
        y += _LINE
        inside = [(max(a, start), min(b, end)) for a, b in ranges if a < end and start < b]
        cuts = sorted({start, end, *(cut for pair in inside for cut in pair)})
        for a, b in pairwise(cuts):
            x = _MARGIN + (a - start) * _CHAR
            is_marked = any(low <= a and b <= high for low, high in inside)
            if is_marked:
                parts.append(
                    f'<rect x="{x - 3:.1f}" y="{y - 16}" width="{(b - a) * _CHAR + 6:.1f}" '
                    f'height="22" rx="4" fill="{back}"/>'
                )
            parts.append(_mono(x, y, text[a:b], ink if is_marked and ink else colours.text))
    return y + 32


def _lines(text: str) -> Iterator[Range]:
    """Yield the ranges of a text's lines, broken between words."""
    at = 0
    for line in textwrap.wrap(text, _COLUMNS, break_on_hyphens=False):
        at = text.index(line, at)
        yield at, at + len(line)
        at += len(line)


def _mono(x: float, y: int, text: str, colour: str) -> str:
    """Return an SVG text of fixed width, so that marks fit it whatever fonts a reader has."""
    kept = text.replace(" ", "\u00a0")
    return (
        f'<text x="{x:.1f}" y="{y}" font-family="{_FONT}" font-size="14.5" fill="{colour}" '
        f'textLength="{len(text) * _CHAR:.1f}">{escape(kept)}</text>'
    )


def _text(x: int, y: int, text: str, colour: str, *, size: int, weight: int = 400) -> str:
    return (
        f'<text x="{x}" y="{y}" font-family="{_SANS}" font-size="{size}" font-weight="{weight}" '
        f'fill="{colour}">{escape(text)}</text>'
    )

"""The HTML page of a detection, one file that loads no others."""

from collections.abc import Sequence

from groundwire.detection.example import Source
from groundwire.detection.values import Detection
from groundwire.render.answer import AnswerView
from groundwire.render.html import page, read_part


def to_html(
    detection: Detection, *, question: str | None = None, sources: Sequence[Source] = ()
) -> str:
    """Return the HTML page of a detection: one file, light and dark, readable without scripts.

    Args:
        detection: The detection.
        question: The question, if any.
        sources: The sources that the answer was checked with, under the same ids. Without sources,
            the page shows only the lines of evidence.
    """
    return page(
        "detection.html",
        script=read_part("answer.js"),
        title=str(detection.outcome),
        question=question,
        view=AnswerView.of(detection, sources),
    )

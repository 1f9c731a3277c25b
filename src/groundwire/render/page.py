"""A detection as one HTML page that stands alone."""

from collections.abc import Sequence

from groundwire.detection.example import Source
from groundwire.detection.values import Detection
from groundwire.render.answer import AnswerView
from groundwire.render.html import page, read_part


def to_html(
    detection: Detection, *, question: str | None = None, sources: Sequence[Source] = ()
) -> str:
    """Write one page that stands alone: nothing loaded, light and dark, readable without scripts.

    Args:
        detection: The detection.
        question: The question; the page shows it above the answer.
        sources: The sources, as the detection names them; the page shows them beside the answer.
            Without them it shows the lines that are evidence.
    """
    return page(
        "detection.html",
        script=read_part("answer.js"),
        title=str(detection.outcome),
        question=question,
        view=AnswerView.of(detection, sources),
    )

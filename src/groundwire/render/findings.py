"""Terminal report of the explanations of a detection."""

from groundwire.explain import Explained
from groundwire.render.html import render_text
from groundwire.render.terminal import LABEL_STYLES, OUTCOME_STYLES


def findings_to_terminal(explained: Explained, *, color: bool) -> str:
    """Return the report of ``groundwire explain``: explanations, dropped spans, and the outcome.

    Text of the answer is in quotes and on one line, so that no answer can imitate the report.
    ``color`` adds ANSI colours.
    """
    return render_text(
        "findings.txt",
        color=color,
        explained=explained,
        detection=explained.detection,
        LABEL_STYLES=LABEL_STYLES,
        OUTCOME_STYLES=OUTCOME_STYLES,
    )

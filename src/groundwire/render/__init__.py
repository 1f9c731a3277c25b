"""Views of detections and verifications for people: terminal report, plain text, and HTML page.

Answers, sources and their ids are not trusted. Their characters that could control a terminal or
turn the reading direction, and most invisible ones, are made visible. In HTML these texts are
escaped.
"""

from groundwire.render.page import to_html
from groundwire.render.terminal import repair_to_terminal, to_terminal, to_text
from groundwire.text.quotes import excerpt
from groundwire.text.screen import visible

__all__ = ["excerpt", "repair_to_terminal", "to_html", "to_terminal", "to_text", "visible"]

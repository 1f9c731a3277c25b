"""Views of detections and verifications for people: terminal report, plain text, and HTML page.

Answers, sources and their ids are not trusted. Characters that could move the cursor, recolour the
screen, turn the reading direction or be invisible are made visible, and in HTML everything is
escaped.
"""

from groundwire.render.page import to_html
from groundwire.render.terminal import to_terminal, to_text
from groundwire.text.quotes import excerpt
from groundwire.text.screen import visible

__all__ = ["excerpt", "to_html", "to_terminal", "to_text", "visible"]

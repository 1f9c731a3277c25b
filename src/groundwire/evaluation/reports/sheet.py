"""The page that a report is written on: its style, its script, and the policy that names both."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from xml.etree.ElementTree import Element

from groundwire.evaluation.reports.markup import element, write_html


def page(title: str, *content: Element | None) -> str:
    """A page that stands alone: nothing is loaded, and no other style or script acts in it.

    Args:
        title: A text.
        content: What stands on it.
    """
    style, script = _part("report.css"), _part("report.js")
    # The policy names style and script by their hashes, so that no text can smuggle in another.
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    tree = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=policy),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="referrer", content="no-referrer"),
            element("title", title),
            element("style", style),
        ),
        element("body", element("main", *content), element("script", script)),
        lang="en",
    )
    return f"<!doctype html>\n{write_html(tree)}\n"


@cache
def _part(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

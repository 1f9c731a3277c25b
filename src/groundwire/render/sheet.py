"""What all our HTML pages are made of: one style, one policy, and texts that become no markup."""

import base64
import hashlib
from collections.abc import Iterable
from html import escape
from string import Template

from groundwire.render.screen import visible

_STYLE = """
:root { color-scheme: light dark; --line: #8a8a8a; --soft: #5a5a5a;
  --unsupported: #ffe9a8; --contradicted: #ffc9c9; --ink: #1b1b1b; --paper: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --line: #777777; --soft: #b5b5b5;
  --unsupported: #5c4700; --contradicted: #742222; --ink: #f1f1f1; --paper: #161616; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
a { color: inherit; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.answer { border-left: 3px solid var(--line); padding-left: 1rem; font-size: 1.1rem; }
mark { background: var(--unsupported); color: inherit; padding: 0.1em 0;
  text-decoration: underline; }
mark.contradicted { background: var(--contradicted); text-decoration: underline double; }
mark a { font-size: 0.7em; vertical-align: super; user-select: none; text-decoration: none; }
.wide { overflow-x: auto; }
td .text { min-width: 14rem; }
table { border-collapse: collapse; }
caption { text-align: left; color: var(--soft); }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.8rem 0.4rem 0;
  border-bottom: 1px solid var(--line); }
tr:target, mark:target { outline: 2px solid currentColor; }
figure { margin: 0 0 0.6rem; } blockquote { margin: 0; } figcaption { color: var(--soft); }
footer { margin-top: 2rem; color: var(--soft); }
"""
# The policy names the one style sheet by its hash, so that no text can smuggle in another.
_STYLE_HASH = "sha256-" + base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

_SHEET = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Groundwire: $title</title>
<style>$style</style>
</head>
<body>
<main>
<h1>Groundwire: $title</h1>
$content
</main>
</body>
</html>
""")


def sheet(title: str, content: str) -> str:
    """A page that stands alone: no scripts, nothing loaded, light and dark.

    Args:
        title: A text.
        content: HTML.
    """
    return _SHEET.substitute(
        policy=escape(f"default-src 'none'; style-src '{_STYLE_HASH}'; base-uri 'none'"),
        style=_STYLE,
        title=escaped(title),
        content=content,
    )


def escaped(text: str) -> str:
    """A text as HTML: nothing in it is markup, and nothing acts on the screen."""
    return escape(visible(text))


def section(title: str, content: str) -> str:
    """A part of a page, of HTML."""
    return f"<section><h2>{title}</h2>{content}</section>"


def table(heads: Iterable[str], rows: str, *, caption: str = "") -> str:
    """A table that may be wider than the page, of rows in HTML."""
    cells = "".join(f'<th scope="col">{head}</th>' for head in heads)
    top = f"<caption>{caption}</caption>" if caption else ""
    return (
        f'<div class="wide"><table>{top}<thead><tr>{cells}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )

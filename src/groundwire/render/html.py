"""Fills in the jinja2 templates of pages and reports."""

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from groundwire.render import descriptions
from groundwire.render.terminal import DIM, painter
from groundwire.text.screen import one_line, visible

if TYPE_CHECKING:
    from jinja2 import Environment


def page(template: str, *, style: str = "", script: str = "", **values: Any) -> str:  # noqa: ANN401
    """Return a page that loads no other files.

    The page's Content-Security-Policy allows only its own style and script, identified by hashes.

    Args:
        template: Name of a file in ``templates``; it extends ``page.html``.
        style: CSS of the page, added to the CSS that all pages share.
        script: JavaScript of the page; if it is empty, the page can run no script.
        values: Variables of the template. Texts are escaped; objects with ``__html__`` are markup.
    """
    from markupsafe import Markup

    css = read_part("look.css") + style
    policy = f"default-src 'none'; style-src '{_hash(css)}'; base-uri 'none'"
    if script:
        policy += f"; script-src '{_hash(script)}'; form-action 'none'"
    assets = {"policy": policy, "style": Markup(css), "script": Markup(script)}
    return f"{render(template, **assets, **values)}\n"


def render(template: str, **values: Any) -> str:  # noqa: ANN401
    """Fill in a template of any kind.

    ``values`` are the variables of the template, as in :func:`page`. In a template whose name ends
    in ``.txt``, texts are not escaped for HTML.
    """
    return _templates().get_template(template).render(**values)


def render_text(template: str, *, color: bool = False, **values: Any) -> str:  # noqa: ANN401
    """Fill in a plain-text template, whose name ends in ``.txt``, and strip trailing line ends.

    The template can call ``paint(text, style)``, which adds an ANSI style if ``color`` is true.
    """
    from markupsafe import Markup

    paint = painter(color=color)
    # Markup is printed as it is; in other text, the colour codes would be made visible.
    values["paint"] = lambda text, style=DIM: Markup(paint(str(text), style))
    return render(template, **values).rstrip("\n")


def stream_template(template: str, **values: Any) -> Iterator[str]:  # noqa: ANN401
    """Fill in a template as :func:`render` does, but yield the text piece by piece."""
    return _templates().get_template(template).generate(**values)


def read_part(name: str) -> str:
    """Read a file of the folder ``templates``."""
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


@cache
def _templates() -> "Environment":
    # Imported here, since the import is slow.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(read_part),
        autoescape=lambda name: name is None or not name.endswith(".txt"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    public = {name for name in vars(descriptions) if not name.startswith("_")}
    made.globals.update({name: getattr(descriptions, name) for name in public})
    made.globals["one_line"] = one_line
    return made


def _shown(value: object) -> object:
    return value if hasattr(value, "__html__") else visible(str(value))


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

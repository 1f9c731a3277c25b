"""Trees of elements, from which SVG and XML are written: a text in one is never markup.

The standard library's element tree escapes all there is when it writes, so no template can forget
to; nothing here takes markup as a string.
"""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from groundwire.render import visible

Child = Element | str | None


def element(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Element:
    """An element with children; ``None`` among them is left out.

    >>> write_html(element("td", "<b>", class_="x", data_kind="1 < 2", hidden=True))
    '<td class="x" data-kind="1 < 2" hidden="">&lt;b&gt;</td>'

    Args:
        name: Of the element.
        children: Elements and texts.
        attributes: ``class_`` is ``class``, ``data_kind`` is ``data-kind``; ``None`` and ``False``
            are left out.
    """
    made = Element(name)
    for key, value in attributes.items():
        if value is not None and value is not False:
            text = "" if value is True else visible(str(value))
            made.set(key.rstrip("_").replace("_", "-"), text)
    add(made, *children)
    return made


def add(parent: Element, *children: Child) -> None:
    """Append children."""
    for child in children:
        if isinstance(child, str):
            _add_text(parent, visible(child))
        elif child is not None:
            parent.append(child)


def write_html(tree: Element) -> str:
    """As HTML."""
    return ElementTree.tostring(tree, encoding="unicode", method="html")


def write_xml(tree: Element) -> str:
    """As XML, without a declaration."""
    return ElementTree.tostring(tree, encoding="unicode")


def _add_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text

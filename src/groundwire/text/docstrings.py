"""Reads descriptions of parameters and attributes from docstrings, for help texts."""

import inspect
import re

_SECTION = re.compile(r"^(?:Args|Attributes):\n", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def described(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Split a docstring at ``Args`` or ``Attributes``: the text above, and the entries below."""
    text, *rest = _SECTION.split(inspect.cleandoc(docstring or ""), maxsplit=1)
    # A line break becomes a space, or two spaces before "[default: ...]".
    entries = {
        name: re.sub(r"\n +", " ", re.sub(r"\n +(?=\[default: )", "  ", entry))
        for name, entry in _ENTRY.findall("".join(rest))
    }
    return text.rstrip(), entries

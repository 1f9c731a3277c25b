"""What docstrings say about parameters and attributes, for the help of those who set them."""

import inspect
import re

_SECTION = re.compile(r"^(?:Args|Attributes):\n", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def described(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The text of a docstring, and what its section says about each parameter or attribute."""
    text, *rest = _SECTION.split(inspect.cleandoc(docstring or ""), maxsplit=1)
    # A default is set off from the text by two spaces, also where a line begins with it.
    entries = {
        name: re.sub(r"\n +", " ", re.sub(r"\n +(?=\[default: )", "  ", entry))
        for name, entry in _ENTRY.findall("".join(rest))
    }
    return text.rstrip(), entries

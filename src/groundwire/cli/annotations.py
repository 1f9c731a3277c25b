"""Writes annotations, which GitHub shows beside a change."""

import os
from collections.abc import Iterable

#: Character → its escape in a command for GitHub: in the text, and in a property such as the title.
#: Without escapes, these characters would end the text or the property, or be read as an escape.
_IN_TEXT = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = _IN_TEXT | str.maketrans({":": "%3A", ",": "%2C"})


def wants_github(choice: str) -> bool:
    """Return whether to write annotations for GitHub.

    Args:
        choice: ``github`` (always), ``none`` (never), or ``auto`` (if the command runs on GitHub).
    """
    is_there = os.environ.get("GITHUB_ACTIONS") == "true"
    return choice == "github" or (choice == "auto" and is_there)


def github(messages: Iterable[str], *, title: str) -> list[str]:
    r"""Write messages as errors that GitHub shows beside a change.

    >>> github(["f1 fell\nby 2 %"], title="a: b")
    ['::error title=a%3A b::f1 fell%0Aby 2 %25']
    """
    place = title.translate(_IN_PROPERTY)
    return [f"::error title={place}::{each.translate(_IN_TEXT)}" for each in messages]

"""Makes annotations: messages of a CI run that GitHub shows beside a change."""

from collections.abc import Iterable

#: Character → its escape in the text of a GitHub workflow command. Without escapes, these
#: characters would end the text, or be read as an escape.
_IN_TEXT = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
#: Character → its escape in a property of a GitHub workflow command, such as the title.
_IN_PROPERTY = _IN_TEXT | str.maketrans({":": "%3A", ",": "%2C"})


def github(messages: Iterable[str], *, title: str) -> list[str]:
    r"""Return messages as workflow commands, which GitHub shows as errors beside a change.

    >>> github(["f1 fell\nby 2 %"], title="a: b")
    ['::error title=a%3A b::f1 fell%0Aby 2 %25']
    """
    place = title.translate(_IN_PROPERTY)
    return [f"::error title={place}::{each.translate(_IN_TEXT)}" for each in messages]

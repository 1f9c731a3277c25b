"""Cursors: where a page of a list ends, as an opaque text that gives the next page."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

from groundwire.errors import InputError

#: Our own cursors are shorter.
MAX_CHARS = 2000

_LARGEST = 2**63 - 1  # what a database can hold


class InvalidCursorError(InputError):
    """The cursor did not come with a page."""

    field = "cursor"

    def __str__(self) -> str:
        return (
            "The cursor did not come with a page. Take next of the page before as it is, "
            "or leave the cursor out to begin anew."
        )


def to_cursor(*place: str | int) -> str:
    """Encode a place in a list in characters that a URL may hold."""
    return urlsafe_b64encode(json.dumps(place).encode("ascii")).decode("ascii").rstrip("=")


def read_cursor(cursor: str, *types: type[str] | type[int]) -> tuple[str | int, ...]:
    """Decode a place in a list.

    Args:
        cursor: The text, which anybody may have written.
        types: The types of the values that the place consists of.

    Raises:
        InvalidCursorError: If it is not such a place.
    """
    try:
        place = json.loads(urlsafe_b64decode(cursor[:MAX_CHARS] + "=" * (-len(cursor) % 4)))
        is_sound = tuple(map(type, place)) == types and to_cursor(*place) == cursor
        is_sound = is_sound and all(map(_is_storable, place))
    except (ValueError, TypeError, RecursionError):
        is_sound = False
    if not is_sound:
        raise InvalidCursorError
    return tuple(place)


def _is_storable(value: str | int) -> bool:
    if isinstance(value, int):
        return abs(value) <= _LARGEST
    return "\0" not in value and value.isprintable()

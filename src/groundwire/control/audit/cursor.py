"""Cursors: opaque texts that say where a page of a list ends and the next page begins."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

from groundwire.errors import InputError

#: Limit on the characters of a cursor; longer cursors are refused.
MAX_CHARS = 2000

_LARGEST = 2**63 - 1  # the largest integer that a database can store


class InvalidCursorError(InputError):
    """A text is not a cursor that was returned with a page."""

    field = "cursor"

    def __str__(self) -> str:
        return (
            "The cursor did not come with a page. Take next of the page before as it is, "
            "or leave the cursor out to begin anew."
        )


def to_cursor(*place: str | int) -> str:
    """Encode a position in a list as a text that can be part of a URL."""
    return urlsafe_b64encode(json.dumps(place).encode("ascii")).decode("ascii").rstrip("=")


def read_cursor(cursor: str, *types: type[str] | type[int]) -> tuple[str | int, ...]:
    """Decode the position in a list that a cursor contains; the cursor is untrusted.

    Raises:
        InvalidCursorError: If the text is not the cursor of a position whose values have these
            types, if a number is too large for a database, or if a value has an unprintable
            character.
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

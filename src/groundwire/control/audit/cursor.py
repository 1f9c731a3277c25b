"""Where a page of the trail ends, as a text that a client gives back to have the next one."""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Self

from groundwire.errors import InputError

#: Longer ones are none of ours.
MAX_CHARS = 200

_LARGEST = 2**63 - 1  # what a database has room for
_FORM = re.compile(r"1:(-?\d{1,19}):(\d{1,19}):([^\0]{1,64})", re.ASCII)


class InvalidCursorError(InputError):
    """A cursor is none that a page came with."""

    def __str__(self) -> str:
        return (
            "The cursor is none that a page came with. Take next of the page before as it is, "
            "or leave the cursor out to begin anew."
        )


@dataclass(frozen=True, slots=True, order=True)
class RecordPosition:
    """Where a record stands in the order of time; of equal moments, chains stand one by one."""

    moment: int
    writer: str
    seq: int

    def to_cursor(self) -> str:
        """As a text that says nothing to a reader, of characters that a URL may hold."""
        text = f"1:{self.moment}:{self.seq}:{self.writer}"
        return base64.urlsafe_b64encode(text.encode("utf-8")).decode("ascii").rstrip("=")

    @classmethod
    def of_cursor(cls, cursor: str) -> Self:
        """Read it.

        Raises:
            InvalidCursorError: If it is none.
        """
        found = _FORM.fullmatch(_decoded(cursor))
        if found is None:
            raise InvalidCursorError
        moment, seq, writer = int(found[1]), int(found[2]), found[3]
        if abs(moment) > _LARGEST or seq > _LARGEST:
            raise InvalidCursorError
        return cls(moment, writer, seq)


def _decoded(cursor: str) -> str:
    if len(cursor) > MAX_CHARS:
        raise InvalidCursorError
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        raise InvalidCursorError from None

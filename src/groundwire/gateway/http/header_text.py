"""Writes untrusted text as the value of a header: readable, bounded, and on one line.

Without this encoding, a model's text could end the header's line and begin another header.
"""

import re
from collections.abc import Iterable
from urllib.parse import quote

#: The default limit on the bytes of a header value, including a final ``...``. HaluGate, whose
#: headers the gateway sends, has the same limit.
MAX_BYTES = 500

_CUT = "..."
#: Printable ASCII without characters that have a meaning in the value: "%" begins an escape, ";"
#: separates texts, and "," separates values of a header.
_PLAIN = "".join(each for each in map(chr, range(0x20, 0x7F)) if each not in "%;,")
_SURROGATE = re.compile("[\ud800-\udfff]")
#: Matches a part of a value that a cut must not divide: a separator, or one character, encoded or
#: not.
_UNIT = re.compile("; |%[0-7].|%[C-F].(?:%[89AB].)+|.")


def header_list(texts: Iterable[str], *, max_bytes: int = MAX_BYTES) -> str:
    """Return texts as the value of one header.

    Texts keep their order and are separated by ``"; "``. Printable ASCII stays as it is, except
    ``%``, ``;``, ``,`` and a space as the first or last character of a text. These and all other
    characters are percent-encoded as UTF-8; a lone surrogate becomes U+FFFD first. A value longer
    than ``max_bytes`` is cut between two characters and then ends with ``...``. If the last text
    itself ends with ``...``, its last dot is encoded, so that ``...`` at the end of a value always
    marks a cut.

    Args:
        texts: The texts; empty ones are left out.
        max_bytes: Limit on the bytes of the value; at least 3.

    >>> header_list(["1950", "500 meters"])
    '1950; 500 meters'
    >>> header_list(["naïve; 5,000"])
    'na%C3%AFve%3B 5%2C000'
    """
    # The value is cut at ``max_bytes``, so the rest of a longer text is not needed.
    value = "; ".join(_encoded(text[: max_bytes + 1]) for text in texts if text)
    if value.endswith(_CUT):  # these dots belong to the last text, and mark no cut
        value = f"{value[:-1]}%2E"
    if len(value) <= max_bytes:
        return value
    ends = [0, *(unit.end() for unit in _UNIT.finditer(value))]
    return value[: max(end for end in ends if end <= max_bytes - len(_CUT))] + _CUT


def _encoded(text: str) -> str:
    plain = quote(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text), safe=_PLAIN)
    return re.sub(r"\A | \Z", "%20", plain)

"""Writes untrusted text as the value of a header: readable, bounded, and on one line.

A model's text could end the header's line and begin another header. So everything but printable
ASCII is percent-encoded, and so are the characters that separate texts in the value.
"""

from collections.abc import Iterable, Iterator

#: HaluGate's limit on the bytes of a header value, including the ``...`` of a value that was cut.
MAX_BYTES = 500

_SEPARATOR = "; "
_CUT = "..."
#: ASCII characters with a meaning in the value: "%" begins an escape, ";" separates texts, and ","
#: separates values of a header.
_RESERVED = frozenset("%;,")


def header_list(texts: Iterable[str], *, max_bytes: int = MAX_BYTES) -> str:
    """Return texts as the value of one header.

    Texts keep their order and are separated by ``"; "``. Printable ASCII stays as it is. Other
    characters, ``%``, ``;``, ``,`` and spaces at the ends of a text are percent-encoded as UTF-8;
    a lone surrogate becomes U+FFFD. A value longer than ``max_bytes`` is cut between two
    characters and then ends with ``...``; no other value ends so.

    Args:
        texts: The texts; empty ones are left out.
        max_bytes: The most bytes of the value, at least 3.

    >>> header_list(["1950", "500 meters"])
    '1950; 500 meters'
    >>> header_list(["naïve; 5,000"])
    'na%C3%AFve%3B 5%2C000'
    """
    fitting: list[str] = []
    size = 0
    for unit in _units(texts):
        fitting.append(unit)
        size += len(unit)
        if size > max_bytes:
            return _cut(fitting, size, max_bytes)
    if "".join(fitting[-len(_CUT) :]) == _CUT:
        # The last text itself ends with three dots: encode one, as the value was not cut.
        fitting[-1] = "%2E"
        size += len("%2E") - len(".")
    return _cut(fitting, size, max_bytes) if size > max_bytes else "".join(fitting)


def _units(texts: Iterable[str]) -> Iterator[str]:
    """Yield the pieces that a cut must not divide: separators, and encoded characters."""
    is_first = True
    for text in texts:
        if not text:
            continue
        if not is_first:
            yield _SEPARATOR
        is_first = False
        last = len(text) - 1
        for place, character in enumerate(text):
            yield _encoded(character, is_outer=place in (0, last))


def _encoded(character: str, *, is_outer: bool) -> str:
    is_plain = " " <= character <= "~" and character not in _RESERVED
    if is_plain and not (is_outer and character == " "):
        return character
    known = "�" if "\ud800" <= character <= "\udfff" else character
    return "".join(f"%{byte:02X}" for byte in known.encode())


def _cut(units: list[str], size: int, max_bytes: int) -> str:
    while size + len(_CUT) > max_bytes:
        size -= len(units.pop())
    return "".join(units) + _CUT

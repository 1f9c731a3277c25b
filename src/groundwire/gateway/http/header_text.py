"""Writes untrusted text as the value of a header: readable, bounded, and on one line.

A header is a line. What a model writes could end it and begin another, so everything but plain
ASCII is percent-encoded, and so is what separates one text from the next.
"""

from collections.abc import Iterable, Iterator

#: HaluGate's limit on the bytes of a header value, including the mark of a cut.
MAX_BYTES = 500

_SEPARATOR = "; "
_CUT = "..."
#: ASCII that would be read as something else: an escape, the next text, the next value.
_RESERVED = frozenset("%;,")


def header_list(texts: Iterable[str], *, max_bytes: int = MAX_BYTES) -> str:
    """Texts as the value of one header.

    They stand in order, separated by ``"; "``. Printable ASCII stays as it is; all else, ``%``,
    ``;``, ``,`` and blanks at the ends of a text are the ``%XX`` of their UTF-8. Half a surrogate
    pair becomes U+FFFD. What is longer than ``max_bytes`` is cut between two characters, and only
    then does the value end with ``...``.

    Args:
        texts: The texts; empty ones are left out.
        max_bytes: Longest value, at least 3.

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
        # A text that itself ends with three dots was not cut, and must not look it.
        fitting[-1] = "%2E"
        size += len("%2E") - len(".")
    return _cut(fitting, size, max_bytes) if size > max_bytes else "".join(fitting)


def _units(texts: Iterable[str]) -> Iterator[str]:
    """Yield the pieces that must not be divided: separators, and each character as written."""
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

"""Makes text safe to print: no character of it can act on the screen."""

import re

# Controls but tab and newline; marks that turn the direction, end a line or show nothing; halves
# of surrogate pairs; what no XML may hold. The joiners U+200C and U+200D stay: emoji and several
# scripts need them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Write out every character that would act on the screen instead of showing on it.

    Controls become their pictures, the rest their escapes; tab and newline stay.

    >>> visible("\x1b[2J and \u202e")
    '␛[2J and \\u202e'
    """
    return _UNSAFE.sub(_write_out, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Write a text on one line, safe to print as by :func:`visible`."""
    return visible(" ".join(text.split()))


def _write_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

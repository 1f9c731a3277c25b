"""Makes texts safe to print on a terminal, and formats numbers of things."""

import re

# Matches control characters except tab and newline; characters that change the direction of text;
# Unicode's line and paragraph separators; most invisible characters; lone surrogates; and
# characters that XML forbids. The joiners U+200C and U+200D do not match, because emoji and several
# scripts need them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Replace the characters that could control a terminal, and most invisible ones.

    Of these characters, ASCII control characters become their Unicode pictures, and the others
    become escapes. Tab, newline, and the joiners U+200C and U+200D stay; a carriage return before a
    newline is left out.

    >>> visible("\x1b[2J and \u202e")
    '␛[2J and \\u202e'
    """
    return _UNSAFE.sub(_write_out, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return a text as one line that is safe to print.

    White space becomes single spaces, and :func:`visible` replaces unsafe characters.
    """
    return visible(" ".join(text.split()))


def _write_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def count_of(number: int, what: str) -> str:
    """Format a number of things, such as ``1 key`` or ``2 keys``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"

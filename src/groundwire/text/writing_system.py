"""Checks whether the models of this package can read a text: most letters must be Latin."""

import re
import unicodedata
from functools import lru_cache

#: Highest share of letters that are not Latin, among all letters of a text, at which the models can
#: read the text.
MAX_UNREADABLE = 0.3

_NOT_ASCII = re.compile(r"[^\W\d_\x00-\x7f]")
_LETTER = re.compile(r"[^\W\d_]")
#: Beginnings of the Unicode names of letters that count as Latin.
_LATIN = ("LATIN", "MODIFIER LETTER", "FEMININE", "MASCULINE")
_UNITS = "\u00b5\u03bc\u2126\u03a9"  # micro and ohm, as signs and as Greek letters


def is_readable(text: str) -> bool:
    """Return whether the models of this package, which know English, can read a text.

    Only the script counts: at most 30 % of the letters may be of a script other than Latin.
    """
    if text.isascii():
        return True
    foreign = sum(not _is_latin(letter) for letter in _NOT_ASCII.findall(text))
    return foreign == 0 or foreign <= MAX_UNREADABLE * len(_LETTER.findall(text))


@lru_cache(maxsize=4096)
def _is_latin(letter: str) -> bool:
    # NFKC turns the letters of formulas into ordinary ones: a mathematical bold x counts as x.
    name = unicodedata.name(unicodedata.normalize("NFKC", letter)[0], "")
    return letter in _UNITS or name.startswith(_LATIN)

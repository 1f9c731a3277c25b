"""Decides whether the form of a text allows that it claims nothing.

A model that reads a text without evidence tells claims from remarks such as "Good luck with your
project!". It does not see whether a name or a number is new, so those count as claims here.
"""

import re

from groundwire.detection.asides.known_words import WORD, KnownWords, is_plain
from groundwire.text.quantities import quantities
from groundwire.text.vocabulary import FUNCTION_WORDS

#: The least number of words, unless the text ends like a remark. A shorter text may be the whole
#: answer to a question: "Sydney", "Not reimbursed".
_MIN_WORDS = 3
_CODE = re.compile(r"https?:|www\.|[/\\=<>{}|_@]")
_STARTS = re.compile(r"(?:^|[.!?:\n])[\W_]*$")


def may_be_remark(text: str, known: KnownWords) -> bool:
    """Return whether a text has no number, code or address, and no name that is new.

    Args:
        text: A part of an answer, without citations.
        known: The words of the sources and of the question.
    """
    words = list(WORD.finditer(text))
    if len(words) < _MIN_WORDS and not text.rstrip(" *_").endswith(("!", ":")):
        return False
    if _CODE.search(text) or any(map(str.isdigit, text)) or quantities(text):
        return False
    return all(
        _is_usual(word[0], known) for word in words if not _STARTS.search(text[: word.start()])
    )


def _is_usual(word: str, known: KnownWords) -> bool:
    lower = word.casefold()
    return word == lower or lower in FUNCTION_WORDS or is_plain(lower) or known.has(lower)

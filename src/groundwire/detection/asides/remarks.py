"""Decides whether the form of a text allows that it claims nothing.

A model that reads a text without evidence tells claims from remarks such as "Good luck with your
project!". It does not see whether a name or a number is new, so those count as claims here.
"""

import re

from groundwire.detection.asides.known_words import WORD, KnownWords, is_plain
from groundwire.detection.asides.shape import MARKS
from groundwire.text.quantities import quantities
from groundwire.text.vocabulary import FUNCTION_WORDS, words

#: Words by which the user and the assistant refer to themselves or each other. A text that ends
#: with a full stop is a remark only if it has one: "The red lamp." may be an item of a list. A text
#: that ends with no punctuation is never a remark.
_TALKERS = words("i i'm i've i'd i'll me my we we're we've us our you your you're let let's")
_CODE = re.compile(r"https?:|www\.|[/\\=<>{}|_@]")
#: The end of a sentence, with a smiley or other signs after it.
_END = re.compile(r"[^\w\s]\W*$")
_STARTS = re.compile(r"(?:^|[.!?:\n])[\W_]*$")


def may_be_remark(text: str, known: KnownWords) -> bool:
    """Return whether a text ends like a remark, and has no number, code, address or new name.

    A question may have numbers.

    Args:
        text: A part of an answer, without citations.
        known: The words of the sources and of the question.
    """
    found = list(WORD.finditer(text))
    end = _END.search(text)
    asks = end is not None and "?" in end[0]
    talks = any(word[0].casefold().replace("’", "'") in _TALKERS for word in found)
    if end is None or (end[0].strip(MARKS + ")") in (".", "") and not talks):
        return False
    if not asks and (any(map(str.isdigit, text)) or quantities(text)):
        return False
    if _CODE.search(text):
        return False
    return all(
        _is_usual(word[0], known) for word in found if not _STARTS.search(text[: word.start()])
    )


def _is_usual(word: str, known: KnownWords) -> bool:
    lower = word.casefold()
    return word == lower or lower in FUNCTION_WORDS or is_plain(lower) or known.has(lower)

"""Finds words and regular expressions in texts that strangers wrote.

Words are found by comparing characters. Regular expressions run on RE2, whose time grows with the
length of the text alone: with Python's own ``re`` a prompt of thirty letters can hold a thread for
minutes (``(a+)+$``), and no cap on its length that leaves room for a prompt prevents it.
"""

import unicodedata
from functools import lru_cache
from typing import Any

# Scripts without spaces between words: a word has no edges there.
_SPACELESS = ("CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH", "THAI", "LAO", "KHMER", "MYANMAR")


#: Memory that a pattern of a configuration may take; RE2's own bound.
MAX_PATTERN_BYTES = 8 * 2**20


class PatternError(ValueError):
    """RE2 cannot compile a regular expression."""


def folded(text: str, *, is_case_sensitive: bool) -> str:
    """Normalise a text for comparison: NFKC, and case folded unless case counts.

    Full width letters and ligatures count as the letters they stand for.
    """
    if is_case_sensitive:
        return unicodedata.normalize("NFKC", text)
    # Twice, for folding may take a composed letter apart.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def has_word(text: str, word: str) -> bool:
    """Whether a word stands in a text with no letter, digit or mark right beside it.

    Both are as :func:`folded` gives them. In scripts without spaces it may stand anywhere.

    >>> has_word("is it legal?", "legal"), has_word("illegal", "legal"), has_word("c++", "c++")
    (True, False, True)
    """
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        before = text[start - 1 : start]
        if not (_joins(before, word[0]) or _joins(text[end : end + 1], word[-1])):
            return True
        start = text.find(word, start + 1)
    return False


def has_pattern(text: str, pattern: str, *, is_case_sensitive: bool) -> bool:
    """Whether a regular expression (RE2's syntax) matches somewhere in a text."""
    return _kept(pattern, is_case_sensitive=is_case_sensitive).search(text) is not None


def compile_pattern(
    pattern: str, *, is_case_sensitive: bool, max_bytes: int = MAX_PATTERN_BYTES
) -> Any:  # noqa: ANN401 - no types
    """Compile a regular expression.

    Args:
        pattern: The expression, in RE2's syntax.
        is_case_sensitive: Whether case counts.
        max_bytes: Bytes of memory that it may take.

    Raises:
        PatternError: If it is no regular expression, takes more memory, or has back references or
            lookaround, which RE2 does not offer.
    """
    import re2  # only a configuration with a regular expression needs it

    options = re2.Options()
    options.case_sensitive = is_case_sensitive
    options.log_errors = False
    options.max_mem = max_bytes
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "it cannot be read"
        raise PatternError(reason.decode() if isinstance(reason, bytes) else str(reason)) from error


#: Compiles patterns of a configuration, once each; those of requests are not cached.
_kept = lru_cache(maxsize=1024)(compile_pattern)


def _joins(neighbour: str, edge: str) -> bool:
    """Whether two neighbouring characters belong to one word."""
    return _is_of_word(neighbour) and _is_of_word(edge)


@lru_cache(maxsize=8192)
def _is_of_word(character: str) -> bool:
    if not character:
        return False
    if unicodedata.category(character)[0] == "M" or character == "_":
        return True
    if not character.isalnum():
        return False
    return not unicodedata.name(character, "").startswith(_SPACELESS)

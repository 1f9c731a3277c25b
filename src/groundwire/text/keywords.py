"""Finds words, and matches of regular expressions, in untrusted texts.

Regular expressions run on RE2, whose time is linear in the length of the text. With Python's
``re``, a prompt of thirty letters can keep a thread busy for minutes (``(a+)+$``).
"""

import unicodedata
from functools import lru_cache
from typing import Any

# First words of the Unicode names of letters, for scripts that put no spaces between words. A
# keyword in such a script may have letters right beside it.
_SPACELESS = ("CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH", "THAI", "LAO", "KHMER", "MYANMAR")

#: Default limit of :func:`compile_pattern` on a pattern's memory, in bytes; also RE2's default.
MAX_PATTERN_BYTES = 8 * 2**20


class PatternError(ValueError):
    """RE2 cannot compile a regular expression."""


def folded(text: str, *, is_case_sensitive: bool) -> str:
    """Normalise a text for comparison: NFKC, and case folded unless case counts.

    Full-width letters and ligatures become ordinary letters.
    """
    if is_case_sensitive:
        return unicodedata.normalize("NFKC", text)
    # Normalise again, because folding case may decompose a letter.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def has_word(text: str, word: str) -> bool:
    """Return whether a word is in a text, and not only as a part of longer words.

    ``text`` and ``word`` must come from :func:`folded`. In scripts without spaces between words,
    the word may stand anywhere.

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
    """Return whether a regular expression, in RE2's syntax, matches somewhere in a text.

    Raises:
        PatternError: If RE2 cannot compile the expression.
    """
    return _compile_once(pattern, is_case_sensitive=is_case_sensitive).search(text) is not None


def compile_pattern(
    pattern: str, *, is_case_sensitive: bool, max_bytes: int = MAX_PATTERN_BYTES
) -> Any:  # noqa: ANN401 - no types
    """Compile a regular expression.

    Args:
        pattern: The expression, in RE2's syntax, which has no back references and no lookaround.
        is_case_sensitive: Whether case counts.
        max_bytes: Bytes of memory that the compiled pattern may take.

    Raises:
        PatternError: If RE2 cannot compile the expression within ``max_bytes``.
    """
    import re2  # imported here, because many runs compile no pattern

    options = re2.Options()
    options.case_sensitive = is_case_sensitive
    options.log_errors = False
    options.max_mem = max_bytes
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "it cannot be read"
        raise PatternError(reason.decode() if isinstance(reason, bytes) else str(reason)) from error


# This cache is only for patterns of configurations: those that come in requests must not fill it.
_compile_once = lru_cache(maxsize=1024)(compile_pattern)


def _joins(neighbour: str, edge: str) -> bool:
    """Return whether two neighbouring characters belong to one word."""
    return _is_of_word(neighbour) and _is_of_word(edge)


@lru_cache(maxsize=8192)
def _is_of_word(character: str) -> bool:
    if character == "_" or (character and unicodedata.category(character)[0] == "M"):
        return True
    return character.isalnum() and not unicodedata.name(character, "").startswith(_SPACELESS)

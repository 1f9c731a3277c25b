"""Identifies the language of a short text, by its script or else by its commonest words.

Where it cannot tell, it returns ``None`` rather than guess. Models of letter sequences were weighed
for this (py3langid): on prompts of five words they name a wrong language with confidence ("When was
Einstein born?" is German to it), and loading one takes longer than loading the reader. Prompts are
short, and nearly every sentence of them has a question word, an article or a preposition.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from pathlib import Path

from groundwire.text.word_lists import read_lists

_LISTS = read_lists(Path(__file__).with_suffix(".txt"))
#: The commonest words of languages in Latin letters, by their ISO 639-1 code.
WORDS = {code: frozenset(words.split()) for code, words in _LISTS.items()}

_SCRIPTS = (
    "HANGUL ko, GREEK el, HEBREW he, THAI th, ARMENIAN hy, GEORGIAN ka, TAMIL ta, TELUGU te, "
    "KANNADA kn, MALAYALAM ml, GUJARATI gu, BENGALI bn, LAO lo, KHMER km, MYANMAR my, HIRAGANA ja, "
    "KATAKANA ja, CJK zh"
)
#: Scripts in which nearly all texts of today are of one language.
_OF_SCRIPT = dict(pair.split() for pair in _SCRIPTS.split(", "))
_UKRAINIAN = frozenset("іїєґ")
_RUSSIAN = frozenset("ыэёъ")
_PERSIAN = frozenset("پچژگ")

#: Languages that a condition may name.
LANGUAGES = tuple(sorted({*WORDS, *_OF_SCRIPT.values(), "ar", "fa", "ru", "uk"}))

#: Characters of a text that are looked at: enough to tell, and a bound on the work.
MAX_CHARS = 2_000

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def identify(text: str) -> str | None:
    """Identify the language of a text: an ISO 639-1 code of :data:`LANGUAGES`, or ``None``.

    >>> identify("When was Einstein born?"), identify("Wann wurde Einstein geboren?")
    ('en', 'de')
    >>> identify("Berlin") is None
    True
    """
    text = unicodedata.normalize("NFC", text[:MAX_CHARS])
    letters = [letter for letter in text.casefold() if letter.isalpha()]
    if not letters:
        return None
    scripts = Counter(map(_script, letters))
    script, count = scripts.most_common(1)[0]
    if script in {"CJK", "HIRAGANA", "KATAKANA"}:
        # Japanese mixes its own letters with Han; Chinese has none of them.
        kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
        script, count = ("HIRAGANA" if kana else "CJK"), kana + scripts["CJK"]
    if 2 * count <= len(letters):
        return None
    if script == "LATIN":
        return _by_words(text)
    if script == "CYRILLIC":
        return _by_letters(letters, {"uk": _UKRAINIAN, "ru": _RUSSIAN})
    if script == "ARABIC":
        return "fa" if _PERSIAN.intersection(letters) else "ar"
    return _OF_SCRIPT.get(script)


def _by_words(text: str) -> str | None:
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
    counts = {code: sum(word in known for word in words) for code, known in WORDS.items()}
    best, second = sorted(counts, key=counts.__getitem__, reverse=True)[:2]
    # Related languages share words: only a lead tells them apart.
    return best if counts[best] > counts[second] else None


def _by_letters(letters: list[str], signs: dict[str, frozenset[str]]) -> str | None:
    found = [code for code, own in signs.items() if own.intersection(letters)]
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]

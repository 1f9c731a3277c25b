"""Identifies the language of a short text by its script and letters; in Latin script, by its words.

Common words are enough, because nearly every sentence, however short, has a question word, an
article or a preposition. A model of letter sequences (py3langid) was tried and rejected: on prompts
of five words it is confident and wrong (for "When was Einstein born?" it answers German), and it
loads slowly.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from pathlib import Path

from groundwire.text.word_lists import read_lists, read_word_sets

_NUMERALS = [*map(str.split, read_lists(Path(__file__).with_name("numerals.txt")).values())]
_NUMBERS = (*range(2, 21), *range(30, 101, 10))
#: The commonest words of languages in Latin letters, by the ISO 639-1 code of the language.
WORDS = read_word_sets(Path(__file__).with_suffix(".txt"))
_FOREIGN = frozenset().union(*(known for code, known in WORDS.items() if code != "en"))

_SCRIPTS = (
    "HANGUL ko, GREEK el, HEBREW he, THAI th, ARMENIAN hy, GEORGIAN ka, TAMIL ta, TELUGU te, "
    "KANNADA kn, MALAYALAM ml, GUJARATI gu, BENGALI bn, LAO lo, KHMER km, MYANMAR my, HIRAGANA ja, "
    "KATAKANA ja, CJK zh"
)
#: First word of the Unicode names of a script's letters → code of the language that is assumed for
#: the script. Hardly any other language uses the script; CJK beside kana is Japanese.
_OF_SCRIPT = dict(pair.split() for pair in _SCRIPTS.split(", "))
#: Code of a language in Cyrillic letters → letters that the other language does not have.
_CYRILLIC = {"uk": frozenset("іїєґ"), "ru": frozenset("ыэёъ")}
_PERSIAN = frozenset("پچژگ")

#: ISO 639-1 codes of all languages that :func:`identify` can return.
LANGUAGES = tuple(sorted({*WORDS, *_OF_SCRIPT.values(), "ar", "fa", "ru", "uk"}))

#: Number of characters that are read at the beginning of a text to identify its language.
MAX_CHARS = 2_000

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
#: Matches a word that only white space separates from the next word, unlike in a list of names.
_FLOWING = re.compile(rf"(?<![\w'’.-])({_WORD.pattern})(?=[ \n]+\w)")
#: The same for a word that begins a sentence, after the end of another sentence or a colon.
_AT_START = re.compile(rf"[.!?:]\s({_WORD.pattern})(?=[ \n]+\w)")
#: Lowest number of different common words of one other language at which a text counts as foreign.
#: This limit separated sixty short texts in English and seven other languages without an error.
_MIN_FOREIGN = 2
#: The limit in place of ``_MIN_FOREIGN`` for texts of more than ``_SHORT_CHARS`` characters, since
#: these may contain lists of foreign names.
_MIN_FOREIGN_LONG, _SHORT_CHARS = 4, 200
# In a short text, all lower-case words with accents and more than this number of characters count
# together as one common word.
_SMALL_CHARS = 3


def identify(text: str) -> str | None:
    """Identify the language of a text, by its code in :data:`LANGUAGES`; ``None`` in doubt.

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
        # Japanese mixes kana with Han characters; Chinese has no kana.
        kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
        script, count = ("HIRAGANA" if kana else "CJK"), kana + scripts["CJK"]
    if 2 * count <= len(letters):
        return None
    if script == "LATIN":
        return _by_words(text)
    if script == "CYRILLIC":
        found = [code for code, own in _CYRILLIC.items() if own.intersection(letters)]
        return found[0] if len(found) == 1 else None
    if script == "ARABIC":
        return "fa" if _PERSIAN.intersection(letters) else "ar"
    return _OF_SCRIPT.get(script)


def is_foreign(text: str) -> bool:
    """Return whether a text in Latin letters is in a language other than English; false in doubt.

    Foreign names in an English text do not make it foreign. Common words of the other language
    count only if they are in lower case or begin a sentence, and if only spaces or line breaks
    separate them from the next word, unlike words in a list of names. In a short text, lower-case
    words with accents count too.

    >>> is_foreign("Der Turm ist 330 Meter hoch."), is_foreign("Die Zeit and La Repubblica agree.")
    (True, False)
    """
    text = unicodedata.normalize("NFC", text[:MAX_CHARS])
    flowing = _FLOWING.findall(text)
    first = flowing[:1] if _FLOWING.match(text) else []
    counted = {*filter(str.islower, flowing), *first, *_AT_START.findall(text)}
    found = {word.casefold().replace("’", "'") for word in counted}
    n_english, is_short = len(found & WORDS["en"]), len(text) <= _SHORT_CHARS
    if len(found & _FOREIGN) + is_short <= 2 * n_english:
        return False  # even the words of all other languages together are too few
    most = max(len(found & known) for code, known in WORDS.items() if code != "en")
    small = (word for word in flowing if word.islower() and len(word) > _SMALL_CHARS)
    most += is_short and not all(word.replace("’", "'").isascii() for word in small)
    return most >= (_MIN_FOREIGN if is_short else _MIN_FOREIGN_LONG) and most > 2 * n_english


def writes_out(text: str, figure: str) -> bool:
    """Return whether a text contains the word for a number in a language other than English.

    ``figure`` is the number in digits: 2 to 20, or a multiple of ten up to 100; for other numbers,
    the result is false. The word may be a part of a longer word.

    >>> writes_out("Sie beträgt sechs Monate.", "6")
    True
    """
    if not figure.isdecimal() or int(figure) not in _NUMBERS:
        return False
    at = _NUMBERS.index(int(figure))
    return any(numerals[at].casefold() in text.casefold() for numerals in _NUMERALS)


def _by_words(text: str) -> str | None:
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
    counts = {code: sum(word in known for word in words) for code, known in WORDS.items()}
    best, second = sorted(counts, key=counts.__getitem__, reverse=True)[:2]
    return best if counts[best] > counts[second] else None


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]

"""Finds cues in prompts: words that say what a prompt asks for, in any of nine languages.

``cues.txt`` lists the words of all these languages by cue: *who*, *wer*, *qui* and *誰* are the cue
``who``. So a classifier that learned a cue from English prompts also knows it in German, French,
Spanish, Italian, Portuguese, Dutch, Chinese and Japanese.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from groundwire.text.word_lists import read_lists, read_word_sets

_MARKS = re.compile(r"[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+(?:['’\-+][^\W_]+)*|[^\w\s]")
#: Matches a Japanese or Chinese character; these scripts put no space between words.
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")


def plain(text: str) -> str:
    """Normalise a text for comparison with the word lists.

    Case and compatibility characters are folded, letters lose their accents, and ``’`` becomes
    ``'``. The result is in NFD.
    """
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return _MARKS.sub("", unicodedata.normalize("NFD", folded))


def words(text: str) -> list[str]:
    """Return the words and punctuation marks of a normalised text, in order."""
    return _WORD.findall(text)


def language(plain_words: list[str]) -> str:
    """Guess the language of normalised words: an ISO 639-1 code or ``other``.

    If more than 30 % of the words that begin with a letter are not ASCII, the result is ``ja``,
    ``zh`` or ``other``. Otherwise it is the language whose common words (:func:`common_words`)
    occur most, or ``en`` if none occurs.

    >>> [language(words(plain(text))) for text in ("Who wrote it?", "Wer war das?", "谁写的?")]
    ['en', 'de', 'zh']
    """
    letters = [word for word in plain_words if word[0].isalpha()]
    if sum(not word.isascii() for word in letters) > 0.3 * len(letters):
        if any(_KANA.search(word) for word in letters):
            return "ja"
        return "zh" if any(WIDE.search(word) for word in letters) else "other"
    parts = [word.partition("'")[0] for word in letters]
    lists = common_words().items()
    found = {name: sum(part in common for part in parts) for name, common in lists}
    return max(found, key=lambda name: found[name])  # the first language if counts are equal


@cache
def common_words() -> dict[str, frozenset[str]]:
    """Read common words of the languages in Latin script, by the code of the language."""
    return read_word_sets(Path(__file__).with_name("cues_languages.txt"))


@cache
def read_cues() -> dict[str, tuple[str, ...]]:
    """Read the cues and their words from ``cues.txt``."""
    lists = read_lists(Path(__file__).with_suffix(".txt"))
    return {cue: tuple(listed.split(", ")) for cue, listed in lists.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """The listed words of all cues, grouped by the way in which a text is searched for them.

    Attributes:
        whole: Map from a word to the cues under which it is listed.
        prefixes: Map from two letters to the listed beginnings of words that start with them, each
            with its cue.
        runs: Map from the first word of a phrase to the words that must follow, with the cue.
        parts: Chinese and Japanese texts, each with its cue; they may stand within a word.
    """

    whole: dict[str, list[str]]
    prefixes: dict[str, list[tuple[str, str]]]
    runs: dict[str, list[tuple[list[str], str]]]
    parts: list[tuple[str, str]]


@cache
def _table() -> _Table:
    table = _Table({}, {}, {}, [])
    for cue, listed in read_cues().items():
        for text in dict.fromkeys(map(plain, listed)):
            first, *others = words(text)
            if WIDE.search(text):
                table.parts.append((text, cue))
            elif text.endswith("*"):
                table.prefixes.setdefault(text[:2], []).append((text[:-1], cue))
            elif others:
                table.runs.setdefault(first, []).append((others, cue))
            else:
                table.whole.setdefault(text, []).append(cue)
    return table


def cues(plain_words: list[str]) -> Iterator[tuple[int, str]]:
    """Yield, for each cue in the words of a normalised text, the index of its word and the cue.

    For a phrase, the index is that of its first word. A listed text in Chinese or Japanese is found
    only once, where it occurs first.

    >>> sorted(cues(words(plain("Wer malte das Bild?"))))
    [(0, 'who')]
    """
    table = _table()
    for place, word in enumerate(plain_words):
        for cue in table.whole.get(word, ()):
            yield place, cue
        for prefix, cue in table.prefixes.get(word[:2], ()):
            if word.startswith(prefix):
                yield place, cue
        for others, cue in table.runs.get(word, ()):
            if plain_words[place + 1 : place + 1 + len(others)] == others:
                yield place, cue
    line = " ".join(plain_words)
    if WIDE.search(line):
        for text, cue in table.parts:
            if (found := line.find(text)) >= 0:
                yield line.count(" ", 0, found), cue

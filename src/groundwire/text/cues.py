"""Words that tell what a prompt wants, alike in several languages.

The embedded encoder reads English. What a prompt asks for is said by few words in any language:
*who*, *wer*, *qui*, *誰* are one cue. What a head learns of a cue from English prompts so holds for
the others. English, German, French, Spanish, Italian, Portuguese, Dutch, Chinese and Japanese.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from groundwire.text.word_lists import read_lists

_MARKS = re.compile(r"[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+(?:['’\-+][^\W_]+)*|[^\w\s]")
#: Characters of scripts that put no space between words.
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")


def plain(text: str) -> str:
    """Lower case, one form of each letter, no accents on Latin letters, no other apostrophe."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return _MARKS.sub("", unicodedata.normalize("NFD", folded))


def words(text: str) -> list[str]:
    """Words and marks of a plain text, in order."""
    return _WORD.findall(text)


def language(plain_words: list[str]) -> str:
    """The language that words are most likely of, as ISO 639-1 names it; in doubt English.

    >>> [language(words(plain(text))) for text in ("Who wrote it?", "Wer war das?", "谁写的?")]
    ['en', 'de', 'zh']
    """
    letters = [word for word in plain_words if word[0].isalpha()]
    if sum(not word.isascii() for word in letters) > 0.3 * len(letters):
        if any(_KANA.search(word) for word in letters):
            return "ja"
        return "zh" if any(WIDE.search(word) for word in letters) else "other"
    parts = [word.partition("'")[0] for word in letters]
    found = {name: sum(part in common for part in parts) for name, common in _common().items()}
    return max(found, key=lambda name: found[name])  # the first of the best, and that is English


def is_english(plain_words: list[str]) -> bool:
    """Whether words may be English."""
    return language(plain_words) == "en"


@cache
def _common() -> dict[str, frozenset[str]]:
    lists = read_lists(Path(__file__).with_name("cues_languages.txt"))
    return {name: frozenset(listed.split()) for name, listed in lists.items()}


@cache
def read_cues() -> dict[str, tuple[str, ...]]:
    """The cues and their words, as ``cues.txt`` lists them."""
    lists = read_lists(Path(__file__).with_suffix(".txt"))
    return {cue: tuple(listed.split(", ")) for cue, listed in lists.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Cues by what they are found by.

    Attributes:
        whole: By a word.
        prefixes: By the first two letters of a word, with all that it has to begin with.
        runs: By the first of several words, with the others.
        parts: In scripts without spaces: found anywhere.
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
    """Cues among the words of a plain text, each with the number of the word it begins at.

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

"""Reads word lists from text files, which stand beside the code that uses them."""

import re
from pathlib import Path

_LIST = re.compile(r"^([^\s#:][^:\n]*): (.*(?:\n[ ].*)*)", re.MULTILINE)


def read_lists(path: Path) -> dict[str, str]:
    """Read the word lists of a file: a map from the name of each list to its words.

    A list is ``name: words``; indented lines continue it. Lines that begin with ``#`` are comments.
    """
    return dict(_LIST.findall(path.read_text(encoding="utf-8")))


def read_word_sets(path: Path) -> dict[str, frozenset[str]]:
    """Read lists of single words: a map from the name of each list to the set of its words."""
    return {name: frozenset(words.split()) for name, words in read_lists(path).items()}

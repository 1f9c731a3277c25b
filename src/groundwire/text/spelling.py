"""Guesses which known word was meant by a mistyped word."""

from collections.abc import Collection


def guess(word: str, known: Collection[str]) -> str:
    """Return the known word that is closest to a word; empty if no known word is close."""
    from difflib import get_close_matches  # imported here: few runs need it, and it takes 1 ms

    close = get_close_matches(word.lower(), [each.lower() for each in known], n=1, cutoff=0.6)
    return next((each for each in known if close and each.lower() == close[0]), "")


def did_you_mean(word: str, known: Collection[str]) -> str:
    """Return a question with the closest known word; empty if no known word is close.

    >>> did_you_mean("anwser", ["question", "answer"])
    " Did you mean 'answer'?"
    """
    found = guess(word, known)
    return f" Did you mean {found!r}?" if found else ""

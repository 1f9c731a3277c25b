"""Cuts sentences that are too long to be one claim."""

import unicodedata

#: A claim has at most this many characters; a longer sentence is cut.
MAX_CLAIM_CHARS = 600
# A cut within a word moves back by fewer characters than this, to keep a letter and its accents
# together.
_CLUSTER_CHARS = 16


def forced_cut(text: str, start: int, limit: int) -> int:
    """Find where to cut a sentence that is too long to be one claim.

    The cut is at the last white space up to ``limit``, or else at or just before ``limit``.
    """
    words = text[start : limit + 1].rsplit(None, 1)
    if text[limit].isspace():
        return limit
    if len(words) == 2:
        return limit - len(words[1])
    for stop in range(limit, limit - _CLUSTER_CHARS, -1):
        if not _joins(text[stop - 1], text[stop]):
            return stop
    return limit


def _joins(before: str, after: str) -> bool:
    """Return whether a cut between two characters would divide a letter or an emoji."""
    return (
        unicodedata.category(after)[0] == "M"
        or "\u200d" in (before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"
    )

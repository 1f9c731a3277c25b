"""What is read of a prompt to tell what it is about: both ends of a long one, and what came before.

Not by the detector, which gets the question as it is.
"""

#: Characters of a prompt that are read, half of them at each end.
MAX_CHARS = 4_000
# "Thanks! And the second one?" is about what was asked before.
_FEW_WORDS = 6


def both_ends(prompt: str, most: int = MAX_CHARS) -> str:
    r"""The beginning and the end of a prompt: what is wanted stands there, and time is bounded.

    >>> both_ends("abcdefgh", most=4)
    'ab\ngh'
    """
    if len(prompt) <= most:
        return prompt
    return f"{prompt[: most // 2]}\n{prompt[-(most // 2) :]}"


def with_previous(question: str, previous: str | None) -> str | None:
    """A short question after the one before it, which may say what it is about.

    Returns:
        ``None`` if the question is long enough to stand alone, or nothing was asked before.
    """
    if not previous or len(question.split(maxsplit=_FEW_WORDS)) > _FEW_WORDS:
        return None
    return f"{both_ends(previous)}\n{question}"

"""Shortens prompts for models that judge what a prompt is about.

The detector does not use it: it gets the question as it is.
"""

#: Characters of a prompt that are read, half of them at each end.
MAX_CHARS = 4_000
# A question of so few words may be about the one before: "Thanks! And the second one?"
_FEW_WORDS = 6


def both_ends(prompt: str, most: int = MAX_CHARS) -> str:
    r"""Join the beginning and the end of a long prompt, where the request usually stands.

    >>> both_ends("abcdefgh", most=4)
    'ab\ngh'
    """
    if len(prompt) <= most:
        return prompt
    return f"{prompt[: most // 2]}\n{prompt[-(most // 2) :]}"


def with_previous(question: str, previous: str | None) -> str | None:
    """Put the previous question before a short one, which may be about it.

    Returns:
        ``None`` if the question is long enough to stand alone, or nothing was asked before.
    """
    if not previous or len(question.split(maxsplit=_FEW_WORDS)) > _FEW_WORDS:
        return None
    return f"{both_ends(previous)}\n{question}"

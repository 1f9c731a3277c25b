"""Prepares prompts for classifiers: shortens them, or adds the previous question."""

#: Limit on the characters of a prompt that the models read: half of them at each end.
MAX_CHARS = 4_000
# A question of at most this many words may refer to the previous question: "And the second one?"
_FEW_WORDS = 6


def both_ends(prompt: str, most: int = MAX_CHARS) -> str:
    r"""Shorten a prompt of more than ``most`` characters to its ends, where the request usually is.

    >>> both_ends("abcdefgh", most=4)
    'ab\ngh'
    """
    if len(prompt) <= most:
        return prompt
    return f"{prompt[: most // 2]}\n{prompt[-(most // 2) :]}"


def with_previous(question: str, previous: str | None) -> str | None:
    """Put the previous question before a short question, which may refer to it.

    Returns:
        The previous question, shortened if it is long, and the question on the next line; ``None``
        if the question has more than six words, or there is no previous question.
    """
    if not previous or len(question.split(maxsplit=_FEW_WORDS)) > _FEW_WORDS:
        return None
    return f"{both_ends(previous)}\n{question}"

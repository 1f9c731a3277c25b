"""Tells which sentences of a paragraph ask, instruct or inform, and which may be evidence."""

from collections.abc import Iterator

from groundwire.pipeline.conversation import wording
from groundwire.pipeline.conversation.roles import Names, PartRole
from groundwire.pipeline.conversation.wording import Wording

#: Limit on the characters of an aside (a short question or order in a section of evidence), and of
#: a user's paragraph that may be a claim to judge.
MAX_ASIDE_CHARS = 300
_MAX_ASIDE_SENTENCES = 3
#: Number of words that a paragraph of statements needs to be marked as evidence, unless one of the
#: two lower numbers below applies.
_OWN_WORDS = 8
#: Number of words that a user's paragraph of statements needs to be marked as evidence if it has a
#: digit.
_OWN_WORDS_WITH_FIGURE = 5
#: Number of words that a user's paragraph of statements needs to be marked as evidence if it stands
#: after a heading, label or tag.
_HEADED_WORDS = 3
_ANNOUNCED = (PartRole.INFORM, PartRole.EXAMPLE, PartRole.INSTRUCT, PartRole.HISTORY)


def wordings_of(
    text: str, names: Names, *, is_user: bool, is_claim: bool
) -> tuple[list[tuple[int, int, Wording]], PartRole | None]:
    """Tell what each sentence of a paragraph does, and which role the paragraph announces.

    The announced role is that of the part of the prompt after the paragraph. ``is_claim`` is true
    if the user asks whether the paragraph is true.

    Returns:
        Start, end and wording of each sentence; and the announced role, or ``None``.
    """
    announced: PartRole | None = None
    wordings: list[tuple[int, int, Wording]] = []
    for first, last in wording.sentences_of(text):
        sentence = text[first:last]
        does = wording.wording_of(sentence, is_user=is_user)
        if does is Wording.INFORMS and is_claim:
            does = Wording.ASKS
        if does is None or (does is Wording.INFORMS and wordings and wording.goes_on(sentence)):
            does = wordings[-1][2] if wordings else Wording.INSTRUCTS
        role = names.announced_role(sentence)
        if role in _ANNOUNCED:
            announced = role if announced is not PartRole.INFORM else announced
            does = Wording.INSTRUCTS
        wordings.append((first, last, does))
    return wordings, announced


def wanted_words(text: str, *, is_user: bool, is_structured: bool) -> int:
    """Return how many words a paragraph of statements needs to be marked as evidence."""
    if not is_user:
        return _OWN_WORDS
    if is_structured:
        return _HEADED_WORDS
    return _OWN_WORDS_WITH_FIGURE if any(map(str.isdigit, text)) else _OWN_WORDS


def may_be_aside(text: str, n_sentences: int) -> bool:
    """Return whether a paragraph is short enough to be a question or an order beside evidence."""
    is_brief = n_sentences <= _MAX_ASIDE_SENTENCES or wording.has_choices(text)
    return len(text) <= MAX_ASIDE_CHARS and is_brief


def states_nothing(text: str, ranges: list[tuple[int, int]], *, is_user: bool) -> bool:
    """Return whether a paragraph states no fact.

    It states none if it ends with a question and its choices, or if no sentence informs by its
    wording. ``ranges`` has the ranges of the paragraph's sentences in ``text``, the whole prompt.
    """
    if ranges and wording.has_choices(text[ranges[0][0] : ranges[-1][1]]):
        return True
    wordings = (wording.wording_of(text[first:last], is_user=is_user) for first, last in ranges)
    return all(each is not Wording.INFORMS for each in wordings)


def evidence_runs(
    start: int, ranges: list[tuple[int, int]], of_task: list[bool]
) -> Iterator[tuple[Wording, int, int]]:
    """Divide a paragraph into instructions and the runs of evidence between them.

    Yields the :class:`.Wording`, start and end of each part, in order; a run may be empty.
    ``start`` is the offset of the paragraph, and ``ranges`` has the ranges of the sentences to
    divide. ``of_task`` tells for each sentence whether it is about the model's task.
    """
    for (first, last), is_of_task in zip(ranges, of_task, strict=False):
        if is_of_task:
            yield Wording.INFORMS, start, first
            yield Wording.INSTRUCTS, first, last
            start = last
    if ranges:
        yield Wording.INFORMS, start, ranges[-1][1]

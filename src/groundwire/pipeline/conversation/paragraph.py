"""A paragraph that nothing names: what its sentences do, and from when on it is evidence."""

from collections.abc import Iterator

from groundwire.pipeline.conversation.roles import Names, Role
from groundwire.pipeline.conversation.wording import Wording, goes_on, sentences_of, wording_of

#: A paragraph that only states something is evidence from so many words on.
_OWN_WORDS = 8
#: Such a paragraph with a figure in it counts from so many words on.
_OWN_WORDS_WITH_FIGURE = 5
#: Such a paragraph below a heading of a user counts from so many words on.
_HEADED_WORDS = 3
_ANNOUNCED = (Role.INFORM, Role.EXAMPLE, Role.INSTRUCT, Role.HISTORY)


def wordings_of(
    text: str, names: Names, *, is_user: bool, is_claim: bool
) -> tuple[list[tuple[int, int, Wording]], Role | None]:
    """What each sentence of a paragraph does, and the role that one gives to what follows.

    Args:
        text: The paragraph.
        names: The names of parts that are known.
        is_user: Whether a user says it.
        is_claim: Whether it is asked if what it states is true.
    """
    announced: Role | None = None
    wordings: list[tuple[int, int, Wording]] = []
    for first, last in sentences_of(text):
        sentence = text[first:last]
        wording = wording_of(sentence, is_user=is_user)
        if wording is Wording.INFORMS and is_claim:
            wording = Wording.ASKS
        if wording is None or (wording is Wording.INFORMS and wordings and goes_on(sentence)):
            wording = wordings[-1][2] if wordings else Wording.INSTRUCTS
        role = names.announced_role(sentence)
        if role in _ANNOUNCED:
            announced = role if announced is not Role.INFORM else announced
            wording = Wording.INSTRUCTS
        wordings.append((first, last, wording))
    return wordings, announced


def wanted_words(text: str, *, is_user: bool, is_structured: bool) -> int:
    """The number of words from which a paragraph that states something is evidence."""
    if not is_user:
        return _OWN_WORDS
    if is_structured:
        return _HEADED_WORDS
    return _OWN_WORDS_WITH_FIGURE if any(map(str.isdigit, text)) else _OWN_WORDS


def states_nothing(text: str, ranges: list[tuple[int, int]], *, is_user: bool) -> bool:
    """Whether sentences may be the question, or orders, beside the evidence."""
    wordings = (wording_of(text[first:last], is_user=is_user) for first, last in ranges)
    return all(each is not Wording.INFORMS for each in wordings)


def told(
    start: int, ranges: list[tuple[int, int]], of_task: list[bool]
) -> Iterator[tuple[Wording, int, int]]:
    """Runs of sentences of evidence, and single ones between them that speak to the model.

    Args:
        start: Where the first run begins.
        ranges: The sentences.
        of_task: Whether each speaks to the model.
    """
    for (first, last), is_of_task in zip(ranges, of_task, strict=False):
        if is_of_task:
            yield Wording.INFORMS, start, first
            yield Wording.INSTRUCTS, first, last
            start = last
    if ranges:
        yield Wording.INFORMS, start, ranges[-1][1]

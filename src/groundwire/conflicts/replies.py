"""What a line says as a whole: all words of a claim, or a short answer with its question."""

from groundwire.conflicts.basis import STATED, Basis, quantities_in
from groundwire.explain.held import Text

_MOST_WORDS = 2
_LINES = 3
#: What a question has to ask about: "Which year?" names nothing that a line could be known by.
_MIN_ASKED = 2
#: Share of what is asked about that a line has, if it is the one that is meant.
_ASKED = 0.75


def contained(claim: Text, lines: tuple[Text, ...], _: Basis) -> tuple[tuple[int, int], ...]:
    """The whole of a claim, if one line has all of its words, and states all of its quantities.

    "It is 330 m tall" of "The tower is 330 metres tall". Of 696 such claims in validation answers,
    of which no rule finds anything wrong, 2 % are marked.
    """
    stated = quantities_in(claim)
    said = frozenset(
        word.stem
        for word in claim.words
        if word.is_content and not any(q.start <= word.start < q.end for q in stated)
    )
    if len(said) + len(stated) < _MIN_ASKED:
        return ()
    for line in lines[:_LINES]:
        has_all = said <= line.content and all(line.index.match(q) in STATED for q in stated)
        if has_all and line.has_negation == claim.has_negation:
            return ((claim.words[0].start, claim.words[-1].end),)
    return ()


def replied(claim: Text, lines: tuple[Text, ...], basis: Basis) -> tuple[tuple[int, int], ...]:
    """The whole of a short answer, if a line has it and nearly all that the question asks about.

    "Canberra" to "What is the capital?" is what "Canberra is the capital of Australia." says; a
    model has little to go by in one word.
    """
    if not 0 < len(claim.content) <= _MOST_WORDS or len(claim.words) > _MOST_WORDS:
        return ()
    asked = Text(basis.question).content - claim.content
    if len(asked) < _MIN_ASKED:
        return ()
    meant = (len(asked & line.content) >= _ASKED * len(asked) for line in lines)
    has = (claim.content <= line.content and not line.has_negation for line in lines)
    if any(a and b for a, b in zip(meant, has, strict=True)):
        return ((claim.words[0].start, claim.words[-1].end),)
    return ()

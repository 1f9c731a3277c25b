"""Makes questions with a false premise, which ask whether a wrong sentence is true."""

import random
import re
from dataclasses import replace

from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.corrupt.draw import KINDS, corrupt_any
from groundwire_training.corrupt.edits import shuffled
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.wording import WORD, listed, piece_at
from groundwire_training.sets import LabelledContext

_QUESTIONS = (
    "Is it true that {}?",
    "Is it correct that {}?",
    "I read that {}. Is that right?",
    "Can you confirm that {}?",
)
_OPENING = re.compile(
    r"(?:Overall|Additionally|However|In addition|Furthermore|Also|Finally|Moreover|Lastly|"
    r"Note that|On the other hand|Unfortunately|For example|Meanwhile|Therefore|In summary),? "
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|may|might|will|would|does|do|did|\w{2,}ed)\b"
)
_NO_STATEMENT = re.compile(r"[*|#\n]|^\W|^(?:Here|Yes|No)\b|[Pp]assage|[?:]$")
# Instructions, such as "Roast the pork until it is browned".
_INSTRUCTION = re.compile(r"\w+ (?:the|an?|your|it|them|each|for|in|on)\b")
_LOWERED = frozenset(
    listed("""
    A An Another What The It Its They Their This That These There He She His Her In On Once When
    While Based Despite Although After Before As For To With By At From During Since
    """)
)


def false_premise(record: LabelledContext, rng: random.Random) -> LabelledContext | None:
    """Give a record a question that asks whether a wrong sentence is true.

    The reader learns from such records that a question is not evidence.

    Returns:
        The record with such a question and two answers: a faithful one of its own, and the wrong
        sentence, marked. ``None`` if no answer without spans could be corrupted.
    """
    kinds = [kind for kind in KINDS if kind != "foreign"]  # a list, for a reproducible order
    grounds = Grounds([source.text for source in record.sources])
    for answer in shuffled([answer for answer in record.answers if not answer.spans], rng):
        wrong = corrupt_any(answer, grounds, rng, kinds=kinds)
        said = wrong and _sentence_with_mistake(wrong)
        asked = said and _clause(said.text, f"{grounds.text} {answer.text}")
        if said and asked:
            question = rng.choice(_QUESTIONS).format(asked)
            return replace(record, question=question, answers=(answer, said), slots=None)
    return None


def _sentence_with_mistake(wrong: MarkedAnswer) -> MarkedAnswer | None:
    """Return the first sentence that has a span; ``None`` if the span runs past its end."""
    piece = piece_at(wrong.text, wrong.spans[0][0])
    spans = tuple(
        (start - piece.start, end - piece.start, label)
        for start, end, label in wrong.spans
        if piece.start <= start < piece.stop
    )
    sentence = wrong.text[piece]
    return MarkedAnswer(sentence, spans) if spans[-1][1] <= len(sentence) else None


def _clause(sentence: str, known: str) -> str | None:
    """Turn a sentence into a clause to put after "that"; ``None`` if it is not a statement.

    If the text ``known`` has the sentence's first word in lower case, the word is not a name, so it
    is put in lower case.
    """
    clause = _OPENING.sub("", sentence.rstrip(".!"), count=1)
    if _NO_STATEMENT.search(clause) or not _FINITE.search(clause):
        return None
    first = WORD.findall(clause)[0]
    if first in _LOWERED:
        return clause[0].lower() + clause[1:]
    if _INSTRUCTION.match(clause):
        return None
    is_word = first != "I" and (
        first.endswith(("lly", "ing"))
        or (
            not re.match(r"\w+ [A-Z]", clause)
            and re.search(rf"\b{re.escape(first.lower())}\b", known)
        )
    )
    return clause[0].lower() + clause[1:] if is_word else clause

"""One claim with a few lines of its evidence alone, as the explainer reads what is marked.

The same sentence of several answers, so that they differ in the mistake; beside them a sentence
that has nothing to do with these lines.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from groundwire.detection.example import read_sources
from groundwire.evaluation.datasets.sets import LabelledContext, MarkedAnswer
from groundwire.explain.nearby import MAX_LINES
from groundwire.text.lines import lines_of
from groundwire.text.segment import segment
from groundwire_training.corrupt.edits import UNSUPPORTED
from groundwire_training.corrupt.wording import stems

# Lines to keep, at least: the explainer finds more than one wherever there are more.
_LEAST = 2
# Stems of the sentence that the lines may lack of what the sources have, as a share.
_SLACK = 0.1
# Of a sentence about something else: stems it has, at least, and shares with the lines, at most.
_STEMS, _COMMON = 2, 0.25


def alone(
    record: LabelledContext, rng: random.Random, strangers: Sequence[LabelledContext]
) -> LabelledContext | None:
    """Cut a slot-annotated text down to one claim and a few lines.

    Args:
        record: Its first answer is the faithful one, the others are variants of it.
        rng: The only source of chance.
        strangers: Where the sentence about something else comes from.

    Returns:
        A record without a question, each line a source; ``None`` where the evidence of the drawn
        sentence lies in more places than a few.
    """
    pieces = [_sentences(answer) for answer in record.answers]
    if not pieces or not pieces[0]:
        return None
    at = rng.randrange(len(pieces[0]))
    claim = pieces[0][at]
    lines = [
        words
        for source in record.sources
        for line in lines_of(source.text)
        if (words := source.text[line.start : line.end].strip())
    ]
    wanted, n = stems(claim.text), rng.randint(_LEAST, MAX_LINES)
    chosen = sorted(lines, key=lambda line: -len(stems(line) & wanted))[:n]
    if not chosen or len((_union(lines) - _union(chosen)) & wanted) > _SLACK * len(wanted):
        return None
    variants = [found[at] for found in pieces if len(found) == len(pieces[0])]
    answers = list(dict.fromkeys(variants))
    if stranger := _stranger(_union(chosen), rng, strangers):
        # No more answers than there were, which the recipe bounds; the faithful one stays.
        answers = [*answers[: max(1, len(record.answers) - 1)], stranger]
    return replace(
        record, sources=read_sources(chosen), question=None, answers=tuple(answers), slots=None
    )


def _sentences(answer: MarkedAnswer) -> list[MarkedAnswer]:
    found = []
    for piece in segment(answer.text):
        start, end = piece.start, piece.end
        spans = tuple(
            (max(s, start) - start, min(e, end) - start, label)
            for s, e, label in answer.spans
            if s < end and start < e
        )
        found.append(MarkedAnswer(answer.text[start:end], spans))
    return found


def _stranger(
    known: frozenset[str], rng: random.Random, strangers: Sequence[LabelledContext]
) -> MarkedAnswer | None:
    """A sentence of another record about something else; none of its words is supported."""
    for other in rng.sample(strangers, len(strangers)):
        sentences = _sentences(rng.choice(other.answers))
        for sentence in rng.sample(sentences, len(sentences)):
            content = stems(sentence.text)
            if len(content) >= _STEMS and len(content & known) <= _COMMON * len(content):
                return MarkedAnswer(sentence.text, ((0, len(sentence.text), UNSUPPORTED),))
    return None


def _union(texts: Sequence[str]) -> frozenset[str]:
    return frozenset().union(*map(stems, texts))

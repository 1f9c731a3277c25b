"""Makes training records of one claim and a few lines of evidence, the explainer's usual input.

The answers of a record are variants of one sentence, which differ only in their mistakes, and one
sentence about something else.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from groundwire.detection.example import read_sources
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire.explain.nearby import MAX_LINES
from groundwire.text.lines import lines_of
from groundwire.text.segment import segment
from groundwire_training.corrupt.edits import UNSUPPORTED
from groundwire_training.corrupt.wording import stems
from groundwire_training.sets import LabelledContext

# The least number of lines to keep: the explainer seldom reads a single line.
_LEAST = 2
# At most this share of the sentence's stems may be in the sources but not in the kept lines.
_SLACK = 0.1
# A sentence about something else has at least ``_STEMS`` stems, of which at most the share
# ``_COMMON`` is in the lines.
_STEMS, _COMMON = 2, 0.25


def alone(
    record: LabelledContext, rng: random.Random, strangers: Sequence[LabelledContext]
) -> LabelledContext | None:
    """Cut a record down to one claim and a few lines of evidence.

    Args:
        record: A record whose first answer is faithful and whose others are variants of it.
        rng: The only source of randomness.
        strangers: Records to take the sentence about something else from.

    Returns:
        A record without a question, whose sources are the lines; ``None`` if a few lines do not
        contain all evidence of the drawn sentence.
    """
    pieces = [sentences_of(answer) for answer in record.answers]
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
        # The recipe limits the number of answers, so the sentence replaces one, never the first.
        answers = [*answers[: max(1, len(record.answers) - 1)], stranger]
    return replace(
        record, sources=read_sources(chosen), question=None, answers=tuple(answers), slots=None
    )


def sentences_of(answer: MarkedAnswer) -> list[MarkedAnswer]:
    """Cut an answer into its sentences, each with the spans that lie in it."""
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
    """Find a sentence of another record about something else, and mark all of it unsupported."""
    for other in rng.sample(strangers, len(strangers)):
        sentences = sentences_of(rng.choice(other.answers))
        for sentence in rng.sample(sentences, len(sentences)):
            content = stems(sentence.text)
            if len(content) >= _STEMS and len(content & known) <= _COMMON * len(content):
                return MarkedAnswer(sentence.text, ((0, len(sentence.text), UNSUPPORTED),))
    return None


def _union(texts: Sequence[str]) -> frozenset[str]:
    return frozenset().union(*map(stems, texts))

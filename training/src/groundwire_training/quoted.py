"""Sentences of the sources as answers: what stands there word for word is supported.

Slot-annotated answers paraphrase, and a reader that sees nothing but paraphrase doubts a short
sentence that repeats its evidence.
"""

import random

from groundwire.evaluation.datasets.sets import LabelledContext, MarkedAnswer
from groundwire.text.segment import segment
from groundwire_training.corrupt import Grounds, corrupt_any

# Words of a sentence that makes an answer by itself.
_LEAST, _MOST = 3, 30
# How often the sentence is made wrong in one place: what is copied is not always right.
_WRONG_SHARE = 0.3


def quoted(record: LabelledContext, rng: random.Random) -> MarkedAnswer | None:
    """A sentence of a source as an answer, now and then with a mistake put in by program.

    Args:
        record: Of any set.
        rng: The only source of chance.

    Returns:
        ``None`` where sources are data or headings alone.
    """
    grounds = Grounds([source.text for source in record.sources])
    if grounds.has_data:
        return None
    sentences = [
        text
        for source in record.sources
        for piece in segment(source.text)
        if _stands_alone(text := source.text[piece.start : piece.end].strip())
    ]
    if not sentences:
        return None
    answer = MarkedAnswer(rng.choice(sentences), ())
    if rng.random() < _WRONG_SHARE:
        return corrupt_any(answer, grounds, rng) or answer
    return answer


def _stands_alone(text: str) -> bool:
    is_closed = text[-1:] in (".", "!") and text[:1].isupper()
    return is_closed and "\n" not in text and _LEAST <= len(text.split()) <= _MOST

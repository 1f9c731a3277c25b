"""Makes answers of sentences that the sources have word for word, and that are thus supported.

Slot-annotated answers paraphrase their sources. A reader trained on paraphrases alone doubts a
short sentence that repeats its evidence.
"""

import random

from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire.text.segment import segment
from groundwire_training.corrupt import Grounds, corrupt_any
from groundwire_training.sets import LabelledContext

# Fewest and most words of such a sentence.
_LEAST, _MOST = 3, 30
# Share of sentences that get a mistake, so that a copied sentence is not always right.
_WRONG_SHARE = 0.3


def quoted(record: LabelledContext, rng: random.Random) -> MarkedAnswer | None:
    """Make an answer of a sentence of a source, sometimes with a mistake put in by program.

    Args:
        record: A record of any set.
        rng: The only source of randomness.

    Returns:
        The answer; ``None`` if the sources are data, or have no sentence.
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

"""Makes answers from sentences of the sources, copied word for word and therefore supported.

Slot-annotated answers paraphrase their sources. A reader that is trained only on paraphrases doubts
short sentences that repeat their evidence.
"""

import random

from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire.text.segment import segment
from groundwire_training.corrupt import Grounds, corrupt_any
from groundwire_training.sets import LabelledContext

# The least and the most words of a sentence to copy.
_LEAST, _MOST = 3, 30
# Share of copied sentences that get a mistake, so that the reader does not trust every copy.
_WRONG_SHARE = 0.3


def quoted(record: LabelledContext, rng: random.Random) -> MarkedAnswer | None:
    """Make an answer from a sentence of a source, sometimes with a mistake put in by program.

    Args:
        record: A record of any set.
        rng: The only source of randomness.

    Returns:
        The answer; ``None`` if a source is JSON data, or no sentence can stand alone.
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

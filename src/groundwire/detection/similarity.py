"""Compares claims with sources by the rule of DVARA's grounding guardrail, in pure functions.

Sentences of at least five words are claims. A claim whose cosine to its nearest source is below the
threshold is ungrounded. ``engine/embedder.py`` makes the vectors.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.values import Detection, Outcome, Reason, Score

#: A sentence of fewer words, counted between white space, is not compared.
MIN_WORDS = 5
#: DVARA's threshold, for the ``hash`` embedder; another embedder needs another.
THRESHOLD = 0.7


def is_compared(claim: str, min_words: int = MIN_WORDS) -> bool:
    """Whether a claim has enough words to be compared.

    >>> is_compared("The tower is 330 m."), is_compared("It is 330 m.")
    (True, False)
    """
    return len(claim.split()) >= min_words


def nearest(claim: NDArray[np.float32], sources: NDArray[np.float32]) -> tuple[float, int]:
    """Find the source that a claim is nearest to.

    Args:
        claim: A vector of length 1 (or 0, for a text without words), shape ``(d,)``.
        sources: The vectors of the sources, shape ``(n, d)``, at least one.

    Returns:
        The cosine, in [-1, 1], to six digits; and the index of the source; of equally near ones
        the first.
    """
    # Row by row and in double precision: a matrix product may round a row by its place among
    # others, and shuffling the sources must change nothing.
    products = (sources.astype(np.float64) * claim.astype(np.float64)).sum(axis=1)
    cosines = np.clip(np.round(products, 6), -1, 1)
    index = int(cosines.argmax())  # the first that is not a number, if there is one
    return float(cosines[index]), index


def is_ungrounded(similarity: float, threshold: float) -> bool:
    """Whether a claim counts as ungrounded: strictly below the threshold.

    >>> is_ungrounded(0.699999, 0.7), is_ungrounded(0.7, 0.7)
    (True, False)
    """
    return similarity < threshold


def overall(similarities: Sequence[float]) -> float:
    """Overall similarity of an answer: the mean of its claims'; 1 if none was compared.

    >>> overall([0.75, 0.25]), overall([])
    (0.5, 1.0)
    """
    return sum(similarities) / len(similarities) if similarities else 1.0


def confidence(similarities: Sequence[float], threshold: float) -> float:
    """Mean distance of the claims from the threshold, in [0, 1]; 1 if none was compared.

    The mean over claims of ``|s - t| / max(t, 1 - t)``: 0 if every claim is at the threshold, 1 if
    every claim is as far from it as a similarity in [0, 1] can be.

    >>> confidence([0.5, 0.75], 0.5), confidence([], 0.7)
    (0.25, 1.0)
    """
    if not similarities:
        return 1.0
    farthest = max(threshold, 1 - threshold)
    mean = sum(abs(s - threshold) for s in similarities) / len(similarities) / farthest
    return min(max(mean, 0.0), 1.0)


def without_short(detection: Detection) -> Detection:
    """Change a detection as DVARA has it: sentences too short to be compared do not count.

    An answer is grounded if nothing else keeps it from being so.
    """
    if detection.outcome is not Outcome.PARTIAL or detection.detector.score is not Score.SIMILARITY:
        return detection
    coverage = detection.coverage
    others = coverage.reasons.keys() - {Reason.TOO_SHORT, Reason.NO_CLAIM}
    if others or coverage.indexed_chars < coverage.offered_chars:
        return detection
    return replace(detection, outcome=Outcome.GROUNDED)

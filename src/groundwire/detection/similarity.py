"""Compares claims with sources by the rule of the grounding guardrail of DVARA, an LLM gateway.

Claims of at least five words are compared. A claim whose cosine to the nearest source, or line of a
source, is below the threshold is ungrounded. ``engine/embedder.py`` makes the vectors.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.values import Detection, Outcome, Reason, Score

#: A claim of fewer words than this is not compared. Words are separated by white space.
MIN_WORDS = 5
#: DVARA's default threshold. The ``hash`` embedder is used with it; the ``neural`` embedder has
#: thresholds of its own.
THRESHOLD = 0.7


def is_compared(claim: str) -> bool:
    """Return whether a claim has enough words to be compared.

    >>> is_compared("The tower is 330 m."), is_compared("It is 330 m.")
    (True, False)
    """
    return len(claim.split()) >= MIN_WORDS


def nearest(claim: NDArray[np.float32], sources: NDArray[np.float32]) -> tuple[float, int]:
    """Find the source that a claim is nearest to.

    Args:
        claim: A unit vector (or zeros, for a text without words), shape ``(d,)``.
        sources: The vectors of the sources, shape ``(n, d)``, at least one.

    Returns:
        The cosine to the nearest source, in [-1, 1], rounded to six decimals, and the index of this
        source. Of equally near sources, the first is found. The cosine is NaN if a vector has NaN.
    """
    # Multiply row by row and in double precision: the rounding of a matrix product may depend on
    # the position of a row, and the order of the sources must not change the result.
    products = (sources.astype(np.float64) * claim.astype(np.float64)).sum(axis=1)
    cosines = np.clip(np.round(products, 6), -1, 1)
    index = int(cosines.argmax())  # if there is a NaN, argmax returns its index
    return float(cosines[index]), index


def is_ungrounded(similarity: float, threshold: float) -> bool:
    """Return whether a claim counts as ungrounded: its similarity is below the threshold.

    >>> is_ungrounded(0.699999, 0.7), is_ungrounded(0.7, 0.7)
    (True, False)
    """
    return similarity < threshold


def overall(similarities: Sequence[float]) -> float:
    """Return the mean similarity of an answer's claims; 1 if no claim was compared.

    >>> overall([0.75, 0.25]), overall([])
    (0.5, 1.0)
    """
    return sum(similarities) / len(similarities) if similarities else 1.0


def confidence(similarities: Sequence[float], threshold: float) -> float:
    """Return how far the claims' similarities are from the threshold on average, scaled to [0, 1].

    With the threshold ``t``, the result is the mean of ``|s - t| / max(t, 1 - t)`` over the
    similarities ``s``, but at most 1. It is 0 if every similarity equals the threshold, and 1 if no
    claim was compared.

    >>> confidence([0.5, 0.75], 0.5), confidence([], 0.7)
    (0.25, 1.0)
    """
    if not similarities:
        return 1.0
    farthest = max(threshold, 1 - threshold)
    mean = sum(abs(s - threshold) for s in similarities) / len(similarities) / farthest
    return min(max(mean, 0.0), 1.0)


def without_short(detection: Detection) -> Detection:
    """Apply DVARA's rule that sentences too short to be compared do not count.

    A partial detection of the similarity detector becomes grounded if such sentences, or an answer
    without claims, are the only reason why the detection is partial.
    """
    if detection.outcome is not Outcome.PARTIAL or detection.detector.score is not Score.SIMILARITY:
        return detection
    coverage = detection.coverage
    others = coverage.reasons.keys() - {Reason.TOO_SHORT, Reason.NO_CLAIM}
    if others or coverage.indexed_chars < coverage.offered_chars:
        return detection
    return replace(detection, outcome=Outcome.GROUNDED)

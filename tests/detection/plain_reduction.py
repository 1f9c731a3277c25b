"""The reduction of scores to spans, one word piece after the other, to compare with."""

import numpy as np

from groundwire.detection.spans import FlaggedSpan, Offsets, Reduction, Scores


def reduce_tokens_plain(
    offsets: Offsets, scores: Scores, text: str, *, threshold: float, allow_zero: bool = False
) -> Reduction:
    """Do what :func:`groundwire.detection.spans.reduce_tokens` does; scores are numbers."""
    del allow_zero
    lowest = min(float(threshold), float(np.float32(threshold)))
    spans: list[FlaggedSpan] = []
    is_open, first, last, highest = False, 0, 0, 0.0
    n_flagged, max_score = 0, 0.0
    for (start, end), score in zip(offsets, scores, strict=True):
        if score > max_score:
            max_score = score
        if score < lowest or end <= start:
            continue
        n_flagged += 1
        if is_open and not text[last:start].strip():
            last, highest = end, max(highest, score)
            continue
        if is_open:
            spans.append(FlaggedSpan(int(first), int(last), float(highest)))
        is_open, first, last, highest = True, start, end, score
    if is_open:
        spans.append(FlaggedSpan(int(first), int(last), float(highest)))
    return Reduction(tuple(spans), n_flagged, float(max_score))

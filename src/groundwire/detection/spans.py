"""Finds the spans of an answer that are not supported, from scores of its word pieces (tokens)."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from groundwire.errors import DetectionError, SettingError

# Digits, and letters of the Latin, Greek and Cyrillic scripts, for a set in a regular expression.
_LETTER = (
    "0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
    "\u0300-\u052f\u1e00-\u1fff"  # accents, Greek and Cyrillic; more Latin and Greek letters
)
# Matches a word or a number, such as "Élodie's" or "21,000".
_WORD = re.compile(rf"[{_LETTER}]+(?:[.,:/][0-9][{_LETTER}]*|['’][{_LETTER}]+)*")

Offsets: TypeAlias = NDArray[np.integer] | Sequence[tuple[int, int]]
Scores: TypeAlias = NDArray[np.floating] | Sequence[float]


class FlaggedSpan(NamedTuple):
    """A flagged part ``answer[start:end]`` with its score.

    The score is the highest score of the word pieces; 1 for a claim that is flagged as a whole.
    This is a named tuple, because making a frozen dataclass takes twice as long.
    """

    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Reduction:
    """The result of applying a threshold to the scores of a text's word pieces.

    Attributes:
        spans: Runs of flagged word pieces, in the order of the word pieces.
        n_flagged: Number of flagged word pieces. A word piece of no width is never flagged.
        max_score: The highest score of all word pieces; 0 if there is no word piece.
    """

    spans: tuple[FlaggedSpan, ...]
    n_flagged: int
    max_score: float


def reduce_tokens(
    offsets: Offsets, scores: Scores, text: str, *, threshold: float, allow_zero: bool = False
) -> Reduction:
    """Join neighbouring flagged word pieces into spans.

    A word piece is flagged if its score is at or above the threshold and it has any width. Two
    flagged word pieces are joined if at most white space is between them.

    Args:
        offsets: Half-open character ranges in ``text``, shape ``(n, 2)``, ascending by start. An
            empty range marks a word piece of no width.
        scores: P(not supported) of each word piece, shape ``(n,)``, in [0, 1].
        text: The text, such as the answer.
        threshold: Threshold in (0, 1].
        allow_zero: Whether the threshold may be 0, which flags every word piece with a width.

    Returns:
        The spans, which are disjoint and in reading order, with the number of flagged word pieces
        and the highest score.

    Raises:
        SettingError: If the threshold is outside its range.
        DetectionError: If a score is not a number.
        ValueError: If offsets and scores differ in length.
    """
    lowest = _lowest_flagged(threshold, allow_zero=allow_zero)
    values = np.asarray(scores)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if len(offsets) != len(values):
        raise ValueError(
            f"There are {len(offsets)} offsets and {len(values)} scores. Each word piece needs one "
            "offset and one score."
        )
    if not len(values):
        return Reduction((), 0, 0.0)
    # On short arrays, ``max`` and masks keep the interpreter lock. ``argmax`` and ``take`` release
    # the lock, and this thread would then have to wait for others.
    max_score = float(values.max())  # NaN if any score is NaN
    if max_score != max_score:
        raise DetectionError(
            f"The score of word piece {np.isnan(values).argmax()} is not a number, so this answer "
            "was not checked. Check the model's files, and that its inputs have the types that it "
            "was exported with."
        )
    flagged = values >= lowest
    spans, n_flagged = _join(np.asarray(offsets)[flagged].tolist(), values[flagged].tolist(), text)
    return Reduction(spans, n_flagged, max(0.0, max_score))


def _join(
    offsets: Sequence[Sequence[int]], scores: Sequence[float], text: str
) -> tuple[tuple[FlaggedSpan, ...], int]:
    """Join word pieces that all reach the threshold; also count those that have a width."""
    runs: list[list[float]] = []
    n_flagged, last = 0, -1
    for (start, end), score in zip(offsets, scores, strict=True):
        if end <= start:
            continue
        n_flagged += 1
        if last < 0 or text[last:start].strip():
            runs.append([start, end, score])
        else:
            run = runs[-1]
            run[1] = end
            run[2] = max(run[2], score)
        last = end
    return tuple(map(_as_span, runs)), n_flagged


# Does the same as ``FlaggedSpan._make``, but checks no length, and so takes half the time.
_as_span: Callable[[Iterable[float]], FlaggedSpan] = partial(tuple.__new__, FlaggedSpan)


def trim(spans: Iterable[FlaggedSpan], text: str) -> tuple[FlaggedSpan, ...]:
    """Take outer white space off spans of ``text``; drop spans that have only white space."""
    trimmed = []
    for span in spans:
        words = text[span.start : span.end]
        start = span.start + len(words) - len(words.lstrip())
        end = start + len(words.strip())
        if start < end:
            trimmed.append(span._replace(start=start, end=end))
    return tuple(trimmed)


def whole_words(
    spans: Iterable[FlaggedSpan], text: str, *, start: int = 0, end: int | None = None
) -> tuple[FlaggedSpan, ...]:
    """Widen spans to whole words and numbers, and join spans with only white space between them.

    A word piece alone, such as "000" of "21,000", may mean nothing to the user. Only numbers and
    words in Latin, Greek or Cyrillic script are completed.

    >>> whole_words([FlaggedSpan(3, 6, 0.9)], "21,000 km")
    (FlaggedSpan(start=0, end=6, score=0.9),)

    The spans must be disjoint, in reading order and between ``start`` and ``end``, which are the
    bounds of their claim. No span is widened beyond the bounds.
    """
    widened: list[FlaggedSpan] = []
    words = _WORD.finditer(text, start, len(text) if end is None else end)
    word = next(words, None)
    for span in spans:
        first, last = span.start, span.end
        while word is not None and word.end() <= first:
            word = next(words, None)
        if word is not None and word.start() < last:
            first = min(first, word.start())
        while word is not None and word.end() < last:
            word = next(words, None)
        if word is not None and word.start() < last:
            last = max(last, word.end())
        before = widened[-1] if widened else None
        if before is not None and not text[before.end : first].strip():
            score = max(before.score, span.score)
            widened[-1] = FlaggedSpan(before.start, max(before.end, last), score)
        else:
            widened.append(FlaggedSpan(first, last, span.score))
    return tuple(widened)


def keep(
    spans: Iterable[FlaggedSpan], text: str, *, min_words: int = 0, min_probability: float = 0.0
) -> tuple[FlaggedSpan, ...]:
    """Keep spans with at least ``min_words`` words and a score of ``min_probability`` or more."""
    return tuple(
        span
        for span in spans
        if span.score >= min_probability and len(text[span.start : span.end].split()) >= min_words
    )


@lru_cache(maxsize=64)
def _lowest_flagged(threshold: float, *, allow_zero: bool) -> float:
    """Return the lowest score that a threshold flags.

    Models compute in float32, where 0.95 is 0.949999988. The result is the lower of the threshold
    in float32 and in float64, so that a score of 0.95 in either type reaches the threshold 0.95.
    """
    if not (0 < threshold <= 1 or (allow_zero and threshold == 0)):
        raise SettingError("threshold", threshold, f"in {'[' if allow_zero else '('}0, 1]")
    return min(float(threshold), float(np.float32(threshold)))

"""Ranks replacements by hidden states of the cross-encoder, which reads claim and lines together.

A replacement is a few words of a line that may stand in the place of a part of the claim. Four
learned projections of the hidden states tell how alike the replacement and this part are: in their
first words, in their last words, in the words before them, and in the words after them. The score
of a replacement is a weighted sum of these four likenesses and of the replacement's features.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.engine.cross_encoder import CrossEncoder
from groundwire.engine.models import READER_BASE, find_model, find_reader, verify
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import ModelError
from groundwire.explain.replacements import Candidates, Replacement

Floats = NDArray[np.float32]
#: File of ``reader-base`` with the :class:`RankingWeights`.
RANKING_FILE = "ranking.npz"
#: Limits on the word pieces that are read: of a claim, and of all its lines of evidence together.
_CLAIM_PIECES, _LINE_PIECES = 120, 310


@dataclass(frozen=True, slots=True, eq=False)
class RankingWeights:
    """The learned weights for ranking replacements, and for judging the best one.

    Attributes:
        projections: Four projections of states, shape ``(4, width, size)``.
        ways: The weight of each projection, shape ``(4,)``.
        features: The weight of each feature, shape ``(len(FEATURES),)``.
        decision: The bias and weights of the logistic regression that says whether the best
            replacement is right; see :func:`groundwire.explain.repair.features_of`.
    """

    projections: Floats
    ways: Floats
    features: Floats
    decision: Floats

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the weights from a file, without checking its hash.

        Raises:
            OSError: If the file cannot be opened.
        """
        with np.load(path) as arrays:
            return cls(**{name: arrays[name].astype(np.float32) for name in arrays})


@dataclass(frozen=True, slots=True, eq=False)
class WordStates:
    """Hidden states of the words of a claim and of lines; states of words not read are zero.

    Attributes:
        claim: Shape ``(words + 2, width)``, with a row of zeros before the words and after them.
        lines: Shape ``(words of all lines + lines + 1, width)``, with a row of zeros before the
            first line and after each line.
    """

    claim: NDArray[np.floating[Any]]
    lines: NDArray[np.floating[Any]]


class Ranker:
    """Scores the replacements of a span."""

    def __init__(self, encoder: CrossEncoder, pieces: WordPieces, weights: RankingWeights) -> None:
        """Take the cross-encoder, the tokenizer, and the weights learned for both."""
        self._encoder, self._pieces, self.weights = encoder, pieces, weights

    @classmethod
    def load(cls, folder: Path | None = None, weights: RankingWeights | None = None) -> Self:
        """Make a ranker with the cross-encoder of a model folder, by default of ``reader-base``.

        If ``weights`` are passed, they are used in place of those in the folder.

        Raises:
            ModelError: If the model is not installed, has no cross-encoder, or has a damaged file;
                or if the model has no weights for repairs, and none are passed.
        """
        base = find_reader(folder or READER_BASE)
        encoder = CrossEncoder.of(base, threads=1) if base else None
        if base is None or encoder is None or (not weights and RANKING_FILE not in base.files):
            raise ModelError(f"Repairs need {RANKING_FILE}: `pip install ./models/reader-base`.")
        if weights is None:
            verify(base)
            weights = RankingWeights.read(base.folder / RANKING_FILE)
        return cls(encoder, WordPieces(find_model().folder / "tokenizer.json"), weights)

    def ranked(self, held: Held, question: str) -> list[tuple[Replacement, float]]:
        """Return the replacements of a span, best first, each with its score.

        Some of them may leave the claim as it is.
        """
        found = Candidates.of(held)
        if not found.replacements:
            return []
        scores = found.features @ self.weights.features
        scores += self._likeness(self.states(held, question), found.places) @ self.weights.ways
        order = np.argsort(-scores, kind="stable").tolist()
        return [(found.replacements[n], float(scores[n])) for n in order]

    def states(self, held: Held, question: str) -> WordStates:
        """Read a claim with its lines of evidence, and return the states of their words.

        The first 120 word pieces of the claim are read, and the first 310 of all lines together.
        """
        texts = [held.claim, *held.lines]
        claim, *lines = encoded = [self._pieces.encode(text.text) for text in texts]
        room = [_LINE_PIECES - sum(map(len, lines[:n])) for n in range(len(lines))]
        found = self._encoder.states(
            claim.ids[:_CLAIM_PIECES],
            self._pieces.encode(question).ids,
            [line.ids[: max(0, n)] for line, n in zip(lines, room, strict=True)],
            self._pieces,
        )
        words = [
            _of_words(text, pieces.offsets, states)
            for text, pieces, states in zip(texts, encoded, found, strict=True)
        ]
        return WordStates(_spaced(words[:1]), _spaced(words[1:]))

    def _likeness(self, states: WordStates, places: NDArray[np.intp]) -> Floats:
        """Return how alike each replacement and the words that it replaces are, by each projection.

        ``places`` are those of :attr:`.Candidates.places`, shape ``(n, 4)``. The result has a row
        for each replacement and a column for each projection, shape ``(n, 4)``, in [-1, 1].
        """
        claim, lines = standardised(states.claim), standardised(states.lines)
        columns = []
        for projection, ours, theirs in zip(
            self.weights.projections, *compared(places), strict=True
        ):
            one, other = unit(claim @ projection), unit(lines @ projection)
            columns.append((one @ other.T)[ours, theirs])
        return np.stack(columns, 1)


def compared(places: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the numbers of the words that are compared: of the claim, and of the lines.

    Both have the shape ``(4, n)``, with a column for each of ``places``. The rows are the first
    words, the last words, the words before, and the words after.
    """
    beside = np.array([0, 0, -1, 1])
    return (places[:, [2, 3, 2, 3]] + beside).T, (places[:, [0, 1, 0, 1]] + beside).T


def standardised(states: NDArray[np.floating[Any]]) -> Floats:
    """Return each row with mean 0 and standard deviation 1; rows of zeros stay zero."""
    centred = states.astype(np.float32) - states.mean(1, keepdims=True, dtype=np.float32)
    return np.asarray(centred / np.maximum(centred.std(1, keepdims=True), 1e-6), np.float32)


def unit(vectors: Floats) -> Floats:
    """Return each row with length 1; rows of zeros stay zero."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-9), np.float32)


def _of_words(text: ComparedText, offsets: NDArray[np.int32], states: Floats) -> Floats:
    """Return the mean of the states of each word's pieces, shape ``(words, width)``."""
    offsets = offsets[: len(states)]
    first = np.searchsorted(offsets[:, 1], [word.start for word in text.words], "right")
    end = np.searchsorted(offsets[:, 0], [word.end for word in text.words], "left")
    sums = np.concatenate([np.zeros((1, states.shape[1]), np.float32), states.cumsum(0)])
    means = (sums[end] - sums[np.minimum(first, end)]) / np.maximum(end - first, 1)[:, None]
    return np.asarray(means, np.float32)


def _spaced(texts: list[Floats]) -> Floats:
    """Join the states of texts, with a row of zeros before the first and after each."""
    empty = np.zeros((1, texts[0].shape[1]), np.float32)
    return np.concatenate([empty, *(rows for text in texts for rows in (text, empty))])


def shipped_ranker() -> Ranker:
    """Return the ranker of ``reader-base``, which is opened once.

    Raises:
        ModelError: If :meth:`Ranker.load` raises it.
    """
    with _OPENING:
        return _shipped()


_OPENING, _shipped = Lock(), cache(Ranker.load)

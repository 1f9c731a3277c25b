"""From sources to evidence: passages, an index over all of them, and a selection for each claim.

All passages are indexed and can be reached; which of them a claim is read with is decided by rank,
so the cost of a claim does not grow with the sources. Everything here depends on what the sources
say and never on their order: passages stand in the order of their content's hash, equal passages
stand once, and word weights come from a table that is shipped, not from the request.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.example import Source
from groundwire.detection.passages import CutSource, Passage, PassageLine
from groundwire.detection.values import EvidenceRef, Reason

#: Word pieces of passages that a claim is read with, special tokens included.
SELECTED_PIECES = 1024
#: What scores less than this share of the best is not read: it says nothing about the claim, and
#: text that is beside the point should not move a verdict. A second look, which can only acquit,
#: takes more.
FIRST_FLOOR, SECOND_FLOOR = 0.5, 0.6
#: A source is read if its best passage reaches this share of the best of all: of two texts on the
#: subject both are, and a stranger that shares some words is not, while the passages of a source
#: that is read need :data:`FIRST_FLOOR` only.
SOURCE_FLOOR = 0.75
# BM25 (Robertson and Zaragoza 2009, https://doi.org/10.1561/1500000019) with a fixed mean length:
# a mean over the request would let one source change the rank of another.
_K1, _B, _MEAN_PIECES = 1.2, 0.4, 200.0
_COSINE_WEIGHT = 0.15
# What a word of the question or of the claim before counts beside one of the claim itself.
_CONTEXT_WEIGHT = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class WordWeights:
    """What is known about word pieces without reading: shipped tables.

    Attributes:
        idf: Inverse document frequency of each word piece, shape ``(vocabulary,)``, float32.
        vectors: What a word piece means on its own: the embedding model's output for it, reduced
            by PCA (as in model2vec, https://github.com/MinishLab/model2vec); shape
            ``(vocabulary, 128)``, int8.
        scales: What a row of ``vectors`` counts in a mean, IDF included; shape ``(vocabulary,)``.
    """

    idf: NDArray[np.float32]
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]

    @classmethod
    def load(cls, folder: Path) -> "WordWeights":
        """Read ``words.npz`` of a model folder."""
        with np.load(folder / "words.npz", allow_pickle=False) as arrays:
            idf = arrays["idf"].astype(np.float32)
            return cls(idf, arrays["vectors"], arrays["scales"].astype(np.float32) * idf)

    def mean(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """The direction of a text, shape ``(128,)``, of length 1 (or 0 if it says nothing)."""
        total = self.scales[ids].astype(np.float64) @ self.vectors[ids].astype(np.float64)
        length = float(np.sqrt(total @ total))
        return np.asarray(total / length if length else total, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Which passages a claim is read with, as indices into :attr:`Evidence.passages`.

    Attributes:
        first: The best-ranked, about 1,024 word pieces of them, in canonical order.
        second: The next-ranked after the best one, for the second look; empty if ``first`` holds
            all there is.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """All passages of a request, ready to be searched.

    Attributes:
        passages: Each content once, in the order of their keys.
        origins: The source that each passage is quoted from.
        offered_chars: Characters of the sources, equal ones counted once.
        indexed_chars: Of these, characters that stand in a passage.
        reasons: Why the two differ.
    """

    passages: tuple[Passage, ...]
    origins: tuple[Source, ...]
    offered_chars: int
    indexed_chars: int
    reasons: Mapping[Reason, int]
    words: WordWeights
    _source_of: NDArray[np.intp]
    _index: "LexicalIndex"
    _vectors: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        sources: Sequence[Source],
        cut: Callable[[Source], CutSource],
        words: WordWeights,
    ) -> "Evidence":
        """Cut sources into passages and index them.

        Args:
            sources: What the answer may rest on; equal ones count once.
            cut: Cuts one source: :func:`.passages.cut_source`, or a cache before it.
            words: Weights and vectors of word pieces.
        """
        by_key: dict[bytes, tuple[Passage, Source]] = {}
        offered_chars = indexed_chars = 0
        reasons: Counter[Reason] = Counter()
        for source in _distinct(sources):
            found = cut(source)
            offered_chars += found.offered_chars
            indexed_chars += found.indexed_chars
            reasons[Reason.LANGUAGE] += found.indexed_chars < found.offered_chars
            for passage in found.passages:
                by_key.setdefault(passage.key, (passage, source))
        ordered = [by_key[key] for key in sorted(by_key)]
        passages = tuple(passage for passage, _ in ordered)
        places: dict[int, int] = {}
        vectors = np.array([words.mean(passage.ids) for passage in passages], np.float32)
        return cls(
            passages=passages,
            origins=tuple(source for _, source in ordered),
            offered_chars=offered_chars,
            indexed_chars=indexed_chars,
            reasons=dict(+reasons),
            words=words,
            _source_of=np.array(
                [places.setdefault(id(source), len(places)) for _, source in ordered], np.intp
            ),
            _index=LexicalIndex.of(passages, words.idf),
            _vectors=vectors.reshape(-1, words.vectors.shape[1]),
        )

    def rank(self, query: "Query") -> NDArray[np.intp]:
        """All passages, best first; ties in canonical order. Shape ``(n_passages,)``."""
        return self.ranked(query)[0]

    def ranked(self, query: "Query") -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The same order, and the scores in it."""
        scores = self._index.scores(query.ids, query.weights)
        scores += _COSINE_WEIGHT * (self._vectors @ self.words.mean(query.main_ids))
        # Equal up to rounding is equal: a matrix product may round by a row's place.
        scores = np.round(scores, 5)
        order = np.argsort(-scores, kind="stable")
        return order, scores[order]

    def select(self, query: "Query", budget: int = SELECTED_PIECES) -> Selection:
        """Choose the passages that a claim is read with.

        Args:
            query: What the claim says.
            budget: Word pieces to spend on each look.
        """
        order, scores = self.ranked(query)
        if not len(order):
            return Selection((), ())
        best = np.zeros(len(order))
        np.maximum.at(best, self._source_of[order], scores)
        is_near = best[self._source_of[order]] >= SOURCE_FLOOR * scores[0]
        order, scores = order[is_near], scores[is_near]
        first = order[: _n_above(scores, FIRST_FLOOR)]
        n_first = self._fill(first, 0, budget)
        # The best passage stays in view: what the claim is about may stand there alone.
        rest = budget - self.passages[order[0]].n_read
        following = order[: _n_above(scores, SECOND_FLOOR)]
        n_second = self._fill(following, n_first, rest) if n_first < len(following) else 0
        second = [order[0], *order[n_first : n_first + n_second]] if n_second else []
        return Selection(
            tuple(sorted(int(i) for i in order[:n_first])), tuple(sorted(int(i) for i in second))
        )

    def references(
        self, query: "Query", chosen: Sequence[int], most: int = 2
    ) -> tuple[EvidenceRef, ...]:
        """The lines among some passages that say most about a query, best first."""
        references: dict[EvidenceRef, None] = {}
        for index, line in self._lines(query, chosen):
            if len(references) == most:
                break
            source = self.origins[index]
            references[
                EvidenceRef(
                    source_id=source.id,
                    start=line.start,
                    end=line.end,
                    text=source.text[line.start : line.end],
                )
            ] = None
        return tuple(references)

    def readings(self, query: "Query", chosen: Sequence[int], most: int) -> tuple[str, ...]:
        """The same lines as the model reads them, equal ones once."""
        found: dict[str, None] = {}
        for _, line in self._lines(query, chosen):
            if len(found) == most:
                break
            found[line.reading] = None
        return tuple(found)

    def _lines(self, query: "Query", chosen: Sequence[int]) -> Iterator[tuple[int, PassageLine]]:
        """Lines that have something in common with a query, and their passages; best first."""
        weights = np.zeros(len(self.words.idf), np.float32)
        weights[query.main_ids] = self.words.idf[query.main_ids]
        found: list[tuple[float, int, PassageLine]] = []
        for index in chosen:
            passage = self.passages[index]
            scores = passage.line_weights(weights).round(4).tolist()
            found += [
                (-score, index, line)
                for line, score in zip(passage.lines, scores, strict=True)
                if score > 0
            ]
        found.sort(key=lambda item: (item[0], item[1], item[2].start))
        return ((index, line) for _, index, line in found)

    def _fill(self, order: NDArray[np.intp], start: int, budget: int) -> int:
        """How many passages from a rank on fit into a budget; at least one, if there is one."""
        total = 0
        for n, index in enumerate(order[start:]):
            total += self.passages[index].n_read
            if total > budget and n > 0:
                return n
        return len(order) - start


def _n_above(scores: NDArray[np.float64], floor: float) -> int:
    """How many of the descending scores reach this share of the first; at least one."""
    return max(1, int(np.searchsorted(-scores, -floor * scores[0], "right")))


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """What passages are ranked by.

    Attributes:
        main_ids: Word pieces of the claim itself, shape ``(n,)``.
        ids: Each word piece of the claim and of what surrounds it, once, ascending.
        weights: How much each counts, in (0, 1].
    """

    main_ids: NDArray[np.int32]
    ids: NDArray[np.int32]
    weights: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        claim: NDArray[np.int32],
        *,
        question: NDArray[np.int32] | None = None,
        before: NDArray[np.int32] | None = None,
    ) -> "Query":
        """Rank by a claim; what was asked and said before helps where it says "it"."""
        parts = [(claim, 1.0)]
        parts += [(ids, _CONTEXT_WEIGHT) for ids in (question, before) if ids is not None]
        ids = np.concatenate([ids for ids, _ in parts])
        weights = np.concatenate([np.full(len(ids), w, np.float32) for ids, w in parts])
        order = np.lexsort((-weights, ids))
        unique, first = np.unique(ids[order], return_index=True)
        return cls(claim, unique, weights[order][first])


@dataclass(frozen=True, slots=True, eq=False)
class LexicalIndex:
    """Which word piece stands in which passage, and how often: postings in three arrays."""

    n_passages: int
    idf: NDArray[np.float32]
    ids: NDArray[np.int64]  # of each posting, ascending
    passages: NDArray[np.intp]
    gains: NDArray[np.float64]  # BM25's saturated count, in [0, 2.2)

    @classmethod
    def of(cls, passages: Sequence[Passage], idf: NDArray[np.float32]) -> "LexicalIndex":
        """Index passages by their word pieces."""
        lengths = np.array([len(passage.ids) for passage in passages], np.int64)
        n = max(len(passages), 1)
        everything = (
            np.concatenate([passage.ids for passage in passages])
            if passages
            else np.empty(0, np.int32)
        )
        places = np.repeat(np.arange(len(passages)), lengths)
        postings, counts = np.unique(everything.astype(np.int64) * n + places, return_counts=True)
        ids, where = postings // n, (postings % n).astype(np.intp)
        damping = _K1 * (1 - _B + _B * lengths[where] / _MEAN_PIECES) if passages else 0.0
        return cls(len(passages), idf, ids, where, counts * (_K1 + 1) / (counts + damping))

    def scores(self, ids: NDArray[np.int32], weights: NDArray[np.float32]) -> NDArray[np.float64]:
        """BM25 of every passage over the best that the query allows, about [0, 1]."""
        wanted = self.idf[ids].astype(np.float64) * weights
        scores = np.zeros(self.n_passages)
        firsts = np.searchsorted(self.ids, ids, "left")
        lasts = np.searchsorted(self.ids, ids, "right")
        for weight, first, last in zip(wanted, firsts, lasts, strict=True):
            scores[self.passages[first:last]] += weight * self.gains[first:last]
        total = float(wanted.sum())
        return scores / total if total else scores


def _distinct(sources: Sequence[Source]) -> list[Source]:
    """Each content once, in an order that is not that of the request, nor of its numbering.

    Which of two sources stands for a passage they share follows from their text; of equal sources
    the first is quoted: S2 before S13.
    """
    first: dict[tuple[str, str | None], Source] = {}
    for source in sorted(sources, key=lambda s: (s.text, s.title or "", len(s.id), s.id)):
        first.setdefault((source.text, source.title), source)
    return list(first.values())

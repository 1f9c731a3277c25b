"""Makes evidence from sources: cuts them into passages, and selects passages for each claim.

All passages are indexed; the default model reads a claim only with the best-ranked passages. The
order of the sources does not matter: passages are sorted by the hash of their content, equal
passages count once, and word weights come from a shipped table, not from the request.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.example import Source
from groundwire.detection.passages import CutSource, Passage, PassageLine
from groundwire.detection.values import EvidenceRef, Reason

#: Default budget of :meth:`Evidence.select`: limit on the word pieces of passages, special tokens
#: included, that the model reads with a claim in one reading.
SELECTED_PIECES = 1024
#: Lowest score at which the model reads a passage with a claim, as a share of the best passage's
#: score, in a first and in a second reading. A claim that the model doubts has a second reading,
#: with the next best passages. The second floor is higher, because the second reading can only
#: lower the doubt.
FIRST_FLOOR, SECOND_FLOOR = 0.5, 0.6
#: The model reads no passage of a source if the source's best passage scores less than this share
#: of the best score of all passages. Sources on another subject mostly score less.
SOURCE_FLOOR = 0.75
# BM25 (Robertson and Zaragoza 2009, https://doi.org/10.1561/1500000019) with a fixed mean length:
# a mean over the request would let one source change the ranks of another source's passages.
_K1, _B, _MEAN_PIECES = 1.2, 0.4, 200.0
_COSINE_WEIGHT = 0.15
# Lowest weight at which a line is quoted. The weight of a line is the summed IDF of the word pieces
# that it shares with the claim. A line of lower weight shares only words such as "the", and is
# quoted only if there is no better line.
_LEAST_QUOTED = 1.0
# Weight of a word of the question or the previous claim. A word of the claim itself has weight 1.
_CONTEXT_WEIGHT = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class WordWeights:
    """Shipped tables of the frequency and the meaning of each word piece.

    Attributes:
        idf: Inverse document frequency of each word piece, shape ``(vocabulary,)``, float32.
        vectors: Embedding of each word piece on its own, reduced by PCA (as in model2vec,
            https://github.com/MinishLab/model2vec); shape ``(vocabulary, 128)``, int8.
        scales: Factor by which each row of ``vectors`` is multiplied in a mean, with the IDF of the
            word piece included. Shape ``(vocabulary,)``.
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
        """Embed a text as the weighted mean of its word pieces, shape ``(128,)``.

        The mean is scaled to length 1. For a text without word pieces, it is zero.
        """
        total = self.scales[ids].astype(np.float64) @ self.vectors[ids].astype(np.float64)
        length = float(np.sqrt(total @ total))
        return np.asarray(total / length if length else total, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The passages that the model reads with a claim, as indices of :attr:`Evidence.passages`.

    Attributes:
        first: The best-ranked passages within the budget, ascending.
        second: The passages for a second reading, if the first one leaves the claim in doubt: the
            best passage, and those that rank next after ``first``, ascending. Empty if no passage
            that ranks after ``first`` is good enough.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """All passages of a request, ready to be searched.

    Attributes:
        passages: The passages in the order of their keys; equal passages are there once.
        origins: The source from which each passage is quoted.
        offered_chars: Characters of all lines of the sources, equal sources counted once.
        indexed_chars: Of these, characters that lie in a passage.
        reasons: Reasons why ``indexed_chars`` is less than ``offered_chars``, each with the number
            of sources.
        words: Weights and vectors of word pieces.
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
        cls, sources: Sequence[Source], cut: Callable[[Source], CutSource], words: WordWeights
    ) -> "Evidence":
        """Cut sources into passages and index them; equal sources count once.

        ``cut`` cuts one source, as :func:`.passages.cut_source` does, perhaps with a cache.
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
        numbers: dict[int, int] = {}
        source_of = [numbers.setdefault(id(source), len(numbers)) for _, source in ordered]
        vectors = np.array([words.mean(passage.ids) for passage in passages], np.float32)
        return cls(
            passages=passages,
            origins=tuple(source for _, source in ordered),
            offered_chars=offered_chars,
            indexed_chars=indexed_chars,
            reasons=dict(+reasons),
            words=words,
            _source_of=np.array(source_of, np.intp),
            _index=LexicalIndex.of(passages, words.idf),
            _vectors=vectors.reshape(-1, words.vectors.shape[1]),
        )

    def rank(self, query: "Query") -> NDArray[np.intp]:
        """Return the indices of all passages, best first; equally good ones in ascending order."""
        return self.ranked(query)[0]

    def ranked(self, query: "Query") -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the indices of all passages, best first, and their scores in that order."""
        scores = self._index.scores(query.ids, query.weights)
        scores += _COSINE_WEIGHT * (self._vectors @ self.words.mean(query.main_ids))
        # The rounding of a matrix product may depend on the position of a row, which must not
        # decide which of two equally good passages ranks first.
        scores = np.round(scores, 5)
        order = np.argsort(-scores, kind="stable")
        return order, scores[order]

    def select(self, query: "Query", budget: int = SELECTED_PIECES) -> Selection:
        """Choose the passages that the model reads together with a claim.

        ``budget`` limits the word pieces of each of the two selections, special tokens included.
        The first selection has at least the best passage, if there is any passage. The second one,
        unless it is empty, has at least the best passage and the next one after ``first``. These
        passages are taken even if they exceed the budget.
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
        # The best passage is in the second selection as well, since it may be the only one that
        # names the subject of the claim.
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
        """Return the lines of chosen passages that share most with a claim, best first.

        If the claim shares only words such as "the" with the lines, the question and the previous
        claim count too. At most ``most`` lines are returned, and none if the claim shares no word
        with any line.
        """
        lines = self._lines(query, chosen)
        if lines and lines[0][0] < _LEAST_QUOTED:
            lines = self._lines(Query(query.ids, query.ids, query.weights), chosen)
        quoted = [line for line in lines if line[0] >= _LEAST_QUOTED] or lines[:1]
        references: dict[EvidenceRef, None] = {}
        for _, index, line in quoted:
            if len(references) == most:
                break
            references[self._reference(index, line)] = None
        return tuple(references)

    def _reference(self, index: int, line: PassageLine) -> EvidenceRef:
        source, start, end = self.origins[index], line.start, line.end
        return EvidenceRef(source_id=source.id, start=start, end=end, text=source.text[start:end])

    def readings(self, query: "Query", chosen: Sequence[int], most: int) -> tuple[str, ...]:
        """Return the lines that share most with a claim, as the model reads them, best first.

        At most ``most`` lines are returned; equal lines count once.
        """
        readings = dict.fromkeys(line.reading for _, _, line in self._lines(query, chosen))
        return tuple(readings)[:most]

    def _lines(self, query: "Query", chosen: Sequence[int]) -> list[tuple[float, int, PassageLine]]:
        """Return the lines of chosen passages that share words with the claim, best first.

        Each item is ``(weight of the line, index of its passage, line)``.
        """
        weights = np.zeros(len(self.words.idf), np.float32)
        weights[query.main_ids] = self.words.idf[query.main_ids]
        found: list[tuple[float, int, PassageLine]] = []
        for index in chosen:
            passage = self.passages[index]
            scores = passage.line_weights(weights).round(4).tolist()
            found += [
                (score, index, line)
                for line, score in zip(passage.lines, scores, strict=True)
                if score > 0
            ]
        return sorted(found, key=lambda item: (-item[0], item[1], item[2].start))

    def _fill(self, order: NDArray[np.intp], start: int, budget: int) -> int:
        """Count the passages from rank ``start`` on that fit into a budget of word pieces.

        The first of them always counts. The result is 0 if no passage has the rank ``start``.
        """
        total = 0
        for n, index in enumerate(order[start:]):
            total += self.passages[index].n_read
            if total > budget and n > 0:
                return n
        return len(order) - start


def _n_above(scores: NDArray[np.float64], floor: float) -> int:
    """Count the descending scores that are at least ``floor`` times the first; return 1 or more."""
    return max(1, int(np.searchsorted(-scores, -floor * scores[0], "right")))


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """The weighted word pieces of a claim and its context, by which passages are ranked.

    Attributes:
        main_ids: Word pieces of the claim itself, shape ``(n,)``.
        ids: Distinct word pieces of the claim, the question and the previous claim, ascending.
        weights: Weight of each of ``ids``, in (0, 1].
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
        """Make the query of a claim, from the word pieces of claim, question and previous claim.

        The question and the previous claim may show what an "it" in the claim refers to. Their
        words have a lower weight than those of the claim.
        """
        parts = [(claim, 1.0)]
        parts += [(ids, _CONTEXT_WEIGHT) for ids in (question, before) if ids is not None]
        ids = np.concatenate([ids for ids, _ in parts])
        weights = np.concatenate([np.full(len(ids), w, np.float32) for ids, w in parts])
        order = np.lexsort((-weights, ids))
        unique, first = np.unique(ids[order], return_index=True)
        return cls(claim, unique, weights[order][first])


@dataclass(frozen=True, slots=True, eq=False)
class LexicalIndex:
    """Inverted index: which word piece occurs in which passage, and how often.

    A posting is one word piece in one passage. ``ids``, ``passages`` and ``gains`` have an item for
    each posting.
    """

    n_passages: int
    idf: NDArray[np.float32]
    ids: NDArray[np.int64]  # id of each posting's word piece, ascending
    passages: NDArray[np.intp]  # index of the passage of each posting
    gains: NDArray[np.float64]  # BM25's saturated count of each posting, in (0, 2.2)

    @classmethod
    def of(cls, passages: Sequence[Passage], idf: NDArray[np.float32]) -> "LexicalIndex":
        """Index passages by their word pieces."""
        lengths = np.array([len(passage.ids) for passage in passages], np.int64)
        n = max(len(passages), 1)
        everything = np.concatenate([np.empty(0, np.int32), *(each.ids for each in passages)])
        places = np.repeat(np.arange(len(passages)), lengths)
        postings, counts = np.unique(everything.astype(np.int64) * n + places, return_counts=True)
        ids, where = postings // n, (postings % n).astype(np.intp)
        damping = _K1 * (1 - _B + _B * lengths[where] / _MEAN_PIECES)
        return cls(len(passages), idf, ids, where, counts * (_K1 + 1) / (counts + damping))

    def scores(self, ids: NDArray[np.int32], weights: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return each passage's BM25 score, divided by the total weight of the query.

        The score is 1 for a passage of 200 word pieces that has every word piece of the query once.
        ``ids`` are the distinct word pieces of the query.
        """
        wanted = self.idf[ids].astype(np.float64) * weights
        scores = np.zeros(self.n_passages)
        firsts = np.searchsorted(self.ids, ids, "left")
        lasts = np.searchsorted(self.ids, ids, "right")
        for weight, first, last in zip(wanted, firsts, lasts, strict=True):
            scores[self.passages[first:last]] += weight * self.gains[first:last]
        total = float(wanted.sum())
        return scores / total if total else scores


def _distinct(sources: Sequence[Source]) -> list[Source]:
    """Return each distinct source once, sorted by text and title.

    Of sources with equal text and title, the one with the shortest id is returned (S2 before S13).
    Among equally short ids, the first in alphabetical order counts (S2 before S3). So the order of
    the sources in the request does not matter.
    """
    first: dict[tuple[str, str | None], Source] = {}
    for source in sorted(sources, key=lambda s: (s.text, s.title or "", len(s.id), s.id)):
        first.setdefault((source.text, source.title), source)
    return list(first.values())

"""From sources to evidence: passages, an index over all of them, and a selection for each claim.

All passages are indexed and can be reached; which of them a claim is read with is decided by rank,
so the cost of a claim does not grow with the sources. Everything here depends on what the sources
say and never on their order: passages stand in the order of their content's hash, equal passages
stand once, and word weights come from a table that is shipped, not from the request.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from groundwire.detection import EvidenceRef, Reason
from groundwire.example import Source
from groundwire.lines import Line, lines_of
from groundwire.quantities import QuantityIndex, quantities
from groundwire.script import is_readable

#: Word pieces of a passage at most, breadcrumb included; with [CLS] and [SEP] it fills 256.
PASSAGE_PIECES = 254
#: Word pieces of a breadcrumb at most.
BREADCRUMB_PIECES = 40
#: Word pieces of passages that a claim is read with, special tokens included.
SELECTED_PIECES = 1024
#: Part of the cache key: raise it when passages are cut differently.
PASSAGE_RULES = 1

# BM25 (Robertson and Zaragoza 2009, https://doi.org/10.1561/1500000019) with a fixed mean length:
# a mean over the request would let one source change the rank of another.
_K1, _B, _MEAN_PIECES = 1.2, 0.4, 200.0
_COSINE_WEIGHT = 0.15
# What a word of the question or of the claim before counts beside one of the claim itself.
_CONTEXT_WEIGHT = 0.6


class Pieces(Protocol):
    """Word pieces of a text: ids ``(n,)`` and character ranges ``(n, 2)``."""

    @property
    def ids(self) -> NDArray[np.int32]: ...  # noqa: D102
    @property
    def offsets(self) -> NDArray[np.int32]: ...  # noqa: D102


class WordPieces(Protocol):
    """What cuts texts into word pieces."""

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Pieces]: ...  # noqa: D102


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
class PassageLine:
    """One line of a passage.

    Attributes:
        source: Index of the source.
        start: First character in the source's text.
        end: One past the last.
        first: Its first word piece among the passage's ids.
        reading: What the model reads.
    """

    source: int
    start: int
    end: int
    first: int
    reading: str


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """What the model reads at a time.

    Attributes:
        key: Hash of the content, 16 bytes.
        ids: Word pieces, at most 254, without special tokens, shape ``(n,)``, int32.
        n_breadcrumb: How many pieces at the beginning are breadcrumb, which is no evidence.
        lines: What stands in it, in order.
        n_own_chars: Characters of the source that no earlier passage holds.
    """

    key: bytes
    ids: NDArray[np.int32]
    n_breadcrumb: int
    lines: tuple[PassageLine, ...]
    n_own_chars: int
    _quantities: list[QuantityIndex] = field(default_factory=list)

    @property
    def n_read(self) -> int:
        """Word pieces that the model reads, [CLS] and [SEP] included."""
        return len(self.ids) + 2

    @property
    def line_starts(self) -> NDArray[np.intp]:
        """Where lines begin among the ids: no verbatim run crosses them."""
        return np.array([line.first for line in self.lines], np.intp)

    def quantities(self) -> QuantityIndex:
        """The numbers, dates and amounts it states; found when first asked for."""
        if not self._quantities:
            found = (quantity for line in self.lines for quantity in quantities(line.reading))
            self._quantities.append(QuantityIndex.of(found))
        return self._quantities[0]


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
        sources: What they were cut from.
        passages: Each content once, in the order of their keys.
        offered_chars: Characters of the sources, equal ones counted once.
        indexed_chars: Of these, characters that stand in a passage.
        reasons: Why the two differ.
    """

    sources: tuple[Source, ...]
    passages: tuple[Passage, ...]
    offered_chars: int
    indexed_chars: int
    reasons: Mapping[Reason, int]
    words: WordWeights
    _index: "LexicalIndex"
    _vectors: NDArray[np.float32]

    @classmethod
    def of(cls, sources: Sequence[Source], pieces: WordPieces, words: WordWeights) -> "Evidence":
        """Cut sources into passages and index them."""
        by_key: dict[bytes, Passage] = {}
        seen: set[tuple[str, str | None]] = set()
        offered_chars = indexed_chars = 0
        reasons: Counter[Reason] = Counter()
        # By id: which of two sources is named for a passage they share depends on no order.
        for index in sorted(range(len(sources)), key=lambda i: (sources[i].id, i)):
            source = sources[index]
            if (source.text, source.title) in seen:
                continue
            seen.add((source.text, source.title))
            lines = lines_of(source.text)
            readable = [line for line in lines if is_readable(line.reading)]
            offered_chars += sum(line.end - line.start for line in lines)
            indexed_chars += sum(line.end - line.start for line in readable)
            if len(readable) < len(lines):
                reasons[Reason.LANGUAGE] += 1
            for passage in _passages(index, source, readable, pieces):
                by_key.setdefault(passage.key, passage)
        passages = tuple(by_key[key] for key in sorted(by_key))
        vectors = np.array([words.mean(passage.ids) for passage in passages], np.float32)
        return cls(
            sources=tuple(sources),
            passages=passages,
            offered_chars=offered_chars,
            indexed_chars=indexed_chars,
            reasons=dict(reasons),
            words=words,
            _index=LexicalIndex.of(passages, words.idf),
            _vectors=vectors.reshape(-1, words.vectors.shape[1]),
        )

    def rank(self, query: "Query") -> NDArray[np.intp]:
        """All passages, best first; ties in canonical order. Shape ``(n_passages,)``."""
        scores = self._index.scores(query.ids, query.weights)
        scores += _COSINE_WEIGHT * (self._vectors @ self.words.mean(query.main_ids))
        # Equal up to rounding is equal: a matrix product may round by a row's place.
        return np.argsort(-np.round(scores, 5), kind="stable")

    def select(self, query: "Query", budget: int = SELECTED_PIECES) -> Selection:
        """Choose the passages that a claim is read with.

        Args:
            query: What the claim says.
            budget: Word pieces to spend on each look.
        """
        order = self.rank(query)
        n_first = self._fill(order, 0, budget)
        if n_first == len(order):
            return Selection(tuple(range(len(order))), ())
        # The best passage stays in view: what the claim is about may stand there alone.
        rest = budget - self.passages[order[0]].n_read
        n_second = self._fill(order, n_first, rest)
        second = [order[0], *order[n_first : n_first + n_second]]
        return Selection(
            tuple(sorted(int(i) for i in order[:n_first])), tuple(sorted(int(i) for i in second))
        )

    def references(
        self, query: "Query", chosen: Sequence[int], most: int = 2
    ) -> tuple[EvidenceRef, ...]:
        """The lines among some passages that say most about a query, best first."""
        weights = np.zeros(len(self.words.idf), np.float32)
        weights[query.main_ids] = self.words.idf[query.main_ids]
        found: list[tuple[float, bytes, PassageLine]] = []
        for index in chosen:
            passage = self.passages[index]
            bounds = [*(line.first for line in passage.lines), len(passage.ids)]
            for line, first, last in zip(passage.lines, bounds, bounds[1:], strict=False):
                score = float(weights[np.unique(passage.ids[first:last])].sum())
                if score > 0:
                    found.append((-round(score, 4), passage.key, line))
        found.sort(key=lambda item: (item[0], item[1], item[2].start))
        references: dict[EvidenceRef, None] = {}
        for _, _, line in found:
            if len(references) == most:
                break
            source = self.sources[line.source]
            references[
                EvidenceRef(
                    source_id=source.id,
                    start=line.start,
                    end=line.end,
                    text=source.text[line.start : line.end],
                )
            ] = None
        return tuple(references)

    def _fill(self, order: NDArray[np.intp], start: int, budget: int) -> int:
        """How many passages from a rank on fit into a budget; at least one, if there is one."""
        total = 0
        for n, index in enumerate(order[start:]):
            total += self.passages[index].n_read
            if total > budget and n > 0:
                return n
        return len(order) - start


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


def _passages(
    index: int, source: Source, lines: Sequence[Line], pieces: WordPieces
) -> Iterator[Passage]:
    """Pack the lines of a source into passages, one line of overlap."""
    encoded = [found.ids for found in pieces.encode_batch([line.reading for line in lines])]
    crumbs: dict[str, NDArray[np.int32]] = {}
    packed = _Pack(index)
    for line, ids in zip(lines, encoded, strict=True):
        if line.heading not in crumbs:
            text = " > ".join(part for part in (source.title, line.heading) if part)
            crumbs[line.heading] = pieces.encode_batch([text])[0].ids[:BREADCRUMB_PIECES]
        crumb = crumbs[line.heading]
        room = PASSAGE_PIECES - len(crumb)
        if packed.lines and (
            line.group != packed.group
            or line.heading != packed.heading
            or packed.n_pieces + len(ids) > room
        ):
            yield packed.passage()
            carries = line.group == packed.group and line.heading == packed.heading
            packed = packed.next(carries=carries, room=room - min(len(ids), room))
        packed.group, packed.heading, packed.crumb = line.group, line.heading, crumb
        for start in range(0, max(len(ids), 1), room):
            part = ids[start : start + room]
            if packed.lines and packed.n_pieces + len(part) > room:
                yield packed.passage()
                packed = packed.next(carries=False, room=0)
                packed.group, packed.heading, packed.crumb = line.group, line.heading, crumb
            packed.add(line, part, is_new=start == 0)
    if packed.lines:
        yield packed.passage()


class _Pack:
    """A passage being packed."""

    def __init__(self, source: int) -> None:
        self.source = source
        self.lines: list[tuple[Line, NDArray[np.int32]]] = []
        self.n_pieces = self.n_own_chars = self.group = 0
        self.heading = ""
        self.crumb = np.empty(0, np.int32)

    def add(self, line: Line, ids: NDArray[np.int32], *, is_new: bool) -> None:
        self.lines.append((line, ids))
        self.n_pieces += len(ids)
        self.n_own_chars += (line.end - line.start) if is_new else 0

    def next(self, *, carries: bool, room: int) -> "_Pack":
        """The pack that follows; it begins with the last line of this one, if there is room."""
        following = _Pack(self.source)
        line, ids = self.lines[-1]
        if carries and len(ids) <= min(room, PASSAGE_PIECES // 3):
            following.add(line, ids, is_new=False)
        return following

    def passage(self) -> Passage:
        firsts = np.cumsum([len(self.crumb), *(len(ids) for _, ids in self.lines)])
        ids = np.concatenate([self.crumb, *(ids for _, ids in self.lines)]).astype(np.int32)
        lines = tuple(
            PassageLine(self.source, line.start, line.end, int(first), line.reading)
            for (line, _), first in zip(self.lines, firsts, strict=False)
        )
        layout = np.array([len(self.crumb), *firsts], np.int32)
        key = blake2b(ids.tobytes() + b"|" + layout.tobytes(), digest_size=16).digest()
        return Passage(key, ids, len(self.crumb), lines, self.n_own_chars)

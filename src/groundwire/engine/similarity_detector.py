"""The similarity detector: it compares the vectors of claims with those of sources or of lines."""

import logging
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from math import isnan
from threading import Event

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.evidence import Evidence, WordWeights
from groundwire.detection.example import Source
from groundwire.detection.passages import CutSource
from groundwire.detection.similarity import THRESHOLD, is_compared, nearest
from groundwire.detection.values import EvidenceRef, Reason, Score
from groundwire.engine.embedder import HASH_DIMENSION, Embedder, HashEmbedder, NeuralEmbedder
from groundwire.engine.models import DEFAULT_MODEL, EMBEDDERS, ENCODER, find_model
from groundwire.engine.scores import ClaimScores
from groundwire.engine.sentence import parts_of, without_citations
from groundwire.engine.shared import SharedResources
from groundwire.engine.tokenizer import WordPieces
from groundwire.engine.work import Work
from groundwire.errors import DetectionError
from groundwire.text.emphasis import without_emphasis
from groundwire.text.segment import Segment

log = logging.getLogger(__name__)

#: Limit on the lines (sentences, fields or rows) of a source that is compared as a whole. A longer
#: source is compared line by line, because a single vector would mix too many topics
#: (docs/similarity.md has the numbers).
WHOLE_LINES = 3

#: Size in bytes of the largest vectors, those of the hash embedder.
_VECTOR_BYTES = 4 * HASH_DIMENSION


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityBackend:
    """The backend of the similarity detector: an embedder with tokenizer, threads and caches.

    Attributes:
        name: Name of the detector in options and results.
        operating_points: Thresholds by name; a claim with a lower cosine is not grounded.
        embedder: Turns texts into vectors.
        pieces: The tokenizer, with which sources are cut into passages.
        words: Weights of words, by which passages are indexed.
        shared: Threads that embed texts, and caches of vectors and of sources.
        whole_lines: A source with more lines than this is compared line by line.
        counter: Counts texts that were embedded and claims that were compared.
    """

    name: str
    operating_points: Mapping[str, float]
    embedder: Embedder
    pieces: WordPieces
    words: WordWeights
    shared: SharedResources
    whole_lines: int = WHOLE_LINES
    counter: Work = field(default_factory=Work)
    score: Score = field(default=Score.SIMILARITY, init=False)
    # A similarity is not a probability, so an answer gets no probability.
    answers: None = field(default=None, init=False)

    @classmethod
    def load(cls, name: str, shared: SharedResources) -> "SimilarityBackend":
        """Open the detector ``name`` of :data:`.models.EMBEDDERS`.

        The hashes of its files are not checked.
        """
        tables = find_model(DEFAULT_MODEL).folder
        pieces = WordPieces(tables / "tokenizer.json")
        embedder: Embedder
        if EMBEDDERS[name] == "hash":
            embedder, points = HashEmbedder(), {"balanced": THRESHOLD}
        else:
            name, manifest = "similarity", find_model(ENCODER)
            embedder = NeuralEmbedder.load(manifest, pieces, threads=1)
            points = dict(manifest.operating_points)
        return cls(name, points, embedder, pieces, WordWeights.load(tables), shared)

    @property
    def revision(self) -> str:
        """Revision of the embedder, which is also that of the detector."""
        return self.embedder.revision

    @property
    def work(self) -> dict[str, int]:
        """Counts of texts that were embedded and claims that were compared so far."""
        return self.counter.counts()

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "SimilaritySession":
        """Begin the check of an answer: cut its sources. Question and threshold have no effect."""
        cuts: list[tuple[Source, CutSource]] = []

        def cut(source: Source) -> CutSource:
            found = self.shared.cut(
                source, pieces=self.pieces, owner=(tenant, self.revision), reads=self.embedder.reads
            )
            cuts.append((source, found))
            return found

        evidence = Evidence.of(sources, cut, self.words)
        return SimilaritySession(self, evidence, _units(cuts, self.whole_lines), tenant)

    def vector(self, text: str, tenant: str) -> NDArray[np.float32]:
        """Return the vector of a source or line; compute the vector if it is not cached."""
        return self.shared.read(self._key(text, tenant), partial(self._embed, text))

    def vector_ahead(self, text: str, tenant: str, *, is_wanted: Callable[[], bool]) -> None:
        """Compute the vector of a source or line, and cache it, before a claim needs the vector.

        Nothing is done if the vector is cached or being computed already, or if ``is_wanted``
        returns false when the embedder is free for the text.
        """
        compute = partial(self._embed, text)
        self.shared.read_ahead(self._key(text, tenant), compute, is_wanted=is_wanted)

    def _embed(self, text: str) -> NDArray[np.float32]:
        self.counter.add(texts_embedded=1)
        return np.asarray(self.embedder.embed([text])[0])

    def _key(self, text: str, tenant: str) -> Hashable:
        return (tenant, self.revision, blake2b(text.encode(), digest_size=16).digest())


@dataclass(frozen=True, slots=True)
class ComparedUnit:
    """A text to compare claims with: a source, or a line of a source.

    Attributes:
        text: The text that is embedded.
        place: The range of the source that the text comes from.
    """

    text: str
    place: EvidenceRef


def _units(cuts: Sequence[tuple[Source, CutSource]], whole_lines: int) -> list[ComparedUnit]:
    """Collect the texts to compare claims with, each once, from the first source that has it.

    A source with at most ``whole_lines`` lines, all of them readable, is one text. Of other
    sources, each readable line is a text.
    """
    units: dict[str, ComparedUnit] = {}
    for source, found in cuts:
        lines = {(line.start, line.end): line for p in found.passages for line in p.lines}
        if len(lines) > whole_lines or found.indexed_chars < found.offered_chars:
            for (start, end), line in lines.items():
                units.setdefault(line.reading, _unit(line.reading, source, start, end))
        elif lines:
            text = source.text.strip()
            start = source.text.index(text)
            units.setdefault(text, _unit(text, source, start, start + len(text)))
    return list(units.values())


def _unit(text: str, source: Source, start: int, end: int) -> ComparedUnit:
    quoted = source.text[start:end]
    return ComparedUnit(text, EvidenceRef(source_id=source.id, start=start, end=end, text=quoted))


class SimilaritySession:
    """The check of one answer by similarity, claim by claim."""

    is_incremental = True

    def __init__(
        self,
        backend: SimilarityBackend,
        evidence: Evidence,
        units: Sequence[ComparedUnit],
        tenant: str,
    ) -> None:
        self.evidence = evidence
        self.attended: set[int] = set()
        self.reasons: Counter[Reason] = Counter(evidence.reasons)
        self._backend, self._units, self._tenant = backend, units, tenant
        self._vectors: NDArray[np.float32] | None = None
        self._closed = Event()

    def prefetch(self) -> None:
        """Begin to embed sources and lines in the background, no more than fit into the cache."""
        room = self._backend.shared.cache.stats.max_bytes // _VECTOR_BYTES
        for unit in self._units[:room]:
            self._backend.shared.turns.ahead(partial(self._embed_ahead, unit.text))

    def close(self) -> None:
        """Stop embedding sources in the background."""
        self._closed.set()

    def _embed_ahead(self, text: str) -> None:
        if self._is_wanted():
            self._backend.vector_ahead(text, self._tenant, is_wanted=self._is_wanted)

    def _is_wanted(self) -> bool:
        return self._vectors is None and not self._closed.is_set()

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Compare the next claims with the sources; if one claim fails, the others still count."""
        texts = [answer[segment.start : segment.end] for segment in segments]
        if any(is_compared(text) and self._backend.embedder.reads(text) for text in texts):
            # The sources are embedded first, because the claims will occupy the workers. If the
            # sources cannot be embedded, each claim that would be compared counts as failed.
            try:
                self._embed_sources()
            except Exception as error:  # noqa: BLE001 - whatever went wrong, nothing was compared
                log.warning("The sources could not be embedded: %s", type(error).__name__)
        return self._backend.shared.map(partial(self._claim, answer), segments)

    def _claim(self, answer: str, segment: Segment) -> ClaimScores:
        text = answer[segment.start : segment.end]
        if not is_compared(text):
            return ClaimScores.unread(Reason.TOO_SHORT)
        if not self._backend.embedder.reads(text):
            return ClaimScores.unread(Reason.LANGUAGE)
        try:
            return self._compare(answer, segment)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the claim was not checked
            # The error's message may quote the answer, which must not get into a log.
            log.warning("A claim could not be compared: %s", type(error).__name__)
            return ClaimScores.unread(Reason.DETECTOR_FAILED)

    def _compare(self, answer: str, segment: Segment) -> ClaimScores:
        backend = self._backend
        # Citations and marks of emphasis state nothing.
        text = without_emphasis(without_citations(answer, segment))
        with backend.shared.turns.answer():
            vector = backend.embedder.embed([text])[0]
        if self._vectors is None:
            raise DetectionError("The sources could not be embedded.")
        similarity, index = nearest(vector, self._vectors)
        if isnan(similarity):
            raise DetectionError("The embedder's output is not a number.")
        backend.counter.add(claims_compared=1)
        self.attended.update(range(len(self.evidence.passages)))
        parts = parts_of(answer, segment, backend.pieces)
        return ClaimScores.compared(
            similarity, (self._units[index].place,), backend.embedder.n_unread(parts)
        )

    def _embed_sources(self) -> None:
        """Compute the vectors of all sources and lines that claims are compared with, once."""
        if self._vectors is None:
            texts = [unit.text for unit in self._units]
            embed = partial(self._backend.vector, tenant=self._tenant)
            self._vectors = np.stack(self._backend.shared.map(embed, texts))

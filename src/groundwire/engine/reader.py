"""The reader, the default detector: a model in which claims attend to encoded passages."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.asides.remarks import least_odds
from groundwire.detection.closest_lines import LINE_PIECES, closest_lines
from groundwire.detection.evidence import SELECTED_PIECES, Evidence, Query, Selection, WordWeights
from groundwire.detection.example import Source
from groundwire.detection.passages import PASSAGE_PIECES, PASSAGE_RULES
from groundwire.detection.rules import MAX_LINES, Basis, RuleFindings, find
from groundwire.detection.values import Entailment, EvidenceRef, Reason, Score
from groundwire.engine.architecture import Architecture
from groundwire.engine.cache import ByteCache
from groundwire.engine.cross_encoder import CrossEncoder
from groundwire.engine.encoded_texts import EncodedTexts
from groundwire.engine.features import FEATURE_RULES, N_FEATURES, NEUTRAL, match_features
from groundwire.engine.models import Manifest, companion
from groundwire.engine.part_scores import Calibration, CrossWeights, PartScores, least_supported
from groundwire.engine.roles import RECALLED_SENTENCES, TextRole
from groundwire.engine.runtime import KeysValues, RawScores, ReaderGraph
from groundwire.engine.scheduler import run_beside
from groundwire.engine.scores import AnswerCalibration, ClaimScores, SentenceCalibration
from groundwire.engine.sentence import ClaimPart, n_unknown_chars, parts_of, question_parts
from groundwire.engine.settings import n_threads
from groundwire.engine.shared import SharedResources
from groundwire.engine.tokenizer import WordPieces
from groundwire.engine.work import Work
from groundwire.errors import DetectionError, ModelError, UnreadableError
from groundwire.text.quantities import QuantityIndex
from groundwire.text.segment import Segment, parse_citations
from groundwire.text.writing_system import is_readable

log = logging.getLogger(__name__)

#: Limit on the passages that ReaderSession.prefetch encodes before claims select them.
PREFETCHED_PASSAGES = 32
# Budget of word pieces of evidence that a cross-encoder reads in ReaderSession.score_whole.
_ENTAILMENT_PIECES = 400
# A remark is a text that claims nothing. In each part of a remark, the sum of PartScores.doubt and
# least_odds(text) must be less than this.
_REMARK_DOUBT = 1.0

#: A part of a claim, and the last parts of claims before it in the answer, at most three.
_Unit: TypeAlias = tuple[ClaimPart, tuple[ClaimPart, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """A reader model, with its tokenizer, tables, caches and threads.

    Attributes:
        name: Name of the detector in options and results.
        revision: Revision of the model, :attr:`.Manifest.revision`.
        operating_points: Thresholds by name, each in (0, 1].
        calibration: Maps logits of word pieces to probabilities.
        answers: Maps the highest P(not supported) in an answer to P(the answer is hallucinated);
            ``None`` if the model has no such map.
        graph: The model's graph.
        pieces: The model's tokenizer.
        words: Weights and vectors of word pieces.
        shared: Threads and caches.
        sentences: Maps logits of a claim of an answer to probabilities.
        lines: The same map for a claim that is read with a few lines of evidence and nothing else.
        cross: The cross-encoder; ``None`` if the model has none.
        cross_weights: Weights with which the cross-encoder's logits are added to the reader's.
        knows_remarks: Whether the cross-encoder was trained to distinguish claims from remarks,
            which claim nothing.
        counter: Counts what the models read.
        finds_conflicts: Whether rules are applied to claims.
    """

    name: str
    revision: str
    operating_points: Mapping[str, float]
    calibration: Calibration
    answers: AnswerCalibration | None
    graph: ReaderGraph
    pieces: WordPieces
    words: WordWeights
    shared: SharedResources
    sentences: SentenceCalibration = field(default_factory=SentenceCalibration)
    lines: SentenceCalibration = field(default_factory=SentenceCalibration)
    cross: CrossEncoder | None = None
    cross_weights: CrossWeights = field(default_factory=CrossWeights)
    knows_remarks: bool = False
    counter: Work = field(default_factory=Work)
    finds_conflicts: bool = True
    score: Score = field(default=Score.PROBABILITY, init=False)

    @classmethod
    def load(cls, manifest: Manifest, shared: SharedResources) -> "Reader":
        """Open the model folder of a manifest, without checking the hashes of its files.

        Raises:
            ModelError: If the weights were trained on another version of the match features, the
                cross-encoder was fitted to another reader, or a graph cannot be opened.
            TypeError: If a key of the sizes or of a calibration is missing or unknown.
        """
        rules = manifest.raw.get("feature_rules")
        if rules != FEATURE_RULES:
            raise ModelError(
                f"The reader in {manifest.folder} was trained on match features of rules {rules}; "
                f"this version computes those of rules {FEATURE_RULES}. Train it again with "
                "groundwire train reader, or use the version of groundwire that it came with."
            )
        small = companion(manifest)
        folder: Path = small.folder
        fitted = manifest.raw.get("answer_calibration")
        return cls(
            name=manifest.name,
            revision=manifest.revision,
            operating_points=manifest.operating_points,
            calibration=Calibration(**manifest.calibration),
            answers=AnswerCalibration(**fitted) if fitted else None,
            graph=ReaderGraph(
                folder / "reader.onnx", Architecture.from_manifest(small.raw), threads=1
            ),
            pieces=WordPieces(folder / "tokenizer.json"),
            words=WordWeights.load(folder),
            shared=shared,
            sentences=SentenceCalibration(**(manifest.raw.get("sentence_calibration") or {})),
            lines=SentenceCalibration(**(manifest.raw.get("lines_calibration") or {})),
            cross=CrossEncoder.of(manifest, threads=shared.threads),
            cross_weights=CrossWeights(**(manifest.raw.get("cross_weights") or {})),
            knows_remarks=bool(manifest.raw.get("knows_remarks")),
        )

    @classmethod
    def load_alone(
        cls, manifest: Manifest, *, threads: int | None = None, cache_bytes: int
    ) -> "Reader":
        """Open a model folder, as :meth:`load` does, with threads and caches of its own."""
        shared = SharedResources(
            n_threads(threads), cache=ByteCache(cache_bytes), sources=ByteCache(cache_bytes // 10)
        )
        return cls.load(manifest, shared)

    def uncached(self) -> "Reader":
        """Return this reader without caches.

        :meth:`entailment` caches the texts of all tenants under the same keys. So the time that a
        call takes could show one tenant which texts another tenant has sent.
        """
        return replace(self, shared=self.shared.with_caches(ByteCache(0), ByteCache(0)))

    @property
    def work(self) -> dict[str, int]:
        """Counts of what the models have read so far, by name."""
        return self.counter.counts()

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "ReaderSession":
        """Begin the check of an answer: index the sources of its request.

        If P(not supported) of a word piece is ``threshold`` or more, its claim (or, of a long
        claim, its part) is read again with other passages (:attr:`.Selection.second`), if there are
        any. ``tenant`` is part of the cache keys.
        """
        cut = partial(self.shared.cut, pieces=self.pieces, owner=(tenant, self.revision))
        evidence = Evidence.of(sources, cut, self.words)
        return ReaderSession(self, evidence, question, threshold=threshold, tenant=tenant)

    def entailment(self, hypothesis: str, evidence: Sequence[EvidenceRef]) -> Entailment:
        """Score a claim as a whole with a few lines of evidence and nothing else.

        Raises:
            UnreadableError: If the claim or the lines have no words that the model can read.
            DetectionError: If the model's output is not a number.
        """
        return self.lines.entailment(self.sentence_logits(hypothesis, evidence))

    def claims_nothing(self, text: str) -> bool:
        """Return whether the cross-encoder finds no claim in a text that it reads without evidence.

        Call this only if ``knows_remarks`` is true. The result is false if the cross-encoder fails.
        """
        try:
            return self.open((), None, threshold=1.0, tenant="").is_remark(text)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the text stays a claim
            log.warning("A claim could not be read without evidence: %s", type(error).__name__)
            return False

    def sentence_logits(
        self, hypothesis: str, evidence: Sequence[EvidenceRef]
    ) -> NDArray[np.float32]:
        """Score a claim as a whole with a few lines of evidence, without calibration.

        :meth:`entailment` maps the scores to probabilities.

        Returns:
            Logits of supported, unsupported and contradicted, shape ``(3,)``.
        """
        lines = [Source(id=str(i), text=line.text) for i, line in enumerate(evidence)]
        return self.open(lines, None, threshold=1.0, tenant="").score_whole(hypothesis)


class ReaderSession:
    """The check of one answer by the reader, claim by claim.

    The scores of a claim depend on its text, on the text before it, and on question, sources and
    threshold, but not on the scores of other claims.
    """

    is_incremental = True

    def __init__(
        self,
        reader: Reader,
        evidence: Evidence,
        question: str | None,
        *,
        threshold: float,
        tenant: str,
    ) -> None:
        self.evidence = evidence
        self.attended: set[int] = set()
        self.reasons: Counter[Reason] = Counter(evidence.reasons)
        self._reader, self._threshold = reader, threshold
        self._texts = EncodedTexts(
            reader.graph,
            reader.pieces,
            shared=reader.shared,
            namespace=(tenant, reader.revision, PASSAGE_RULES, FEATURE_RULES),
            counter=reader.counter,
        )
        self._question = question or ""
        asked = reader.pieces.encode(self._question).ids
        self._question_parts = question_parts(asked)
        self._question_ids = np.unique(np.concatenate([*self._question_parts, asked[:0]]))
        if sum(map(len, self._question_parts)) < len(asked):
            self.reasons[Reason.QUESTION_SHORTENED] = 1
        self._earlier: list[ClaimPart] = []
        self._bases: dict[tuple[int, ...], Basis] = {}
        self._closed, self._reads_ahead = Event(), False

    def prefetch(self) -> None:
        """Begin to encode passages in the background, before claims select them.

        The best passages for the question are encoded or, without a question, the first ones.
        """
        order = (
            self.evidence.rank(Query.of(self._question_ids))
            if len(self._question_ids)
            else range(len(self.evidence.passages))
        )
        # At most half of the cache is filled, so that no passage removes another from the cache.
        passage_bytes = self._reader.graph.sizes.bytes_per_piece * (PASSAGE_PIECES + 2)
        room = self._reader.shared.cache.stats.max_bytes // (2 * passage_bytes)
        self._reads_ahead = True
        for index in order[: min(PREFETCHED_PASSAGES, room)]:
            self._reader.shared.turns.ahead(partial(self._read_ahead, int(index)))

    def _read_ahead(self, index: int) -> None:
        passage = self.evidence.passages[index]
        if self._is_open():
            self._texts.encode_ahead(passage.ids, is_wanted=self._is_open)
        if self._is_open():
            # Fills a cached property that the rules need later.
            _ = passage.quantities

    def _is_open(self) -> bool:
        return not self._closed.is_set()

    def close(self) -> None:
        """Begin no more encoding in the background; encoding that has begun is finished."""
        self._closed.set()

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Score the next claims; a claim that cannot be scored gets a reason in place of scores."""
        claims: list[list[_Unit]] = []
        for segment in segments:
            parts = parts_of(answer, segment, self._reader.pieces)
            readable = is_readable(answer[segment.start : segment.end])
            claims.append([])
            for part in parts if readable else ():
                claims[-1].append((part, tuple(self._earlier[-RECALLED_SENTENCES:])))
                self._earlier.append(part)
        found = self._reader.shared.map(self._claim, claims)
        recalls = self._reader.graph.sizes.recalls
        if recalls and self._earlier and self._reads_ahead and self._is_open():
            run_beside(self._reader.shared.workers, partial(self._recall, self._earlier[-1]))
        return found

    def _recall(self, part: ClaimPart) -> None:
        """Encode a part of a claim ahead, since the next claim of the answer may attend to it."""
        if self._is_open():
            self._texts.encode(TextRole.HISTORY, part.ids)

    def score_whole(self, claim: str) -> NDArray[np.float32]:
        """Score a claim as a whole; the evidence must be short, since no passages are selected.

        If the reader has a cross-encoder, it alone scores the claim, and reads the closest lines.

        Returns:
            Logits of supported, unsupported and contradicted, shape ``(3,)``; of a claim in several
            parts, those of the least supported part.

        Raises:
            UnreadableError: If the claim or the evidence has no words that the model can read.
            DetectionError: If the model's output is not a number.
        """
        parts = []
        if claim.strip() and is_readable(claim):
            segment = Segment(start=0, end=len(claim), citations=parse_citations(claim))
            parts = parts_of(claim, segment, self._reader.pieces)
        if not parts or not self.evidence.passages:
            raise UnreadableError
        everything = range(len(self.evidence.passages))
        if self._reader.cross is not None:
            return least_supported([self._cross_encoder_scores(part, everything) for part in parts])
        return least_supported(
            [
                self._read_with_passages(
                    part, everything, self._past(everything, ()), self._features(part, everything)
                )
                for part in parts
            ]
        )

    def is_remark(self, text: str) -> bool:
        """Return whether a text is a remark, which claims nothing.

        The session must have no evidence, and the reader's ``knows_remarks`` must be true. Its
        cross-encoder was then trained to score a remark without evidence as supported, and a claim
        without evidence as unsupported.
        """
        least = least_odds(text)
        if least is None:
            return False
        segment = Segment(start=0, end=len(text), citations=())
        parts = parts_of(text, segment, self._reader.pieces)
        return bool(parts) and all(
            (scores := self._cross_encoder_scores(part, ())).support > least
            and scores.doubt < _REMARK_DOUBT - least
            for part in parts
        )

    def _cross_encoder_scores(self, part: ClaimPart, chosen: Sequence[int]) -> PartScores:
        """Score a part of a claim with the cross-encoder and the closest lines of passages."""
        features = self._features(part, chosen)
        scores = self._read_with_lines(
            part, Query.of(part.ids), chosen, features, budget=_ENTAILMENT_PIECES
        )
        assert scores is not None
        return PartScores(scores.pieces, scores.sentence, tuple(chosen))

    def _claim(self, units: Sequence[_Unit]) -> ClaimScores:
        if not units:
            return ClaimScores.unread(Reason.LANGUAGE)
        try:
            return self._scores(units)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the claim was not checked
            # The error's message may quote the answer, which must not get into a log.
            log.warning("A claim could not be judged: %s", type(error).__name__)
            return ClaimScores.unread(Reason.DETECTOR_FAILED)

    def _scores(self, units: Sequence[_Unit]) -> ClaimScores:
        query = Query.of(np.concatenate([part.ids for part, _ in units]))
        queries = [self._query(part, earlier) for part, earlier in units]
        in_context = replace(queries[0], main_ids=query.main_ids)
        selections = [self.evidence.select(each) for each in queries]
        before = units[0][1][-1].text if units[0][1] else ""
        prepared = list(map(self._prepare, units, queries, selections))
        # The rules may run in another thread while this thread runs the model. They begin only
        # after the preparation, which they would slow down: rules and preparation both hold the
        # interpreter lock, and the model releases it.
        find_conflicts = run_beside(
            self._reader.shared.workers,
            partial(self._findings, units[0][0], query, selections, before),
        )
        readings = list(map(self._score_part, prepared))
        parts = [scores for scores, _ in readings]
        chosen = sorted({index for scores in parts for index in scores.chosen})
        self.attended.update(chosen)
        findings = find_conflicts()
        labels = [self._reader.calibration.labels(scores.logits) for scores in parts]
        return ClaimScores(
            offsets=np.concatenate([part.ranges for part, _ in units]),
            labels=np.concatenate(labels),
            evidence=self.evidence.references(in_context, chosen),
            n_unread=sum(
                n_unknown_chars(part, self._reader.pieces.unknown_id) for part, _ in units
            ),
            entailment=self._reader.sentences.entailment(least_supported(parts)),
            conflicts=findings.conflicts,
            settled=findings.settled,
            is_line=findings.is_line,
            logits=tuple(
                np.concatenate(each)
                for each in zip(*(models for _, models in readings), strict=True)
            ),
            is_remark=partial(self._reader.claims_nothing, units[0][0].text)
            if self._reader.knows_remarks
            else None,
        )

    def _findings(
        self, part: ClaimPart, query: Query, selections: Sequence[Selection], before: str
    ) -> RuleFindings:
        """Apply the rules to a claim; the findings have offsets in the answer.

        The rules use the passages of ``first`` and ``second`` of each selection even if the model
        reads only ``first``: a value that ``first`` lacks may be in ``second``. If all passages
        together have at most :data:`.SELECTED_PIECES` word pieces, special tokens included, the
        rules use all of them. If the reader's ``finds_conflicts`` is false, no rule is applied.
        """
        if not self._reader.finds_conflicts:
            return RuleFindings()
        indices = tuple(sorted({i for s in selections for i in (*s.first, *s.second)}))
        if sum(passage.n_read for passage in self.evidence.passages) <= SELECTED_PIECES:
            indices = tuple(range(len(self.evidence.passages)))
        basis = self._bases.get(indices)
        if basis is None:
            passages = [self.evidence.passages[index] for index in indices]
            basis = self._bases[indices] = Basis(
                [line.reading for passage in passages for line in passage.lines],
                QuantityIndex.union(passage.quantities for passage in passages),
                self._question,
            )
        lines = self.evidence.readings(query, indices, MAX_LINES)
        return find(part.text, lines, basis, before).moved(part.places.tolist())

    def _query(self, part: ClaimPart, earlier: Sequence[ClaimPart]) -> Query:
        before = earlier[-1].ids if earlier else None
        return Query.of(part.ids, question=self._question_ids, before=before)

    def _prepare(self, unit: _Unit, query: Query, selection: Selection) -> "_PreparedPart":
        """Prepare a part of a claim for scoring.

        Its match features are computed, and the texts that it attends to are encoded.
        """
        part, earlier = unit
        context = [self._texts.encode(TextRole.QUESTION, ids) for ids in self._question_parts]
        if self._reader.graph.sizes.recalls:
            context += [self._texts.encode(TextRole.HISTORY, p.ids) for p in earlier]
        return _PreparedPart(
            part=part,
            query=query,
            selection=selection,
            context=context,
            past=self._past(selection.first, context),
            features=self._features(part, selection.first),
        )

    def _score_part(
        self, prepared: "_PreparedPart"
    ) -> tuple[PartScores, tuple[NDArray[np.float32], ...]]:
        """Score a part of a claim with the passages of ``selection.first``.

        If P(not supported) of a word piece reaches the threshold, the part is also read with
        ``selection.second``, unless this is empty. If there is a cross-encoder, it reads the
        closest lines of both sets of passages at once.

        Returns:
            The scores of all models together, and the logits for ``ClaimScores.logits``.
        """
        part, selection, features = prepared.part, prepared.selection, prepared.features
        crossed = None
        if self._reader.cross is not None:
            both = tuple(sorted({*selection.first, *selection.second}))
            crossed = self._read_with_lines(part, prepared.query, both, features)
        weights = self._reader.cross_weights
        scores = self._read_with_passages(part, selection.first, prepared.past, features)
        mixed = scores.mixed_with(crossed, weights)
        if selection.second and self._is_doubted(mixed):
            # The better scores count: the passage that supports a claim may be in only one of the
            # two readings.
            self._reader.counter.add(second_looks=1)
            past = self._past(selection.second, prepared.context)
            features = self._features(part, selection.second)
            scores = scores.piecewise_best(
                self._read_with_passages(part, selection.second, past, features)
            )
            mixed = scores.mixed_with(crossed, weights)
        if crossed is None:
            return mixed, (scores.logits,)
        whole = np.broadcast_to(crossed.sentence, scores.logits.shape)
        return mixed, (scores.logits, crossed.pieces, whole)

    def _is_doubted(self, scores: PartScores) -> bool:
        labels = self._reader.calibration.labels(scores.logits)
        return bool(1 - labels[:, 0].min() >= self._threshold)

    def _past(self, chosen: Sequence[int], context: Sequence[KeysValues]) -> KeysValues:
        """Join the keys and values of the passages ``chosen`` and of other texts."""
        passages = self._texts.encode_passages([self.evidence.passages[i].ids for i in chosen])
        return KeysValues.join([self._reader.graph.nothing, *passages, *context])

    def _features(self, part: ClaimPart, chosen: Sequence[int]) -> NDArray[np.int64]:
        """Compute the match features of a part for the passages ``chosen``, shape ``(n, 6)``."""
        return match_features(
            part.ids,
            part.offsets,
            part.text,
            passages=[self.evidence.passages[index] for index in chosen],
            question_ids=self._question_ids,
            idf=self.evidence.words.idf,
            unknown_id=self._reader.pieces.unknown_id,
        )

    def _read_with_lines(
        self,
        part: ClaimPart,
        query: Query,
        passages: Sequence[int],
        features: NDArray[np.int64],
        *,
        budget: int = LINE_PIECES,
    ) -> RawScores | None:
        """Score a part of a claim with the cross-encoder and the closest lines of some passages.

        ``budget`` is the budget of word pieces of :func:`.closest_lines`. The result is ``None`` if
        the reader has no cross-encoder.
        """
        reader = self._reader
        if reader.cross is None:
            return None
        excerpts = closest_lines(self.evidence, query, passages, budget=budget)
        asked = np.concatenate([*self._question_parts, part.ids[:0]])
        with reader.shared.turns.answer():
            scores = reader.cross.read(part.ids, features, asked, excerpts, reader.pieces)
        n_lines = sum(len(excerpt.ids) for excerpt in excerpts)
        reader.counter.add(claims_crossed=1, pieces_crossed=len(part.ids) + n_lines)
        _require_finite(scores)
        return scores

    def _read_with_passages(
        self, part: ClaimPart, chosen: Sequence[int], past: KeysValues, features: NDArray[np.int64]
    ) -> PartScores:
        """Score a part of a claim with the reader's graph and the passages ``chosen``.

        ``past`` has the keys and values of the texts that the part attends to.
        """
        reader = self._reader
        codes = np.empty((len(part.ids) + 2, N_FEATURES), np.int64)
        codes[0] = codes[-1] = NEUTRAL
        codes[1:-1] = features
        with reader.shared.turns.answer():
            scores = reader.graph.read_sentence(reader.pieces.with_specials(part.ids), codes, past)
        reader.counter.add(sentences_read=1, pieces_judged=len(part.ids))
        _require_finite(scores)
        return PartScores(scores.pieces, scores.sentence, tuple(chosen))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PreparedPart:
    """A part of a claim, with what the reader's graph reads with it.

    Attributes:
        part: The part.
        query: The query of the part.
        selection: The passages to read the part with.
        context: Keys and values of the question and, if :attr:`.Architecture.recalls` is true, of
            the parts of claims before this part.
        past: Keys and values of the passages ``selection.first`` and of ``context``.
        features: Match features of the part for the passages ``selection.first``.
    """

    part: ClaimPart
    query: Query
    selection: Selection
    context: Sequence[KeysValues]
    past: KeysValues
    features: NDArray[np.int64]


def _require_finite(scores: RawScores) -> None:
    # Logits are checked before calibration, which would turn an infinite logit into a confident
    # verdict.
    if not (np.isfinite(scores.pieces).all() and np.isfinite(scores.sentence).all()):
        raise DetectionError("The model's output is not a number.")

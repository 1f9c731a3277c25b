"""The default detector: passages are read once, each claim attends to those it selects."""

import logging
import os
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from threading import Event
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.closest_lines import LINE_PIECES, closest_lines
from groundwire.detection.evidence import SELECTED_PIECES, Evidence, Query, Selection, WordWeights
from groundwire.detection.example import Source
from groundwire.detection.passages import PASSAGE_PIECES, PASSAGE_RULES, CutSource, cut_source
from groundwire.detection.rules import MAX_LINES, Basis, RuleFindings, find
from groundwire.detection.values import Entailment, EvidenceRef, Reason, Score
from groundwire.engine.architecture import Architecture
from groundwire.engine.cache import ByteCache
from groundwire.engine.cross_encoder import CrossEncoder
from groundwire.engine.features import FEATURE_RULES, N_FEATURES, NEUTRAL, match_features
from groundwire.engine.look import Calibration, CrossWeights, Look, least_supported
from groundwire.engine.models import Manifest, companion
from groundwire.engine.roles import RECALLED_SENTENCES, TextRole
from groundwire.engine.runtime import KeysValues, RawScores, ReaderGraph
from groundwire.engine.scheduler import Turns
from groundwire.engine.scores import AnswerCalibration, ClaimScores, SentenceCalibration
from groundwire.engine.sentence import ClaimPart, n_unknown_chars, parts_of, question_parts
from groundwire.engine.tokenizer import WordPieces
from groundwire.engine.work import Work
from groundwire.errors import DetectionError, ModelError, UnreadableError
from groundwire.text.quantities import QuantityIndex
from groundwire.text.segment import Segment, parse_citations
from groundwire.text.writing_system import is_readable

log = logging.getLogger(__name__)

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")

#: Passages that are read before any claim asks for them, best for the question first.
PREFETCHED_PASSAGES = 32
# Word pieces of lines that a cross-encoder reads with a claim where they are all there is.
_ALONE_PIECES = 400


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """The embedded model with its tables, its cache and its threads."""

    name: str
    revision: str
    operating_points: Mapping[str, float]
    calibration: Calibration
    answers: AnswerCalibration | None
    graph: ReaderGraph
    pieces: WordPieces
    words: WordWeights
    cache: ByteCache[KeysValues]
    sources: ByteCache[CutSource]
    workers: ThreadPoolExecutor
    turns: Turns
    sentences: SentenceCalibration = field(default_factory=SentenceCalibration)
    lines: SentenceCalibration = field(default_factory=SentenceCalibration)
    cross: CrossEncoder | None = None
    cross_weights: CrossWeights = field(default_factory=CrossWeights)
    counter: Work = field(default_factory=Work)
    finds_conflicts: bool = True
    score: Score = field(default=Score.PROBABILITY, init=False)

    @classmethod
    def load(
        cls,
        manifest: Manifest,
        *,
        cache: ByteCache[KeysValues],
        sources: ByteCache[CutSource],
        workers: ThreadPoolExecutor,
        turns: Turns,
    ) -> "Reader":
        """Open a model folder; its files are taken to be verified.

        Args:
            manifest: Of the folder.
            cache: For passages that were read.
            sources: For sources that were cut into passages.
            workers: Threads that read claims side by side.
            turns: How many texts are read at a time, each by one thread.

        Raises:
            ModelError: If its weights were trained on match features of other rules.
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
            cache=cache,
            sources=sources,
            workers=workers,
            turns=turns,
            sentences=SentenceCalibration(**(manifest.raw.get("sentence_calibration") or {})),
            lines=SentenceCalibration(**(manifest.raw.get("lines_calibration") or {})),
            cross=CrossEncoder.of(manifest, threads=turns.n_turns),
            cross_weights=CrossWeights(**(manifest.raw.get("cross_weights") or {})),
        )

    @classmethod
    def load_alone(
        cls, manifest: Manifest, *, threads: int | None = None, cache_bytes: int
    ) -> "Reader":
        """Open a model folder with a cache and threads of its own; as :meth:`load` otherwise."""
        threads = n_threads(threads)
        return cls.load(
            manifest,
            cache=ByteCache(cache_bytes),
            sources=ByteCache(cache_bytes // 10),
            workers=ThreadPoolExecutor(threads + 1, "groundwire"),
            turns=Turns(threads),
        )

    def forgetful(self) -> "Reader":
        """The same weights and threads, without a cache.

        For texts that come once and are some tenant's own: how long they take tells nobody whether
        another has had them read.
        """
        return replace(self, cache=ByteCache(0), sources=ByteCache(0))

    @property
    def work(self) -> dict[str, int]:
        """What was really done so far."""
        return self.counter.counts()

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "ReaderSession":
        """Index the sources of a request."""

        def cut(source: Source) -> CutSource:
            text = blake2b(repr((source.title, source.text)).encode(), digest_size=16).digest()
            return self.sources.get(
                (tenant, self.revision, PASSAGE_RULES, text),
                lambda: cut_source(source, self.pieces),
            )

        evidence = Evidence.of(sources, cut, self.words)
        return ReaderSession(self, evidence, question, threshold=threshold, tenant=tenant)

    def entailment(self, hypothesis: str, evidence: Sequence[EvidenceRef]) -> Entailment:
        """Judge a claim as a whole by some lines alone: no question, nothing said before it.

        Raises:
            UnreadableError: If there is nothing that the model can read.
            DetectionError: If it failed.
        """
        return self.lines.entailment(self.sentence_logits(hypothesis, evidence))

    def sentence_logits(
        self, hypothesis: str, evidence: Sequence[EvidenceRef]
    ) -> NDArray[np.float32]:
        """The same before calibration, shape ``(3,)``: supported, unsupported, contradicted."""
        lines = [Source(id=str(i), text=line.text) for i, line in enumerate(evidence)]
        return self.open(lines, None, threshold=1.0, tenant="").judge_whole(hypothesis)


class ReaderSession:
    """One answer being read, claim by claim.

    A claim's scores depend on its own text, the three parts before it (a claim is one part unless
    it exceeds 254 word pieces), the question and the sources: on nothing that was computed for
    another claim.
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
        self._reader, self._threshold, self._tenant = reader, threshold, tenant
        self._question = question or ""
        asked = reader.pieces.encode(self._question).ids
        self._question_parts = question_parts(asked)
        self._question_ids = np.unique(np.concatenate([*self._question_parts, asked[:0]]))
        if sum(map(len, self._question_parts)) < len(asked):
            self.reasons[Reason.QUESTION_SHORTENED] = 1
        self._earlier: list[ClaimPart] = []
        self._bases: dict[tuple[int, ...], Basis] = {}
        self._closed, self._is_ahead = Event(), False

    def prefetch(self) -> None:
        """Read the passages that rank best for the question, in the background."""
        order = (
            self.evidence.rank(Query.of(self._question_ids))
            if len(self._question_ids)
            else range(len(self.evidence.passages))
        )
        # No more than half of the cache, or reading ahead would throw out what it has just read.
        passage_bytes = self._reader.graph.sizes.bytes_per_piece * (PASSAGE_PIECES + 2)
        room = self._reader.cache.stats.max_bytes // (2 * passage_bytes)
        self._is_ahead = True
        for index in order[: min(PREFETCHED_PASSAGES, room)]:
            self._reader.turns.ahead(partial(self._read_ahead, int(index)))

    def _read_ahead(self, index: int) -> None:
        passage, reader = self.evidence.passages[index], self._reader
        key = self._key(TextRole.SOURCE, passage.ids)
        if self._closed.is_set():
            return
        if reader.cache.lacks(key):
            with reader.turns.source():
                # A turn may be long in coming.
                if self._closed.is_set():
                    return
                reader.cache.read_ahead(key, partial(self._compute, TextRole.SOURCE, passage.ids))
        # Found now rather than after the last word.
        _ = passage.quantities

    def close(self) -> None:
        """Stop reading ahead."""
        self._closed.set()

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Judge the next claims of the answer, in order.

        A claim that cannot be judged carries a reason in place of scores; one that fails does not
        take the others with it.
        """
        tasks: list[tuple[Segment, list[tuple[ClaimPart, tuple[ClaimPart, ...]]]]] = []
        for segment in segments:
            parts = parts_of(answer, segment, self._reader.pieces)
            readable = is_readable(answer[segment.start : segment.end])
            units = []
            for part in parts if readable else ():
                units.append((part, tuple(self._earlier[-RECALLED_SENTENCES:])))
                self._earlier.append(part)
            tasks.append((segment, units))
        if len(segments) == 1:
            found = [self._claim(*task) for task in tasks]
        else:
            found = list(self._reader.workers.map(lambda task: self._claim(*task), tasks))
        recalls = self._reader.graph.sizes.recalls
        if recalls and self._earlier and self._is_ahead and not self._closed.is_set():
            self._help(self._recall, self._earlier[-1])
        return found

    def _help(self, job: Callable[[_Given], _Made], given: _Given) -> Future[_Made] | None:
        """Have something done beside; ``None`` if the threads are gone, as the detector is."""
        with suppress(RuntimeError):
            return self._reader.workers.submit(job, given)
        return None

    def _recall(self, part: ClaimPart) -> None:
        """Read what the next claim will look back at, before that claim is there."""
        if not self._closed.is_set():
            self._text(TextRole.HISTORY, part.ids)

    def judge_whole(self, claim: str) -> NDArray[np.float32]:
        """Logits of a claim that is read with all there is, which has to be little; ``(3,)``.

        Raises:
            UnreadableError: If there is nothing that the model can read.
            DetectionError: If it failed.
        """
        parts = []
        if claim.strip() and is_readable(claim):
            segment = Segment(start=0, end=len(claim), citations=parse_citations(claim))
            parts = parts_of(claim, segment, self._reader.pieces)
        if not parts or not self.evidence.passages:
            raise UnreadableError
        everything = range(len(self.evidence.passages))
        if self._reader.cross is not None:
            return least_supported([self._crossed_alone(part, everything) for part in parts])
        return least_supported([self._judge(part, everything, ()) for part in parts])

    def _crossed_alone(self, part: ClaimPart, chosen: Sequence[int]) -> Look:
        features = self._features(part, chosen)
        scores = self._cross(part, Query.of(part.ids), chosen, features, budget=_ALONE_PIECES)
        assert scores is not None
        return Look(scores.pieces, scores.sentence, tuple(chosen))

    def _claim(
        self, segment: Segment, units: Sequence[tuple[ClaimPart, tuple[ClaimPart, ...]]]
    ) -> ClaimScores:
        if not units:
            return ClaimScores.unread(Reason.LANGUAGE)
        try:
            return self._scores(units)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, it was not checked
            # The message may quote the answer, which has no place in a log.
            log.warning("A claim could not be judged: %s", type(error).__name__)
            return ClaimScores.unread(Reason.DETECTOR_FAILED)

    def _scores(self, units: Sequence[tuple[ClaimPart, tuple[ClaimPart, ...]]]) -> ClaimScores:
        query = Query.of(np.concatenate([part.ids for part, _ in units]))
        selections = [self._select(part, earlier) for part, earlier in units]
        find_all = partial(self._findings, units[0][0], query)
        # Beside the model, which takes longer and does not need what the rules find.
        beside = self._help(find_all, selections)
        readings = [
            self._look(part, earlier, selection)
            for (part, earlier), selection in zip(units, selections, strict=True)
        ]
        looks = [look for look, _ in readings]
        chosen = sorted({index for look in looks for index in look.chosen})
        self.attended.update(chosen)
        findings = _helped(beside, find_all, selections)
        return ClaimScores(
            offsets=np.concatenate([part.ranges for part, _ in units]),
            labels=np.concatenate([self._reader.calibration.labels(look.logits) for look in looks]),
            evidence=self.evidence.references(query, chosen),
            n_unread=sum(
                n_unknown_chars(part, self._reader.pieces.unknown_id) for part, _ in units
            ),
            entailment=self._reader.sentences.entailment(least_supported(looks)),
            conflicts=findings.conflicts,
            settled=findings.settled,
            is_line=findings.is_line,
            logits=tuple(
                np.concatenate(each)
                for each in zip(*(models for _, models in readings), strict=True)
            ),
        )

    def _findings(
        self, part: ClaimPart, query: Query, selections: Sequence[Selection]
    ) -> RuleFindings:
        """What rules find in a claim, with offsets in the answer.

        They see what either look may read, and all there is if that is little: a value that stands
        in a passage of the second is not missing because the first looked right.
        """
        if not self._reader.finds_conflicts:
            return RuleFindings()
        reach = tuple(sorted({i for s in selections for i in (*s.first, *s.second)}))
        if sum(passage.n_read for passage in self.evidence.passages) <= SELECTED_PIECES:
            reach = tuple(range(len(self.evidence.passages)))
        basis = self._bases.get(reach)
        if basis is None:
            passages = [self.evidence.passages[index] for index in reach]
            basis = self._bases[reach] = Basis(
                [line.reading for passage in passages for line in passage.lines],
                QuantityIndex.union(passage.quantities for passage in passages),
                self._question,
            )
        lines = self.evidence.readings(query, reach, MAX_LINES)
        return find(part.text, lines, basis).moved(part.places.tolist())

    def _select(self, part: ClaimPart, earlier: Sequence[ClaimPart]) -> Selection:
        return self.evidence.select(self._query(part, earlier))

    def _query(self, part: ClaimPart, earlier: Sequence[ClaimPart]) -> Query:
        before = earlier[-1].ids if earlier else None
        return Query.of(part.ids, question=self._question_ids, before=before)

    def _look(
        self, part: ClaimPart, earlier: Sequence[ClaimPart], selection: Selection
    ) -> tuple[Look, tuple[NDArray[np.float32], ...]]:
        """Read a part with its evidence, and once more with other evidence if it looks wrong.

        Returns:
            What all models say together, and the logits of each, uncalibrated.
        """
        context = [self._text(TextRole.QUESTION, ids) for ids in self._question_parts]
        if self._reader.graph.sizes.recalls:
            context += [self._text(TextRole.HISTORY, p.ids) for p in earlier]
        features = self._features(part, selection.first)
        crossed = None
        if self._reader.cross is not None:
            reach = tuple(sorted({*selection.first, *selection.second}))
            crossed = self._cross(part, self._query(part, earlier), reach, features)
        weights = self._reader.cross_weights
        look = self._judge(part, selection.first, context, features)
        mixed = look.mixed_with(crossed, weights)
        if selection.second and self._is_doubted(mixed):
            # One selection with the evidence is enough: the other does not hold it, and says so.
            self._reader.counter.add(second_looks=1)
            second = self._features(part, selection.second)
            look = look.or_better(self._judge(part, selection.second, context, second))
            mixed = look.mixed_with(crossed, weights)
        if crossed is None:
            return mixed, (look.logits,)
        whole = np.broadcast_to(crossed.sentence, look.logits.shape)
        return mixed, (look.logits, crossed.pieces, whole)

    def _is_doubted(self, look: Look) -> bool:
        labels = self._reader.calibration.labels(look.logits)
        return bool(1 - labels[:, 0].min() >= self._threshold)

    def _features(self, part: ClaimPart, chosen: Sequence[int]) -> NDArray[np.int64]:
        """Match features of each word piece of a part over some passages, ``(n, 6)``."""
        return match_features(
            part.ids,
            part.offsets,
            part.text,
            passages=[self.evidence.passages[index] for index in chosen],
            question_ids=self._question_ids,
            idf=self.evidence.words.idf,
            unknown_id=self._reader.pieces.unknown_id,
        )

    def _cross(
        self,
        part: ClaimPart,
        query: Query,
        reach: Sequence[int],
        features: NDArray[np.int64],
        *,
        budget: int = LINE_PIECES,
    ) -> RawScores | None:
        """Read a part together with its closest lines, if there is a cross-encoder."""
        reader = self._reader
        if reader.cross is None:
            return None
        excerpts = closest_lines(self.evidence, query, reach, budget=budget)
        asked = np.concatenate([*self._question_parts, part.ids[:0]])
        with reader.turns.answer():
            scores = reader.cross.read(part.ids, features, asked, excerpts, reader.pieces)
        n_lines = sum(len(excerpt.ids) for excerpt in excerpts)
        reader.counter.add(claims_crossed=1, pieces_crossed=len(part.ids) + n_lines)
        _require_finite(scores)
        return scores

    def _judge(
        self,
        part: ClaimPart,
        chosen: Sequence[int],
        context: Sequence[KeysValues],
        features: NDArray[np.int64] | None = None,
    ) -> Look:
        reader = self._reader
        past = KeysValues.join([reader.graph.nothing, *self._passages(chosen), *context])
        codes = np.empty((len(part.ids) + 2, N_FEATURES), np.int64)
        codes[0] = codes[-1] = NEUTRAL
        codes[1:-1] = self._features(part, chosen) if features is None else features
        with reader.turns.answer():
            verdict: RawScores = reader.graph.read_sentence(
                _with_specials(part.ids, reader.pieces), codes, past
            )
        reader.counter.add(sentences_read=1, pieces_judged=len(part.ids))
        _require_finite(verdict)
        return Look(verdict.pieces, verdict.sentence, tuple(chosen))

    def _passages(self, chosen: Sequence[int]) -> list[KeysValues]:
        """Passages in this order; those that nobody has read yet side by side."""
        texts = [self.evidence.passages[index].ids for index in chosen]
        missing = [i for i, ids in enumerate(texts) if self._is_missing(ids)]
        helpers = {i: self._help(self._passage, chosen[i]) for i in missing[1:]}
        return [_helped(helpers.get(i), self._passage, index) for i, index in enumerate(chosen)]

    def _is_missing(self, ids: NDArray[np.int32]) -> bool:
        return self._reader.cache.lacks(self._key(TextRole.SOURCE, ids))

    def _passage(self, index: int) -> KeysValues:
        return self._text(TextRole.SOURCE, self.evidence.passages[index].ids)

    def _text(self, role: TextRole, ids: NDArray[np.int32]) -> KeysValues:
        """A text read alone, from the cache or anew."""

        def compute() -> KeysValues:
            with self._reader.turns.answer():
                return self._compute(role, ids)

        return self._reader.cache.get(self._key(role, ids), compute)

    def _compute(self, role: TextRole, ids: NDArray[np.int32]) -> KeysValues:
        reader = self._reader
        reader.counter.add(texts_read=1, pieces_read=len(ids))
        return reader.graph.read_source(_with_specials(ids, reader.pieces), role)

    def _key(self, role: TextRole, ids: NDArray[np.int32]) -> Hashable:
        digest = blake2b(ids.tobytes(), digest_size=16).digest()
        rules = (self._reader.revision, PASSAGE_RULES, FEATURE_RULES)
        return (self._tenant, rules, int(role), digest)


def _helped(helper: Future[_Made] | None, job: Callable[[_Given], _Made], given: _Given) -> _Made:
    """What a helper makes, or made here if it has not begun."""
    # It may wait behind others that wait for this.
    if helper is None or helper.cancel():
        return job(given)
    return helper.result()


def _require_finite(scores: RawScores) -> None:
    # Before calibration: it would make a sure verdict of an infinite logit.
    if not (np.isfinite(scores.pieces).all() and np.isfinite(scores.sentence).all()):
        raise DetectionError("The model's output is not a number.")


def _with_specials(ids: NDArray[np.int32], pieces: WordPieces) -> list[int]:
    return [pieces.cls_id, *ids.tolist(), pieces.sep_id]


def n_threads(threads: int | None) -> int:
    """The threads to use: as asked, or one for each processor that this process may run on."""
    if threads is not None:
        return threads
    affinity = getattr(os, "sched_getaffinity", None)
    return max(1, len(affinity(0)) if affinity else os.cpu_count() or 1)

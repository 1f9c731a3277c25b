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
from threading import Event, Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.evidence import SELECTED_PIECES, Evidence, Query, Selection, WordWeights
from groundwire.detection.example import Source
from groundwire.detection.passages import PASSAGE_PIECES, PASSAGE_RULES, CutSource, cut_source
from groundwire.detection.rules import MAX_LINES, Basis, RuleFindings, find
from groundwire.detection.values import Entailment, EvidenceRef, Reason, Score
from groundwire.engine.architecture import Architecture
from groundwire.engine.cache import ByteCache
from groundwire.engine.features import FEATURE_RULES, N_FEATURES, NEUTRAL, match_features
from groundwire.engine.models import Manifest
from groundwire.engine.roles import RECALLED_SENTENCES, TextRole
from groundwire.engine.runtime import KeysValues, RawScores, ReaderGraph
from groundwire.engine.scheduler import Turns
from groundwire.engine.scores import AnswerCalibration, ClaimScores, SentenceCalibration
from groundwire.engine.sentence import ClaimPart, n_unknown_chars, parts_of
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import DetectionError, ModelError, UnreadableError
from groundwire.text.quantities import QuantityIndex
from groundwire.text.segment import Segment, parse_citations
from groundwire.text.writing_system import is_readable

log = logging.getLogger(__name__)

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")

#: Passages that are read before any claim asks for them, best for the question first.
PREFETCHED_PASSAGES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The fitted map from logits to P(not supported): ``sigmoid(scale * logit + offset)``."""

    scale: float = 1.0
    offset: float = 0.0

    def labels(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Logits ``(n, 3)`` to probabilities ``(n, 3)`` of the three labels."""
        wide = logits.astype(np.float64)
        wrong = np.logaddexp(wide[:, 1], wide[:, 2])
        # A sigmoid that does not overflow, however sure the model is.
        doubt = np.exp(-np.logaddexp(0, -(self.scale * (wrong - wide[:, 0]) + self.offset)))
        shares = np.exp(wide[:, 1:] - wrong[:, None])
        return np.column_stack([1 - doubt, shares * doubt[:, None]]).astype(np.float32)


class Work:
    """Counts what was really done: passages and sentences read, second looks, word pieces."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()

    def add(self, **counts: int) -> None:
        """Add to the counts."""
        with self._lock:
            self._counts.update(counts)

    def counts(self) -> dict[str, int]:
        """The counts so far."""
        with self._lock:
            return dict(self._counts)


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
        folder: Path = manifest.folder
        fitted = manifest.raw.get("answer_calibration")
        return cls(
            name=manifest.name,
            revision=manifest.revision,
            operating_points=manifest.operating_points,
            calibration=Calibration(**manifest.calibration),
            answers=AnswerCalibration(**fitted) if fitted else None,
            graph=ReaderGraph(
                folder / "reader.onnx", Architecture.from_manifest(manifest.raw), threads=1
            ),
            pieces=WordPieces(folder / "tokenizer.json"),
            words=WordWeights.load(folder),
            cache=cache,
            sources=sources,
            workers=workers,
            turns=turns,
            sentences=SentenceCalibration(**(manifest.raw.get("sentence_calibration") or {})),
            lines=SentenceCalibration(**(manifest.raw.get("lines_calibration") or {})),
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
        self._question_parts = _question_parts(asked)
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
        return _whole([self._judge(part, everything, ()) for part in parts])

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
        looks = [
            self._look(part, earlier, selection)
            for (part, earlier), selection in zip(units, selections, strict=True)
        ]
        chosen = sorted({index for look in looks for index in look.chosen})
        self.attended.update(chosen)
        findings = _helped(beside, find_all, selections)
        return ClaimScores(
            offsets=np.concatenate([part.ranges for part, _ in units]),
            labels=np.concatenate([look.labels for look in looks]),
            evidence=self.evidence.references(query, chosen),
            n_unread=sum(
                n_unknown_chars(part, self._reader.pieces.unknown_id) for part, _ in units
            ),
            entailment=self._reader.sentences.entailment(_whole(looks)),
            conflicts=findings.conflicts,
            settled=findings.settled,
            is_line=findings.is_line,
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
        before = earlier[-1].ids if earlier else None
        query = Query.of(part.ids, question=self._question_ids, before=before)
        return self.evidence.select(query)

    def _look(self, part: ClaimPart, earlier: Sequence[ClaimPart], selection: Selection) -> "_Look":
        """Read a part with its evidence, and once more with other evidence if it looks wrong."""
        context = [self._text(TextRole.QUESTION, ids) for ids in self._question_parts]
        if self._reader.graph.sizes.recalls:
            context += [self._text(TextRole.HISTORY, p.ids) for p in earlier]
        look = self._judge(part, selection.first, context)
        if not selection.second or 1 - look.labels[:, 0].min() < self._threshold:
            return look
        # One selection with the evidence is enough: the other does not hold it, and says so.
        self._reader.counter.add(second_looks=1)
        return look.or_better(self._judge(part, selection.second, context))

    def _judge(
        self, part: ClaimPart, chosen: Sequence[int], context: Sequence[KeysValues]
    ) -> "_Look":
        reader = self._reader
        past = KeysValues.join([reader.graph.nothing, *self._passages(chosen), *context])
        features = np.empty((len(part.ids) + 2, N_FEATURES), np.int64)
        features[0] = features[-1] = NEUTRAL
        features[1:-1] = match_features(
            part.ids,
            part.offsets,
            part.text,
            passages=[self.evidence.passages[index] for index in chosen],
            question_ids=self._question_ids,
            idf=self.evidence.words.idf,
            unknown_id=reader.pieces.unknown_id,
        )
        with reader.turns.answer():
            verdict: RawScores = reader.graph.read_sentence(
                _with_specials(part.ids, reader.pieces), features, past
            )
        reader.counter.add(sentences_read=1, pieces_judged=len(part.ids))
        # Before calibration: it would make a sure verdict of an infinite logit.
        if not (np.isfinite(verdict.pieces).all() and np.isfinite(verdict.sentence).all()):
            raise DetectionError("The model's output is not a number.")
        labels = reader.calibration.labels(verdict.pieces)
        return _Look(labels, verdict.sentence, tuple(chosen))

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


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """What a part looks like beside some passages.

    Attributes:
        labels: Calibrated probabilities of each word piece, shape ``(n, 3)``.
        sentence: Logits of the part as a whole, shape ``(3,)``.
        chosen: The passages.
    """

    labels: NDArray[np.float32]
    sentence: NDArray[np.float32]
    chosen: tuple[int, ...]

    @property
    def support(self) -> float:
        """Log-odds that the part as a whole is supported, uncalibrated."""
        return float(self.sentence[0] - np.logaddexp(self.sentence[1], self.sentence[2]))

    def or_better(self, other: "_Look") -> "_Look":
        """Of each word piece, and of the whole, the more favourable of two readings."""
        is_better = (other.labels[:, 0] > self.labels[:, 0])[:, None]
        return _Look(
            np.where(is_better, other.labels, self.labels),
            other.sentence if other.support > self.support else self.sentence,
            tuple(dict.fromkeys((*self.chosen, *other.chosen))),
        )


def _helped(helper: Future[_Made] | None, job: Callable[[_Given], _Made], given: _Given) -> _Made:
    """What a helper makes, or made here if it has not begun."""
    # It may wait behind others that wait for this.
    if helper is None or helper.cancel():
        return job(given)
    return helper.result()


def _whole(looks: Sequence[_Look]) -> NDArray[np.float32]:
    """Logits of a claim in several parts: it is entailed if each is, so the least one counts."""
    return min(looks, key=lambda look: look.support).sentence


def _with_specials(ids: NDArray[np.int32], pieces: WordPieces) -> list[int]:
    return [pieces.cls_id, *ids.tolist(), pieces.sep_id]


def _question_parts(ids: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """A question in at most two texts: what is asked stands at its beginning or at its end."""
    if not len(ids):
        return []
    if len(ids) <= PASSAGE_PIECES:
        return [ids]
    return [ids[:PASSAGE_PIECES], ids[max(PASSAGE_PIECES, len(ids) - PASSAGE_PIECES) :]]


def n_threads(threads: int | None) -> int:
    """The threads to use: as asked, or one for each processor that this process may run on."""
    if threads is not None:
        return threads
    affinity = getattr(os, "sched_getaffinity", None)
    return max(1, len(affinity(0)) if affinity else os.cpu_count() or 1)

"""The default verifier: a reader on this machine. Equal questions have equal answers.

A reader is a model that judges a claim together with passages of its evidence. Here, it reads a
claim as in a detection, but with the given texts of evidence alone: without a question and without
earlier sentences. The texts are cut into passages. The reader reads the claim with the passages
that match best, and perhaps a second time with the next ones.

*With evidence*, P(YES) is calibrated for answers with few unsupported claims. *Without evidence*,
the claim is read alone, and P(YES) is at most 0.5. The model does not know the world, so P(YES)
then does not show whether the claim is true. P(YES) is near 0 for a claim that needs evidence, such
as "It was built in 1950".

The model may overlook a "not", so rules look for conflicts of the claim with the evidence
(:mod:`groundwire.detection.rules`). Some conflicts count only if the model doubts the same words.
If a conflict counts, the answer is NO. Otherwise, if a line of the evidence states the claim word
for word, P(YES) is high.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from groundwire.detection.example import Source
from groundwire.detection.rules import Conflict
from groundwire.detection.spans import FlaggedSpan, reduce_tokens, trim, whole_words
from groundwire.detection.values import Label, Reason
from groundwire.detector import Detector
from groundwire.engine.cross_encoder import CROSS_GRAPH
from groundwire.engine.models import READER_SMALL, Manifest, find_reader
from groundwire.engine.part_scores import Calibration
from groundwire.engine.reader import Reader
from groundwire.engine.scores import ClaimScores, SentenceCalibration
from groundwire.errors import ModelError
from groundwire.text.segment import Segment
from groundwire.text.segment.characters import ALNUM
from groundwire.verify import verifier
from groundwire.verify.interval import ProbabilityInterval
from groundwire.verify.measured import ClaimMap, Measured
from groundwire.verify.verifier import ANYONE, ClaimQuestion, DoubtedWords, Judged, Scope, Verdict

# Names of model files. A ``ClaimMap`` is fitted on the scores of the first file that a model has.
_GRAPHS = (CROSS_GRAPH, "reader.onnx")
#: Limit on the claims that a verification queues at a time. Detections use the same threads, and
#: should not wait behind a long queue.
_MAX_WAITING = 8
#: A conflict that needs the model's doubt (``stands_alone`` is false) counts only if the highest
#: P(not supported) of its words is at least this. In the validation answers, annotators marked as
#: wrong 92 to 100 % of the conflicting numbers, dates and fields that the model doubts this much.
_DOUBTED = 0.6
#: The highest P(YES) of a claim with a conflict that makes the answer NO.
DENIED = 0.1
#: The lowest P(YES) of a claim that a line of the evidence states word for word, if no conflict
#: makes the answer NO.
REPEATED = 0.97


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """A claim that the reader has read, with the reader's scores.

    Attributes:
        claim: The text of the claim.
        scores: The scores of the reader, uncalibrated.
        measured: The measures of these scores from which :class:`.ClaimMap` computes P(YES).
        judged: The scores with calibrated probabilities of the words, changed by the rules. The
            conflicts are those that make the answer NO.
    """

    claim: str
    scores: ClaimScores
    measured: Measured
    judged: ClaimScores

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The conflicts with the evidence that make the answer NO, in reading order."""
        return self.judged.conflicts


def ruled(yes: float, *, is_denied: bool, is_line: bool) -> float:
    """Correct P(YES) of a claim by rules; ``yes`` is P(YES) before the rules.

    ``is_denied``: the claim has a conflict that makes the answer NO. ``is_line``: a line of the
    evidence states the claim word for word.
    """
    if is_denied:
        return min(yes, DENIED)
    return max(yes, REPEATED) if is_line else yes


class LocalVerifier:
    """The verifier ``local``, which judges claims with a reader. Threads may share it.

    Attributes:
        name: Name of the verifier: ``local``.
        claim_map: The map from the reader's scores to probabilities.
    """

    name = "local"

    def __init__(self, reader: Reader, claim_map: ClaimMap, *, scope: Scope = ANYONE) -> None:
        """Make a verifier from its parts; :meth:`load` is the usual way."""
        self._reader, self.claim_map, self._scope = reader, claim_map, scope
        # The claim map is fitted on uncalibrated scores, so it stays valid if calibrations change.
        self._plain = replace(
            reader, calibration=Calibration(), sentences=SentenceCalibration(), finds_conflicts=True
        )

    @classmethod
    def load(
        cls, model: str | Path | None = None, *, threads: int | None = None, cache_mb: float = 128
    ) -> Self:
        """Load a verifier with an installed reader, or one that ``groundwire train reader`` wrote.

        Args:
            model: ``None`` or ``"reader"`` for the best installed reader, unless the environment
                variable ``GROUNDWIRE_READER`` names another; ``"reader-small"``, ``"reader-base"``,
                or the folder of a reader.
            threads: CPU threads; by default one for each processor this process may use.
            cache_mb: Limit on the size of all caches together, in megabytes of 1,000,000 bytes.

        Raises:
            ModelError: If the model is no usable reader, or has no usable map from its scores to
                probabilities (:class:`.ClaimMap`).
            CorruptModelError: If a file is missing, or does not have the hash in its manifest.
            SettingError: If a setting is outside its range.
        """
        _map_of(_manifest(model))  # raises an error before anything large is loaded
        return cls.of(Detector.load(model, threads=threads, cache_mb=cache_mb), model=model)

    @classmethod
    def of(cls, detector: Detector, *, model: str | Path | None = None) -> Self:
        """Make a verifier that shares the reader and the caches of a detector.

        Args:
            detector: The detector with the reader.
            model: The model that the detector was loaded from; ``None`` for the default reader or
                ``reader-small``.

        Raises:
            ModelError: If the detector has no reader, its reader is not that of ``model``, or the
                reader has no usable :class:`.ClaimMap`.
        """
        reader = detector.backend
        if not isinstance(reader, Reader):
            raise ModelError(
                f"The detector {detector.info.name} is no reader, and claims are verified locally "
                "by a reader alone. Load it with Detector.load(), or call LocalVerifier.load()."
            )
        manifest = _manifest(model)
        if model is None and reader.revision != manifest.revision:
            manifest = _manifest(READER_SMALL)
        if reader.revision != manifest.revision:
            raise ModelError(
                f"The detector has revision {reader.revision} of the reader, and model="
                f"{model!r} is revision {manifest.revision}. Name the folder it was loaded from."
            )
        return cls(reader, _map_of(manifest))

    def within(self, scope: Scope) -> Self:
        """Return a verifier with the same model, for the tenant and the caller of ``scope``."""
        return type(self)(self._reader, self.claim_map, scope=scope)

    @property
    def model(self) -> str:
        """Name and revision of the reader."""
        return f"{self._reader.name}@{self._reader.revision}"

    @property
    def work(self) -> dict[str, int]:
        """Counts of what the reader has read so far, by name."""
        return self._reader.work

    def claims_nothing(self, text: str) -> bool:
        """Return whether the model finds no claim in a text; false if the model cannot tell."""
        return self._reader.knows_remarks and self._reader.claims_nothing(text)

    def judge(self, questions: Sequence[ClaimQuestion]) -> list[Judged]:
        """Return an answer to each question, in the order of the questions."""
        distinct = list(dict.fromkeys(map(_key, questions)))
        answers = dict(zip(distinct, self._answers(distinct), strict=True))
        return [answers[_key(question)] for question in questions]

    def _answers(self, keys: Sequence["_Key"]) -> Iterator[Judged]:
        waiting: deque[Future[Judged]] = deque()
        for key in keys:
            if len(waiting) == _MAX_WAITING:
                yield waiting.popleft().result()
            waiting.append(self._reader.shared.workers.submit(self._answer, key))
        while waiting:
            yield waiting.popleft().result()

    def look(self, claim: str, texts: Sequence[str]) -> Looked | Reason:
        """Read a claim with texts of evidence; return a reason if the claim cannot be read.

        The reason is ``language`` if the model can read no line of the evidence, or not every word
        of the claim; it is ``detector_failed`` if an error occurred.
        """
        sources = [
            Source(id=str(i), text=text) for i, text in enumerate(texts) if ALNUM.search(text)
        ]
        # With threshold 0, the claim is read again if there are passages for a second look.
        reading = self._plain.open(sources, None, threshold=0.0, tenant=self._scope.tenant)
        if sources and not reading.evidence.passages:
            return Reason.LANGUAGE
        # The segment needs no citations: they were removed from the claim.
        (scores,) = reading.read(claim, [Segment(start=0, end=len(claim), citations=())])
        if scores.reason is not None:
            return scores.reason
        if scores.n_unread:
            return Reason.LANGUAGE
        measured = Measured.of(scores, is_bare=not reading.attended)
        return Looked(claim, scores, measured, self._judged(scores, is_bare=measured.is_bare))

    def _judged(self, scores: ClaimScores, *, is_bare: bool) -> ClaimScores:
        labels = self._reader.calibration.labels(np.log(np.clip(scores.labels, 1e-7, 1.0)))
        if is_bare:
            # Without evidence, nothing can conflict with the claim.
            return replace(scores, labels=labels, conflicts=(), settled=())
        plain = replace(scores, labels=labels)
        counting = tuple(
            each
            for each in scores.conflicts
            # Some conflicts count only if the model doubts the same words.
            if each.stands_alone or plain.highest(each) >= _DOUBTED
        )
        return replace(plain, conflicts=counting).with_rules()

    def probability(self, looked: Looked) -> float:
        """Return P(YES) of a claim that was read, by the claim map and the rules.

        If the claim was read without evidence, P(YES) is at most 0.5.
        """
        yes = self.claim_map.probability(looked.measured)
        # Without evidence, the reader scores a text that claims nothing, such as a heading, as
        # supported. This does not mean that the reader knew a fact beforehand. But with P(YES) at
        # or above the target, the claim would be flagged as known beforehand (``prior_leak``).
        yes = min(yes, 0.5) if looked.measured.is_bare else yes
        return ruled(yes, is_denied=bool(looked.conflicts), is_line=looked.scores.is_line)

    def _answer(self, key: "_Key") -> Judged:
        if (given_up := self._scope.given_up()) is not None:
            return given_up
        claim, texts = key
        try:
            looked = self.look(claim, texts)
        except Exception as error:  # noqa: BLE001 - after any error, the claim is unverified
            return _failure(type(error).__name__)
        if isinstance(looked, Reason):
            return _failure(looked)
        return self._readout(looked)

    def _readout(self, looked: Looked) -> verifier.Readout:
        yes = self.probability(looked)
        against = 0.0 if looked.measured.is_bare else self._contradicted(looked.scores)
        against = 1.0 if looked.conflicts else against
        doubts = self._doubts(looked)
        return verifier.Readout(
            yes=ProbabilityInterval.exactly(yes),
            no=ProbabilityInterval.exactly((1 - yes) * against),
            unsure=ProbabilityInterval.exactly((1 - yes) * (1 - against)),
            generated=Verdict.NO if looked.conflicts else _verdict(doubts, yes),
            doubts=doubts,
        )

    def _contradicted(self, scores: ClaimScores) -> float:
        """Return P(contradicted), given that the evidence does not support the claim."""
        said = scores.entailment
        assert said is not None
        shares = np.clip([said.entailment, said.neutral, said.contradiction], 1e-6, 1.0)
        fitted = self._reader.sentences.entailment(np.log(shares).astype(np.float32))
        rest = fitted.neutral + fitted.contradiction
        return fitted.contradiction / rest if rest else 0.0

    def _doubts(self, looked: Looked) -> tuple[DoubtedWords, ...]:
        judged, claim = looked.judged, looked.claim
        threshold = self._reader.operating_points["balanced"]
        found = reduce_tokens(judged.offsets, judged.probabilities, claim, threshold=threshold)
        return tuple(
            DoubtedWords(
                start=span.start,
                end=span.end,
                text=claim[span.start : span.end],
                label=_label(looked, span),
                probability=round(float(span.score), 6),
            )
            for span in whole_words(trim(found.spans, claim), claim)
        )


def _label(looked: Looked, span: FlaggedSpan) -> Label:
    """Return the label of flagged words: by a conflict that overlaps them, or else by the model."""
    if looked.measured.is_bare:
        # Without evidence, nothing can contradict the claim.
        return Label.UNSUPPORTED
    for conflict in looked.conflicts:
        if conflict.start < span.end and conflict.end > span.start:
            return conflict.label
    offsets = looked.judged.offsets
    inside = (offsets[:, 0] < span.end) & (offsets[:, 1] > span.start)
    unsupported, contradicted = looked.judged.labels[inside, 1:].sum(axis=0)
    return Label.CONTRADICTED if contradicted > unsupported else Label.UNSUPPORTED


def _verdict(doubts: Sequence[DoubtedWords], yes: float) -> Verdict:
    """Return the verdict on a claim without conflicts.

    The most doubted words decide. If no words are doubted, P(YES) decides.

    The verdict need not be the likeliest one: few claims are wrong, so YES may be likelier than NO
    even if a word is contradicted.
    """
    if doubts:
        gravest = max(doubts, key=lambda doubt: doubt.probability)
        return Verdict.NO if gravest.label is Label.CONTRADICTED else Verdict.UNSURE
    return Verdict.YES if yes >= 0.5 else Verdict.UNSURE


_Key = tuple[str, tuple[str, ...]]


def _key(question: ClaimQuestion) -> _Key:
    """Return what a judgement depends on: the claim, and its distinct texts of evidence, sorted.

    Redacted texts, and texts without a letter or digit, are left out.
    """
    texts = (each.text for each in question.evidence if not each.is_redacted)
    return question.claim, tuple(sorted({text for text in texts if ALNUM.search(text)}))


def _failure(why: str) -> verifier.VerifierFailure:
    if why == Reason.LANGUAGE:
        return verifier.VerifierFailure(
            kind=verifier.FailureKind.UNREADABLE,
            error="The claim or its evidence has no words in a script that the embedded model can "
            "read (it reads English). Whoever runs this can choose a verifier that does: "
            'verifier="openai" in a call of the library, verify.verifier in a configuration, '
            "--verifier on a command line.",
        )
    return verifier.VerifierFailure(
        kind=verifier.FailureKind.VERIFIER,
        error=f"The embedded model could not judge the claim ({why}). Check the installation with "
        "`groundwire doctor`.",
    )


def _manifest(model: str | Path | None) -> Manifest:
    manifest = find_reader(model)
    if manifest is None:
        raise ModelError(
            f"{model} is no reader, and claims are verified locally by a reader alone: the "
            "embedded one (None), or the folder of one that `groundwire train reader` wrote."
        )
    return manifest


def _map_of(manifest: Manifest) -> ClaimMap:
    return ClaimMap.read(manifest.folder, graph=graph_hash(manifest))


def graph_hash(manifest: Manifest) -> str:
    """Return the SHA-256 of the model file on whose scores the :class:`.ClaimMap` is fitted."""
    return next(manifest.files[name].sha256 for name in _GRAPHS if name in manifest.files)

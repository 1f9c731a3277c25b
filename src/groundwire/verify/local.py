"""The default verifier: the embedded reader, on this machine, the same result every time.

A claim is read as a detector would read it, with the spans that it is asked about and nothing else:
no question, nothing said before. Spans are cut into passages and read once, whatever cites them;
of spans that are longer than is read at a time, the reader selects what bears on the claim and
looks a second time at what comes next.

*With evidence*, P(YES) is calibrated to answers few of whose claims are not supported: the map's
``provenance`` says how few. *Without*, the claim is read alone. The model knows nothing of the
world, so this does not say whether the claim is true; it says how much the claim needs evidence:
near 0 for "It was built in 1950", more for "Here is a summary". The level is that nothing follows
from nothing, as surely as the contexts it was fitted on can say.

The model overlooks a "not", and rules beside it do not (:mod:`.detection.rules`): a claim with
a conflict is answered with NO, whatever the model says. Those conflicts count that need no doubt of
the model. What only stands nowhere is in its doubts, which the map weighs; and right claims take
names and years from elsewhere, and compute. A claim that is a line of the evidence, word for
word, is answered with YES.
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
from groundwire.verify.interval import ProbabilityInterval
from groundwire.verify.measured import ClaimMap, Measured
from groundwire.verify.verifier import (
    ANYONE,
    ClaimQuestion,
    Doubt,
    FailureKind,
    Judged,
    Readout,
    Scope,
    Verdict,
    VerifierFailure,
)

# The model file whose hash a map is bound to: the first of these that a manifest has.
_GRAPHS = (CROSS_GRAPH, "reader.onnx")
#: Claims that wait for a thread at a time. Answers in flight need the same threads, and must not
#: stand behind all claims of a verification.
_MAX_WAITING = 8
#: A conflict that needs the model's doubt counts from this P(not supported) of its words on: of
#: numbers, dates and fields in the validation answers 92 to 100 % are then marked.
_DOUBTED = 0.6
#: The highest P(YES) of a claim with a conflict: below any target that users choose.
DENIED = 0.1
#: The lowest P(YES) of a claim that a line of the evidence says word for word.
REPEATED = 0.97


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """A claim that the reader has read.

    Attributes:
        claim: The text of the claim.
        scores: The scores of the reader, uncalibrated.
        measured: The measures of these scores that the map weighs.
        judged: The scores as a detection has them: calibrated, with the conflicts that need no
            doubt of the model. Without evidence there are no conflicts.
    """

    claim: str
    scores: ClaimScores
    measured: Measured
    judged: ClaimScores

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Conflicts that the rules find in it, in reading order."""
        return self.judged.conflicts


def ruled(yes: float, *, is_denied: bool, is_line: bool) -> float:
    """P(YES) of a claim, by the map and by the rules.

    Args:
        yes: P(YES) by the map.
        is_denied: Whether the claim has a conflict that needs no doubt of the model.
        is_line: Whether a line of the evidence says it word for word.
    """
    if is_denied:
        return min(yes, DENIED)
    return max(yes, REPEATED) if is_line else yes


class LocalVerifier:
    """Judges claims with the embedded reader. Threads may share it.

    Attributes:
        name: ``local``.
    """

    name = "local"

    def __init__(self, reader: Reader, claim_map: ClaimMap, *, scope: Scope = ANYONE) -> None:
        """Put a verifier together; :meth:`load` is the usual way.

        Args:
            reader: The reader.
            claim_map: The map from its scores to probabilities.
            scope: Tenant of the claims, and when to stop.
        """
        self._reader, self._map, self._scope = reader, claim_map, scope
        # The map is fitted on uncalibrated scores, so that other calibrations may change.
        self._plain = replace(
            reader, calibration=Calibration(), sentences=SentenceCalibration(), finds_conflicts=True
        )

    @classmethod
    def load(
        cls, model: str | Path | None = None, *, threads: int | None = None, cache_mb: float = 128
    ) -> Self:
        """Load the embedded reader, or one of a folder that ``groundwire train reader`` wrote.

        Args:
            model: ``None`` or ``"reader"`` for the embedded one, or a folder.
            threads: CPU threads; by default one for each processor this process may use.
            cache_mb: Megabytes (of 1,000,000 bytes) for spans that were read.

        Raises:
            ModelError: If it is no reader, or has no map for claims.
            CorruptModelError: If a file does not have the hash of its manifest.
            SettingError: If a setting is outside its range.
        """
        _map(_manifest(model))  # before anything large is loaded
        return cls.of(Detector.load(model, threads=threads, cache_mb=cache_mb), model=model)

    @classmethod
    def of(cls, detector: Detector, *, model: str | Path | None = None) -> Self:
        """Use the reader of a detector, so that nothing is loaded and no source read twice.

        Args:
            detector: The detector with the reader.
            model: The model that it was loaded from.

        Raises:
            ModelError: If it has another judge, or there is no map for its reader.
        """
        reader, manifest = _reader(detector), _manifest(model)
        if model is None and reader.revision != manifest.revision:
            manifest = _manifest(READER_SMALL)
        if reader.revision != manifest.revision:
            raise ModelError(
                f"The detector has revision {reader.revision} of the reader, and model="
                f"{model!r} is revision {manifest.revision}. Name the folder it was loaded from."
            )
        return cls(reader, _map(manifest))

    def within(self, scope: Scope) -> Self:
        """A verifier for another scope. It shares the model, but no text that was read."""
        return type(self)(self._reader, self._map, scope=scope)

    @property
    def model(self) -> str:
        """The model and its revision."""
        return f"{self._reader.name}@{self._reader.revision}"

    @property
    def claim_map(self) -> ClaimMap:
        """The fitted map; its ``provenance`` tells its quality."""
        return self._map

    @property
    def work(self) -> dict[str, int]:
        """Counts of the work so far: texts and sentences read, word pieces."""
        return self._reader.work

    def judge(self, questions: Sequence[ClaimQuestion]) -> list[Judged]:
        """Answer each question, in their order; equal ones are read once."""
        distinct = list(dict.fromkeys(map(_key, questions)))
        answers = dict(zip(distinct, self._answers(distinct), strict=True))
        return [answers[_key(question)] for question in questions]

    def _answers(self, keys: Sequence["_Key"]) -> Iterator[Judged]:
        waiting: deque[Future[Judged]] = deque()
        for key in keys:
            if len(waiting) == _MAX_WAITING:
                yield waiting.popleft().result()
            waiting.append(self._reader.workers.submit(self._answer, key))
        while waiting:
            yield waiting.popleft().result()

    def look(self, claim: str, texts: Sequence[str]) -> Looked | Reason:
        """Read a claim with some texts, all of them evidence; or say why it cannot be read.

        ``language``: the claim, a word of it or all of the evidence is in a script that the model
        cannot read. ``detector_failed``: the model failed.
        """
        sources = [
            Source(id=str(i), text=text) for i, text in enumerate(texts) if ALNUM.search(text)
        ]
        # Threshold 0: a claim gets a second look wherever there are more passages to look at.
        reading = self._plain.open(sources, None, threshold=0.0, tenant=self._scope.tenant)
        if sources and not reading.evidence.passages:
            return Reason.LANGUAGE
        # The claim comes without citations: a bracket that is left in it is its text.
        (scores,) = reading.read(claim, [Segment(start=0, end=len(claim), citations=())])
        if scores.reason is not None:
            return scores.reason
        if scores.n_unread:
            return Reason.LANGUAGE
        measured = Measured.of(scores, is_bare=not reading.attended)
        return Looked(claim, scores, measured, self._judged(scores, is_bare=measured.is_bare))

    def _judged(self, scores: ClaimScores, *, is_bare: bool) -> ClaimScores:
        logits = np.log(np.clip(scores.labels, 1e-7, 1.0))
        labels = self._reader.calibration.labels(logits)
        if is_bare:
            # A time that stands nowhere is no conflict where there is nothing to stand in.
            return replace(scores, labels=labels, conflicts=(), settled=())
        plain = replace(scores, labels=labels)
        counting = tuple(
            each
            for each in scores.conflicts
            # Where the model finds the same words wrong, a check marks them as well.
            if each.stands_alone or plain.highest(each) >= _DOUBTED
        )
        return replace(plain, conflicts=counting).with_rules()

    def probability(self, looked: Looked) -> float:
        """P(YES) of a claim that was read: by the map, and by the rules."""
        yes = self._map.probability(looked.measured)
        return ruled(yes, is_denied=bool(looked.conflicts), is_line=looked.scores.is_line)

    def _answer(self, key: "_Key") -> Judged:
        if (given_up := self._scope.given_up()) is not None:
            return given_up
        claim, texts = key
        try:
            looked = self.look(claim, texts)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, it was not verified
            return _failure(type(error).__name__)
        if isinstance(looked, Reason):
            return _failure(looked)
        return self._readout(looked)

    def _readout(self, looked: Looked) -> Readout:
        yes = self.probability(looked)
        against = 0.0 if looked.measured.is_bare else self._contradicted(looked.scores)
        against = 1.0 if looked.conflicts else against
        doubts = self._doubts(looked)
        return Readout(
            yes=ProbabilityInterval.exactly(yes),
            no=ProbabilityInterval.exactly((1 - yes) * against),
            unsure=ProbabilityInterval.exactly((1 - yes) * (1 - against)),
            generated=Verdict.NO if looked.conflicts else _verdict(doubts, yes),
            doubts=doubts,
        )

    def _contradicted(self, scores: ClaimScores) -> float:
        """P(the evidence says otherwise), given that it does not say so."""
        said = scores.entailment
        assert said is not None
        shares = np.clip([said.entailment, said.neutral, said.contradiction], 1e-6, 1.0)
        fitted = self._reader.sentences.entailment(np.log(shares).astype(np.float32))
        rest = fitted.neutral + fitted.contradiction
        return fitted.contradiction / rest if rest else 0.0

    def _doubts(self, looked: Looked) -> tuple[Doubt, ...]:
        judged, claim = looked.judged, looked.claim
        found = reduce_tokens(
            judged.offsets,
            judged.probabilities,
            claim,
            threshold=self._reader.operating_points["balanced"],
        )
        return tuple(
            Doubt(
                start=span.start,
                end=span.end,
                text=claim[span.start : span.end],
                label=_label(looked, span),
                probability=round(float(span.score), 6),
            )
            for span in whole_words(trim(found.spans, claim), claim)
        )


def _label(looked: Looked, span: FlaggedSpan) -> Label:
    """The label of some words: that of a rule, or else the one the model finds likelier."""
    if looked.measured.is_bare:
        # Evidence that is not there contradicts nothing.
        return Label.UNSUPPORTED
    for conflict in looked.conflicts:
        if conflict.start < span.end and conflict.end > span.start:
            return conflict.label
    offsets = looked.judged.offsets
    inside = (offsets[:, 0] < span.end) & (offsets[:, 1] > span.start)
    unsupported, contradicted = looked.judged.labels[inside, 1:].sum(axis=0)
    return Label.CONTRADICTED if contradicted > unsupported else Label.UNSUPPORTED


def _verdict(doubts: Sequence[Doubt], yes: float) -> Verdict:
    """The verdict that a detector would give at its balanced threshold.

    Not the likeliest of the three: few claims are wrong, so YES is likelier than NO even where a
    word is contradicted.
    """
    if doubts:
        gravest = max(doubts, key=lambda doubt: doubt.probability)
        return Verdict.NO if gravest.label is Label.CONTRADICTED else Verdict.UNSURE
    return Verdict.YES if yes >= 0.5 else Verdict.UNSURE


_Key = tuple[str, tuple[str, ...]]


def _key(question: ClaimQuestion) -> _Key:
    """The parts of a question that decide the answer. The order of spans is not one of them."""
    texts = (each.text for each in question.evidence if not each.is_redacted)
    return question.claim, tuple(sorted({text for text in texts if ALNUM.search(text)}))


def _failure(why: str) -> VerifierFailure:
    if why == Reason.LANGUAGE:
        return VerifierFailure(
            kind=FailureKind.UNREADABLE,
            error="The claim or its evidence has no words in a script that the embedded model can "
            "read (it reads English). Whoever runs this can choose a verifier that does: "
            'verifier="openai" in a call of the library, verify.verifier in a configuration, '
            "--verifier on a command line.",
        )
    return VerifierFailure(
        kind=FailureKind.VERIFIER,
        error=f"The embedded model could not judge the claim ({why}). Check the installation with "
        "`groundwire models verify`.",
    )


def _manifest(model: str | Path | None) -> Manifest:
    manifest = find_reader(model)
    if manifest is None:
        raise ModelError(
            f"{model} is no reader, and claims are verified locally by a reader alone: the "
            "embedded one (None), or the folder of one that `groundwire train reader` wrote."
        )
    return manifest


def _map(manifest: Manifest) -> ClaimMap:
    return ClaimMap.read(manifest.folder, graph=graph_hash(manifest))


def graph_hash(manifest: Manifest) -> str:
    """SHA-256 of the graph that a map of claims belongs to."""
    return next(manifest.files[name].sha256 for name in _GRAPHS if name in manifest.files)


def _reader(detector: Detector) -> Reader:
    if not isinstance(detector.judge, Reader):
        raise ModelError(
            f"The detector {detector.info.name} is no reader, and claims are verified locally by a "
            "reader alone. Load it with Detector.load(), or call LocalVerifier.load()."
        )
    return detector.judge

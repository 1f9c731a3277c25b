"""The stream, which checks an answer while it arrives."""

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter
from typing import Protocol, Self

from groundwire.detection.asides import AsideFinder
from groundwire.detection.evidence import Evidence
from groundwire.detection.example import require_text
from groundwire.detection.rules import ConflictKind
from groundwire.detection.similarity import is_ungrounded
from groundwire.detection.spans import FlaggedSpan, keep, reduce_tokens, trim, whole_words
from groundwire.detection.values import (
    SEVERITY,
    Aside,
    AsideKind,
    Claim,
    Coverage,
    Detection,
    DetectorInfo,
    Label,
    Reason,
    Span,
    claim_label,
    decide_outcome,
)
from groundwire.engine.scores import AnswerCalibration, ClaimScores
from groundwire.engine.sentence import has_statement
from groundwire.errors import DetectionError, EmptyAnswerError, LimitExceededError
from groundwire.text.language import is_foreign
from groundwire.text.segment import Segment, Segmenter

#: Kinds of conflicts with the evidence that rules can find even in a language that the model
#: cannot read.
_FIGURES = frozenset({ConflictKind.NUMBER, ConflictKind.DATE})

log = logging.getLogger(__name__)


class ScoringSession(Protocol):
    """Interface of a session, which scores the claims of one answer against the sources.

    Attributes:
        evidence: The sources, cut into passages.
        attended: Indices of the passages that were read together with any claim so far.
        reasons: Reasons why evidence or question were not read in full, each with its count.
        is_incremental: Whether claims are scored as they arrive; if not, all are scored at the end.
    """

    evidence: Evidence
    attended: set[int]
    reasons: Counter[Reason]
    is_incremental: bool

    def prefetch(self) -> None: ...  # noqa: D102
    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The result so far of an answer that is still being written.

    Attributes:
        detection: The detection of the judged text, as if the answer ended there.
        judged_to: Offset up to which the answer is judged.
        clear_to: Offset up to which later text changes no span. If spans are left out because
            fewer than ``min_pieces`` word pieces are flagged so far, it is the start of the first
            claim with such a span. Otherwise, and after the end of the answer, it equals
            ``judged_to``.
    """

    detection: Detection
    judged_to: int
    clear_to: int


@dataclass(frozen=True, slots=True)
class Filters:
    """Limits on what is checked and reported; :meth:`.Detector.load` describes each."""

    min_words: int
    min_probability: float
    min_pieces: int
    max_answer_chars: int


class Stream:
    """Checks an answer while it arrives. Threads must not share a stream."""

    def __init__(
        self,
        session: ScoringSession,
        info: DetectorInfo,
        *,
        filters: Filters,
        answers: AnswerCalibration | None,
        index_s: float,
        source_ids: Collection[str] = (),
        question: str | None = None,
        reads_english_only: bool = False,
    ) -> None:
        self._session, self._info = session, info
        self._filters, self._n_flagged, self._answers = filters, 0, answers
        self._reads_english_only = reads_english_only
        places = (f"S{place}" for place in range(len(source_ids)))
        self._segmenter = Segmenter([*source_ids, *places])
        origins = {origin.text: origin for origin in session.evidence.origins}
        texts = (f"{origin.title or ''}\n{text}" for text, origin in origins.items())
        self._finder = AsideFinder(texts, source_ids, question)
        text_of = {origin.id: origin.text for origin in session.evidence.origins}
        # A source's language is identified only when needed, because most sources are never the
        # best evidence of a claim.
        self._is_foreign_source = cache(lambda source_id: is_foreign(text_of.get(source_id, "")))
        # ``_n_chars`` is the number of characters so far, ``_judged_to`` the offset up to which
        # claims are judged, and ``_decided_to`` the offset up to which each segment is known to be
        # a claim or an aside (a part that claims nothing).
        self._n_chars = self._judged_to = self._decided_to = 0
        self._pending: list[Segment] = []
        self._claims: list[Claim] = []
        self._asides: list[Aside] = []
        self._seconds = {"index": index_s, "read": 0.0}
        self._detection: Detection | None = None
        self._is_closed = self._is_broken = False
        # Totals and the highest probability of the claims so far. They are kept, so that a snapshot
        # need not compute them again from all claims.
        self._n_visible = self._n_read = 0
        self._highest: float | None = None
        self._reasons: Counter[Reason] = Counter()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims judged so far."""
        return tuple(self._claims) if self._detection is None else self._detection.claims

    @property
    def text(self) -> str:
        """The text of the answer so far."""
        return self._segmenter.text

    def prefetch(self) -> None:
        """Begin to read the sources in the background, if the session can."""
        self._session.prefetch()

    def feed(self, delta: str) -> list[Claim]:
        """Take the next piece of text.

        Returns:
            The claims that were judged now; empty if the session scores all claims at the end. A
            claim waits as long as later text may change where it ends, or turn it into an aside (a
            part that claims nothing). :meth:`finish` removes the spans if fewer than ``min_pieces``
            word pieces of the whole answer are flagged.

        Raises:
            InvalidTextError: If the piece is not valid text.
            LimitExceededError: If the answer has become too long.
            DetectionError: If the stream was closed before it was finished, or was interrupted
                while it judged a claim.
            RuntimeError: If the stream is finished.
        """
        if self._detection is not None:
            raise RuntimeError("The stream is finished. Open a new one for another answer.")
        return self._take(self._add(delta))

    def _add(self, delta: str) -> list[Segment]:
        require_text(delta, "answer")
        self._check_open()
        self._n_chars += len(delta)
        self._check_length()
        return self._segmenter.feed(delta)

    def finish(self, rest: str = "") -> Detection:
        """End the answer, and judge its remaining claims; a second call returns the same detection.

        Args:
            rest: The last piece of text. Passing the last piece here can take less time than
                feeding it first: all remaining claims are then judged together, which several
                threads may do.

        Returns:
            The detection, equal to that of the same text in one piece.

        Raises:
            InvalidTextError: If ``rest`` is not valid text.
            EmptyAnswerError: If the answer has no visible text.
            LimitExceededError: If the answer is too long.
            DetectionError: If the stream was closed before it was finished, or was interrupted
                while it judged a claim.
        """
        if self._detection is None:
            self._check_length()
            segments = self._add(rest)
            if not self.text.strip():
                self.close()
                raise EmptyAnswerError
            # Closing the session only stops the reading of sources in the background, which would
            # delay the last claims. These can still be scored.
            self._session.close()
            self._take([*segments, *self._segmenter.finish()], is_end=True)
            self._check_open()
            self._detection = self._conclude(self.text)
            self.close()
        return self._detection

    def snapshot(self) -> Snapshot:
        """Return the result so far; the stream goes on as before.

        Raises:
            DetectionError: If the stream was closed before it was finished, or was interrupted
                while it judged a claim.
        """
        if self._detection is not None:
            n_chars = len(self.text)
            return Snapshot(detection=self._detection, judged_to=n_chars, clear_to=n_chars)
        self._check_open()
        marked, judged_to = (claim.start for claim in self._claims if claim.spans), self._judged_to
        return Snapshot(
            detection=self._conclude(self.text[:judged_to]),
            judged_to=judged_to,
            clear_to=next(marked, judged_to) if self._has_too_few else judged_to,
        )

    def close(self) -> None:
        """Refuse further text, and stop reading sources in the background.

        A second call does nothing.
        """
        self._is_closed = True
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._is_broken or self._is_closed:
            what = "interrupted while it judged a claim" if self._is_broken else "closed"
            raise DetectionError(
                f"This stream was {what}, so not all of the answer was checked. Open a new one."
            )

    def _check_length(self) -> None:
        if self._n_chars > self._filters.max_answer_chars:
            self.close()
            raise LimitExceededError(
                "answer", self._n_chars, self._filters.max_answer_chars, "max_answer_chars"
            )

    def _take(self, segments: list[Segment], *, is_end: bool = False) -> list[Claim]:
        started = perf_counter()
        segments = self._without_asides(segments, is_end=is_end)
        self._pending += [found for found in segments if has_statement(self.text, found)]
        if not (self._session.is_incremental or is_end):
            return []
        claims = self._judge() if self._pending else []
        self._judged_to = self._decided_to
        self._seconds["read"] += perf_counter() - started
        return claims

    def _without_asides(self, segments: list[Segment], *, is_end: bool) -> list[Segment]:
        """Return the segments that are not asides (parts that claim nothing); record the asides.

        A segment that later text may still turn into an aside waits for a later call.
        """
        if not (segments or is_end):
            return []
        kept, text = [], self.text
        for found, kind in self._finder.feed(text, segments, is_end=is_end):
            self._decided_to = found.end
            if kind is None:
                kept.append(found)
            else:
                self._add_aside(found, kind)
        return kept

    def _add_aside(self, part: Segment, kind: AsideKind) -> None:
        text = self.text[part.start : part.end]
        self._asides.append(Aside(start=part.start, end=part.end, text=text, kind=kind))

    def _judge(self) -> list[Claim]:
        ready, self._pending = self._pending, []
        # The flag stays true if an interrupt comes before the claims are stored. Then the stream
        # refuses to go on, because its result would lack these claims.
        self._is_broken = True
        scores = self._scores(ready)
        claims = []
        for segment, found in zip(ready, scores, strict=True):
            n_flagged, claim = self._n_flagged, self._claim(segment, found)
            if self._is_remark(claim, found):
                self._n_flagged = n_flagged
                self._add_aside(segment, AsideKind.REMARK)
            else:
                claims.append(claim)
                self._count(claim, found.n_unread)
        self._claims += claims
        self._is_broken = False
        return claims

    def _count(self, claim: Claim, n_unread: int) -> None:
        n_visible = sum(map(len, claim.text.split()))
        self._n_visible += n_visible
        self._n_read += n_visible - n_unread if claim.reason is None else 0
        self._reasons[Reason.LANGUAGE] += n_unread > 0
        if claim.reason is not None:
            self._reasons[claim.reason] += 1
        if claim.probability is not None:
            self._highest = max(claim.probability, self._highest or 0.0)

    def _scores(self, ready: Sequence[Segment]) -> list[ClaimScores]:
        if not self._session.evidence.passages:
            return [ClaimScores.unread(Reason.NO_EVIDENCE)] * len(ready)
        try:
            return self._session.read(self.text, ready)
        except Exception as error:  # noqa: BLE001 - after any error, claims are unchecked
            # The message of the error may quote the answer, so it must not be logged.
            log.warning("%d claims could not be judged: %s", len(ready), type(error).__name__)
            return [ClaimScores.unread(Reason.DETECTOR_FAILED)] * len(ready)

    def _claim(self, segment: Segment, scores: ClaimScores) -> Claim:
        text, is_badly_read = self.text, self._is_badly_read(segment, scores)
        found = self._figures_alone(scores) if is_badly_read else scores
        scores = found.with_rules()
        reduced = reduce_tokens(
            scores.offsets, scores.probabilities, text, threshold=self._info.threshold
        )
        flagged = whole_words(trim(reduced.spans, text), text, start=segment.start, end=segment.end)
        if (
            scores.similarity is not None
            and not is_badly_read
            and is_ungrounded(scores.similarity, self._info.threshold)
        ):
            # The similarity detector compares whole claims, so the whole claim is marked.
            flagged = (FlaggedSpan(segment.start, segment.end, 1.0),)
        kept = keep(
            flagged,
            text,
            min_words=self._filters.min_words,
            min_probability=self._filters.min_probability,
        )
        self._n_flagged += reduced.n_flagged
        claim = text[segment.start : segment.end]
        spans = tuple(self._span(span, scores, claim) for span in kept)
        reason = scores.reason
        if reason is None and not flagged:
            reason = Reason.LANGUAGE if is_badly_read else self._unrelated(claim, found)
        is_judged = scores.has_probabilities and reason is not Reason.LANGUAGE
        return Claim(
            start=segment.start,
            end=segment.end,
            text=claim,
            label=claim_label(spans, reason),
            probability=_rounded(reduced.max_score) if is_judged else None,
            similarity=scores.similarity,
            citations=tuple(dict.fromkeys(id_ for c in segment.citations for id_ in c.ids)),
            spans=spans,
            evidence=scores.evidence,
            reason=reason,
            entailment=scores.entailment if is_judged else None,
        )

    def _is_remark(self, claim: Claim, scores: ClaimScores) -> bool:
        """Return whether a claim with spans, or an unrelated claim, is only a remark.

        A claim is a remark if a model finds that it claims nothing, or if it only says that the
        sources lack a thing, and no source has the words for this thing. The result is false for
        claims of other kinds, for the similarity detector, and if a rule finds a conflict other
        than ``unrelated``.
        """
        is_doubted = bool(claim.spans) or claim.reason is Reason.UNRELATED
        if not is_doubted or {c.kind for c in scores.conflicts} - {ConflictKind.UNRELATED}:
            return False
        if scores.similarity is not None:
            return False  # the similarity detector cannot tell remarks from claims
        is_remark = scores.is_remark is not None and scores.is_remark()
        return is_remark or self._finder.is_absence(claim.text)

    def _is_badly_read(self, segment: Segment, scores: ClaimScores) -> bool:
        """Return whether the model reads the language of a judged claim, or of its evidence, badly.

        Only the best evidence counts: its own text, and the beginning of its source.
        """
        if not self._reads_english_only or scores.reason is not None:
            return False
        best = scores.evidence[:1]
        return is_foreign(self.text[segment.start : segment.end]) or any(
            is_foreign(line.text) or self._is_foreign_source(line.source_id) for line in best
        )

    def _figures_alone(self, scores: ClaimScores) -> ClaimScores:
        """Return scores that flag only numbers and dates that differ from the evidence.

        A number or date is not flagged if the model's P(not supported) of it is below the floor of
        the conflict, or if a source spells it out in non-English words.
        """
        differing = tuple(
            replace(conflict, floor=0.0)
            for conflict in scores.conflicts
            if conflict.kind in _FIGURES
            and scores.highest(conflict) >= conflict.floor
            and not self._finder.writes_out(self.text[conflict.start : conflict.end])
        )
        labels = scores.labels.copy()
        labels[:] = 1.0, 0.0, 0.0
        return replace(scores, labels=labels, conflicts=differing)

    def _unrelated(self, claim: str, scores: ClaimScores) -> Reason | None:
        """Return ``unrelated`` if a claim shares no content word with the sources, else ``None``.

        The result is also ``None`` if the claim is a line of the evidence, has no probabilities,
        has a negation, or has no content word. The same holds if a rule confirms a part of the
        claim, or if the sources are too long to search.
        """
        if scores.is_line or scores.settled or not scores.has_probabilities:
            return None
        return Reason.UNRELATED if self._finder.shares_nothing(claim) else None

    def _span(self, span: FlaggedSpan, scores: ClaimScores, claim: str) -> Span:
        offsets = scores.offsets
        inside = (offsets[:, 0] < span.end) & (offsets[:, 1] > span.start)
        unsupported, contradicted = scores.labels[inside, 1:].sum(axis=0)
        label = Label.CONTRADICTED if contradicted > unsupported else Label.UNSUPPORTED
        touched = (c for c in scores.conflicts if c.start < span.end and c.end > span.start)
        conflict = next(touched, None)
        if conflict is not None:
            label = conflict.label
        elif scores.has_probabilities and self._finder.shares_nothing(claim):
            label = Label.UNSUPPORTED  # evidence on another subject cannot contradict the claim
        return Span(
            start=span.start,
            end=span.end,
            text=self.text[span.start : span.end],
            label=label,
            probability=_rounded(span.score) if scores.has_probabilities else None,
            similarity=scores.similarity,
            severity=SEVERITY[label],
            conflict=None if conflict is None else str(conflict.kind),
            evidence=scores.evidence,
        )

    @property
    def _has_too_few(self) -> bool:
        # A minimum of 1 removes no span. The similarity detector always has this minimum: it marks
        # whole claims, and flags no word pieces that could be counted.
        return self._n_flagged < self._filters.min_pieces and self._filters.min_pieces > 1

    def _conclude(self, text: str) -> Detection:
        """Build the detection of the judged text, as if the answer ended there."""
        claims, evidence = tuple(self._claims), self._session.evidence
        # Leave out asides of text that is not judged yet: some sessions judge only at the end.
        asides = [aside for aside in self._asides if aside.end <= len(text)]
        if self._has_too_few:
            claims = tuple(
                replace(each, spans=(), label=Label.SUPPORTED) if each.spans else each
                for each in claims
            )
        reasons = self._session.reasons + self._reasons
        reasons[Reason.NO_CLAIM] += not (claims or asides)
        n_aside = sum(len(word) for aside in asides for word in aside.text.split())
        attended = sum(evidence.passages[i].n_own_chars for i in self._session.attended)
        coverage = Coverage(
            offered_chars=evidence.offered_chars,
            indexed_chars=evidence.indexed_chars,
            attended_chars=attended,
            # An answer without claims and asides, such as a lone emoji, counts as unread.
            answer_chars=self._n_visible or (0 if asides else len(text.strip())),
            read_chars=self._n_read,
            no_claim_chars=n_aside,
            reasons=dict(+reasons),
        )
        milliseconds = {name: round(1000 * s, 3) for name, s in self._seconds.items()}
        return Detection(
            answer=text,
            outcome=decide_outcome(claims, coverage),
            probability=None
            if self._answers is None or self._highest is None
            else _rounded(self._answers.probability(self._highest)),
            claims=claims,
            asides=tuple(sorted(asides, key=lambda aside: aside.start)),
            coverage=coverage,
            detector=self._info,
            timings_ms=milliseconds | {"total": round(sum(milliseconds.values()), 3)},
        )


def _rounded(probability: float) -> float:
    # Float32 has at most six reliable decimals here, and JSON would print more.
    return round(float(probability), 6)

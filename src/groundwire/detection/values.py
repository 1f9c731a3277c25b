"""The result of a check, as frozen values that can be written as JSON."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from math import isfinite, nan
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Label(StrEnum):
    """The label of a claim or a span, as in natural language inference (NLI).

    Only a claim can have the label ``unchecked``.
    """

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    UNCHECKED = "unchecked"


class Outcome(StrEnum):
    """The outcome of the check of an answer. The values are listed from the worst to the best."""

    HALLUCINATED = "hallucinated"
    UNAVAILABLE = "unavailable"
    PARTIAL = "partial"
    UNVERIFIED = "unverified"
    SKIPPED = "skipped"
    GROUNDED = "grounded"


class Reason(StrEnum):
    """The reason why something was not checked, or not read in full.

    Detectors set none of ``dropped_long``, ``dropped_over_cap``, ``answer_over_limit``,
    ``unread_evidence``, ``unread_answer`` and ``cut_off``.
    """

    NO_EVIDENCE = "no_evidence"  # no evidence that the detector can read
    NO_CLAIM = "no_claim"  # the answer has neither claims nor asides: "[1]", "!!!"
    LANGUAGE = "language"  # a script or language that the model cannot read well
    TOO_SHORT = "too_short"  # a claim with too few words for the similarity detector
    UNRELATED = "unrelated"  # a claim that shares no content word with the sources
    DROPPED_LONG = "dropped_long"  # a source over the length limit
    DROPPED_OVER_CAP = "dropped_over_cap"  # sources beyond the number allowed
    ANSWER_OVER_LIMIT = "answer_over_limit"
    QUESTION_SHORTENED = "question_shortened"  # only beginning and end of the question were read
    DETECTOR_FAILED = "detector_failed"
    UNREAD_EVIDENCE = "unread_evidence"  # evidence that is not text: an image in a tool result
    UNREAD_ANSWER = "unread_answer"  # a part of the answer that is not text, such as sound
    CUT_OFF = "cut_off"  # the answer breaks off, so that its last word may be incomplete


class AsideKind(StrEnum):
    """The kind of an aside: a part of the answer that claims nothing."""

    HEADING = "heading"
    INTRO = "intro"  # "Here is what the docs say:"
    TABLE_HEADER = "table_header"
    CODE = "code"  # a line of code that claims nothing, such as an import
    GREETING = "greeting"
    CLOSING = "closing"  # "I hope this helps!", or a signature
    SOURCES = "sources"  # a line of a list of the sources
    # A text in which the model finds no claim ("Good luck with your project!"), or that only says
    # that the sources lack something. In ``groundwire.verify``, also a "Yes" or "No" alone.
    REMARK = "remark"


class Score(StrEnum):
    """The kind of a detector's scores, which decides how its threshold is applied."""

    PROBABILITY = "probability"  # P(not supported): flagged at or above the threshold
    SIMILARITY = "similarity"  # cosine to the nearest source or line: flagged below the threshold


#: Reasons why a check is incomplete even if all characters that :class:`Coverage` counts were read.
_WITHOUT_CHARACTERS = frozenset({Reason.UNREAD_EVIDENCE, Reason.UNREAD_ANSWER, Reason.CUT_OFF})

#: Names of the operating points. Each names a threshold; a detector may lack some of them.
OPERATING_POINTS = ("precision", "balanced", "recall")

#: Severity of a label, from 0 (supported) to 4 (contradicted).
SEVERITY = {Label.SUPPORTED: 0, Label.UNSUPPORTED: 2, Label.CONTRADICTED: 4}

#: Allowed difference between 1 and the sum of the probabilities of an :class:`Entailment`.
_SUM_TOLERANCE = 1e-3


class FrozenMapping(Mapping[K, V]):
    """A mapping that cannot be changed, equal to a ``dict`` of the same items.

    It is hashable if its values are. Unlike a :class:`types.MappingProxyType`, it can be pickled
    and copied.
    """

    def __init__(self, items: Mapping[K, V]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))  # order does not matter, as in ``==``

    def __repr__(self) -> str:
        return repr(self._items)


class JsonRecord:
    """Base class of dataclasses that can be written as JSON data, each field under its name."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON data."""
        return fields_as_data(self)


def fields_as_data(record: Any) -> dict[str, Any]:  # noqa: ANN401 - a dataclass
    """Return the fields of a dataclass as JSON data."""
    return {each.name: as_data(getattr(record, each.name)) for each in fields(record)}


def as_data(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Turn a value into JSON data: tuples into lists, mappings and dataclasses into objects."""
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, tuple | list):
        return [as_data(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): as_data(each) for key, each in value.items()}
    write = getattr(value, "to_dict", None)
    return fields_as_data(value) if write is None else write()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRef(JsonRecord):
    """A part of a source that is quoted as evidence.

    ``source.text[start:end] == text`` for the source named ``source_id``.
    """

    source_id: str
    start: int
    end: int
    text: str

    def __post_init__(self) -> None:
        _require_range("place of evidence", self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entailment(JsonRecord):
    """A model's three probabilities for a claim and its evidence, which sum to 1.

    Attributes:
        entailment: P(the evidence says what the claim says).
        neutral: P(the evidence does not say whether the claim is true).
        contradiction: P(the evidence says otherwise).
        is_calibrated: Whether the probabilities are calibrated: of a hundred claims with an
            ``entailment`` of 0.7, about seventy are entailed.
    """

    entailment: float
    neutral: float
    contradiction: float
    is_calibrated: bool = False

    def __post_init__(self) -> None:
        values = (self.entailment, self.neutral, self.contradiction)
        if not all(isfinite(value) and 0 <= value <= 1 for value in values):
            raise ValueError(f"probabilities lie between 0 and 1, got {values}")
        if abs(sum(values) - 1) > _SUM_TOLERANCE:
            raise ValueError(f"the three probabilities sum to 1, got {values}: {sum(values):g}")

    def of(self, label: Label) -> float:
        """Return the probability of a label; 0 for ``unchecked``."""
        return {
            Label.SUPPORTED: self.entailment,
            Label.UNSUPPORTED: self.neutral,
            Label.CONTRADICTED: self.contradiction,
        }.get(label, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span(JsonRecord):
    """A part of the answer that its sources do not support.

    Attributes:
        start: Offset of the first character in the answer, in Python characters.
        end: Offset after the last character. ``answer[start:end] == text``, without outer white
            space.
        text: The text of the span.
        label: ``unsupported`` (the evidence does not say so) or ``contradicted`` (it says
            otherwise).
        probability: P(not supported) of the most doubtful word piece, in [0, 1]; ``None`` with a
            similarity detector. It may depend on the threshold: a claim that reaches the threshold
            may be read again with other passages.
        similarity: Cosine of the claim to the nearest source or line, in [-1, 1]; ``None`` unless
            the detector is a similarity detector.
        severity: Severity, from 0 to 4: 2 for unsupported and 4 for contradicted, unless an
            explanation of the span changes it.
        conflict: Kind of the conflict that a rule found in the span, such as ``number``; ``None``
            if only the model flagged the span.
        evidence: The evidence of the span's claim, best match first.
    """

    start: int
    end: int
    text: str
    label: Label
    probability: float | None
    similarity: float | None = None
    severity: int
    conflict: str | None = None
    evidence: tuple[EvidenceRef, ...] = ()

    def __post_init__(self) -> None:
        _require_range("span", self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence-sized statement of the answer, and the findings about it.

    Attributes:
        start: Offset of the first character in the answer.
        end: Offset after the last character; ``answer[start:end] == text``.
        text: The statement, citations included.
        label: ``supported``, ``unsupported``, ``contradicted``, or ``unchecked`` with a reason.
        probability: P(not supported) of the most doubtful word piece of the claim, in [0, 1], as
            for a span. ``None`` if the claim was not judged, or with a similarity detector.
        similarity: Cosine to the nearest source or line, in [-1, 1]; ``None`` if the similarity
            detector did not compare the claim.
        citations: The source ids that the claim cites, such as ``("S0", "S2")``, in order, each
            once.
        spans: The parts of the claim that are not supported, in reading order, disjoint.
        evidence: The parts of the sources that match the claim best, among those that the claim was
            read with, best match first.
        reason: Reason why the claim is unchecked; ``None`` if it was checked.
        entailment: The detector's verdict on the claim as a whole; ``None`` if the claim was not
            judged, or if the detector does not judge whole claims.
    """

    start: int
    end: int
    text: str
    label: Label
    probability: float | None
    similarity: float | None = None
    entailment: Entailment | None = None
    citations: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    evidence: tuple[EvidenceRef, ...] = ()
    reason: Reason | None = None

    def __post_init__(self) -> None:
        _require_range("claim", self.start, self.end)

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as JSON data, without its spans, which the detection lists."""
        data = fields_as_data(self)
        del data["spans"]
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside(JsonRecord):
    """A part of the answer that claims nothing, such as a greeting. It is never flagged.

    ``answer[start:end] == text``.
    """

    start: int
    end: int
    text: str
    kind: AsideKind

    def __post_init__(self) -> None:
        _require_range("part of the answer", self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of the evidence and the answer was read.

    Attributes:
        offered_chars: Characters of evidence that the caller gave. Equal sources count once, but
            sources that were left out count each time.
        indexed_chars: Of these, characters that were indexed, so that every claim could be read
            with them.
        attended_chars: Of these, characters that at least one claim was read with. The other
            characters are no gap in the check: a claim may be read only with the passages that
            match it best.
        answer_chars: Characters of the answer's claims, without white space. In an answer with
            neither claims nor asides, all characters but outer white space.
        read_chars: Characters of the claims that were judged, without white space and without the
            words that the model cannot read.
        no_claim_chars: Characters of the answer's asides, without white space; they are not part of
            ``answer_chars``.
        reasons: Reason → how often it applied, to a source, a claim, the question or the answer.
    """

    offered_chars: int
    indexed_chars: int
    attended_chars: int
    answer_chars: int
    read_chars: int
    no_claim_chars: int = 0
    reasons: Mapping[Reason, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", FrozenMapping(dict(sorted(self.reasons.items()))))

    @property
    def indexed(self) -> float:
        """Share of the offered evidence that was indexed, in [0, 1]; 1 if none was offered."""
        return _share(self.indexed_chars, self.offered_chars)

    @property
    def attended(self) -> float:
        """Share of the offered evidence that any claim was read with; 1 if none was offered."""
        return _share(self.attended_chars, self.offered_chars)

    @property
    def answer(self) -> float:
        """Share of ``answer_chars`` that was judged, in [0, 1]; 1 if ``answer_chars`` is 0."""
        return _share(self.read_chars, self.answer_chars)

    @property
    def is_complete(self) -> bool:
        """Whether all of ``offered_chars`` was indexed, and all of ``answer_chars`` was judged.

        The value is false if anything without characters was left out, such as an image, and if the
        answer breaks off.
        """
        return (
            self.indexed_chars == self.offered_chars
            and self.read_chars == self.answer_chars
            and _WITHOUT_CHARACTERS.isdisjoint(self.reasons)
        )

    @property
    def has_evidence(self) -> bool:
        """Whether any evidence was offered, read or not."""
        return self.offered_chars > 0 or Reason.UNREAD_EVIDENCE in self.reasons

    def to_dict(self) -> dict[str, Any]:
        """Return the shares, the counts of characters and the reasons as JSON data."""
        shares = {"indexed": self.indexed, "attended": self.attended, "answer": self.answer}
        return shares | fields_as_data(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorInfo(JsonRecord):
    """The detector that made a detection, and its threshold.

    Attributes:
        name: Name of the model, such as ``reader`` or ``similarity``; for a loaded checkpoint its
            id or folder.
        revision: Version of the model: for a hub model the commit, for most others a hash of its
            files.
        operating_point: ``precision``, ``balanced`` or ``recall``; ``custom`` if the threshold was
            given as a number.
        threshold: Threshold in (0, 1]. A word piece with a probability at or above it is flagged,
            or a claim with a similarity below it.
        score: The kind of number that the threshold is compared with.
    """

    name: str
    revision: str
    operating_point: str
    threshold: float
    score: Score = Score.PROBABILITY


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """The result of one check, frozen and hashable. Equal detections may differ in their timings.

    Attributes:
        answer: The text that was checked; all offsets count in it.
        outcome: The outcome of the check.
        probability: Calibrated P(something in the judged part of the answer is not supported), in
            [0, 1]; ``None`` if nothing was judged, or if the detector is not calibrated for
            answers. It does not decide the outcome.
        claims: The statements of the answer in reading order, disjoint.
        asides: The parts of the answer that have words but claim nothing, such as headings and
            greetings.
        coverage: How much of evidence and answer was read.
        detector: The detector that made this detection, and its threshold.
        timings_ms: Wall time by stage, in milliseconds; counts neither in equality nor in the hash.
    """

    answer: str
    outcome: Outcome
    probability: float | None = None
    claims: tuple[Claim, ...]
    asides: tuple[Aside, ...] = ()
    coverage: Coverage
    detector: DetectorInfo
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "timings_ms", FrozenMapping(self.timings_ms))

    @property
    def similarity(self) -> float | None:
        """Mean similarity of the claims that were compared; ``None`` if none was compared."""
        found = [claim.similarity for claim in self.claims if claim.similarity is not None]
        return round(sum(found) / len(found), 6) if found else None

    @property
    def spans(self) -> tuple[Span, ...]:
        """The parts of the answer that are not supported: sorted, disjoint, trimmed."""
        return tuple(span for claim in self.claims for span in claim.spans)

    def to_dict(self) -> dict[str, Any]:
        """Return the detection as JSON data, without the answer.

        The schema of the data is ``schemas/detection.schema.json``.
        """
        names = "outcome probability similarity spans claims asides coverage detector timings_ms"
        return {name: as_data(getattr(self, name)) for name in names.split()}


def read_operating_point(text: str) -> str | float:
    """Read the name of an operating point, or a threshold in (0, 1].

    Raises:
        ValueError: If the text is neither.
    """
    if text in OPERATING_POINTS:
        return text
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not 0 < number <= 1:
        raise ValueError(
            f"{text!r} is not an operating point. It must be one of {', '.join(OPERATING_POINTS)}, "
            "or a threshold above 0 and at most 1."
        )
    return number


def claim_label(spans: tuple[Span, ...], reason: Reason | None) -> Label:
    """Return the label of a claim: the worst label of its spans.

    With a reason, the label is ``unchecked``; without reason and spans, it is ``supported``.
    """
    if reason is not None:
        return Label.UNCHECKED
    return max((span.label for span in spans), key=SEVERITY.__getitem__, default=Label.SUPPORTED)


def decide_outcome(claims: tuple[Claim, ...], coverage: Coverage) -> Outcome:
    """Return the outcome of an answer, by its claims and the coverage of answer and evidence."""
    if any(claim.spans for claim in claims):
        return Outcome.HALLUCINATED
    if any(claim.reason is Reason.DETECTOR_FAILED for claim in claims):
        return Outcome.UNAVAILABLE
    if not coverage.has_evidence:
        return Outcome.UNVERIFIED
    if not coverage.is_complete:
        return Outcome.PARTIAL
    # An answer with asides only, such as greetings, needs no check.
    has_asides_only = not claims and coverage.no_claim_chars > 0
    return Outcome.SKIPPED if has_asides_only else Outcome.GROUNDED


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the worst of some outcomes by the order of :class:`Outcome`.

    Without outcomes the result is ``skipped``, because nothing was checked.

    >>> worst([Outcome.GROUNDED, Outcome.UNAVAILABLE, Outcome.PARTIAL])
    <Outcome.UNAVAILABLE: 'unavailable'>
    """
    return min(outcomes, key=list(Outcome).index, default=Outcome.SKIPPED)


def _require_range(what: str, start: int, end: int) -> None:
    if not 0 <= start < end:
        raise ValueError(f"a {what} needs 0 <= start < end, got {start} and {end}")


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0

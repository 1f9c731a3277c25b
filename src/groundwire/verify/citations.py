"""Rules that find what is wrong with the citations of a claim.

A span is a passage of the evidence with an id. P(YES) is a verifier's probability that some spans
support the claim. :mod:`groundwire.verify.forensics` asks the verifier about several sets of spans,
and the rules compare the probabilities.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from groundwire.detection.values import FrozenMapping, JsonRecord
from groundwire.verify.budget import kl, log_odds
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.rule import ClaimStatus
from groundwire.verify.verifier import DoubtedWords


class CitationStatus(StrEnum):
    """Status of the citations of a claim."""

    SUPPORTED = "supported"
    DECORATIVE = "decorative"  # the claim is supported, but a cited span adds nothing
    PARTIAL = "partial"  # the cited spans support a part of the claim, an uncited span the rest
    MISATTRIBUTED = "misattributed"  # an uncited span supports the claim, the cited ones do not
    CONTRADICTED = "contradicted"  # the cited spans, or all spans together, contradict the claim
    UNSUPPORTED = "unsupported"  # the cited spans, or all spans together, do not support the claim
    FABRICATED_ID = "fabricated_id"  # the claim cites an id that no span has
    UNCITED = "uncited"  # the claim cites nothing
    UNCHECKED = "unchecked"  # the verifier failed


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationThresholds:
    """Thresholds that decide the findings about citations, chosen by ``benchmarks/citations.py``.

    P(YES) is the verifier's probability that some spans (passages of evidence) support the claim.

    Attributes:
        supports: Lowest P(YES) at which spans support a claim; in a verification, the setting
            ``verify.target`` replaces it.
        adds_bits: Smallest rise of the probability, in bits, at which a cited span is taken to add
            something to the other cited spans.
        corroborates: Lowest P(YES) with a cited span alone at which the span is not decorative.
        attributes: Smallest gain in log-odds, in nats, for the status ``misattributed``: from the
            cited spans to an uncited span alone.
        completes: Smallest gain in log-odds, in nats, for the status ``partial``: from the cited
            spans, and also from an uncited span alone, to all of them together.
    """

    supports: float = 0.95
    adds_bits: float = 0.003
    corroborates: float = 0.97
    attributes: float = 0.0
    completes: float = 0.1


DEFAULTS = CitationThresholds()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimProbabilities:
    """Lower bounds of P(YES), the probability that spans support a claim, for sets of spans.

    A set for which the verifier gave no probability is left out.

    Attributes:
        cited: P(YES) with all cited spans; ``None`` if the verifier gave none.
        says_no: Whether the verifier finds that the cited spans contradict the claim.
        without: Id of a cited span → P(YES) with the other cited spans.
        alone: Id of a span → P(YES) with this span alone.
        beside: Id of an uncited span → P(YES) with all cited spans and this one.
    """

    cited: float | None = None
    says_no: bool = False
    without: Mapping[str, float] = field(default_factory=dict)
    alone: Mapping[str, float] = field(default_factory=dict)
    beside: Mapping[str, float] = field(default_factory=dict)

    @property
    def bits(self) -> dict[str, float]:
        """Id of a cited span → bits that the span adds to the other cited spans; can be below 0."""
        cited = self.cited
        if cited is None:
            return {}
        return {
            sid: round(kl(cited, left) * (1 if cited >= left else -1), 4)
            for sid, left in self.without.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationFinding(JsonRecord):
    """The finding about the citations of one claim.

    Attributes:
        idx: Number of the claim.
        claim: Text of the claim.
        status: Status of the claim's citations.
        cites: Ids of the spans that the claim cites.
        fabricated: Ids that name no span, as written.
        supported_by: Ids of the spans that the claim rests on: cited spans, an uncited span that it
            should have cited, or both. Empty if none was found.
        decorative: Ids of the cited spans that add nothing.
        bits: Id of a cited span → bits that the span adds to the other cited spans, KL(all ‖
            without it); negative if the claim is likelier without the span.
        unsupported: Words of the claim that its citations do not support. Empty if the
            citations support the claim, if there are none or they could not be checked, or if the
            verifier does not read word by word.
        probability: Lower bound of P(YES) with all cited spans; ``None`` if it is not known.
        error: Why the citations could not be checked; ``None`` unless the status is ``unchecked``.
    """

    idx: int
    claim: str
    status: CitationStatus
    cites: tuple[str, ...] = ()
    fabricated: tuple[str, ...] = ()
    supported_by: tuple[str, ...] = ()
    decorative: tuple[str, ...] = ()
    bits: Mapping[str, float] = field(default_factory=dict)
    unsupported: tuple[DoubtedWords, ...] = ()
    probability: float | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", FrozenMapping(self.bits))


def classify(
    claim: VerifiableClaim, readings: ClaimProbabilities, thresholds: CitationThresholds = DEFAULTS
) -> CitationFinding:
    """Decide what is wrong with the citations of a claim, by the cited ids and by P(YES)."""
    best = _best_support(claim, readings, thresholds)
    refuted = CitationFinding(
        idx=claim.idx,
        claim=claim.text,
        status=CitationStatus.CONTRADICTED if readings.says_no else CitationStatus.UNSUPPORTED,
        cites=claim.cites,
        fabricated=claim.unknown,
        bits=readings.bits,
        probability=readings.cited,
    )
    if claim.unknown:
        return replace(refuted, status=CitationStatus.FABRICATED_ID, supported_by=best)
    if not claim.cites:
        return replace(refuted, status=CitationStatus.UNCITED, supported_by=best)
    if (readings.cited or 0.0) >= thresholds.supports:
        decorative = _decorative(claim, readings, thresholds)
        status = CitationStatus.DECORATIVE if decorative else CitationStatus.SUPPORTED
        needed = tuple(sid for sid in claim.cites if sid not in decorative)
        return replace(refuted, status=status, supported_by=needed, decorative=decorative)
    if readings.cited is not None:
        if completing := _completing(readings, readings.cited, thresholds):
            spans = (*claim.cites, completing)
            return replace(refuted, status=CitationStatus.PARTIAL, supported_by=spans)
        before = log_odds(readings.cited)
        if best and log_odds(readings.alone[best[0]]) - before >= thresholds.attributes:
            return replace(refuted, status=CitationStatus.MISATTRIBUTED, supported_by=best)
    return refuted


def agreeing(finding: CitationFinding, status: ClaimStatus) -> CitationFinding:
    """Correct a finding about citations that disagrees with the status of its claim.

    For a contradicted claim, a finding ``supported`` or ``decorative`` becomes ``contradicted``;
    for a claim that is not entailed, it becomes ``unsupported``. Any other finding is returned
    unchanged. Finding and status disagree, for example, if the cited spans support the claim,
    although all spans together do not.
    """
    refuted = {
        ClaimStatus.CONTRADICTED: CitationStatus.CONTRADICTED,
        ClaimStatus.NOT_ENTAILED: CitationStatus.UNSUPPORTED,
    }
    is_sound = finding.status in (CitationStatus.SUPPORTED, CitationStatus.DECORATIVE)
    if not is_sound or status not in refuted:
        return finding
    return replace(finding, status=refuted[status], supported_by=(), decorative=())


def _decorative(
    claim: VerifiableClaim, readings: ClaimProbabilities, thresholds: CitationThresholds
) -> tuple[str, ...]:
    """Return the cited spans that neither add to the other cited spans nor support the claim alone.

    If two spans state the claim, each supports it alone, so neither is decorative. If all cited
    spans would be decorative, none is returned.
    """
    bits = readings.bits
    idle = tuple(
        sid
        for sid in claim.cites
        if bits.get(sid, 0.0) < thresholds.adds_bits
        and readings.alone.get(sid, 0.0) < thresholds.corroborates
    )
    return idle if len(idle) < len(claim.cites) else ()


def _completing(
    readings: ClaimProbabilities, cited: float, thresholds: CitationThresholds
) -> str | None:
    """Return the uncited span that completes the support of the cited spans; ``None`` if none does.

    Only one uncited span is considered: the one that, together with the cited spans, makes the
    claim likeliest. With these spans together, the claim must be clearly likelier than with the
    cited spans alone, and than with the uncited span alone.
    """
    if not readings.beside:
        return None
    best = max(readings.beside, key=lambda sid: readings.beside[sid])
    together = log_odds(readings.beside[best])
    parts = (cited, readings.alone.get(best, 0.0))
    return best if all(together - log_odds(p) >= thresholds.completes for p in parts) else None


def _best_support(
    claim: VerifiableClaim, readings: ClaimProbabilities, thresholds: CitationThresholds
) -> tuple[str, ...]:
    """Return the id of the uncited span that alone supports the claim best; empty if none does."""
    alone = {sid: p for sid, p in readings.alone.items() if sid not in claim.cites}
    best = max(alone, key=lambda sid: alone[sid], default=None)
    return () if best is None or alone[best] < thresholds.supports else (best,)

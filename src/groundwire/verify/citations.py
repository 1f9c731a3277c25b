"""Findings about citations, by rules over the probabilities of a claim with different spans.

:mod:`groundwire.verify.forensics` reads these probabilities.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from groundwire.detection.values import FrozenMapping, JsonRecord
from groundwire.verify.budget import kl_bits, log_odds
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.rule import ClaimStatus
from groundwire.verify.verifier import Doubt


class CitationStatus(StrEnum):
    """Status of the citations of a claim."""

    SUPPORTED = "supported"
    DECORATIVE = "decorative"  # supported, and a span that it cites adds nothing
    PARTIAL = "partial"  # the spans that it cites support a part of it
    MISATTRIBUTED = "misattributed"  # another span supports it, and the cited ones do not
    CONTRADICTED = "contradicted"  # the spans that it cites say otherwise
    UNSUPPORTED = "unsupported"  # no span supports it
    FABRICATED_ID = "fabricated_id"  # it cites an id that no span has
    UNCITED = "uncited"
    UNCHECKED = "unchecked"  # the verifier failed


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationThresholds:
    """Thresholds of the findings, chosen by ``benchmarks/citations.py``.

    Attributes:
        supports: P(YES) from which the cited spans support a claim; the documented target, so that
            a claim passes if its citations support it. A verification takes its own target.
        adds_bits: A cited span that moves the claim by fewer bits adds nothing.
        corroborates: P(YES) from which a span that could be left out supports the claim by itself,
            and so is no decoration.
        attributes: Bits by which another span alone has to raise the log-odds of the claim, to be
            what it should have cited.
        completes: Bits by which another span has to raise the log-odds of the claim beside what it
            cites *and* what it cites beside that one, for each to be a part.
    """

    supports: float = 0.95
    adds_bits: float = 0.003
    corroborates: float = 0.97
    attributes: float = 0.0
    completes: float = 0.1


DEFAULTS = CitationThresholds()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimProbabilities:
    """P(YES) of a claim with different sets of spans, as far as it was read.

    Attributes:
        cited: P(YES) with all spans that it cites.
        says_no: Whether the verifier says that the cited spans contradict it.
        without: Id of a cited span → P(YES) with the other cited spans.
        alone: Id of a span → P(YES) with this span alone.
        beside: Id of an uncited span → P(YES) with all cited spans and this one.
    """

    cited: float | None = None
    says_no: bool = False
    without: Mapping[str, float] = field(default_factory=dict)
    alone: Mapping[str, float] = field(default_factory=dict)
    beside: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationFinding(JsonRecord):
    """The finding about the citations of one claim.

    Attributes:
        idx: Number of the claim.
        claim: Text of the claim.
        status: Status of its citations.
        cites: Ids of the spans that it cites and that were given.
        fabricated: Ids that name no span, as written.
        supported_by: Spans that the claim rests on: the cited spans that it needs, the span that
            it should have cited, or both.
        decorative: Cited spans that add nothing.
        bits: Id of a cited span → bits that it adds to the others, KL(with all ‖ without it);
            negative if the claim is likelier without it.
        unsupported: Stretches of the claim that its citations do not support; empty if the verifier
            does not read word by word.
        probability: P(YES) with what it cites; ``None`` if that was not read.
        error: Why it could not be checked.
    """

    idx: int
    claim: str
    status: CitationStatus
    cites: tuple[str, ...] = ()
    fabricated: tuple[str, ...] = ()
    supported_by: tuple[str, ...] = ()
    decorative: tuple[str, ...] = ()
    bits: Mapping[str, float] = field(default_factory=dict)
    unsupported: tuple[Doubt, ...] = ()
    probability: float | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", FrozenMapping(self.bits))


def classify(
    claim: VerifiableClaim, readings: ClaimProbabilities, thresholds: CitationThresholds = DEFAULTS
) -> CitationFinding:
    """Decide what is wrong with the citations of a claim, by its readings alone."""
    bits = _added_bits(readings)
    best = _best_support(claim, readings, thresholds)

    def found(
        status: CitationStatus,
        *,
        supported_by: tuple[str, ...] = (),
        decorative: tuple[str, ...] = (),
    ) -> CitationFinding:
        return CitationFinding(
            idx=claim.idx,
            claim=claim.text,
            status=status,
            cites=claim.cites,
            fabricated=claim.unknown,
            supported_by=supported_by,
            decorative=decorative,
            bits=bits,
            probability=readings.cited,
        )

    if claim.unknown:
        return found(CitationStatus.FABRICATED_ID, supported_by=best)
    if not claim.cites:
        return found(CitationStatus.UNCITED, supported_by=best)
    if (readings.cited or 0.0) >= thresholds.supports:
        decorative = _decorative(claim, readings, bits, thresholds)
        status = CitationStatus.DECORATIVE if decorative else CitationStatus.SUPPORTED
        needed = tuple(sid for sid in claim.cites if sid not in decorative)
        return found(status, supported_by=needed, decorative=decorative)
    if readings.cited is not None:
        if completing := _completing(readings, readings.cited, thresholds):
            return found(CitationStatus.PARTIAL, supported_by=(*claim.cites, completing))
        gain = log_odds(readings.alone[best[0]]) - log_odds(readings.cited) if best else -1.0
        if best and gain >= thresholds.attributes:
            return found(CitationStatus.MISATTRIBUTED, supported_by=best)
    return found(CitationStatus.CONTRADICTED if readings.says_no else CitationStatus.UNSUPPORTED)


def agreeing(finding: CitationFinding, status: ClaimStatus) -> CitationFinding:
    """Make a finding agree with the status of its claim: a refuted claim is nowhere supported.

    With other spans than those it cites (``context_mode``) a claim may fail that its citations
    support.
    """
    refuted = {
        ClaimStatus.CONTRADICTED: CitationStatus.CONTRADICTED,
        ClaimStatus.NOT_ENTAILED: CitationStatus.UNSUPPORTED,
    }
    is_sound = finding.status in (CitationStatus.SUPPORTED, CitationStatus.DECORATIVE)
    if not is_sound or status not in refuted:
        return finding
    return replace(finding, status=refuted[status], supported_by=(), decorative=())


def _added_bits(readings: ClaimProbabilities) -> dict[str, float]:
    """The bits that each cited span adds to the others, with their sign."""
    with_all = readings.cited
    if with_all is None:
        return {}
    return {
        sid: round(kl_bits(with_all, left) * (1 if with_all >= left else -1), 4)
        for sid, left in readings.without.items()
    }


def _decorative(
    claim: VerifiableClaim,
    readings: ClaimProbabilities,
    bits: Mapping[str, float],
    thresholds: CitationThresholds,
) -> tuple[str, ...]:
    """Cited spans that add nothing and would not carry the claim by themselves.

    Of two spans that both say it, neither adds anything to the other, and neither is decoration.
    Where none of them says it alone, and each could be left out, all stay.
    """
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
    """Find the uncited span that, together with the cited ones, supports the claim."""
    if not readings.beside:
        return None
    best = max(readings.beside, key=lambda sid: readings.beside[sid])
    together = log_odds(readings.beside[best])
    parts = (cited, readings.alone.get(best, 0.0))
    return best if all(together - log_odds(p) >= thresholds.completes for p in parts) else None


def _best_support(
    claim: VerifiableClaim, readings: ClaimProbabilities, thresholds: CitationThresholds
) -> tuple[str, ...]:
    """The span, other than the cited ones, that supports the claim best by itself, if one does."""
    alone = {sid: p for sid, p in readings.alone.items() if sid not in claim.cites}
    best = max(alone, key=lambda sid: alone[sid], default=None)
    return () if best is None or alone[best] < thresholds.supports else (best,)

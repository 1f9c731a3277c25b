"""What follows for a citation from what a claim's readings say: pure rules over probabilities.

:mod:`groundwire.verify.forensics` makes the readings.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from groundwire.detection.values import FrozenMapping
from groundwire.engine.settings import is_number
from groundwire.errors import SettingError
from groundwire.verify.budget import kl_bits, log_odds
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.doubts import Doubt
from groundwire.verify.rule import ClaimStatus


class CitationStatus(StrEnum):
    """What became of a claim's citations."""

    SUPPORTED = "supported"
    DECORATIVE = "decorative"  # supported, and a span that it cites adds nothing
    PARTIAL = "partial"  # what it cites supports a part of it
    MISATTRIBUTED = "misattributed"  # another span supports it, and what it cites does not
    CONTRADICTED = "contradicted"  # what it cites says otherwise
    UNSUPPORTED = "unsupported"  # nothing that was given supports it
    FABRICATED_ID = "fabricated_id"  # it cites what was not given
    UNCITED = "uncited"
    UNCHECKED = "unchecked"  # the verifier failed


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationThresholds:
    """Where probabilities become findings; chosen by ``benchmarks/citations.py``.

    Attributes:
        supports: P(YES) from which what a claim cites supports it; the documented target, so that a
            claim passes if its citations support it. A verification takes its own target.
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

    def __post_init__(self) -> None:
        for name in ("supports", "corroborates"):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value < 1:
                raise SettingError(name, value, "between 0 and 1")
        for name in ("adds_bits", "attributes", "completes"):
            value = getattr(self, name)
            if not is_number(value) or not value >= 0:
                raise SettingError(name, value, "0 or more bits")


DEFAULTS = CitationThresholds()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimProbabilities:
    """P(YES) of one claim with different spans. What was not asked is not there.

    Attributes:
        cited: With all that it cites.
        says_no: Whether the verifier says that these contradict it.
        without: Id of a cited span → with the others alone.
        alone: Id of a span → with it alone.
        beside: Id of a span that is not cited → with all that is cited, and it.
    """

    cited: float | None = None
    says_no: bool = False
    without: Mapping[str, float] = field(default_factory=dict)
    alone: Mapping[str, float] = field(default_factory=dict)
    beside: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationFinding:
    """What is known of the citations of one claim.

    Attributes:
        idx: Number of the claim.
        claim: What it states.
        status: What became of its citations.
        cites: Ids of the spans that it cites and that were given.
        fabricated: Ids that name no span, as written.
        supported_by: What the claim rests on: the cited spans that it needs, the span that it
            should have cited, or both.
        decorative: Cited spans that add nothing.
        bits: Id of a cited span → what it adds to the others: KL(with all ‖ without it) in bits,
            negative if the claim is likelier without it.
        unsupported: What of the claim its citations do not support; empty if the verifier does not
            read word by word.
        probability: P(YES) with what it cites; ``None`` if that was not read.
        error: What kept it from being checked.
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

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "idx": self.idx,
            "claim": self.claim,
            "status": str(self.status),
            "cites": list(self.cites),
            "fabricated": list(self.fabricated),
            "supported_by": list(self.supported_by),
            "decorative": list(self.decorative),
            "bits": dict(self.bits),
            "unsupported": [
                {
                    "start": doubt.start,
                    "end": doubt.end,
                    "text": doubt.text,
                    "label": str(doubt.label),
                    "probability": doubt.probability,
                }
                for doubt in self.unsupported
            ],
            "probability": self.probability,
            "error": self.error,
        }


def classify(
    claim: VerifiableClaim, readings: ClaimProbabilities, thresholds: CitationThresholds = DEFAULTS
) -> CitationFinding:
    """What follows from the readings of a claim; pure."""
    finding = _Finding(claim, readings, thresholds)
    if claim.unknown:
        return finding.made(CitationStatus.FABRICATED_ID, rests_on=finding.best_support())
    if not claim.cites:
        return finding.made(CitationStatus.UNCITED, rests_on=finding.best_support())
    if (readings.cited or 0.0) >= thresholds.supports:
        decorative = finding.decorative()
        status = CitationStatus.DECORATIVE if decorative else CitationStatus.SUPPORTED
        needed = tuple(sid for sid in claim.cites if sid not in decorative)
        return finding.made(status, rests_on=needed, decorative=decorative)
    if completing := finding.completing():
        return finding.made(CitationStatus.PARTIAL, rests_on=(*claim.cites, completing))
    if other := finding.attributed():
        return finding.made(CitationStatus.MISATTRIBUTED, rests_on=(other,))
    if readings.says_no:
        return finding.made(CitationStatus.CONTRADICTED)
    return finding.made(CitationStatus.UNSUPPORTED)


def agreeing(finding: CitationFinding, status: ClaimStatus) -> CitationFinding:
    """A finding beside what became of its claim: what was refuted is nowhere called supported.

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


@dataclass(frozen=True, slots=True)
class _Finding:
    """One claim with its readings, on the way to a finding."""

    claim: VerifiableClaim
    readings: ClaimProbabilities
    thresholds: CitationThresholds

    def bits(self) -> dict[str, float]:
        """What each cited span adds to the others, with its sign."""
        with_all = self.readings.cited
        if with_all is None:
            return {}
        return {
            sid: round(kl_bits(with_all, left) * (1 if with_all >= left else -1), 4)
            for sid, left in self.readings.without.items()
        }

    def decorative(self) -> tuple[str, ...]:
        """Cited spans that add nothing and would not carry the claim by themselves.

        Of two spans that both say it, neither adds anything to the other, and neither is
        decoration. Where none of them says it alone, and each could be left out, all stay.
        """
        bits = self.bits()
        if len(self.claim.cites) < 2:
            return ()
        idle = tuple(
            sid
            for sid in self.claim.cites
            if bits.get(sid, 0.0) < self.thresholds.adds_bits
            and self.readings.alone.get(sid, 0.0) < self.thresholds.corroborates
        )
        return idle if len(idle) < len(self.claim.cites) else ()

    def completing(self) -> str | None:
        """The span that supports the rest of what the cited ones support in part."""
        cited, beside = self.readings.cited, self.readings.beside
        if cited is None or not beside:
            return None
        best = max(beside, key=lambda sid: beside[sid])
        needed = self.thresholds.completes
        gain = log_odds(beside[best]) - log_odds(cited)
        share = log_odds(beside[best]) - log_odds(self.readings.alone.get(best, 0.0))
        return best if gain >= needed and share >= needed else None

    def attributed(self) -> str | None:
        """The span that the claim should have cited."""
        best = self.best_support()
        if not best or self.readings.cited is None:
            return None
        gain = log_odds(self.readings.alone[best[0]]) - log_odds(self.readings.cited)
        return best[0] if gain >= self.thresholds.attributes else None

    def best_support(self) -> tuple[str, ...]:
        """The span that supports the claim best by itself, if one does."""
        alone = {s: p for s, p in self.readings.alone.items() if s not in self.claim.cites}
        best = max(alone, key=lambda sid: alone[sid], default=None)
        if best is None or alone[best] < self.thresholds.supports:
            return ()
        return (best,)

    def made(
        self,
        status: CitationStatus,
        *,
        rests_on: Iterable[str] = (),
        decorative: tuple[str, ...] = (),
    ) -> CitationFinding:
        return CitationFinding(
            idx=self.claim.idx,
            claim=self.claim.text,
            status=status,
            cites=self.claim.cites,
            fabricated=self.claim.unknown,
            supported_by=tuple(rests_on),
            decorative=decorative,
            bits=self.bits(),
            probability=self.readings.cited,
        )

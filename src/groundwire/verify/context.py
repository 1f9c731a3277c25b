"""The evidence that a claim is read with, and the same evidence without the cited spans."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from groundwire.detection.example import Source
from groundwire.text.segment.characters import ALNUM
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.hygiene import clean
from groundwire.verify.verifier import ClaimQuestion, EvidenceText


@dataclass(frozen=True, slots=True)
class Contexts:
    """The spans of a verification, each cleaned once.

    Attributes:
        evidence: Id of a span → the span, in the order they were given.
        mode: ``cited``, ``all``, or ``auto``: all for a claim that cites nothing.
        placeholder: Text in place of evidence that is taken away.
    """

    evidence: Mapping[str, EvidenceText]
    mode: str
    placeholder: str

    @classmethod
    def of(cls, spans: Iterable[Source], *, mode: str, placeholder: str) -> "Contexts":
        """Clean the spans."""
        return cls({span.id: _evidence(span) for span in spans}, mode, placeholder)

    def sids(self, claim: VerifiableClaim) -> tuple[str, ...]:
        """Ids of the spans that a claim is read with, in the order they were given."""
        if self.mode == "all" or (self.mode == "auto" and not claim.has_citations):
            return tuple(self.evidence)
        cited = frozenset(claim.cites)
        return tuple(sid for sid in self.evidence if sid in cited)

    def has_evidence(self, claim: VerifiableClaim) -> bool:
        """Whether the spans that a claim is read with have any evidence."""
        return any(self.evidence[sid].text for sid in self.sids(claim))

    def posterior(self, claim: VerifiableClaim) -> ClaimQuestion:
        """The question about the claim with its evidence."""
        evidence = tuple(self.evidence[sid] for sid in self.sids(claim))
        return ClaimQuestion(claim=claim.text, evidence=evidence)

    def prior(self, claim: VerifiableClaim) -> ClaimQuestion:
        """The question about the claim without the spans it cites; without any if it cites none."""
        sids = self.sids(claim)
        taken = frozenset(claim.cites) or frozenset(sids)
        evidence = tuple(
            self._redacted(sid) if sid in taken else self.evidence[sid] for sid in sids
        )
        return ClaimQuestion(claim=claim.text, evidence=evidence)

    def _redacted(self, sid: str) -> EvidenceText:
        return EvidenceText(sid=sid, text="", shown=self.placeholder, is_redacted=True)


def _evidence(span: Source) -> EvidenceText:
    cleaned = clean(span.text)
    # "..." says nothing, in any script.
    text = cleaned.text if ALNUM.search(cleaned.text) else ""
    return EvidenceText(sid=span.id, text=text, shown=cleaned.shown)

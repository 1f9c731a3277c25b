"""Makes the two questions about a claim: with its evidence, and with evidence taken away.

A span is a passage of the evidence with an id.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from groundwire.detection.example import Source
from groundwire.text.segment.characters import ALNUM
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.hygiene import clean
from groundwire.verify.verifier import ClaimQuestion, EvidenceText


@dataclass(frozen=True, slots=True)
class Contexts:
    """The cleaned spans of a verification: passages from which each claim's evidence is chosen.

    Attributes:
        evidence: Id of a span → the cleaned span, in the order in which the spans were given.
        mode: Spans that a claim is read with: ``cited``, ``all``, or ``auto`` (the cited spans, or
            all if the claim cites nothing).
        placeholder: Text that prompts show in place of a span that was taken away.
    """

    evidence: Mapping[str, EvidenceText]
    mode: str
    placeholder: str

    @classmethod
    def of(cls, spans: Iterable[Source], *, mode: str, placeholder: str) -> "Contexts":
        """Clean the spans of a verification, and keep them with ``mode`` and ``placeholder``."""
        return cls({span.id: _evidence(span) for span in spans}, mode, placeholder)

    def sids(self, claim: VerifiableClaim) -> tuple[str, ...]:
        """Return the ids of the spans that a claim is read with, in the order they were given."""
        if self.mode == "all" or (self.mode == "auto" and not claim.has_citations):
            return tuple(self.evidence)
        cited = frozenset(claim.cites)
        return tuple(sid for sid in self.evidence if sid in cited)

    def posterior(self, claim: VerifiableClaim) -> ClaimQuestion:
        """Return the question about a claim with its evidence; the answer is the posterior."""
        evidence = tuple(self.evidence[sid] for sid in self.sids(claim))
        return ClaimQuestion(claim=claim.text, evidence=evidence)

    def prior(self, claim: VerifiableClaim) -> ClaimQuestion:
        """Return the question about a claim without the spans it cites; the answer is the prior.

        If the claim cites no span, all of its evidence is taken away.
        """
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
    # A text without letters and digits, such as "...", is not evidence.
    text = cleaned.text if ALNUM.search(cleaned.text) else ""
    return EvidenceText(sid=span.id, text=text, shown=cleaned.shown)

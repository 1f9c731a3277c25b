"""Checks the citations of claims: which spans support a claim, and which cited spans add nothing.

A span is a passage of the evidence with an id. A verifier reads a claim with all its cited spans,
with all but one of them, and with each of them alone. If the claim has no citations or an unknown
id, the verifier then reads the claim with each uncited span alone. Otherwise, if the verifier does
not find that the cited spans support the claim, the verifier reads the claim with each uncited
span, both alone and together with the cited spans. :mod:`groundwire.verify.citations` decides by
the verifier's answers.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from groundwire.verify import citations
from groundwire.verify.citations import CitationFinding, CitationStatus, CitationThresholds
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.verifier import (
    FREE,
    CallCost,
    ClaimQuestion,
    EvidenceText,
    Judged,
    Readout,
    Verifier,
    VerifierFailure,
    ask,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationReport:
    """The findings about the citations of the verified claims.

    Attributes:
        findings: One finding for each claim, in the order of the claims.
        cost: Calls and tokens that the questions about citations took.
    """

    findings: tuple[CitationFinding, ...]
    cost: CallCost = FREE

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "statuses": dict(sorted(Counter(str(f.status) for f in self.findings).items())),
            "verifier_api_calls_estimated": round(self.cost.calls, 6),
            "prompt_tokens": round(self.cost.prompt_tokens),
            "completion_tokens": round(self.cost.completion_tokens),
            "details": [each.to_dict() for each in self.findings],
        }


def check_citations(
    claims: Sequence[VerifiableClaim],
    spans: Mapping[str, EvidenceText],
    verifier: Verifier,
    *,
    thresholds: CitationThresholds = citations.DEFAULTS,
) -> tuple[CitationFinding, ...]:
    """Find out what is wrong with the citations of claims; return a finding for each claim.

    If there are n spans, the verifier gets at most 2 n + 1 questions about each claim.
    """
    cases = read_citations(claims, spans, verifier, thresholds)
    return tuple(case.finding(thresholds) for case in cases)


def read_citations(
    claims: Sequence[VerifiableClaim],
    spans: Mapping[str, EvidenceText],
    verifier: Verifier,
    thresholds: CitationThresholds,
) -> "list[CitationCase]":
    """Ask the verifier about claims with different sets of spans; return a case for each claim."""
    cases = [CitationCase(claim, spans) for claim in claims]
    _ask(verifier, cases, CitationCase.first)
    _ask(verifier, cases, lambda case: case.second(thresholds))
    return cases


class CitationCase:
    """One claim, and the verifier's answers about the claim with different sets of spans."""

    def __init__(self, claim: VerifiableClaim, spans: Mapping[str, EvidenceText]) -> None:
        self.claim, self.spans, self.cites = claim, spans, frozenset(claim.cites)
        self.others = tuple(sid for sid in spans if sid not in claim.cites)
        self.answers: dict[frozenset[str], Judged] = {}

    def first(self) -> list[frozenset[str]]:
        """Return the sets of cited spans to ask about first.

        These are all cited spans together, all but one of them, and each of them alone.
        """
        cites = self.claim.cites
        if not cites:
            return []
        wanted = [self.cites, *(self.cites - {sid} for sid in cites)]
        return wanted + [frozenset({sid}) for sid in cites]

    def second(self, thresholds: CitationThresholds) -> list[frozenset[str]]:
        """Return the sets of spans to ask about next; each contains an uncited span.

        No set is returned if all ids that the claim cites are known and the cited spans support
        the claim.
        """
        cited = self._yes(self.cites)
        if not self.claim.unknown and cited is not None and cited >= thresholds.supports:
            return []
        wanted = [frozenset({sid}) for sid in self.others]
        if self.cites and not self.claim.unknown:
            wanted += [self.cites | {sid} for sid in self.others]
        return wanted

    def question(self, sids: frozenset[str]) -> ClaimQuestion:
        """Return the question whether the spans with these ids support the claim."""
        evidence = tuple(each for sid, each in self.spans.items() if sid in sids)
        return ClaimQuestion(claim=self.claim.text, evidence=evidence)

    def readings(self) -> citations.ClaimProbabilities:
        """Return the probabilities in the verifier's answers, for :func:`.citations.classify`."""
        cites, cited = self.cites, self.answers.get(self.cites)
        return citations.ClaimProbabilities(
            cited=self._yes(cites),
            says_no=isinstance(cited, Readout) and cited.no.low > cited.unsure.high,
            without=self._known({sid: cites - {sid} for sid in self.claim.cites}),
            alone=self._known({sid: frozenset({sid}) for sid in self.spans}),
            beside=self._known({sid: cites | {sid} for sid in self.others} if cites else {}),
        )

    def finding(self, thresholds: CitationThresholds) -> CitationFinding:
        """Return the finding about the claim's citations.

        Its status is ``fabricated_id`` if the claim cites an unknown id, and otherwise
        ``unchecked`` if the verifier failed.
        """
        failures = [each for each in self.answers.values() if isinstance(each, VerifierFailure)]
        if failures and not self.claim.unknown:
            return CitationFinding(
                idx=self.claim.idx,
                claim=self.claim.text,
                status=CitationStatus.UNCHECKED,
                cites=self.claim.cites,
                error=failures[0].error,
            )
        found = citations.classify(self.claim, self.readings(), thresholds)
        cited = self.answers.get(self.cites)
        if found.status in _SOUND or not isinstance(cited, Readout):
            return found
        return replace(found, unsupported=cited.doubts)

    def _known(self, sets: Mapping[str, frozenset[str]]) -> dict[str, float]:
        found = {sid: self._yes(wanted) for sid, wanted in sets.items()}
        return {sid: p for sid, p in found.items() if p is not None}

    def _yes(self, sids: frozenset[str]) -> float | None:
        """Return the lower bound of P(YES) with these spans; ``None`` if it is not known."""
        answer = self.answers.get(sids)
        return answer.yes.low if isinstance(answer, Readout) else None


#: Statuses with which a finding lists no unsupported words, even if the verifier doubts some.
_SOUND = frozenset({CitationStatus.SUPPORTED, CitationStatus.DECORATIVE, CitationStatus.UNCITED})


def _ask(
    verifier: Verifier,
    cases: Sequence[CitationCase],
    wanted: Callable[[CitationCase], Sequence[frozenset[str]]],
) -> None:
    """Ask the verifier about wanted sets of spans; keep the answers in the cases.

    ``wanted`` returns the sets of a case. Sets that have an answer already are not asked about.
    """
    pairs = [(case, sids) for case in cases for sids in wanted(case) if sids not in case.answers]
    pairs = list(dict.fromkeys(pairs))
    answers = ask(verifier, [case.question(sids) for case, sids in pairs])
    for (case, sids), answer in zip(pairs, answers, strict=True):
        case.answers[sids] = answer

"""Examples of verifications for the OpenAPI document. The tests send each to a gateway."""

from collections.abc import Sequence
from typing import Any

from groundwire.verify.interval import ProbabilityInterval
from groundwire.verify.run import run
from groundwire.verify.subject import AnswerSubject
from groundwire.verify.verifier import ClaimQuestion, Judged, Readout

_SPANS = [
    {
        "sid": "S0",
        "text": "Auth reads JWT_ISSUER and validates the issuer of each token against it.",
    },
    {"sid": "S1", "text": "Tokens last for 60 minutes."},
]
_ANSWER = "Auth validates issuer via JWT_ISSUER. [S0] Tokens last for 15 minutes. [S1]"

#: Bodies of ``POST /v1/verify``.
ANSWERS: dict[str, Any] = {
    "answer": {
        "summary": "An answer with citations, verified strictly",
        "value": {
            "answer": _ANSWER,
            "spans": _SPANS,
            "require_citations": True,
            "context_mode": "cited",
            "default_target": 0.95,
        },
    },
    "citations": {
        "summary": "The same, and what is wrong with its citations",
        "value": {
            "answer": "Tokens last for 60 minutes. [S0]",
            "spans": _SPANS,
            "citations": True,
        },
    },
}

#: Bodies of ``POST /v1/verify/trace``.
TRACES: dict[str, Any] = {
    "steps": {
        "summary": "Two steps, one with a target of its own",
        "value": {
            "steps": [
                {
                    "idx": 0,
                    "claim": "Tokens last for 60 minutes.",
                    "cites": ["S1"],
                    "confidence": 0.9,
                },
                {"idx": 1, "claim": "So the cache keeps them for a day.", "cites": ["S1"]},
            ],
            "spans": _SPANS,
        },
    }
}


class _Said:
    """What the embedded verifier says of the first of :data:`ANSWERS`."""

    name, model = "local", "reader@0123456789ab"

    def judge(self, questions: Sequence[ClaimQuestion]) -> list[Judged]:
        """Its answers."""
        return [_readout(each) for each in questions]


def _readout(question: ClaimQuestion) -> Readout:
    has_evidence = not question.evidence[0].is_redacted
    if "15" in question.claim:
        yes, no, generated = 0.79, 0.15, "NO"
    else:
        yes, no, generated = (0.99, 0.0, "YES") if has_evidence else (0.01, 0.0, "UNSURE")
    return Readout(
        yes=ProbabilityInterval.exactly(yes),
        no=ProbabilityInterval.exactly(no),
        unsure=ProbabilityInterval.exactly(round(1 - yes - no, 6)),
        generated=generated,
    )


def report() -> dict[str, Any]:
    """What the first of :data:`ANSWERS` gives."""
    return run(AnswerSubject(_ANSWER), _SPANS, {"require_citations": True}, _Said()).to_dict()

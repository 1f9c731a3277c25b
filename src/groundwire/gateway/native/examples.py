"""The examples of the OpenAPI document. The tests send each of them to the running gateway."""

from typing import Any

from groundwire.detection.rules import ConflictKind
from groundwire.detection.values import (
    Claim,
    Coverage,
    Detection,
    DetectorInfo,
    Entailment,
    EvidenceRef,
    Label,
    Outcome,
    Score,
    Span,
)

_FACT = "The Eiffel Tower was completed in 1889 and is 330 metres tall."
_QUESTION = "How tall is the Eiffel Tower?"
_WRONG = "The Eiffel Tower is 500 metres tall."

_REQUEST: dict[str, Any] = {
    "model": "gpt-4o-mini",
    "messages": [{"role": "user", "content": _QUESTION}],
    "metadata": {"grounding.sources": [_FACT]},
}


def _message(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


#: Bodies of ``POST /v1/check``.
CHECKS: dict[str, Any] = {
    "answer": {
        "summary": "An answer and its sources",
        "value": {"sources": [_FACT], "question": _QUESTION, "answer": _WRONG},
    },
    "sources": {
        "summary": "Sources with ids, as JSON data, and another threshold",
        "value": {
            "sources": [
                {"id": "guide", "title": "Eiffel Tower", "text": _FACT},
                {"name": "Eiffel Tower", "city": "Paris"},
            ],
            "answer": "The Eiffel Tower stands in Paris.",
            "operating_point": "precision",
        },
    },
    "conversation": {
        "summary": "A chat request and its response",
        "value": {
            "request": _REQUEST,
            "response": {"choices": [{"index": 0, "message": _message(_WRONG)}]},
        },
    },
    "transcript": {
        "summary": "A chat whose last message is the answer",
        "value": {**_REQUEST, "messages": [*_REQUEST["messages"], _message(_WRONG)]},
    },
}

#: Bodies of ``POST /v1/check/batch``.
BATCHES: dict[str, Any] = {
    "rows": {
        "summary": "Two answers, one of them without text",
        "value": {
            "examples": [
                {"id": "a", "sources": [_FACT], "answer": _WRONG},
                {"id": "b", "sources": [_FACT], "answer": ""},
            ],
        },
    }
}

#: Bodies of ``POST /api/v1/classify/fact-check``.
FACT_CHECKS: dict[str, Any] = {
    "factual": {
        "summary": "A question of fact",
        "value": {"text": "When was the Eiffel Tower built?"},
    },
    "creative": {"summary": "A poem", "value": {"text": "Write a poem about autumn leaves."}},
    "threshold": {
        "summary": "A threshold of its own",
        "value": {
            "text": "When was the Eiffel Tower built?",
            "options": {"confidence_threshold": 0.8},
        },
    },
}

#: Bodies of ``POST /api/v1/nli``.
NLI_PAIRS: dict[str, Any] = {
    "pair": {
        "summary": "A premise and a hypothesis",
        "value": {"premise": _FACT, "hypothesis": "The Eiffel Tower was completed in 1889."},
    }
}

#: Bodies of ``POST /v1/chat/completions``.
CHATS: dict[str, Any] = {
    "sources": {"summary": "With explicit sources", "value": _REQUEST},
}


def detection() -> dict[str, Any]:
    """What the first of :data:`CHECKS` gives."""
    line = EvidenceRef(source_id="S0", start=0, end=len(_FACT), text=_FACT)
    start = _WRONG.index("500")
    span = Span(
        start=start,
        end=start + len("500 metres"),
        text="500 metres",
        label=Label.CONTRADICTED,
        probability=0.96,
        similarity=None,
        severity=4,
        conflict=str(ConflictKind.NUMBER),
        evidence=(line,),
    )
    claim = Claim(
        start=0,
        end=len(_WRONG),
        text=_WRONG,
        label=Label.CONTRADICTED,
        probability=0.96,
        similarity=None,
        entailment=Entailment(entailment=0.04, neutral=0.06, contradiction=0.9),
        citations=(),
        spans=(span,),
        evidence=(line,),
    )
    found = Detection(
        answer=_WRONG,
        outcome=Outcome.HALLUCINATED,
        probability=0.95,
        claims=(claim,),
        coverage=Coverage(
            offered_chars=len(_FACT),
            indexed_chars=len(_FACT),
            attended_chars=len(_FACT),
            answer_chars=len(_WRONG.replace(" ", "")),
            read_chars=len(_WRONG.replace(" ", "")),
            reasons={},
        ),
        detector=DetectorInfo(
            name="reader",
            revision="0123456789ab",
            operating_point="balanced",
            threshold=0.5,
            score=Score.PROBABILITY,
        ),
        timings_ms={"total": 6.1},
    )
    return found.to_dict()


#: What the endpoints of HaluGate answer to their first example.
FACT_CHECK_RESULT: dict[str, Any] = {
    "needs_fact_check": True,
    "confidence": 0.97,
    "label": "needs_fact_check",
    "processing_time_ms": 3,
}
NLI_RESULT: dict[str, Any] = {
    "label": "ENTAILMENT",
    "confidence": 0.95,
    "entailment_prob": 0.95,
    "neutral_prob": 0.03,
    "contradiction_prob": 0.02,
    "processing_time_ms": 4,
    "premise_chars": len(_FACT),
    "premise_read": [{"start": 0, "end": len(_FACT)}],
}

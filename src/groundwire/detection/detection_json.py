"""A detection, read back from what ``to_dict()`` made of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from groundwire.detection.values import (
    Claim,
    Coverage,
    Detection,
    DetectorInfo,
    Entailment,
    EvidenceRef,
    Label,
    Outcome,
    Reason,
    Score,
    Span,
)


def detection_of(data: Mapping[str, Any], answer: str | None) -> Detection:
    """A detection that :meth:`groundwire.Detection.to_dict` wrote.

    Raises:
        KeyError: If it is none; so do TypeError and ValueError.
    """
    spans = [_span(row) for row in data["spans"]]
    claims = tuple(_claim(row, spans) for row in data["claims"])
    detector, coverage = data["detector"], data["coverage"]
    return Detection(
        answer=_pieced(claims) if answer is None else answer,
        outcome=Outcome(data["outcome"]),
        probability=data["probability"],
        claims=claims,
        coverage=Coverage(
            **{key: coverage[key] for key in coverage if key.endswith("_chars")},
            reasons={Reason(reason): count for reason, count in coverage["reasons"].items()},
        ),
        detector=DetectorInfo(**{**detector, "score": Score(detector["score"])}),
        timings_ms=data["timings_ms"],
    )


def _claim(row: Mapping[str, Any], spans: Sequence[Span]) -> Claim:
    given = row.get("entailment")  # detections of earlier versions have none
    return Claim(
        start=row["start"],
        end=row["end"],
        text=row["text"],
        label=Label(row["label"]),
        probability=row["probability"],
        similarity=row["similarity"],
        citations=tuple(row["citations"]),
        spans=tuple(s for s in spans if row["start"] <= s.start and s.end <= row["end"]),
        evidence=_evidence(row),
        reason=None if row["reason"] is None else Reason(row["reason"]),
        entailment=None if given is None else Entailment(**given),
    )


def _span(row: Mapping[str, Any]) -> Span:
    return Span(**{**row, "label": Label(row["label"]), "evidence": _evidence(row)})


def _evidence(row: Mapping[str, Any]) -> tuple[EvidenceRef, ...]:
    return tuple(EvidenceRef(**place) for place in row["evidence"])


def _pieced(claims: Sequence[Claim]) -> str:
    text = ""
    for claim in claims:
        text += " " * (claim.start - len(text)) + claim.text
    return text

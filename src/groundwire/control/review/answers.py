"""Computes how far recorded answers are from the threshold, and makes labelled rows of them.

The queue of a reviewer is sorted by this distance. An export consists of the labelled rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from groundwire.control.audit.found import FoundRecord
from groundwire.control.audit.quoted import is_cut
from groundwire.control.verdicts import CheckFacts, Review, agreed_spans
from groundwire.detection.values import Label, Score

#: The most findings of an answer that people are asked to judge.
MAX_FINDINGS = 90
#: Parts of a detail that are not needed to judge the answer.
_UNIMPORTANT = {"evidence", "citations", "redactions", "explanations", "dropped"}


def distance_of(detail: Mapping[str, Any] | None) -> float | None:
    """Return the smallest distance of a claim's score from the threshold of the detector.

    Args:
        detail: The findings about an answer, as the audit trail keeps them; ``None`` if it does
            not keep them.

    Returns:
        The distance; the smaller it is, the greater is the doubt. ``None`` if people cannot judge
        the answer: the detector judged nothing, there are more than :data:`MAX_FINDINGS`, or the
        text of the answer or of a source is not kept in full.
    """
    try:
        return None if detail is None else _distance_of(detail)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None  # somebody has changed the detail


def _distance_of(detail: Mapping[str, Any]) -> float | None:
    found, texts = detail["detection"], [detail["answer"], *detail["sources"]]
    if found is None or len(texts) == 1 or detail["omitted"].keys() - _UNIMPORTANT:
        return None
    lacks_text = any(x["text"] is None or is_cut(x["text"], x["n_chars"]) for x in texts)
    if lacks_text or len(found["spans"]) > MAX_FINDINGS:
        return None
    detector = found["detector"]
    scores = [claim[detector["score"]] for claim in found["claims"]]
    distances = [abs(score - detector["threshold"]) for score in scores if score is not None]
    return min(distances, default=None)


def facts_of(record: FoundRecord) -> CheckFacts:
    """Return the facts about a check, which are kept with the labels of the answer.

    Args:
        record: The event that recorded the answer, with a detail that has a distance (see
            :func:`distance_of`).
    """
    assert record.detail is not None
    found, payload = record.detail["detection"], record.event["payload"]
    detector, claims = found["detector"], found["claims"]
    if detector["score"] == Score.SIMILARITY:
        worst = min((x["similarity"] for x in claims if x["similarity"] is not None), default=None)
    else:
        # Findings that the explainer has dropped lead to no action, whatever their probability.
        marked = (x for x in claims if x["label"] in (Label.UNSUPPORTED, Label.CONTRADICTED))
        worst = max((x["probability"] or 0.0 for x in marked), default=None)
    return CheckFacts(
        detector=detector["name"],
        revision=detector["revision"],
        score=detector["score"],
        threshold=detector["threshold"],
        worst=worst,
        is_complete=not found["coverage"]["reasons"],
        sample=payload.get("sample"),
        trace_id=str(record.event["trace_id"]),
        checked_at=str(record.event["timestamp"]),
    )


def labelled_row(record: FoundRecord, reviews: Sequence[Review]) -> dict[str, Any] | None:
    """Make the row of a labelled answer, with the columns that ``groundwire evaluate`` reads.

    Args:
        record: The event that recorded the answer, with its detail.
        reviews: The labels of the answer.

    Returns:
        The row; ``None`` if the reviewers disagree or the texts are not kept.
    """
    detail, spans = record.detail, agreed_spans(reviews)
    if detail is None or spans is None or distance_of(detail) is None:
        return None
    columns = ("id", "title", "text")
    return {
        "id": record.event["id"],
        "tenant": record.event["tenant"],
        "model": record.event["payload"].get("model"),
        # The probability with which the answer was drawn; null if it was not drawn at random.
        "sample": record.event["payload"].get("sample"),
        "question": detail["request"]["question"],
        "sources": [{name: each[name] for name in columns} for each in detail["sources"]],
        "answer": detail["answer"]["text"],
        "spans": [{"start": each.start, "end": each.end, "label": each.label} for each in spans],
        "reviewers": ", ".join(sorted(each.account for each in reviews)),
        "labelled_at": max(each.labelled_at for each in reviews).isoformat(),
    }

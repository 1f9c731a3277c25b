"""Computes how doubtful recorded checks are, and what is stored and exported with labels.

The queue of a reviewer is sorted by doubt, except for the random sample. The facts about an answer
are stored with its labels. An export of labels consists of the rows of labelled answers.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from groundwire.control.audit.found import FoundRecord
from groundwire.control.audit.quoted import is_cut
from groundwire.control.verdicts import AnswerReview, CheckFacts, WorstScore, agreed_spans
from groundwire.detection.values import SEVERITY, Label, Score

#: An answer with more findings than this cannot be labelled, and is not exported.
MAX_FINDINGS = 90
#: Lists in the detail of an audit event that people do not need in full to judge the answer. The
#: answer can be reviewed even if the audit trail has shortened these lists.
_UNIMPORTANT = {"evidence", "citations", "redactions", "explanations", "dropped"}
#: Probabilities are limited to the range from this number to 1 minus this number, so that log-odds
#: are finite.
_LEAST = 1e-6


class AnswerDoubt(NamedTuple):
    """How close the worst score of an answer is to the threshold.

    Attributes:
        distance: Distance of the worst score from the threshold, in log-odds. A similarity from -1
            to 1 counts as a probability from 0 to 1.
        worst: The worst score of a finding, or of a claim if there are no findings: the highest
            probability or the lowest similarity.
        threshold: The threshold of the detector.
        score: The kind of the score: ``probability`` or ``similarity``.
    """

    distance: float
    worst: float
    threshold: float
    score: str


def doubt_of(detail: Mapping[str, Any] | None) -> AnswerDoubt | None:
    """Compute how doubtful the result of a check is, from the detail of the check's event.

    Return ``None`` if there is no detail or no score, or people cannot judge the answer, for
    example because it has no sources, its texts are not kept in full, or it has more than
    :data:`MAX_FINDINGS` findings.
    """
    try:
        return None if detail is None else _doubt_of(detail)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None  # the detail could not be stored as JSON, or somebody has changed it


def _doubt_of(detail: Mapping[str, Any]) -> AnswerDoubt | None:
    found = detail["detection"]
    if found is None or not detail["sources"] or not is_kept_in_full(detail):
        return None
    if len(found["spans"]) > MAX_FINDINGS:
        return None
    score, threshold = found["detector"]["score"], found["detector"]["threshold"]
    judged = found["spans"] or found["claims"]
    scores = [each[score] for each in judged if each[score] is not None]
    if not scores:
        return None
    worst = min(scores) if score == Score.SIMILARITY else max(scores)
    distance = abs(_log_odds(worst, score) - _log_odds(threshold, score))
    return AnswerDoubt(distance, worst, threshold, score)


def is_kept_in_full(detail: Mapping[str, Any]) -> bool:
    """Return whether a detail has answer and sources in full, with all claims and spans.

    Raises:
        LookupError, TypeError, AttributeError: If a field is missing or has a wrong type, for
            example because somebody has changed the detail.
    """
    texts = [detail["answer"], *detail["sources"]]
    is_cut_off = any(x["text"] is None or is_cut(x["text"], x["n_chars"]) for x in texts)
    return not is_cut_off and not detail["omitted"].keys() - _UNIMPORTANT


def _log_odds(value: float, score: str) -> float:
    share = (1 + value) / 2 if score == Score.SIMILARITY else value
    share = min(max(share, _LEAST), 1 - _LEAST)
    return math.log(share / (1 - share))


def facts_of(record: FoundRecord) -> CheckFacts:
    """Return the facts about the check of an answer, from the event that recorded the check.

    The answer must be one that people can judge, see :func:`doubt_of`.
    """
    assert record.detail is not None
    found, payload = record.detail["detection"], record.event["payload"]
    detector = found["detector"]
    if detector["score"] == Score.SIMILARITY:
        similarities = [x["similarity"] for x in found["claims"] if x["similarity"] is not None]
        # At another threshold, any claim may be a finding, so the worst label is assumed for all.
        label = Label.CONTRADICTED
        worst = [WorstScore(label, SEVERITY[label], min(similarities))] if similarities else []
    else:
        # The spans do not include findings that the explainer has dropped, which lead to no action.
        scores: dict[tuple[Label, int], float] = {}
        for span in found["spans"]:
            kind = Label(span["label"]), span["severity"]
            scores[kind] = max(span["probability"] or 0.0, scores.get(kind, 0.0))
        worst = [WorstScore(*kind, score) for kind, score in scores.items()]
    return CheckFacts(
        detector=detector["name"],
        revision=detector["revision"],
        score=detector["score"],
        threshold=detector["threshold"],
        worst=tuple(worst),
        is_complete=not found["coverage"]["reasons"],
        sample=payload.get("sample"),
        trace_id=str(record.event["trace_id"]),
        checked_at=str(record.event["timestamp"]),
    )


def labelled_row(record: FoundRecord, reviews: Sequence[AnswerReview]) -> dict[str, Any] | None:
    """Make the row of a labelled answer, for ``groundwire evaluate``.

    Return ``None`` if the reviewers disagree, or the stored detail is missing or does not suffice
    to judge the answer; see :func:`doubt_of`.
    """
    detail, spans = record.detail, agreed_spans(reviews)
    if detail is None or spans is None or doubt_of(detail) is None:
        return None
    columns = ("id", "title", "text")
    return {
        "id": record.event["id"],
        "tenant": record.event["tenant"],
        "model": record.event["payload"].get("model"),
        # The probability with which the answer was drawn at random; null unless the event is
        # ANSWER_SAMPLED.
        "sample": record.event["payload"].get("sample"),
        "question": detail["request"]["question"],
        "sources": [{name: each[name] for name in columns} for each in detail["sources"]],
        "answer": detail["answer"]["text"],
        "spans": [{"start": each.start, "end": each.end, "label": each.label} for each in spans],
        "reviewers": ", ".join(sorted(each.account for each in reviews)),
        "labelled_at": max(each.labelled_at for each in reviews).isoformat(),
    }

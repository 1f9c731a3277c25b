"""Rebuilds the answer of an audit event for display, from the texts that were stored."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundwire.detection.detection_json import detection_of
from groundwire.detection.example import Source
from groundwire.detection.values import EvidenceRef
from groundwire.render.answer import AnswerView, WhyMarked


def stored_view(detail: Mapping[str, Any]) -> AnswerView | None:
    """Return the answer in an event's detail, with its detection, for display.

    Stored texts may be cut or redacted. So claims, spans and evidence get the offsets at which they
    are found in these texts; those that are not found are left out. If the text of the answer is
    not stored, the claims are joined in its place. For sources without text, see :func:`_sources`.

    Return ``None`` if the detail is not valid, or lacks a detection or the text of a claim.
    """
    try:
        return _view(detail)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None  # the detail is not in the form in which checks are recorded


def _view(detail: Mapping[str, Any]) -> AnswerView | None:
    found = detail["detection"]
    if found is None or any(claim["text"] is None for claim in found["claims"]):
        return None
    kept = detail["answer"]["text"]
    answer = "\n\n".join(claim["text"] for claim in found["claims"]) if kept is None else kept
    explanations = {(each["start"], each["end"]): each for each in detail["explanations"]}
    sources = [*_sources(detail["sources"], [*found["claims"], *explanations.values()])]
    claims: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    whys: list[WhyMarked] = []
    end = 0
    for claim in found["claims"]:
        start = answer.find(claim["text"], end)
        if start < 0:
            continue
        end = start + len(claim["text"])
        evidence = [*_evidence(claim["evidence"], sources)]
        claims.append({**claim, "start": start, "end": end, "evidence": evidence})
        own = [each for each in found["spans"] if claim["start"] <= each["start"] < claim["end"]]
        for span, moved in _spans(own, answer, start, end, sources):
            spans.append(moved)
            whys.append(_why(explanations.get((span["start"], span["end"])), span, sources))
    data = {**found, "outcome": detail["outcome"], "claims": claims, "spans": spans}
    return AnswerView.of(detection_of(data, answer), sources, whys if explanations else None)


def _why(
    explanation: Mapping[str, Any] | None, span: Mapping[str, Any], sources: Sequence[Source]
) -> WhyMarked:
    """Return the reason why a span is marked; the text is empty if none was recorded."""
    if explanation is None:
        return WhyMarked("", span["severity"])
    line = next(_evidence(_places(explanation), sources), None)
    return WhyMarked(
        explanation["text"] or "",
        explanation["severity"],
        None if line is None else EvidenceRef(**line),
    )


def _places(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the references to evidence in a claim (any number) or an explanation (at most one)."""
    found = row["evidence"] or []
    return found if isinstance(found, list) else [found]


def _sources(
    sources: Sequence[Mapping[str, Any]], quoted: Sequence[Mapping[str, Any]]
) -> Iterator[Source]:
    """Yield the sources of a stored answer.

    In place of a missing text, a source gets its lines of evidence in ``quoted``, which are claims
    and explanations. Without lines, it gets a sentence that says that the text is missing.
    """
    places = [place for each in quoted for place in _places(each)]
    for number, each in enumerate(sources):
        lines = dict.fromkeys(x["text"] for x in places if x["source"] == number)
        text = each["text"] or "\n".join(lines) or "Its text is not kept."
        yield Source(id=each["id"], title=each["title"], text=text)


def _spans(
    spans: Sequence[Mapping[str, Any]], answer: str, start: int, end: int, sources: Sequence[Source]
) -> Iterator[tuple[Mapping[str, Any], dict[str, Any]]]:
    """Yield each span that is found in its claim, and a copy with offsets in the stored texts."""
    for span in spans:
        at = span["start"]  # wrong if a text before the span was redacted or cut
        if not (start <= at < end and answer.startswith(span["text"], at)):
            at = answer.find(span["text"], start, end)
        if at >= 0 and span["text"]:
            start = at + len(span["text"])
            evidence = [*_evidence(span["evidence"], sources)]
            yield span, {**span, "start": at, "end": start, "evidence": evidence}


def _evidence(
    places: Sequence[Mapping[str, Any]], sources: Sequence[Source]
) -> Iterator[dict[str, Any]]:
    for place in places:
        source = None if place["source"] is None else sources[place["source"]]
        start, text = place["start"], place["text"]
        if source is not None and not source.text.startswith(text, start):
            start = source.text.find(text)
        if start >= 0:
            id_ = "source" if source is None else source.id
            yield {"source_id": id_, "start": start, "end": start + len(text), "text": text}

"""Rebuilds the answer of an audit event for display, from the texts that were stored."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundwire.detection.detection_json import detection_of
from groundwire.detection.example import Source
from groundwire.render.answer import AnswerView


def stored_view(detail: Mapping[str, Any]) -> AnswerView | None:
    """Return the answer in an event's detail; ``None`` without a detection or the texts of claims.

    The offsets in a detail refer to the original texts, but the stored texts may be cut or
    redacted. So each text is searched for in the stored texts, which gives its new offsets. If the
    whole answer is not stored, its claims are joined in its place. If a source is not stored, its
    lines that are evidence are joined.
    """
    try:
        return _view(detail)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None  # the stored detail was altered: the page shows only its JSON


def _view(detail: Mapping[str, Any]) -> AnswerView | None:
    found = detail["detection"]
    if found is None or any(claim["text"] is None for claim in found["claims"]):
        return None
    kept = detail["answer"]["text"]
    answer = "\n\n".join(claim["text"] for claim in found["claims"]) if kept is None else kept
    sources = [*_sources(detail["sources"], found["claims"])]
    claims: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    end = 0
    for claim in found["claims"]:
        start = answer.find(claim["text"], end)
        if start < 0:
            continue
        end = start + len(claim["text"])
        evidence = [*_evidence(claim["evidence"], sources)]
        claims.append({**claim, "start": start, "end": end, "evidence": evidence})
        own = [each for each in found["spans"] if claim["start"] <= each["start"] < claim["end"]]
        spans += _spans(own, answer, start, end, sources)
    data = {**found, "outcome": detail["outcome"], "claims": claims, "spans": spans}
    return AnswerView.of(detection_of(data, answer), sources)


def _sources(
    sources: Sequence[Mapping[str, Any]], claims: Sequence[Mapping[str, Any]]
) -> Iterator[Source]:
    """Yield the sources; in place of a text that is not stored, its lines that are evidence."""
    places = [place for claim in claims for place in claim["evidence"]]
    for number, each in enumerate(sources):
        lines = dict.fromkeys(x["text"] for x in places if x["source"] == number)
        text = each["text"] or "\n".join(lines) or "Its text is not kept."
        yield Source(id=each["id"], title=each["title"], text=text)


def _spans(
    spans: Sequence[Mapping[str, Any]], answer: str, start: int, end: int, sources: Sequence[Source]
) -> Iterator[dict[str, Any]]:
    """Yield the spans of a claim with their new offsets; spans that were cut off are left out."""
    for span in spans:
        at = answer.find(span["text"], start, end)
        if at >= 0 and span["text"]:
            start = at + len(span["text"])
            evidence = [*_evidence(span["evidence"], sources)]
            yield {**span, "start": at, "end": start, "evidence": evidence}


def _evidence(
    places: Sequence[Mapping[str, Any]], sources: Sequence[Source]
) -> Iterator[dict[str, Any]]:
    for place in places:
        source = None if place["source"] is None else sources[place["source"]]
        start = max(source.text.find(place["text"]), 0) if source is not None else place["start"]
        yield {
            "source_id": "source" if source is None else source.id,
            "start": start,
            "end": start + len(place["text"]),
            "text": place["text"],
        }

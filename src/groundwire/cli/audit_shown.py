"""Events of the audit trail as text. What strangers wrote in them cannot act on a terminal.

Quotes and values are indented and the view's own lines are not, so that none can imitate it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundwire.render import excerpt, visible
from groundwire.text.screen import one_line

_CLAIM_CHARS = 60


def row(event: Mapping[str, Any]) -> str:
    """An event on one line: when, which, what, whose, and the gist."""
    moment = str(event["timestamp"]).replace("T", " ").replace("Z", "")
    fields = (moment, event["id"], event["type"], event["tenant"], gist(event["payload"]))
    return "  ".join(one_line(str(field)) for field in fields if field)


def gist(payload: Any) -> str:  # noqa: ANN401 - whatever stands in the trail
    """What an event says, in a few words."""
    if not isinstance(payload, Mapping):
        return ""
    claims = payload.get("ungrounded_claims")
    claim = str(claims[0]) if _is_list(claims) and claims else ""
    words = [
        payload.get("action") or payload.get("decision"),
        payload.get("outcome") or payload.get("disposition"),
        payload.get("reason") or payload.get("code"),
        f'"{excerpt(claim, around="", width=_CLAIM_CHARS)}"' if claim else None,
    ]
    return " ".join(str(word) for word in words if word)


def whole(found: Mapping[str, Any], detail: Mapping[str, Any] | None) -> Iterator[str]:
    """An event with all that is kept of it, line by line.

    Args:
        found: What ``Found.to_dict()`` gives.
        detail: What was found in full, if it is kept.
    """
    chain = found["chain"]
    yield f"{one_line(str(found['type']))}  {one_line(str(found['timestamp']))}"
    yield from _pairs({name: found[name] for name in ("id", "tenant", "trace_id")})
    yield from _pairs({"chain": f"{chain['writer']} {chain['seq']}"})
    if not found["is_readable"]:
        yield "  Its line is no event: somebody has changed it. See groundwire audit verify."
    yield "payload"
    yield from _pairs(found["payload"])
    if detail is not None:
        yield from _detail(detail)
    elif found["has_detail"]:
        yield "What was found in full cannot be read: somebody has changed it."
    else:
        yield "What was found in full is not kept, or no longer."


def _detail(detail: Mapping[str, Any]) -> Iterator[str]:
    """What was found in full; of a shape that is not ours, all there is."""
    try:
        yield from list(_known(detail))
    except (KeyError, TypeError, IndexError, AttributeError, ValueError):
        yield "detail"
        yield from _pairs(detail)


def _known(detail: Mapping[str, Any]) -> Iterator[str]:
    kept = {"cut": "their beginnings", "hash": "none", "full": "in full"}[detail["text"]]
    redacted = ", ".join(detail["redact"]) or "nothing"
    yield f"detail  (texts: {kept}; redacted: {redacted})"
    ruling = ("outcome", "action", "path", "kind", "reason", "label", "severity", "unexplained")
    yield from _pairs({name: detail[name] for name in ruling if detail[name] is not None})
    texts = {"question": detail["request"]["question"], "answer": detail["answer"]["text"]}
    yield from _pairs({name: text for name, text in texts.items() if text is not None})
    yield from _found(detail)
    yield "policy"
    yield from _pairs({name: each for name, each in detail["policy"].items() if each is not None})
    for number, source in enumerate(detail["sources"]):
        name = "" if source["id"] is None else f" {source['id']}"
        size = f"{source['n_chars']:,} characters"
        yield one_line(f"source {number}{name}: {size}, {source['place']}")
        if source["text"] is not None:
            yield from _indented(source["text"])
    if detail["omitted"]:
        yield "left out, for there was too much of it"
        yield from _pairs(detail["omitted"])
    yield "milliseconds"
    yield from _pairs({name: f"{each:g}" for name, each in detail["timings_ms"].items()})


def _found(detail: Mapping[str, Any]) -> Iterator[str]:
    found = detail["detection"]
    if found is None:
        yield "Nothing was looked for, or the check failed."
        return
    why = {(each["start"], each["end"]): each for each in detail["explanations"]}
    for span in found["spans"]:
        yield f"span {span['start']}-{span['end']}  {_label(span)}, {_score(span)}"
        yield from _quoted(span["text"])
        yield from _evidence(span["evidence"])
        if (told := why.get((span["start"], span["end"]))) is not None:
            yield f"  {told['category']}, {told['subtype']}, severity {told['severity']}"
            yield from _quoted(told["text"])
    for claim in found["claims"]:
        reason = "" if claim["reason"] is None else f" ({claim['reason']})"
        yield f"claim {claim['start']}-{claim['end']}  {claim['label']}{reason}, {_score(claim)}"
        yield from _quoted(claim["text"] if claim["hash"] is None else f"hash {claim['hash']}")
        yield from _evidence(claim["evidence"])
    yield "coverage"
    yield from _pairs(found["coverage"])
    yield "detector"
    yield from _pairs(found["detector"])


def _label(span: Mapping[str, Any]) -> str:
    conflict = span.get("conflict")  # details of earlier versions have none
    return f"{span['label']} ({conflict})" if conflict else str(span["label"])


def _score(part: Mapping[str, Any]) -> str:
    if part["similarity"] is not None:
        return f"similarity {part['similarity']:.2f}"
    return "no score" if part["probability"] is None else f"probability {part['probability']:.2f}"


def _evidence(places: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for place in places:
        source = "a source" if place["source"] is None else f"source {place['source']}"
        yield f"  {source}, {place['start']}-{place['end']}"
        yield from _quoted(place["text"])


def _quoted(text: str | None) -> Iterator[str]:
    if text is not None:
        yield from _indented(text)


def _indented(text: str) -> Iterator[str]:
    for line in visible(text).split("\n"):
        yield f"    {line}"


def _pairs(data: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Names and values, of lists each value; what has several lines is indented once more."""
    if not isinstance(data, Mapping):
        yield from _indented(str(data))
        return
    for name, value in data.items():
        parts = value
        if isinstance(value, Mapping):
            parts = [f"{key}: {part}" for key, part in value.items()]
        if not _is_list(parts):
            first, *others = visible(str(value)).split("\n")
            yield f"  {one_line(str(name))}: {first}"
            yield from (f"    {other}" for other in others)
        elif parts:
            yield f"  {one_line(str(name))}"
            yield from (line for part in parts for line in _indented(str(part)))


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)

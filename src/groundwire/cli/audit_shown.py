"""Events of the audit trail as text. What strangers wrote in them cannot act on a terminal.

Quotes and values are indented and the view's own lines are not, so that none can imitate it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from groundwire.render import excerpt, visible
from groundwire.text.screen import one_line

_CLAIM_CHARS = 60


def row(event: Mapping[str, Any]) -> str:
    """Return an event on one line: moment, id, type, tenant, and the gist."""
    moment = str(event["timestamp"]).replace("T", " ").replace("Z", "")
    fields = (moment, event["id"], event["type"], event["tenant"], gist(event["payload"]))
    return "  ".join(one_line(str(field)) for field in fields if field)


def gist(payload: Any) -> str:  # noqa: ANN401 - whatever stands in the trail
    """Return the gist of an event in a few words."""
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
    """Yield the lines of an event with all that is kept of it.

    Args:
        found: What ``FoundRecord.to_dict()`` gives.
        detail: All findings, if they are kept.
    """
    chain = found["chain"]
    yield f"{one_line(str(found['type']))}  {one_line(str(found['timestamp']))}"
    yield from _outline({name: found[name] for name in ("id", "tenant", "trace_id")})
    yield f"  chain: {one_line(str(chain['writer']))} {one_line(str(chain['seq']))}"
    if not found["is_readable"]:
        yield "  Its line is no event: somebody has changed it. See groundwire audit verify."
    yield "payload"
    yield from _outline(found["payload"])
    if detail is not None:
        yield "detail"
        yield from _outline(detail)
    elif found["has_detail"]:
        yield "The findings in full cannot be read: somebody has changed them."
    else:
        yield "The findings in full are not kept, or no longer."


def _outline(value: Any, indent: str = "  ") -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yield JSON data as an indented outline, without what is null or empty."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _entry(f"{one_line(str(name))}:", each, indent)
    elif _is_list(value):
        for each in value:
            yield from _entry("-", each, indent)
    else:
        yield from (f"{indent}{line}" for line in visible(str(value)).split("\n"))


def _entry(name: str, value: Any, indent: str) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping) or _is_list(value) or "\n" in str(value):
        lines = list(_outline(value, f"{indent}  "))
        yield from [f"{indent}{name}", *lines] if lines else ()
    elif value is not None:
        yield f"{indent}{name} {visible(str(value))}"


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)

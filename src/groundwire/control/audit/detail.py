"""Builds the detail of an event: the findings about an answer, for people who review the answer.

The schema of details is ``detection/schemas/audit_detail.schema.json``. Offsets are those in the
original answer and sources, although the texts in the detail may be cut or redacted.
``answer.redactions`` lists the redacted ranges of the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from math import isfinite
from typing import Any, TypeVar

from groundwire.control.audit.quoted import AuditText, Keeping, Quotes, hashed
from groundwire.control.audit.redact import RedactedText
from groundwire.detection.values import Claim, Detection, EvidenceRef, Span
from groundwire.explain import Explanation
from groundwire.pipeline import Checked, RequestContext
from groundwire.pipeline.conversation.request import OfferedSource

#: The version of the format of details.
VERSION = 1

#: Highest number of entries of a list in a detail, such as the claims; evidence and citations have
#: the lower limits below.
MAX_ROWS = 1000
#: Highest number of references to evidence in one claim or span (``MAX_EVIDENCE``), and of
#: citations in one claim (``MAX_CITATIONS``).
MAX_EVIDENCE, MAX_CITATIONS = 3, 20
#: Limit on the total length, in characters, of the texts that a detail keeps in full. A text that
#: would exceed the limit is cut after 100 characters.
MAX_CHARS = 500_000

#: Keys of :meth:`.RequestContext.to_dict` whose values are copied into the detail unchanged.
_REQUEST = ("gate", "origin", "lost", "unused", "skipped", "has_tools")

T = TypeVar("T")


def detail_of(answer: Checked, keeping: Keeping) -> dict[str, Any]:
    """Build the detail of an answer, checked or not, as JSON data."""
    return _Detail(answer, keeping).to_dict()


class _Detail:
    """Builds the detail of one answer."""

    def __init__(self, answer: Checked, keeping: Keeping) -> None:
        self._answer, self._keeping = answer, keeping
        self._quotes = Quotes(keeping, max_chars=MAX_CHARS)
        self._omitted: dict[str, int] = {}
        detection = answer.detection
        text = answer.answer.text if detection is None else detection.answer
        self._text = self._quotes.read(text)
        self._offered = self._first("sources", answer.context.conversation.offered)
        self._places = {each.source.id: i for i, each in enumerate(self._offered)}
        self._read = cache(self._quotes.read)

    def to_dict(self) -> dict[str, Any]:
        """Return the detail as JSON data."""
        answer, ruling, detection = self._answer, self._answer.ruling, self._answer.detection
        redactions = [each.to_dict() for each in self._first("redactions", self._text.found)]
        data = {
            "version": VERSION,
            "text": self._keeping.text,
            "redact": self._keeping.redaction.kinds,
            "index": answer.answer.index,
            "kind": answer.answer.kind,
            "path": answer.path,
            "outcome": ruling.outcome,
            "reason": answer.reason,
            "action": ruling.action,
            "label": ruling.label,
            "severity": ruling.severity,
            "is_failure": ruling.is_failure,
            "policy": asdict(answer.context.policy),
            "limits": asdict(answer.context.limits),
            "detection": None if detection is None else self._detection(detection),
            "explanations": self._explanations("explanations", answer.explanations),
            "dropped": self._explanations("dropped", answer.dropped),
            "unexplained": answer.unexplained,
            "request": self._request(answer.context),
            "answer": self._whole(self._text) | {"redactions": redactions},
            "sources": [self._source(each) for each in self._offered],
            "timings_ms": answer.timings_ms,
            "omitted": self._omitted,
        }
        return {name: _json(value) for name, value in data.items()}

    def _detection(self, detection: Detection) -> dict[str, Any]:
        name = self._quotes.name(detection.detector.name)
        return {
            "probability": detection.probability,
            "similarity": detection.similarity,
            "claims": [self._claim(each) for each in self._first("claims", detection.claims)],
            "spans": [self._span(each) for each in self._first("spans", detection.spans)],
            "coverage": detection.coverage.to_dict(),
            "detector": detection.detector.to_dict() | {"name": name},
            "timings_ms": detection.timings_ms,
        }

    def _claim(self, claim: Claim) -> dict[str, Any]:
        citations = self._first("citations", claim.citations, MAX_CITATIONS)
        kept = [self._quotes.text(each) for each in citations]
        return claim.to_dict() | {
            "text": self._quotes.part(self._text, claim),
            "hash": hashed(claim.text) if self._keeping.text is AuditText.HASH else None,
            "citations": [each for each in kept if each is not None],
            "evidence": self._evidence(claim.evidence),
        }

    def _span(self, span: Span) -> dict[str, Any]:
        text = self._quotes.part(self._text, span)
        return span.to_dict() | {"text": text, "evidence": self._evidence(span.evidence)}

    def _explanations(self, what: str, given: Sequence[Explanation]) -> list[dict[str, Any]]:
        return [self._explanation(each) for each in self._first(what, given)]

    def _explanation(self, given: Explanation) -> dict[str, Any]:
        places = {"evidence": given.evidence, "counterpart": given.counterpart}
        found = {name: each if each is None else self._place(each) for name, each in places.items()}
        return {**given.to_dict(), "text": self._prose(given), **found}

    def _prose(self, given: Explanation) -> str | None:
        """Quote the text of an explanation; this text itself quotes the answer and the evidence.

        If words in the quoted ranges are redacted, the explanation may contain some of these words,
        so only a marker is kept.
        """
        touched = list(self._text.touched(given.start, given.end))
        for place in (given.evidence, given.counterpart):
            if place is not None:
                text, start, end = self._where(place)
                touched += text.touched(start, end)
        if touched:
            return self._quotes.redacted(touched[0].kind.marker)
        return self._quotes.text(given.text)

    def _evidence(self, given: Sequence[EvidenceRef]) -> list[dict[str, Any]]:
        return [self._place(each) for each in self._first("evidence", given, MAX_EVIDENCE)]

    def _place(self, evidence: EvidenceRef) -> dict[str, Any]:
        return {
            "source": self._places.get(evidence.source_id),
            "start": evidence.start,
            "end": evidence.end,
            "text": self._quotes.piece(*self._where(evidence)),
        }

    def _where(self, evidence: EvidenceRef) -> tuple[RedactedText, int, int]:
        """Return a text that contains a piece of evidence, and the piece's offsets in the text.

        The text is that of the source. If the source is not known, or has other words at the
        offsets of the evidence, the text is that of the evidence itself.
        """
        place = self._places.get(evidence.source_id)
        if place is not None:
            source = self._read(self._offered[place].source.text)
            if source.text[evidence.start : evidence.end] == evidence.text:
                return source, evidence.start, evidence.end
        return self._read(evidence.text), 0, len(evidence.text)

    def _request(self, context: RequestContext) -> dict[str, Any]:
        data, question = context.to_dict(), context.conversation.question
        name, decision = self._quotes.name, data["decision"]
        return {
            "question": None if question is None else self._quotes.text(question),
            "decision": {
                "name": None if decision["name"] is None else name(decision["name"]),
                "because": [name(each) for each in decision["because"][:MAX_ROWS]],
                "unsettled": [name(each["name"]) for each in decision["unsettled"][:MAX_ROWS]],
            },
            **{key: data[key] for key in _REQUEST},
        }

    def _source(self, offered: OfferedSource) -> dict[str, Any]:
        source = offered.source
        return {
            "id": self._quotes.text(source.id),
            "title": None if source.title is None else self._quotes.text(source.title),
            "place": self._quotes.name(offered.place),
            **self._whole(self._read(source.text)),
        }

    def _whole(self, text: RedactedText) -> dict[str, Any]:
        in_full = self._keeping.text is AuditText.FULL
        return {
            "n_chars": len(text.text),
            "hash": hashed(text.text),
            "text": self._quotes.piece(text) if in_full else None,
        }

    def _first(self, what: str, rows: Sequence[T], n_rows: int = MAX_ROWS) -> Sequence[T]:
        """Return the first rows, and count the rest as omitted under the name ``what``."""
        if len(rows) > n_rows:
            self._omitted[what] = self._omitted.get(what, 0) + len(rows) - n_rows
        return rows[:n_rows]


def _json(value: Any) -> Any:  # noqa: ANN401 - a value of any kind
    """Return a value as JSON data; NaN and infinity become ``None``."""
    if isinstance(value, Mapping):
        return {str(key): _json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_json, value))
    if isinstance(value, float) and not isfinite(value):
        return None
    return str(value) if isinstance(value, str) else value

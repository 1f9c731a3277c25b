"""Searches held spans (stored evidence) with the index that the embedded reader uses."""

import math
from collections.abc import Sequence
from dataclasses import replace

from groundwire.detection.evidence import Query
from groundwire.detection.example import Source
from groundwire.engine.reader import Reader
from groundwire.mcp.store import HeldSpan, SearchHit

_MAX_LINE_CHARS = 400


def search(
    query: str, spans: Sequence[HeldSpan], reader: Reader, *, most: int, tenant: str
) -> list[SearchHit]:
    """Rank spans by how well they match a query.

    Spans that share no word piece with the query are left out.

    Args:
        query: The query.
        spans: The held spans.
        reader: The embedded reader, which indexes the spans.
        most: Highest number of hits to return.
        tenant: Cache namespace of the call.
    """
    sources = [Source(id=span.sid, text=span.text) for span in spans]
    evidence = reader.open(sources, None, threshold=1.0, tenant=tenant).evidence
    ids = reader.pieces.encode(query).ids
    if not len(ids) or not evidence.passages:
        return []
    asked = Query.of(ids)
    # A text that several spans have is indexed once. So each hit is repeated below for all spans
    # that have its text.
    alike: dict[str, list[str]] = {}
    for span in spans:
        alike.setdefault(span.text, []).append(span.sid)
    found: dict[str, SearchHit] = {}
    for index, score in zip(*evidence.ranked(asked), strict=True):
        text = evidence.origins[index].text
        lines = evidence.references(asked, [int(index)], most=1) if text not in found else ()
        if lines:
            (line,) = lines
            found[text] = SearchHit(
                sid=line.source_id,
                score=max(0.0, math.floor(float(score) * 1e4) / 1e4),
                start=line.start,
                end=line.end,
                line=line.text[:_MAX_LINE_CHARS],
            )
        if len(found) == most:
            break
    return [replace(each, sid=sid) for text, each in found.items() for sid in alike[text]][:most]

r"""Divides a text into claims: sentence-sized pieces, with offsets and citations.

One segmenter reads answers, which arrive in deltas, and sources, which arrive whole. It is
prefix-stable: a boundary is committed only when no later text can move it, so the claims of a
stream are those of the same text at rest, however it was cut. Each decision looks at most
``MAX_CLAIM_CHARS`` plus a fixed number of characters past the start of the open piece; a decision
that would look past the text received so far waits for more. Nothing committed is read again.

A text is claims and gaps. Gaps hold white space, characters that are not alphanumeric, and:

- the enumerator of a list item (``1.``, ``12)``, ``(3)``, ``a)``, ``a.``, ``iv)``) at the start of
  its line, one a line; the item is the claim;
- the info word of a fenced code block (``python`` after three backticks).

So every other alphanumeric character is part of exactly one claim. Bullets, heading and quote marks
and the outer pipes of table rows are gaps as well.

Why not a library: pysbd, sentencex and blingfire read a whole text, and each of them moves
boundaries it has already reported when more text arrives; see ``docs/segmentation.md``.

One module a concept: ``segmenter`` keeps the state of a text that arrives, ``view`` is what it may
look at; ``markers`` reads what stands before the text of a line, ``line_ends``, ``sentences`` and
``inline_code`` decide at a line break, a full stop and a backtick; ``abbreviations``, ``citations``
and ``cuts`` serve them, and ``characters`` names the characters that they share.
"""

from groundwire.text.segment.citations import (
    MAX_CITED_IDS,
    Citation,
    parse_citations,
    round_ids,
    written_out,
)
from groundwire.text.segment.cuts import MAX_CLAIM_CHARS
from groundwire.text.segment.segmenter import Segment, Segmenter, segment

__all__ = [
    "MAX_CITED_IDS",
    "MAX_CLAIM_CHARS",
    "Citation",
    "Segment",
    "Segmenter",
    "parse_citations",
    "round_ids",
    "segment",
    "written_out",
]

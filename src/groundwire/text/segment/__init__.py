r"""Divides a text into claims: sentence-sized pieces, with offsets and citations.

One segmenter reads answers, which arrive in deltas, and sources, which arrive whole. A boundary is
committed only when no later text can move it, so a text has the same claims whether it arrives
whole or in deltas of any length. A decision reads at most ``MAX_CLAIM_CHARS`` plus a fixed number
of characters from the start of the open piece, which is the text after the last boundary. A
decision that needs text that has not arrived is put off.

A text consists of claims and the gaps between them. Gaps hold white space, characters that are not
alphanumeric, and:

- the enumerator of a list item (``1.``, ``12)``, ``(3)``, ``a)``, ``a.``, ``iv)``) at the start of
  its line, at most one for each line;
- the info word of a fenced code block (``python`` after three backticks).

Every other alphanumeric character is part of exactly one claim.

Why not a library: pysbd, sentencex and blingfire read a whole text, and each of them can move
boundaries when more text arrives.

``segmenter`` keeps the state while a text arrives, and ``view`` limits the text that a decision may
read. ``markers`` reads the marks before the text of a line. ``line_ends``, ``sentences`` and
``inline_code`` decide at a line break, a full stop and a backtick.
"""

from groundwire.text.segment.citations import Citation, parse_citations
from groundwire.text.segment.cuts import MAX_CLAIM_CHARS
from groundwire.text.segment.segmenter import Segment, Segmenter, segment

__all__ = ["MAX_CLAIM_CHARS", "Citation", "Segment", "Segmenter", "parse_citations", "segment"]

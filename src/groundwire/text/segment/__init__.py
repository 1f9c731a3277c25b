r"""Divides a text into claims: sentence-sized pieces, with offsets and citations.

One segmenter reads answers, which arrive in deltas, and sources, which arrive whole. It is
prefix-stable: a boundary is committed only when no later text can move it, so a text has the same
claims whether it arrives whole or in deltas of any length. A decision reads at most
``MAX_CLAIM_CHARS`` plus a fixed number of characters from the start of the open piece, which is the
text after the last boundary. If it needs more text than has arrived, it waits. Text before the last
boundary is not read again.

A text consists of claims and the gaps between them. Gaps have white space, characters that are not
alphanumeric, and:

- the enumerator of a list item (``1.``, ``12)``, ``(3)``, ``a)``, ``a.``, ``iv)``) at the start of
  its line, one for each line; the claim is the text after it;
- the info word of a fenced code block (``python`` after three backticks).

So every other alphanumeric character is part of exactly one claim. Bullets, heading and quote marks
and the outer pipes of table rows are gaps as well.

Why not a library: pysbd, sentencex and blingfire read a whole text, and each of them moves
boundaries it has already reported when more text arrives; see ``docs/segmentation.md``.

Each concept has a module. ``segmenter`` keeps the state while a text arrives, and ``view`` limits
the text that a decision may read. ``markers`` reads the marks before the text of a line.
``line_ends``, ``sentences`` and ``inline_code`` decide at a line break, a full stop and a backtick,
with the help of ``abbreviations``, ``citations`` and ``cuts``; ``characters`` has the characters
that they share.
"""

from groundwire.text.segment.citations import Citation, parse_citations
from groundwire.text.segment.cuts import MAX_CLAIM_CHARS
from groundwire.text.segment.segmenter import Segment, Segmenter, segment

__all__ = ["MAX_CLAIM_CHARS", "Citation", "Segment", "Segmenter", "parse_citations", "segment"]

"""The segmenter, which divides a text into claims while it arrives."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from groundwire.text.segment.characters import ALNUM, BREAKS, LINE_BREAK
from groundwire.text.segment.citations import Citation, parse_citations, round_ids
from groundwire.text.segment.cuts import MAX_CLAIM_CHARS, forced_cut
from groundwire.text.segment.inline_code import code_end
from groundwire.text.segment.line_ends import decide_at_break
from groundwire.text.segment.markers import LineKind, OpenLine
from groundwire.text.segment.sentences import TERMINATORS, decide_at_terminator
from groundwire.text.segment.view import BoundaryDecision, UndecidedError, View

# Number of characters that a decision may read beyond the longest possible claim.
_LOOKAHEAD_CHARS = 500
# Characters at which a claim may end, and backticks, which may begin inline code.
_EVENT = re.compile(f"[{TERMINATORS}`{BREAKS}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A sentence-sized piece of a text.

    A segment that :class:`Segmenter` returns has at most ``MAX_CLAIM_CHARS`` characters, at least
    one of them alphanumeric, and no white space at its ends.

    Attributes:
        start: Offset of the first character in the whole text.
        end: Offset after the last character.
        citations: The citations in the segment, in reading order; empty in fenced code.
    """

    start: int
    end: int
    citations: tuple[Citation, ...] = ()


def segment(text: str, *, known: Collection[str] = ()) -> tuple[Segment, ...]:
    """Divide a whole text into claims, in reading order and disjoint.

    ``known`` has ids of sources, which can also be cited in round brackets.
    """
    segmenter = Segmenter(known)
    return (*segmenter.feed(text), *segmenter.finish())


class Segmenter:
    """Divides a text into claims while it arrives.

    However a text is cut into deltas, :meth:`feed` and :meth:`finish` together return the same
    segments as :func:`segment` for the whole text.
    """

    def __init__(self, known: Collection[str] = ()) -> None:
        self._parts: list[str] = []
        self._is_final = False
        # The part of the text that is not divided yet; ``_cursor`` and ``_start`` are offsets in
        # this part.
        self._view = View(known=round_ids(known))
        self._base = 0  # offset in the whole text at which this part begins
        self._cursor = 0  # offset up to which this part has been read
        self._start: int | None = None  # offset of the claim being read; None between claims
        self._line = OpenLine()

    @property
    def text(self) -> str:
        """All text fed so far. A read joins the deltas, so a read after every delta is slow."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def feed(self, delta: str) -> list[Segment]:
        """Take the next piece of text, and return further segments, which no later text can change.

        Raises:
            RuntimeError: If :meth:`finish` has been called.
        """
        if self._is_final:
            raise RuntimeError("The text has been finished. Make a new Segmenter for another text.")
        self._parts.append(delta)
        self._view.text += delta
        return self._advance()

    def finish(self) -> list[Segment]:
        """End the text, and return the remaining segments. A second call returns an empty list."""
        self._is_final = True
        return self._advance()

    def _advance(self) -> list[Segment]:
        found = []
        try:
            while self._start is not None or self._cursor < len(self._view.text):
                self._set_horizon(self._cursor if self._start is None else self._start)
                if self._start is None:
                    self._read_gap()
                elif piece := self._read_piece(self._start):
                    found.append(piece)
        except UndecidedError:
            pass
        self._drop_divided()
        return found

    def _set_horizon(self, anchor: int) -> None:
        view, horizon = self._view, anchor + MAX_CLAIM_CHARS + _LOOKAHEAD_CHARS
        view.end = min(len(view.text), horizon)
        view.may_grow = len(view.text) < horizon and not self._is_final

    def _drop_divided(self) -> None:
        keep = self._cursor if self._start is None else self._start
        if keep:
            self._view.text = self._view.text[keep:]
            self._base += keep
            self._cursor -= keep
            self._start = None if self._start is None else 0

    def _read_gap(self) -> None:
        char = self._view.at(self._cursor)
        if char in BREAKS:
            self._line.end()
            self._cursor += 1
        elif char.isspace() or (char == "|" and self._line.kind is LineKind.ROW):
            self._cursor += 1
        elif not self._line.has_begun:
            self._cursor = self._line.pass_marker(self._view, self._cursor)
        else:
            self._start = self._cursor

    def _read_piece(self, start: int) -> Segment | None:
        """Read on to the next place where the current claim may end; return the claim if it does.

        ``None`` means that the claim goes on, or that the text so far has no letter or digit and
        is not a claim.
        """
        text, limit = self._view.text, start + MAX_CLAIM_CHARS
        events = _EVENT if self._line.kind in (LineKind.TEXT, LineKind.HEADING) else LINE_BREAK
        event = events.search(text, self._cursor, min(len(text), limit))
        if event is not None:
            ends, stop = self._decide_at(start, event.start())
            if not ends:
                self._cursor = stop
                return None
        elif len(text) > limit or self._is_final:
            stop = len(text)
        else:
            self._cursor = len(text)
            raise UndecidedError
        return self._close(start, stop if stop <= limit else forced_cut(text, start, limit))

    def _decide_at(self, start: int, position: int) -> BoundaryDecision:
        char = self._view.text[position]
        if char == "`":
            return BoundaryDecision(ends=False, position=code_end(self._view, position))
        if char not in BREAKS:
            return decide_at_terminator(self._view, start, position)
        if self._line.kind is LineKind.TEXT:
            return decide_at_break(self._view, start, position)
        return BoundaryDecision(ends=True, position=position)

    def _close(self, start: int, stop: int) -> Segment | None:
        """End the current claim and return it; ``None`` if it has no letter or digit."""
        self._start, self._cursor = None, stop
        if not ALNUM.search(self._view.text, start, stop):
            return None
        piece = self._view.text[start:stop].rstrip()
        while self._line.kind is LineKind.ROW and piece.endswith("|"):
            piece = piece.rstrip("|").rstrip()
        end = start + len(piece)
        return Segment(
            start=self._base + start, end=self._base + end, citations=self._citations(start, end)
        )

    def _citations(self, start: int, end: int) -> tuple[Citation, ...]:
        if self._line.kind is LineKind.CODE:
            return ()
        return tuple(
            replace(found, start=self._base + found.start, end=self._base + found.end)
            for found in parse_citations(self._view.text, start, end, known=self._view.known)
        )

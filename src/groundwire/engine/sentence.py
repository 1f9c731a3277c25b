"""What the reader sees of a claim: its word pieces, without the citations."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.passages import PASSAGE_PIECES
from groundwire.engine.tokenizer import WordPieces
from groundwire.text.emphasis import places_without_emphasis, without_emphasis
from groundwire.text.segment import Segment

_ALNUM = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True, eq=False)
class ClaimPart:
    """A claim, or a stretch of one that is too long to be read at a time.

    Attributes:
        text: The claim as it is read: citations blanked out, marks of emphasis left out.
        places: Where each character of ``text`` stands in the answer, shape ``(n_chars,)``.
        ids: At most 254 word pieces, shape ``(n,)``.
        offsets: Their character ranges in ``text``, shape ``(n, 2)``.
    """

    text: str
    places: NDArray[np.int32]
    ids: NDArray[np.int32]
    offsets: NDArray[np.int32]

    @property
    def ranges(self) -> NDArray[np.int32]:
        """Character ranges of the word pieces in the answer, shape ``(n, 2)``."""
        starts, ends = self.offsets.T
        last = len(self.places) - 1
        starts_there = self.places[np.minimum(starts, last)]
        # An end is one past its last character: a mark that follows is no part of the piece.
        ends_there = np.where(ends > starts, self.places[np.maximum(ends, 1) - 1] + 1, starts_there)
        return np.stack([starts_there, ends_there], axis=1).astype(np.int32)


def has_statement(answer: str, segment: Segment) -> bool:
    """Whether a segment says anything; ``[1]`` on a line of its own only cites."""
    return not segment.citations or _ALNUM.search(without_citations(answer, segment)) is not None


def n_unknown_chars(part: ClaimPart, unknown_id: int) -> int:
    """How many letters and digits of a part the vocabulary has no word pieces for.

    Such a word is one unknown piece, whatever it says, so nothing can be said about it. A sign
    that is unknown, such as an emoji, states nothing.
    """
    unknown = part.offsets[part.ids == unknown_id].tolist()
    return sum(len(_ALNUM.findall(part.text[start:end])) for start, end in unknown)


def parts_of(answer: str, segment: Segment, pieces: WordPieces) -> list[ClaimPart]:
    """Cut a claim into what is read at a time; nearly always that is one part.

    A citation is no statement: it is replaced by spaces.
    """
    whole = without_citations(answer, segment)
    text, places = without_emphasis(whole), places_without_emphasis(whole) + segment.start
    encoded = pieces.encode(text)
    return [
        ClaimPart(
            text,
            places,
            encoded.ids[first : first + PASSAGE_PIECES],
            encoded.offsets[first : first + PASSAGE_PIECES],
        )
        for first in range(0, len(encoded), PASSAGE_PIECES)
    ]


def without_citations(answer: str, segment: Segment) -> str:
    """The text of a segment with its citations blanked out, of the same length."""
    text = answer[segment.start : segment.end]
    for citation in segment.citations:
        start, end = citation.start - segment.start, citation.end - segment.start
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def question_parts(ids: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """A question in at most two texts: what is asked stands at its beginning or at its end."""
    if not len(ids):
        return []
    if len(ids) <= PASSAGE_PIECES:
        return [ids]
    return [ids[:PASSAGE_PIECES], ids[max(PASSAGE_PIECES, len(ids) - PASSAGE_PIECES) :]]

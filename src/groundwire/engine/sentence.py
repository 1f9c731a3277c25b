"""Claims as the models read them: cut into word pieces, without citations and emphasis."""

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
    """A claim, or a part of a claim that is too long for one pass of the model.

    Attributes:
        text: The whole claim, with spaces in place of citations, and without marks of emphasis.
        places: Position in the answer of each character of ``text``, shape ``(n_chars,)``.
        ids: Vocabulary ids of the part's word pieces, at most 254, shape ``(n,)``.
        offsets: Character ranges of the word pieces in ``text``, shape ``(n, 2)``.
    """

    text: str
    places: NDArray[np.int32]
    ids: NDArray[np.int32]
    offsets: NDArray[np.int32]

    @property
    def ranges(self) -> NDArray[np.int32]:
        """Character ranges of the word pieces in the answer, shape ``(n, 2)``."""
        starts, ends = self.offsets.T
        starts_there = self.places[np.minimum(starts, len(self.places) - 1)]
        # A range ends one after the position of its last character. The position of the next
        # character would be wrong if a mark of emphasis is between the two characters.
        ends_there = np.where(ends > starts, self.places[np.maximum(ends, 1) - 1] + 1, starts_there)
        return np.stack([starts_there, ends_there], axis=1).astype(np.int32)


def has_statement(answer: str, segment: Segment) -> bool:
    """Return whether a segment has letters or digits outside of its citations.

    The result is also true for every segment without citations.
    """
    return not segment.citations or _ALNUM.search(without_citations(answer, segment)) is not None


def n_unknown_chars(part: ClaimPart, unknown_id: int) -> int:
    """Count the letters and digits of words that the vocabulary has no pieces for.

    Every such word becomes the same unknown piece, so the model cannot judge it.
    """
    unknown = part.offsets[part.ids == unknown_id].tolist()
    return sum(len(_ALNUM.findall(part.text[start:end])) for start, end in unknown)


def parts_of(answer: str, segment: Segment, pieces: WordPieces) -> list[ClaimPart]:
    """Cut a claim into parts of at most 254 word pieces; none for a claim without word pieces."""
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
    """Return the text of a segment with every character of its citations replaced by a space."""
    text = answer[segment.start : segment.end]
    for citation in segment.citations:
        start, end = citation.start - segment.start, citation.end - segment.start
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def question_parts(ids: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Cut a question into at most two texts of at most 254 word pieces each.

    Of a question of more than 508 word pieces, the middle is left out: the request is nearly always
    at one of the ends.
    """
    if not len(ids):
        return []
    if len(ids) <= PASSAGE_PIECES:
        return [ids]
    return [ids[:PASSAGE_PIECES], ids[max(PASSAGE_PIECES, len(ids) - PASSAGE_PIECES) :]]

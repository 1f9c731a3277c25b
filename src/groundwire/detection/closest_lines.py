"""Chooses the few lines of the evidence that say most about a claim.

A cross-encoder reads a claim together with its evidence, so its time grows with the evidence. Lines
are chosen within a budget of word pieces. They are compared with a query: the words of the claim
and its context. A line is worth more if it shares more words, or rarer words, with the query. A
word counts for less if an already chosen line has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.evidence import Evidence, Query
from groundwire.detection.passages import Passage

#: Default budget: word pieces of evidence that the cross-encoder reads with a claim.
LINE_PIECES = 176
# The worth of a word is multiplied by this number for each chosen line that has the word.
_AGAIN = 0.4
# A line that is worth less than this share of the best line's worth is not chosen.
_FLOOR = 0.1
# The worth of a line is divided by ``(length + _FREE_PIECES) ** _LENGTH_POWER``, with the length in
# word pieces. So of two lines with the same words of the query, the shorter is chosen first.
_FREE_PIECES, _LENGTH_POWER = 16, 0.5
_CRUMB_PIECES = 16


@dataclass(frozen=True, slots=True, eq=False)
class Excerpt:
    """The chosen lines of one passage, in reading order.

    Attributes:
        crumb: The first word pieces, at most 16, of the title and headings of the passage.
        lines: Word pieces of each chosen line.
    """

    crumb: NDArray[np.int32]
    lines: tuple[NDArray[np.int32], ...]

    @property
    def ids(self) -> NDArray[np.int32]:
        """The word pieces of ``crumb``, and then of all lines."""
        return np.concatenate([self.crumb, *self.lines])


def closest_lines(
    evidence: Evidence, query: Query, passages: Sequence[int], *, budget: int = LINE_PIECES
) -> tuple[Excerpt, ...]:
    """Choose the lines of the evidence that a cross-encoder reads together with a claim.

    Args:
        evidence: All passages of the request.
        query: The weighted word pieces to look for.
        passages: Indices of the passages to choose from.
        budget: Limit on the word pieces of lines, titles, headings and separators together.

    Returns:
        An excerpt of each passage with chosen lines, in the order of the evidence. The best line
        is chosen even if it exceeds the budget, so that there is an excerpt if any passage has a
        line. A line that is longer than the budget is cut.
    """
    texts: list[NDArray[np.int32]] = []
    places: list[tuple[int, int]] = []
    seen: set[bytes] = set()
    for index in passages:
        passage = evidence.passages[index]
        bounds = [*passage.line_starts.tolist(), len(passage.ids)]
        for number in range(len(passage.lines)):
            ids = passage.ids[bounds[number] : bounds[number + 1]]
            # Passages may overlap by a line, and sources may repeat one, so equal lines count once.
            if not len(ids) or ids.tobytes() in seen:
                continue
            seen.add(ids.tobytes())
            texts.append(ids)
            places.append((index, number))
    columns = {piece: column for column, piece in enumerate(query.ids.tolist())}
    holds = np.zeros((len(texts), len(query.ids)))
    for row, ids in zip(holds, texts, strict=True):
        row[[columns[piece] for piece in columns.keys() & ids.tolist()]] = 1
    worth = evidence.words.idf[query.ids].astype(np.float64) * query.weights
    lengths = np.array([len(ids) for ids in texts])
    cost = (lengths + _FREE_PIECES) ** _LENGTH_POWER
    chosen: list[int] = []
    crumbs: set[int] = set()
    most = 0.0
    left, is_open = budget, np.ones(len(texts), bool)
    while is_open.any():
        gains = np.where(is_open, np.round(holds @ worth / cost, 5), -1.0)
        best = int(gains.argmax())
        most = max(most, float(gains[best]))
        if gains[best] < _FLOOR * most:
            break
        is_open[best] = False
        index = places[best][0]
        n_crumb = 0 if index in crumbs else len(_crumb(evidence.passages[index]))
        # The price counts a separator for each line. The model's input has only one for each
        # passage, after its last line, so the price is never too low.
        price = int(lengths[best]) + n_crumb + 1
        if price > left and chosen:
            continue
        chosen.append(best)
        crumbs.add(index)
        left -= price
        is_open &= lengths < left
        worth = np.where(holds[best] > 0, worth * _AGAIN, worth)
    by_passage: dict[int, list[NDArray[np.int32]]] = {}
    for position in sorted(chosen, key=lambda n: places[n]):
        by_passage.setdefault(places[position][0], []).append(texts[position][:budget])
    return tuple(
        Excerpt(_crumb(evidence.passages[index]), tuple(lines))
        for index, lines in sorted(by_passage.items())
    )


def _crumb(passage: Passage) -> NDArray[np.int32]:
    return passage.ids[: min(passage.n_breadcrumb, _CRUMB_PIECES)]

"""Match features: how each word piece of a claim matches the evidence, as input of the models.

Small encoders are bad at comparing strings and numbers exactly, so this module compares them. Each
word piece gets six codes; each code has an embedding in the model.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.passages import Passage
from groundwire.text.quantities import QuantityIndex, quantities

#: Number of features of a word piece.
N_FEATURES = 6
#: Number of codes of one feature. Feature 0 has the codes 0 to 23, feature 1 the codes 24 to 47,
#: and so on.
CODES = 24
#: Codes of a word piece that is compared with nothing, such as the token [CLS] of a claim: the
#: first code of each feature.
NEUTRAL = tuple(range(0, N_FEATURES * CODES, CODES))
#: Number of rows of the table of embeddings. The last row is zero, for pieces without features.
TABLE_ROWS = N_FEATURES * CODES + 1
#: Version of the codes. Raise it when codes change: weights are trained on them.
FEATURE_RULES = 2

#: Limit on the neighbours on each side of a piece that line_support looks up in the evidence.
_WINDOW = 12
# Limits between the codes that _support_code gives a word piece of the claim. The score of a line
# says how well the line fits the neighbours of the piece; see line_support. If any line has the
# piece itself, the code depends on the best score of such lines (_COVERED), and on how far this
# score is below the best score of all lines (_BEHIND). Otherwise, the code depends on the best
# score of all lines (_ELSEWHERE).
_COVERED = np.array([0.15, 0.3, 0.45, 0.65])
_BEHIND = np.array([0.02, 0.1, 0.25])
_ELSEWHERE = np.array([0.3, 0.55])

_DIGIT = re.compile(r"\d")
_ALNUM = re.compile(r"\w")


def match_features(
    ids: NDArray[np.int32],
    offsets: NDArray[np.int32],
    text: str,
    *,
    passages: Sequence[Passage],
    question_ids: NDArray[np.int32],
    idf: NDArray[np.float32],
    unknown_id: int,
) -> NDArray[np.int64]:
    """Compute the codes of each word piece of a claim.

    Args:
        ids: Word pieces of the claim, shape ``(n,)``.
        offsets: Character ranges of the word pieces in ``text``, shape ``(n, 2)``.
        text: The claim as it is read.
        passages: The passages to compare the claim with.
        question_ids: Word pieces of the question.
        idf: Inverse document frequency of each word piece, shape ``(vocabulary,)``.
        unknown_id: The piece of all words outside the vocabulary. It matches no piece of the
            evidence or the question, since two such words may differ.

    Returns:
        Codes of shape ``(n, 6)``, one column for each feature. To the codes below, column ``k``
        adds ``24 * k``:

        0. The length of the longest run of pieces around this piece that the evidence has word for
           word; lengths above 23 count as 23. Runs end at the ends of lines and passages.
        1. Where the piece occurs: 1 in a line of a passage, 2 in the question, 4 in a breadcrumb
           (title and headings of a passage), added up.
        2. The kind of piece: 1 with a digit, 2 capitalised, 3 punctuation, 0 any other.
        3. How the evidence agrees with the quantity that the piece belongs to
           (:class:`.quantities.Match`); 0 for a piece in no quantity.
        4. How well the lines that have the piece fit the piece's neighbours
           (:func:`line_support`).
        5. The values of the yes-or-no fields that have the piece: 1 yes, 2 no, 4 empty, added up;
           8 if no such field has the piece; 0 if the evidence has no yes-or-no fields.
    """
    codes = np.empty((len(ids), N_FEATURES), np.int64)
    ids = np.where(ids == unknown_id, -1, ids).astype(np.int32)
    evidence = [passage.ids[passage.n_breadcrumb :] for passage in passages]
    crumbs = [passage.ids[: passage.n_breadcrumb] for passage in passages]
    starts = [passage.line_starts - passage.n_breadcrumb for passage in passages]
    codes[:, 0] = np.minimum(longest_runs(ids, evidence, starts), CODES - 1)
    codes[:, 1] = (
        _is_in(ids, evidence) + 2 * _is_in(ids, [question_ids]) + 4 * _is_in(ids, crumbs) + CODES
    )
    codes[:, 2] = np.array([_kind(text[a:b]) for a, b in offsets.tolist()], np.int64) + 2 * CODES
    codes[:, 3] = _quantity_codes(offsets, text, passages) + 3 * CODES
    codes[:, 4] = line_support(ids, passages, idf) + 4 * CODES
    codes[:, 5] = _switch_codes(ids, passages) + 5 * CODES
    return codes


def longest_runs(
    ids: NDArray[np.int32], texts: Sequence[NDArray[np.int32]], starts: Sequence[NDArray[np.intp]]
) -> NDArray[np.int64]:
    """Return for each piece the length of the longest run around it that a text has word for word.

    A run is a sequence of neighbouring pieces.

    Args:
        ids: The pieces, shape ``(n,)``.
        texts: Pieces of each text.
        starts: For each text, the index of the first piece of each line; runs stay in one line.

    Returns:
        Lengths in pieces, shape ``(n,)``; 0 where no text has the piece.
    """
    n = len(ids)
    if not n or not sum(map(len, texts)):
        return np.zeros(n, np.int64)
    whole = np.concatenate(texts)
    begins = np.zeros(len(whole) + 1, bool)
    base = 0
    for text, firsts in zip(texts, starts, strict=True):
        begins[base] = True
        begins[base + firsts[firsts < len(text)]] = True
        base += len(text)
    begins[base] = True
    # Cell (i, j) is for piece i of the claim and piece j of the evidence; runs are diagonals. The
    # first pass computes the length of the run up to each cell. The second carries the length at a
    # run's end back to all cells of the run.
    lengths = np.zeros((n + 1, len(whole) + 1), np.int16)
    same = ids[:, None] == whole[None, :]
    carry = ~begins[:-1]
    for i in range(n):
        lengths[i + 1, 1:] = (lengths[i, :-1] * carry + 1) * same[i]
    through = lengths[1:, 1:]
    goes_on = ~begins[1:-1]
    for i in range(n - 2, -1, -1):
        following = through[i + 1, 1:] * goes_on
        np.maximum(through[i, :-1], following * same[i, :-1], out=through[i, :-1])
    return np.asarray(through.max(axis=1), np.int64)


def line_support(
    ids: NDArray[np.int32], passages: Sequence[Passage], idf: NDArray[np.float32]
) -> NDArray[np.int64]:
    """Return for each piece a code of how well the lines that have the piece fit its neighbours.

    "Alice" may occur in the evidence, and yet not in the line that says who founded Acme. For each
    piece, the score of a line is the share of the piece's neighbours that the line has: up to
    twelve on each side, weighted by IDF. The code depends on the best score of all lines, and on
    the best score of the lines that have the piece.

    Returns:
        Codes of 0 to 23, shape ``(n,)``; 0 for a piece without known neighbours, or if there are no
        lines.
    """
    n = len(ids)
    found = np.zeros(n, np.int64)
    if not n or not any(passage.lines for passage in passages):
        return found
    lines, line_ids, n_lines = [], [], 0
    for passage in passages:
        lines.append(passage.line_pieces[0] + n_lines)
        line_ids.append(passage.line_pieces[1])
        n_lines += len(passage.lines)
    columns, places = np.nonzero(ids[:, None] == np.concatenate(line_ids))
    holds = np.zeros((n_lines, n), np.float32)
    holds[np.concatenate(lines)[places], columns] = 1
    weights = np.where(ids >= 0, idf[ids], 0).astype(np.float32)
    near = np.abs(np.arange(n)[:, None] - np.arange(n)) <= _WINDOW
    near &= ids[:, None] != ids
    around = np.where(near, weights, 0).astype(np.float32)
    total = around.sum(axis=1)
    # Scores, one row for each line and one column for each piece.
    shares = holds @ around.T / np.maximum(total, 1e-6)
    best = shares.max(axis=0)
    own = np.where(holds > 0, shares, -1).max(axis=0)
    known = total > 0
    found[known] = _support_code(best[known], own[known])
    return found


def _support_code(best: NDArray[np.float32], own: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return a code of 1 to 23 for each piece, by two scores that :func:`line_support` computes.

    ``best`` is the best score of all lines, ``own`` the best score of the lines that have the
    piece, or -1 if no line has it.
    """
    # Rounded, so that the order in which a sum was computed does not change a code.
    best, own = best.round(4), own.round(4)
    behind = _BEHIND.searchsorted((best - own).round(4), "right")
    there = 1 + 4 * _COVERED.searchsorted(own, "right") + behind
    there[own < 0] = 21 + _ELSEWHERE.searchsorted(best[own < 0], "right")
    return np.asarray(there, np.int64)


def _switch_codes(ids: NDArray[np.int32], passages: Sequence[Passage]) -> NDArray[np.int64]:
    codes = np.zeros(len(ids), np.int64)
    switches = [each for passage in passages if len((each := passage.switches)[0])]
    for value in (1, 2, 4) if switches else ():
        codes += value * _is_in(ids, [names[values == value] for names, values in switches])
    return np.where(codes == 0, 8, codes) if switches else codes


def _is_in(ids: NDArray[np.int32], texts: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
    if not texts:
        return np.zeros(len(ids), np.int64)
    return np.asarray((ids[:, None] == np.concatenate(texts)).any(axis=1), np.int64)


def _kind(word: str) -> int:
    if _DIGIT.search(word):
        return 1
    if not _ALNUM.search(word):
        return 3
    return 2 if word[:1].isupper() else 0


def _quantity_codes(
    offsets: NDArray[np.int32], text: str, passages: Sequence[Passage]
) -> NDArray[np.int64]:
    codes = np.zeros(len(offsets), np.int64)
    found = quantities(text)
    if not found:
        return codes
    index = QuantityIndex.union(passage.quantities for passage in passages)
    for quantity in found:
        inside = (offsets[:, 0] < quantity.end) & (offsets[:, 1] > quantity.start)
        codes[inside] = int(index.match(quantity))
    return codes

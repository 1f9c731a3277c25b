"""Match features: what the reader is told about each answer word piece, beside the piece itself.

Small encoders are bad at comparing strings and numbers exactly, and a program is good at it. Each
word piece gets four codes over the selected passages; each code has an embedding in the reader.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from groundwire.passages import Passage
from groundwire.quantities import QuantityIndex, quantities

#: Codes of one feature; the four features stand one after the other in the embedding table.
CODES = 24
#: Codes of a piece that is not looked at: [CLS], [SEP], and everything that is not answer.
NEUTRAL = (0, CODES, 2 * CODES, 3 * CODES)
#: Rows of the embedding table; the last is always zero, for text that gets no features.
TABLE_ROWS = 4 * CODES + 1
#: Raise it when codes change: weights are trained on them.
FEATURE_RULES = 1

_DIGIT = re.compile(r"\d")
_ALNUM = re.compile(r"\w")


def match_features(
    ids: NDArray[np.int32],
    offsets: NDArray[np.int32],
    text: str,
    *,
    passages: Sequence[Passage],
    question_ids: NDArray[np.int32],
    unknown_id: int,
) -> NDArray[np.int64]:
    """Codes of each word piece of a claim.

    Args:
        ids: Word pieces of the claim, shape ``(n,)``.
        offsets: Their character ranges in ``text``, shape ``(n, 2)``.
        text: The claim as it is read.
        passages: What it is read with.
        question_ids: Word pieces of the question.
        unknown_id: The piece that stands for any word without pieces; it matches nothing, for two
            such words need not be the same.

    Returns:
        Shape ``(n, 4)``: the length of the longest verbatim run through the piece (0 to 23; runs
        end where lines and passages do), membership (1 in a passage, 2 in the question, 4 in a
        breadcrumb, added up), the kind of token (0 word, 1 with a digit, 2 capitalised, 3 sign),
        and what became of the quantity it belongs to (:class:`groundwire.quantities.Match`).
    """
    codes = np.empty((len(ids), 4), np.int64)
    ids = np.where(ids == unknown_id, -1, ids).astype(np.int32)
    evidence = [passage.ids[passage.n_breadcrumb :] for passage in passages]
    crumbs = [passage.ids[: passage.n_breadcrumb] for passage in passages]
    starts = [passage.line_starts - passage.n_breadcrumb for passage in passages]
    codes[:, 0] = np.minimum(longest_runs(ids, evidence, starts), CODES - 1)
    codes[:, 1] = (
        _is_in(ids, evidence) + 2 * np.isin(ids, question_ids) + 4 * _is_in(ids, crumbs) + CODES
    )
    codes[:, 2] = np.array([_kind(text[a:b]) for a, b in offsets.tolist()], np.int64) + 2 * CODES
    codes[:, 3] = _quantity_codes(offsets, text, passages) + 3 * CODES
    return codes


def longest_runs(
    ids: NDArray[np.int32],
    texts: Sequence[NDArray[np.int32]],
    starts: Sequence[NDArray[np.intp]],
) -> NDArray[np.int64]:
    """For each piece, the longest stretch around it that stands word for word in a text.

    Args:
        ids: The pieces, shape ``(n,)``.
        texts: Pieces of each text.
        starts: Where the lines of each text begin; a run never crosses such a place.

    Returns:
        Lengths in pieces, shape ``(n,)``; 0 where the piece stands nowhere.
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
    # Run ending at (i, j), diagonal by diagonal: one row at a time over all of the evidence. The
    # longest run through a cell is the length at the end of its diagonal, carried back.
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


def _is_in(ids: NDArray[np.int32], texts: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
    if not texts:
        return np.zeros(len(ids), np.int64)
    return np.isin(ids, np.concatenate(texts), kind="table").astype(np.int64)


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

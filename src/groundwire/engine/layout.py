"""Input of a cross-encoder: a claim, the question and a few lines of evidence in one sequence."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.closest_lines import Excerpt
from groundwire.engine.roles import TextRole

#: Limit on the word pieces of a question; of a longer question, the middle is left out.
QUESTION_PIECES = 32


def row_of(
    claim: NDArray[np.int32],
    question: NDArray[np.int32],
    excerpts: Sequence[Excerpt],
    *,
    cls_id: int,
    sep_id: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Build the input ``[CLS] claim [SEP] question [SEP] excerpt [SEP] excerpt [SEP]``.

    There may be any number of excerpts. Without a question, ``question [SEP]`` is left out.

    Returns:
        Ids and roles (:class:`TextRole`), both of shape ``(n,)``. The claim's pieces have the
        indices ``1`` to ``len(claim)``.
    """
    if len(question) > QUESTION_PIECES:
        half = QUESTION_PIECES // 2
        question = np.concatenate([question[:half], question[-half:]])
    texts = [(claim, TextRole.ANSWER)]
    texts += [(question, TextRole.QUESTION)] if len(question) else []
    texts += [(excerpt.ids, TextRole.SOURCE) for excerpt in excerpts]
    ids, roles = [np.array([cls_id])], [np.array([TextRole.ANSWER])]
    for text, role in texts:
        ids += [text, np.array([sep_id])]
        roles.append(np.full(len(text) + 1, role))
    return np.concatenate(ids).astype(np.int64), np.concatenate(roles).astype(np.int64)

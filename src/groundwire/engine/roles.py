"""Roles of the texts that the models read, and positions of sentences in the reader's input."""

from enum import IntEnum

#: Index of the first position embedding of a sentence that the reader checks. All other texts have
#: the positions 0 to 255.
SENTENCE_START = 256
#: Limit on the earlier sentences of the answer that a sentence attends to, in readers for which
#: :attr:`.architecture.Architecture.recalls` is true. Parts of a long sentence count separately.
RECALLED_SENTENCES = 3


class TextRole(IntEnum):
    """Role of a text: an index into a model's role embeddings."""

    SOURCE = 0
    ANSWER = 1  # the sentence that is checked
    QUESTION = 2  # the user's question, which is never evidence
    HISTORY = 3  # an earlier sentence of the answer


N_ROLES = len(TextRole)

"""What a text is to the reader, and where its positions begin."""

from enum import IntEnum

#: A sentence's positions begin here, and run to 511; everything else counts from 0 to 255.
SENTENCE_START = 256
#: Earlier sentences of the answer that a sentence is read after, by readers that recall any.
RECALLED_SENTENCES = 3


class TextRole(IntEnum):
    """Index into the reader's role embeddings."""

    SOURCE = 0
    ANSWER = 1  # the sentence that is judged
    QUESTION = 2  # tells what is asked; never evidence
    HISTORY = 3  # an earlier sentence of the answer, read alone


N_ROLES = len(TextRole)

"""The tokenizer: it cuts texts into word pieces, and says which characters each piece covers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

# Limit on the texts that WordPieces.encode_ids encodes at once, to limit its memory.
_BLOCK = 512


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The word pieces of one text.

    Attributes:
        ids: Vocabulary ids, shape ``(n,)``, int32, without special tokens.
        offsets: Character ranges in the text, half-open, shape ``(n, 2)``, int32.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ids)


class WordPieces:
    """The tokenizer of a BERT model, read from a file; safe to share between threads."""

    def __init__(self, path: Path) -> None:
        """Read a ``tokenizer.json``."""
        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # "[SEP]" written in a text is five characters, not the special token.
        self._tokenizer.encode_special_tokens = True
        self.cls_id = self._special("[CLS]")
        self.sep_id = self._special("[SEP]")
        self.unknown_id = self._special("[UNK]")

    def encode(self, text: str) -> Pieces:
        """Cut one text into word pieces; an empty text has no word pieces."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        offsets = np.array(found.offsets, np.int32).reshape(-1, 2)
        return Pieces(np.array(found.ids, np.int32), offsets)

    def encode_ids(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the ids of each text's word pieces; for many texts faster than :meth:`encode`."""
        if len(texts) == 1:  # a batch would hand the text to another thread
            return [self.encode(texts[0]).ids]
        blocks = (list(texts[start : start + _BLOCK]) for start in range(0, len(texts), _BLOCK))
        return [
            np.array(found.ids, np.int32)
            for block in blocks
            for found in self._tokenizer.encode_batch_fast(block, add_special_tokens=False)
        ]

    def with_specials(self, ids: NDArray[np.int32]) -> list[int]:
        """Put word pieces between [CLS] and [SEP], as BERT models read them."""
        return [self.cls_id, *ids.tolist(), self.sep_id]

    def _special(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise ValueError(f"the tokenizer has no {token} token")
        return int(found)

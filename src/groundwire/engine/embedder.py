"""Embedders: they turn texts into vectors, which the similarity detector compares.

``neural`` is the encoder that this package contains, all-MiniLM-L6-v2 as published. ``hash`` knows
no language: it counts words and parts of words, so texts that share many of these are near each
other.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from groundwire.engine.models import Manifest
from groundwire.engine.runtime import Graph
from groundwire.engine.sentence import ClaimPart, n_unknown_chars
from groundwire.engine.tokenizer import WordPieces
from groundwire.text.writing_system import is_readable

#: Limit on the word pieces that the encoder reads at a time, without [CLS] and [SEP].
WINDOW_PIECES = 254
GRAPH = "minilm.onnx"
_DIMENSION = 384


class Embedder(Protocol):
    """Turns texts into unit vectors; safe to share between threads."""

    @property
    def revision(self) -> str:
        """Version of the embedder: the same revision gives the same vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a row for each text: a unit vector, or zeros if the text has nothing to embed."""
        ...

    def reads(self, text: str) -> bool:
        """Return whether the embedder can read the script of a text."""
        ...

    def n_unread(self, parts: Sequence[ClaimPart]) -> int:
        """Return how many letters and digits of a claim the embedder cannot read."""
        ...


class Encoder(Graph):
    """The ONNX graph of the encoder that this package contains."""

    def read(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the vector of a text of at most 256 word pieces, special tokens included."""
        (found,) = self._session.run(["embedding"], {"ids": np.asarray(ids, np.int64)})
        return np.asarray(found)


@dataclass(frozen=True, slots=True, eq=False)
class NeuralEmbedder:
    """Embeds texts with the encoder that this package contains, which was trained on English."""

    encoder: Encoder
    pieces: WordPieces
    revision: str

    @classmethod
    def load(cls, manifest: Manifest, pieces: WordPieces, *, threads: int) -> "NeuralEmbedder":
        """Open a model folder, without checking the hashes of its files.

        Raises:
            ModelError: If ONNX Runtime cannot open the graph.
        """
        return cls(Encoder(manifest.folder / GRAPH, threads=threads), pieces, manifest.revision)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, shape ``(n, 384)``.

        The vector of a text does not depend on the other texts. A text of more than 254 word pieces
        is read in windows. Its vector is then the mean of the windows' vectors, weighted by their
        numbers of word pieces and scaled to length 1. A text without word pieces has zeros.
        """
        rows = np.zeros((len(texts), _DIMENSION), np.float32)
        for row, ids in zip(rows, self.pieces.encode_ids(texts), strict=True):
            if len(ids):
                row[:] = self._vector(ids)
        return rows

    def _vector(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        windows = np.array_split(ids, -(-len(ids) // WINDOW_PIECES))
        read = [self.encoder.read(self.pieces.with_specials(window)) for window in windows]
        if len(read) == 1:
            return read[0]
        total = np.sum([len(w) * v for w, v in zip(windows, read, strict=True)], axis=0)
        return np.asarray(total / np.sqrt(total @ total), np.float32)

    def reads(self, text: str) -> bool:
        """Return whether a text is mostly in Latin script (:func:`.writing_system.is_readable`)."""
        return is_readable(text)

    def n_unread(self, parts: Sequence[ClaimPart]) -> int:
        """Return how many letters and digits of a claim are in words outside the vocabulary."""
        return sum(n_unknown_chars(part, self.pieces.unknown_id) for part in parts)


#: Number of components of a hashed vector.
HASH_DIMENSION = 2048
#: Lengths of the parts of words that are counted, in characters. The marks ``<`` and ``>`` at
#: a word's ends count as characters.
HASH_CHARACTERS = (3, 4)
#: Weights of a word, of two words in a row, and of a part of a word.
_WORD, _PAIR, _PART = 3, 2, 1
#: Version of the rules of :class:`HashEmbedder`. Raise it when the same text gets another vector.
HASH_RULES = 1

_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class HashEmbedder:
    """Embeds texts by counting words, pairs of words and parts of words.

    A text is normalised to NFKC and case-folded; a word is a run of letters, digits and
    underscores. The features of a text are its words (weight 3), its pairs of neighbouring words
    (2), and the parts of 3 and 4 characters of each word, with ``<`` and ``>`` at its ends (1). The
    BLAKE2b hash of a feature gives one of 2,048 components, and a sign, so that different features
    in one component cancel on average (https://arxiv.org/abs/0902.2206).
    """

    @property
    def revision(self) -> str:
        """Version of the rules: the same revision gives the same vectors."""
        return f"hash-{HASH_RULES}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, shape ``(n, 2048)``; a text without a word has zeros."""
        rows = np.zeros((len(texts), HASH_DIMENSION), np.float32)
        for row, text in zip(rows, texts, strict=True):
            counts = np.zeros(HASH_DIMENSION, np.int64)
            for feature, count in _features(text).items():
                place, sign = _place(feature)
                counts[place] += sign * count
            if length := np.sqrt(float(counts @ counts)):
                row[:] = counts / length
        return rows

    def reads(self, text: str) -> bool:
        """Return ``True``: this embedder reads any script."""
        return True

    def n_unread(self, parts: Sequence[ClaimPart]) -> int:
        """Return 0: this embedder reads all letters and digits."""
        return 0


def _features(text: str) -> Counter[str]:
    """Return the features of a text, each with its count times its weight."""
    words = _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
    found: Counter[str] = Counter()
    for word, count in Counter(words).items():
        # The space distinguishes a word from an equal part of a word.
        found[f"{word} "] += _WORD * count
        marked = f"<{word}>"
        for n in HASH_CHARACTERS:
            for start in range(len(marked) - n + 1):
                found[marked[start : start + n]] += _PART * count
    for pair, count in Counter(pairwise(words)).items():
        found[" ".join(pair)] += _PAIR * count
    return found


@lru_cache(maxsize=1 << 16)
def _place(feature: str) -> tuple[int, int]:
    """Return the component that a feature is hashed to, and the sign that it is counted with."""
    digest = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
    return digest % HASH_DIMENSION, 1 if digest >> 63 else -1

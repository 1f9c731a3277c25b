"""Texts as vectors: what the similarity detector compares.

Two embedders behind one interface. ``neural`` is the embedded encoder, all-MiniLM-L6-v2 as
published. ``hash`` knows no language: it counts words and parts of words, so only texts with the
same words are near each other.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from groundwire.engine.models import Manifest
from groundwire.engine.runtime import open_session
from groundwire.engine.sentence import ClaimPart, n_unknown_chars
from groundwire.engine.tokenizer import WordPieces
from groundwire.text.writing_system import is_readable

#: Word pieces that the encoder reads at a time, without [CLS] and [SEP].
WINDOW_PIECES = 254
GRAPH = "minilm.onnx"
_DIMENSION = 384


class Embedder(Protocol):
    """What gives vectors of length 1; safe to share between threads."""

    @property
    def revision(self) -> str:
        """What pins it: the same revision gives the same vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each text, of length 1, or 0 if there is nothing in it."""
        ...

    def reads(self, text: str) -> bool:
        """Whether it can make sense of a stretch of text."""
        ...

    def n_unread(self, parts: Sequence[ClaimPart]) -> int:
        """How many letters and digits of a claim stand for nothing in its vector."""
        ...


# The encoder.


class Encoder:
    """One session of the encoder's graph, shared by all threads."""

    def __init__(self, path: Path, *, threads: int) -> None:
        """Open a graph.

        Args:
            path: The ``.onnx`` file.
            threads: CPU threads that one call may use.

        Raises:
            ModelError: If ONNX Runtime cannot open it.
        """
        self._session: onnxruntime.InferenceSession = open_session(path, threads=threads)

    def read(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """The vector of one text: at most 256 word pieces, special tokens included."""
        (found,) = self._session.run(["embedding"], {"ids": np.asarray(ids, np.int64)})
        return np.asarray(found)


@dataclass(frozen=True, slots=True, eq=False)
class NeuralEmbedder:
    """The embedded encoder: texts that mean the same are near each other, in English."""

    encoder: Encoder
    pieces: WordPieces
    revision: str

    @classmethod
    def load(cls, manifest: Manifest, pieces: WordPieces, *, threads: int) -> "NeuralEmbedder":
        """Open a model folder; its files are taken to be verified.

        Raises:
            ModelError: If ONNX Runtime cannot open its graph.
        """
        return cls(Encoder(manifest.folder / GRAPH, threads=threads), pieces, manifest.revision)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors, shape ``(n, 384)``.

        Each text is a tensor of its own, so its vector does not depend on the others. One of more
        than 254 word pieces is read in windows, as even as they can be; its vector is the mean of
        theirs, each counted by its word pieces, brought to length 1. A text without word pieces
        has the zero vector.
        """
        rows = np.zeros((len(texts), _DIMENSION), np.float32)
        for row, found in zip(rows, self.pieces.encode_batch(texts), strict=True):
            if len(found):
                row[:] = self._vector(found.ids)
        return rows

    def _vector(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        windows = np.array_split(ids, -(-len(ids) // WINDOW_PIECES))
        cls_id, sep_id = self.pieces.cls_id, self.pieces.sep_id
        read = [self.encoder.read([cls_id, *window.tolist(), sep_id]) for window in windows]
        if len(read) == 1:
            return read[0]
        total = np.sum([len(w) * v for w, v in zip(windows, read, strict=True)], axis=0)
        return np.asarray(total / np.sqrt(total @ total), np.float32)

    def reads(self, text: str) -> bool:
        """Latin script alone; see :func:`groundwire.text.writing_system.is_readable`."""
        return is_readable(text)

    def n_unread(self, parts: Sequence[ClaimPart]) -> int:
        """Those of words that the vocabulary has no pieces for."""
        return sum(n_unknown_chars(part, self.pieces.unknown_id) for part in parts)


# Hashing.

#: Components of a hashed vector.
HASH_DIMENSION = 2048
#: Characters of the parts that a word is cut into, its two ends marked.
HASH_CHARACTERS = (3, 4)
#: What a word, two words in a row, and a part of a word count.
_WORD, _PAIR, _PART = 3, 2, 1
#: Raise it when the same text gets another vector.
HASH_RULES = 1

_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class HashEmbedder:
    """Words, pairs of words and parts of words, hashed to a fixed number of components.

    A text is brought to NFKC and folded in case; a word is a run of letters, digits and
    underscores. It is counted itself (weight 3), with the word before it (2), and by each of its
    parts of 3 and 4 characters, its two ends marked by ``<`` and ``>`` (1). The BLAKE2b hash of a
    feature names one of 2,048 components, and whether it is added or taken away, so that what
    falls together cancels on average (https://arxiv.org/abs/0902.2206). All sums are whole numbers,
    so every machine computes the same bits.
    """

    @property
    def revision(self) -> str:
        """The version of these rules."""
        return f"hash-{HASH_RULES}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors, shape ``(n, 2048)``; a text without a word has the zero vector."""
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
        """Any script that has words with spaces between."""
        del text
        return True

    def n_unread(self, parts: Sequence[ClaimPart]) -> int:
        """None: every letter counts."""
        del parts
        return 0


def _features(text: str) -> Counter[str]:
    """What stands in a text, by how much it counts."""
    words = _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
    found: Counter[str] = Counter()
    for word, count in Counter(words).items():
        # A space keeps words apart from parts, which have none: "<a>" is no word of a text.
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
    """The component of a feature, and its sign."""
    digest = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
    return digest % HASH_DIMENSION, 1 if digest >> 63 else -1

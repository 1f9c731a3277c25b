"""Makes the tables that rank passages: inverse document frequencies and vectors of word pieces.

``python -m groundwire_training.words --documents DIR --base model.safetensors --tables DIR`` counts
word pieces in gzipped JSON lines with a ``text``. It also embeds each word piece of the vocabulary
on its own with the unmodified MiniLM, and keeps 128 principal components, as model2vec does. It
writes both into ``words.npz`` beside ``tokenizer.json``. This takes a few minutes on a CPU.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from groundwire.engine.architecture import VOCABULARY
from groundwire.engine.roles import TextRole
from groundwire.engine.tokenizer import WordPieces
from groundwire_training.bases import read_base
from groundwire_training.export import quantise
from groundwire_training.model import AttentionInput
from groundwire_training.sets import read_rows

#: Frequencies are counted over windows of this many word pieces, about as many as a passage has.
_WINDOW = 200
_DIMENSIONS = 128
_MAX_DOCUMENT_CHARS = 8_000
_MAX_DOCUMENTS = 4_000


def texts(folder: Path) -> Iterator[str]:
    """Yield the documents of a folder: at most 4,000 of each file, each cut at 8,000 characters."""
    for path in sorted(folder.glob("*.jsonl.gz")):
        for number, row in enumerate(read_rows(path)):
            if number == _MAX_DOCUMENTS:
                break
            yield str(row["text"])[:_MAX_DOCUMENT_CHARS]


def inverse_frequencies(folder: Path, pieces: WordPieces) -> NDArray[np.float32]:
    """Compute BM25's IDF of each word piece over windows of texts; shape ``(vocabulary,)``."""
    windows_with = np.zeros(VOCABULARY)
    n_windows = 0
    for text in texts(folder):
        ids = pieces.encode(text).ids
        for start in range(0, len(ids), _WINDOW):
            windows_with[np.unique(ids[start : start + _WINDOW])] += 1
            n_windows += 1
    odds = (n_windows - windows_with + 0.5) / (windows_with + 0.5)
    return np.log1p(odds).astype(np.float32)


@torch.inference_mode()
def meanings(base: Path, pieces: WordPieces) -> NDArray[np.float32]:
    """Compute a vector of length 1 for each word piece, read alone; shape ``(vocabulary, 128)``."""
    model = read_base(base).eval()
    found = []
    for ids in torch.split(torch.arange(VOCABULARY), 1024):
        ends = (torch.full_like(ids, pieces.cls_id), torch.full_like(ids, pieces.sep_id))
        hidden = model.embed(
            torch.stack([ends[0], ids, ends[1]], 1), torch.arange(3), TextRole.SOURCE, None
        )
        everything = torch.zeros(1, 1, 1, 1)
        for layer in model.typed_layers():
            hidden = layer.attend(
                hidden, [AttentionInput(slice(None), *layer.keys_values(hidden), everything)]
            )
        found.append(hidden.mean(1))
    vectors = torch.cat(found).numpy()
    vectors -= vectors.mean(axis=0)
    _, _, components = np.linalg.svd(vectors, full_matrices=False)
    reduced = vectors @ components[:_DIMENSIONS].T
    lengths: NDArray[np.float32] = np.linalg.norm(reduced, axis=1, keepdims=True)
    return np.asarray(reduced / lengths, np.float32)


def main() -> None:
    """Make the tables from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--tables", type=Path, required=True)
    options = parser.parse_args()
    pieces = WordPieces(options.tables / "tokenizer.json")
    vectors, scales = quantise(meanings(options.base, pieces), axis=1)
    np.savez(
        options.tables / "words.npz",
        idf=inverse_frequencies(options.documents, pieces).astype(np.float16),
        vectors=vectors,
        scales=scales[:, 0].astype(np.float16),
    )


if __name__ == "__main__":
    main()

"""Packages MiniLM, the encoder that is deployed beside the reader, as a model folder.

``python -m groundwire_training.minilm --base model.safetensors --out DIR`` writes the folder, the
same bytes each time. ``--compare FILE`` also compares int8 with fp32 on the lines of a file.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from groundwire.engine.architecture import MINILM
from groundwire.engine.embedder import GRAPH, Encoder, NeuralEmbedder
from groundwire.engine.models import DEFAULT_MODEL, MANIFEST_NAME, Manifest, find_model
from groundwire.engine.tokenizer import WordPieces
from groundwire_training.bases import read_base
from groundwire_training.export import export_encoder
from groundwire_training.file_entry import file_entry

CARD = "MODEL_CARD.md"


def package(base: Path, out: Path, *, int8: bool = True) -> None:
    """Write the model folder of the encoder.

    Args:
        base: ``model.safetensors`` of all-MiniLM-L6-v2.
        out: The folder to write. An existing model card, and the thresholds of an existing
            manifest, are kept.
        int8: Whether to quantise to int8.
    """
    out.mkdir(parents=True, exist_ok=True)
    known = Manifest.read(out).operating_points if (out / MANIFEST_NAME).exists() else {}
    export_encoder(read_base(base).state_dict(), MINILM, out / GRAPH, int8=int8)
    write_manifest(out, operating_points=known)


def write_manifest(folder: Path, *, operating_points: Mapping[str, float]) -> None:
    """Write the manifest of a model folder, with the present hash of every file.

    Args:
        folder: The folder of the graph.
        operating_points: Thresholds of the similarity detector, by name. A claim whose similarity
            is below the threshold is unsupported.
    """
    tokenizer = find_model(DEFAULT_MODEL).files["tokenizer.json"]
    names = [name for name in (GRAPH, CARD) if (folder / name).exists()]
    manifest = {
        "name": "minilm",
        "version": "2",
        "kind": "encoder",
        "licence": "Apache-2.0",
        "base": "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), unmodified",
        "languages": ["en"],
        # The encoder uses the tokenizer file of the default model.
        "tokenizer": {"model": DEFAULT_MODEL, "sha256": tokenizer.sha256},
        "operating_points": dict(operating_points),
        "files": {name: file_entry(folder / name) for name in names},
    }
    text = json.dumps(manifest, indent=2) + "\n"
    (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")


def cosines(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of each pair of rows, which have length 1; shape ``(n,)``."""
    return np.asarray((first * second).sum(axis=1))


def compare(folder: Path, base: Path, texts: list[str]) -> NDArray[np.float32]:
    """Compute cosines between a folder's embeddings and the base's in fp32, shape ``(n,)``."""
    pieces = WordPieces(find_model(DEFAULT_MODEL).folder / "tokenizer.json")
    with tempfile.TemporaryDirectory() as temporary:
        exact = Path(temporary) / GRAPH
        export_encoder(read_base(base).state_dict(), MINILM, exact, int8=False)
        shipped, whole = (
            NeuralEmbedder(Encoder(path, threads=1), pieces, "").embed(texts)
            for path in (folder / GRAPH, exact)
        )
    return cosines(shipped, whole)


def main() -> None:
    """Package from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--fp32", action="store_true", help="do not quantise")
    parser.add_argument("--compare", type=Path, help="a file with one text a line")
    options = parser.parse_args()
    package(options.base, options.out, int8=not options.fp32)
    if options.compare:
        lines = options.compare.read_text(encoding="utf-8").splitlines()
        found = compare(options.out, options.base, [line for line in lines if line.strip()])
        low, first, middle = np.quantile(found, [0, 0.01, 0.5])
        print(  # noqa: T201
            f"{len(found)} texts, cosine to fp32: mean {found.mean():.4f}, median {middle:.4f}, "
            f"1 % below {first:.4f}, least {low:.4f}"
        )


if __name__ == "__main__":
    main()

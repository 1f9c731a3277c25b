"""Packages weights as a model folder: the graph, the tables, and a manifest with hashes.

``python -m groundwire_training.package --weights reader.safetensors --tables DIR --out DIR``
"""

import argparse
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from torch import Tensor

from groundwire.engine.architecture import MINILM, MPNET, Architecture
from groundwire.engine.cross_encoder import CROSS_GRAPH, CROSS_WORDS
from groundwire.engine.features import FEATURE_RULES
from groundwire.engine.models import MANIFEST_NAME, READER_BASE, find_model
from groundwire.explain.ranking import RANKING_FILE
from groundwire_training.bases import read_weights
from groundwire_training.export import export, export_cross
from groundwire_training.file_entry import file_entry

#: Files that are copied from the folder of tables into a model folder.
TABLES = ("tokenizer.json", "words.npz")
GRAPH = "reader.onnx"
LABELS = ("supported", "unsupported", "contradicted")


def package(
    weights: Path,
    tables: Path,
    out: Path,
    *,
    version: str,
    int8: bool = True,
    operating_points: Mapping[str, float],
    calibration: Mapping[str, float],
) -> None:
    """Write the model folder of a reader.

    Args:
        weights: A checkpoint of the training loop, ``.safetensors``.
        tables: Folder with ``tokenizer.json`` and ``words.npz``.
        out: The folder to write; may be the same as ``tables``.
        version: Version of the weights.
        int8: Whether to quantise to int8.
        operating_points: Thresholds by name, each in (0, 1].
        calibration: ``scale`` and ``offset`` of the fitted map.
    """
    out.mkdir(parents=True, exist_ok=True)
    model = read_weights(weights)
    export(model.state_dict(), model.sizes, out / GRAPH, int8=int8)
    for name in TABLES:
        if tables.resolve() != out.resolve():
            shutil.copyfile(tables / name, out / name)
    write_manifest(
        out,
        sizes=model.sizes,
        version=version,
        operating_points=operating_points,
        calibration=calibration,
    )


def package_cross(
    weights: Mapping[str, Tensor],
    sizes: Architecture,
    out: Path,
    *,
    version: str,
    knows_remarks: bool,
    int8: bool = True,
) -> None:
    """Write the model folder of a cross-encoder, which has to be calibrated after that.

    Args:
        weights: The state of a :class:`groundwire_training.cross.CrossModel`, adapters merged.
        sizes: Sizes of that model.
        out: The folder to write.
        version: Version of the weights.
        knows_remarks: Whether the training data had parts of answers that claim nothing.
        int8: Whether to quantise to int8.
    """
    out.mkdir(parents=True, exist_ok=True)
    export_cross(dict(weights), sizes, out, int8=int8)
    small = find_model()
    write_manifest(
        out,
        sizes=sizes,
        version=version,
        operating_points=small.operating_points,
        calibration=small.calibration,
        companion=small.revision,
        knows_remarks=knows_remarks,
    )


def write_manifest(
    folder: Path,
    *,
    sizes: Architecture,
    version: str,
    operating_points: Mapping[str, float],
    calibration: Mapping[str, float],
    answer_calibration: Mapping[str, float] | None = None,
    sentence_calibration: Mapping[str, float] | None = None,
    lines_calibration: Mapping[str, float] | None = None,
    companion: str | None = None,
    cross_weights: Mapping[str, float] | None = None,
    knows_remarks: bool = False,
) -> None:
    """Write the manifest of a model folder, with the present hash of every file.

    Args:
        folder: The folder, with all other files in it.
        sizes: Sizes of the model.
        version: Version of the weights.
        operating_points: Thresholds by name, each in (0, 1].
        calibration: Calibration of word pieces.
        answer_calibration: Calibration of answers.
        sentence_calibration: Calibration of claims read with their passages.
        lines_calibration: Calibration of claims read with a few lines alone.
        companion: Revision of the embedded reader whose scores a cross-encoder is added to; given
            for a cross-encoder alone.
        cross_weights: Weights of the cross-encoder's logits.
        knows_remarks: Whether a cross-encoder was trained to tell claims from remarks.
    """
    names = [
        name
        for name in (GRAPH, CROSS_GRAPH, CROSS_WORDS, RANKING_FILE, *TABLES, "MODEL_CARD.md")
        if (folder / name).exists()
    ]
    manifest = {
        "name": READER_BASE if companion else "reader",
        "version": version,
        "kind": "reader",
        "licence": "Apache-2.0",
        "base": f"sentence-transformers/{_base_of(sizes)} (Apache-2.0)",
        "languages": ["en"],
        "labels": list(LABELS),
        "feature_rules": FEATURE_RULES,
        "architecture": asdict(sizes),
        "operating_points": dict(operating_points),
        "calibration": dict(calibration),
        "answer_calibration": dict(answer_calibration) if answer_calibration else None,
        "sentence_calibration": dict(sentence_calibration) if sentence_calibration else None,
        "lines_calibration": dict(lines_calibration) if lines_calibration else None,
        **(
            {
                "companion": companion,
                "cross_weights": dict(cross_weights or {}),
                "knows_remarks": knows_remarks,
            }
            if companion
            else {}
        ),
        "files": {name: file_entry(folder / name) for name in names},
    }
    text = json.dumps(manifest, indent=2) + "\n"
    (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")


def _base_of(sizes: Architecture) -> str:
    if sizes.width == MINILM.width:
        return "all-MiniLM-L6-v2"
    name = "all-mpnet-base-v2"
    return name if sizes.layers == MPNET.layers else f"{name}, its first {sizes.layers} layers"


def main() -> None:
    """Package from the command line, with thresholds that calibration has yet to replace."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--version", default="0.1.0")
    parser.add_argument("--fp32", action="store_true", help="do not quantise")
    options = parser.parse_args()
    package(
        options.weights,
        options.tables,
        options.out,
        version=options.version,
        int8=not options.fp32,
        operating_points={"precision": 0.8, "balanced": 0.5, "recall": 0.2},
        calibration={"scale": 1.0, "offset": 0.0},
    )


if __name__ == "__main__":
    main()

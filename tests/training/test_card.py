"""The model card: its numbers are those of the files."""

import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from groundwire.engine.models import Manifest, verify
from groundwire_training.card import report_table, write_card

pytestmark = pytest.mark.torch


def measured(f1: float) -> dict[str, Any]:
    """Scores as calibration writes them."""
    characters = {"f1": 0.4, "low": 0.3, "high": 0.5}
    point = {
        **characters,
        "f1": f1,
        "precision": 0.625,
        "recall": 0.75,
        "false_positive_rate": 0.125,
        "characters": characters,
    }
    group = {
        "n": 1234,
        "hallucinated": 0.5,
        "auroc": 0.8125,
        "flag_all_f1": 0.6667,
        "answer_ece": 0.031,
        "answer_ece_by_chance": 0.044,
        "piece_ece_from_0.1": 0.022,
        "points": dict.fromkeys(("precision", "balanced", "recall"), point),
    }
    return {"groups": {"all": group, "QA": group}, "contradicted_auroc": 0.9}


def test_the_card_has_the_measured_numbers_and_the_manifest_its_hash(
    model_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    before = Manifest.read(folder)
    write_card(folder, {"model": measured(0.7), "other": measured(0.71)}, ["\n## Elsewhere\n"])
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    row = "| 1,234 | 50% | 0.812 | 70.0 (30.0 to 50.0) | 62.5 | 75.0 | 66.7 | 40.0 (30.0 to 50.0) |"
    row += " 0.031 (0.044) | 0.022 |"
    assert f"| all {row}" in card
    assert f"| QA {row}" in card
    assert "F1 of answers 70.0 against 71.0" in card
    assert "\n## Elsewhere\n" in card
    assert f"| `balanced` | {before.operating_points['balanced']:g} | 75% | 12.5% |" in card
    after = Manifest.read(folder)
    verify(after)
    assert after.operating_points == before.operating_points
    assert after.raw["answer_calibration"] == before.raw.get("answer_calibration")


def test_what_is_not_defined_is_a_dash() -> None:
    score = {
        "n_answers": 2,
        "n_hallucinated": 0,
        "example": {
            "precision": None,
            "recall": None,
            "f1": None,
            "auroc": 0.5,
            "fpr": 0.5,
            "ci95": {"f1": [None, None], "auroc": [0.25, 0.75]},
        },
        "span": {"f1": None, "ci95": {"f1": [None, None]}},
        "span_lettucedetect": {"f1": None},
        "baseline_flag_all": {"f1": None},
    }
    assert report_table({**score, "tasks": {"news": score}}).splitlines()[-2:] == [
        f"| {name} | 2 | 0 | - | - | - (- to -) | - | 50.0 (25.0 to 75.0) | 50.0 | - (- to -) | - |"
        for name in ("news", "all")
    ]

"""Training the gate: data, split, fit, calibration, model folder."""

import csv
import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from groundwire.errors import DatasetError, InputError
from groundwire.policy.gate import Gate
from groundwire_training import prompts as sets
from groundwire_training.gate import (
    GateRun,
    by_group,
    calibrate,
    fold,
    load,
    tabulate,
    train_gate,
    worth,
)
from groundwire_training.prompts import OWN, PUBLISHED, Prompt, by_source, published, sampled
from groundwire_training.recipe import GateRecipe
from tests.cli.conftest import invoke

PLACES = ("Rome", "Oslo", "Lima", "Cairo", "Paris", "Delhi", "Quito", "Minsk")


def write_rows(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_own(path: Path) -> Path:
    rows = [
        row
        for place in PLACES
        for row in (
            {"prompt": f"When was {place} founded?", "label": 1},
            {"prompt": f"Write a poem about a cat in {place}.", "label": 0},
        )
    ]
    return write_rows(path, rows)


def source_row(dataset: str, needed: int, category: str = "", prompt: str = "x") -> dict[str, Any]:
    return {
        "prompt": prompt,
        "dataset": dataset,
        "needs_fact_check": needed,
        "category": category,
    }


@pytest.mark.parametrize(
    ("row", "is_due"),
    [
        (source_row("triviaqa", 1), True),
        (source_row("gsm8k", 0), False),
        (source_row("t0_quoref", 1, "t0:quoref_Guess_Title_For_Context"), None),
        (source_row("t0_trec", 1, "t0:trec_trec1"), None),
    ],
)
def test_labels_by_source_are_amended(
    tmp_path: Path, row: dict[str, Any], is_due: bool | None
) -> None:
    found = by_source(write_rows(tmp_path / "by_source.jsonl", [row]))
    assert [prompt.is_due for prompt in found] == ([] if is_due is None else [is_due])


@pytest.mark.parametrize(
    ("row", "is_due"),
    [
        (source_row("codealpaca", 0, "code"), False),
        (source_row("dream_dialogue", 0, "chit_chat"), False),
        (source_row("t0_sciq", 1, "t0:sciq_Direct_Question"), True),
        (source_row("t0_wiki", 1, "t0:wiki_qa_exercise"), True),
        (source_row("halueval2", 1, "domain:Bio-Medical"), True),
        (source_row("t0_samsum", 0, "t0:samsum_Summarize_"), True),
        (source_row("t0_samsum", 0, "t0:samsum_Write_a_dialogue_that_match_this_summary"), False),
        (source_row("t0_gigaword", 0, "t0:gigaword_TLDR"), True),
        (source_row("t0_gigaword", 0, "t0:gigaword_make_a_title"), None),
    ],
)
def test_what_is_not_free_for_any_use_is_measured_on_and_not_learned_from(
    tmp_path: Path, row: dict[str, Any], is_due: bool | None
) -> None:
    path = write_rows(tmp_path / "by_source.jsonl", [row])
    assert by_source(path) == []
    measured = by_source(path, withheld=True)
    assert [prompt.is_due for prompt in measured] == ([] if is_due is None else [is_due])


@pytest.mark.parametrize(
    "row",
    [
        source_row("t0_wiki", 1, "t0:wiki_hop_original_explain_relation"),
        source_row("halueval2", 1, "domain:Open-Domain"),
        source_row("mbpp", 0, "code"),
    ],
)
def test_parts_with_free_terms_are_learned_from(tmp_path: Path, row: dict[str, Any]) -> None:
    path = write_rows(tmp_path / "by_source.jsonl", [row])
    assert len(by_source(path)) == 1
    assert by_source(path, withheld=True) == []


def test_a_row_without_a_label_is_refused_by_its_line(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "own.jsonl", [{"prompt": "a", "label": 1}, {"prompt": "b"}])
    with pytest.raises(DatasetError, match=r"own\.jsonl:2: a row needs 'label'"):
        sets.own(path)


def test_at_most_so_many_of_a_set_are_drawn_each_text_once() -> None:
    known = [Prompt(text=str(i % 5), is_due=True, source="a") for i in range(10)]
    drawn = sampled(known, 4, seed=0)
    assert len({prompt.text for prompt in drawn}) == len(drawn) == 4
    assert sampled(known, 4, seed=0) == drawn


# The fourteen published sets, each as a file of two prompts.

FILES: dict[str, tuple[str, Any]] = {
    "squad": (
        "train-v2.0.json",
        {"data": [{"paragraphs": [{"qas": [{"question": "a"}, {"question": "b"}]}]}]},
    ),
    "triviaqa": ("unfiltered-web-train.json", {"Data": [{"Question": "a"}, {"Question": "b"}]}),
    "nq": ("NQ-open.train.jsonl", [{"question": "a", "answer": ["1"]}, {"question": "b"}]),
    "hotpotqa": ("hotpot_train_v1.1.json", [{"question": "a"}, {"question": "b"}]),
    "truthfulqa": ("TruthfulQA.csv", [{"Question": "a"}, {"Question": "b"}]),
    "halueval": ("qa_data.json", [{"question": "a"}, {"question": "b"}]),
    "factchd": ("fact_train_noe.jsonl", [{"query": "a"}, {"query": "b"}]),
    "faithdial": (
        "train.json",
        [{"utterances": [{"history": ["a"]}, {"history": ["a", "x", "b"]}]}],
    ),
    "coqa": (
        "coqa-train-v1.0.json",
        {"data": [{"questions": [{"input_text": "a"}, {"input_text": "b"}]}]},
    ),
    "rag-dataset-12000": ("train.jsonl", [{"question": "a"}, {"question": "b"}]),
    "writingprompts": ("train.wp_source", "[ WP ] a\n[ WP ] b\n"),
    "codesearchnet": ("python_train_0.jsonl.gz", [{"docstring": "a"}, {"docstring": "b"}]),
    "dolly": (
        "databricks-dolly-15k.jsonl",
        [
            {"instruction": "a", "category": "creative_writing"},
            {"instruction": "b", "category": "brainstorming"},
            {"instruction": "c", "category": "open_qa"},
        ],
    ),
    "alpaca": (
        "alpaca_data.json",
        [
            {"instruction": "A poem on", "input": "a"},
            {"instruction": "Tell a joke.", "input": ""},
            {"instruction": "Name the capital", "input": "c"},
        ],
    ),
}
_JSON_LISTS = {"hotpotqa", "faithdial", "alpaca"}


def write_published(folder: Path, name: str) -> None:
    file_name, content = FILES[name]
    path = folder / name / file_name
    path.parent.mkdir(parents=True)
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, ["Question"])
            writer.writeheader()
            writer.writerows(content)
    elif isinstance(content, dict) or name in _JSON_LISTS:
        path.write_text(json.dumps(content), encoding="utf-8")
    else:
        lines = "".join(json.dumps(row) + "\n" for row in content).encode()
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)


def test_there_are_fourteen_published_sets() -> None:
    assert len(PUBLISHED) == 14
    assert PUBLISHED.keys() == FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_a_published_set_is_read_as_it_is_published(tmp_path: Path, name: str) -> None:
    write_published(tmp_path, name)
    found = published(tmp_path)
    expected = {"alpaca": ["A poem on\na", "Tell a joke."]}.get(name, ["a", "b"])
    assert [prompt.text for prompt in found] == expected
    assert {(prompt.source, prompt.is_due) for prompt in found} == {(name, PUBLISHED[name][2])}


def test_a_file_of_another_kind_is_refused_by_its_set(tmp_path: Path) -> None:
    path = tmp_path / "squad" / "train-v2.0.json"
    path.parent.mkdir()
    path.write_text('{"data": [{}]}')
    with pytest.raises(DatasetError, match="published format of squad"):
        published(tmp_path)


# Fitting.


def test_neighbours_stay_in_one_fold(tmp_path: Path) -> None:
    known = [Prompt(text=str(i), is_due=bool(i % 2), source=OWN) for i in range(320)]
    table = tabulate(known, tmp_path, lambda text: None)
    folds = fold(table, np.random.default_rng(0))
    assert set(folds.tolist()) == set(range(8))
    assert sum(a != b for a, b in pairwise(folds)) < 40


def test_one_kind_of_prompt_is_not_enough(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "own.jsonl", [{"prompt": "a", "label": 1}])
    with pytest.raises(InputError, match="both kinds are needed"):
        load(path, GateRecipe())


def test_worth_counts_at_the_threshold() -> None:
    odds = np.log([0.7 / 0.3, 0.55 / 0.45, 0.1 / 0.9])
    found = worth(odds, np.array([True, True, False]))
    assert found["accuracy"] == 0.6667
    assert (found["needed_and_found"], found["needed_and_missed"]) == (1, 1)


def test_groups_are_counted_with_their_intervals() -> None:
    odds = np.array([3.0, 3.0, -3.0, 3.0])
    due = np.array([True, False, False, True])
    found = by_group(odds, due, np.array(["de", "de", "fr", "de"]))
    assert (found["de"]["right"], found["de"]["n"]) == (2, 3)
    assert found["fr"] == {"right": 1, "n": 1, "accuracy": 1.0, "low": 0.2065, "high": 1.0}


def test_calibration_widens_what_was_too_sure(tmp_path: Path) -> None:
    known = [Prompt(text=str(i), is_due=i % 3 > 0, source=OWN) for i in range(40)]
    table = tabulate(known, tmp_path, lambda text: None)
    scale, offset = calibrate(np.where(np.arange(40) % 2, 5.0, -5.0), table)
    assert scale < 1
    assert np.isfinite(offset)


def test_a_gate_is_trained_twice_alike_and_opens(tmp_path: Path) -> None:
    data = write_own(tmp_path / "own.jsonl")
    said: list[str] = []
    folders = [
        train_gate(GateRun(data=data, out=tmp_path / out), said.append) for out in ("a", "b")
    ]
    one, other = ((folder / "head.npz").read_bytes() for folder in folders)
    assert one == other
    gate = Gate.load(folders[0])
    assert gate.classify("When was Lima founded?").needs_fact_check
    assert not gate.classify("Write a poem about a cat in Oslo.").needs_fact_check


def test_a_second_run_finds_the_embeddings_of_the_first(tmp_path: Path) -> None:
    data = write_own(tmp_path / "own.jsonl")
    train_gate(GateRun(data=data, out=tmp_path), lambda text: None)
    said: list[str] = []
    train_gate(GateRun(data=data, out=tmp_path), said.append)
    assert not [text for text in said if text.startswith("Embedded")]


def test_the_command_trains_a_gate(tmp_path: Path) -> None:
    data = write_own(tmp_path / "own.jsonl")
    result = invoke("train", "gate", "--data", data, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    result = invoke("gate", "--model", tmp_path / "run" / "model", "When was Oslo founded?")
    assert result.stdout.startswith("needs check")

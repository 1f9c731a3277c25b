"""``groundwire train reader``, from labelled answers to a model folder."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

import torch
from safetensors.torch import load_file, save_file

from groundwire import Detector
from groundwire.detection.evidence import WordWeights
from groundwire.engine.models import Manifest, verify
from groundwire.engine.tokenizer import WordPieces
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training import data, rows
from groundwire_training.loop import Loader, Recipe, optimizer_of, train
from groundwire_training.lora import TARGETS, add_adapters, merged
from groundwire_training.model import Reader
from groundwire_training.recipe import Lora
from groundwire_training.report import Logged
from groundwire_training.rows import RowError, TooFewContextsError
from groundwire_training.sets import LabelledContext
from groundwire_training.steps import Steps
from tests.cli.conftest import invoke
from tests.training.conftest import Exported
from tests.training.test_loop import shallow

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]


def own_rows(n_contexts: int = 6) -> list[dict[str, Any]]:
    """Of each context a right and a wrong answer."""
    found: list[dict[str, Any]] = []
    for i in range(n_contexts):
        context = [f"The tower of town {i} was built in 19{i:02}.", "It is open."]
        row = {"sources": context, "question": "When was it built?"}
        wrong = [{"start": 16, "end": 20, "label": "contradicted"}]
        found += [
            {**row, "answer": f"It was built in 19{i:02}.", "spans": []},
            {**row, "answer": "It was built in 1850.", "spans": wrong},
        ]
    return found


def write_own(path: Path, found: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return path


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return write_own(tmp_path / "own.jsonl", own_rows())


@pytest.fixture
def start(exported: Exported, tmp_path: Path) -> Path:
    path = tmp_path / "start.safetensors"
    save_file({name: t.half() for name, t in exported.model.state_dict().items()}, path)
    return path


# A file of one's own.


def test_a_row_is_sources_a_question_an_answer_and_its_spans(tmp_path: Path) -> None:
    first = {"context": "The tower is red.", "answer": "It is blue, new."}
    spans = [{"start": 6, "end": 10, "label": "contradicted"}, {"start": 12, "end": 15}]
    path = write_own(
        tmp_path / "own.jsonl",
        [
            {**first, "spans": spans},
            {**first, "answer": "It is red.", "spans": []},
            {**first, "question": "Why?", "answer": "So.", "spans": []},
        ],
    )
    one, other = rows.read(path)
    assert [source.text for source in one.sources] == ["The tower is red."]
    assert one.question is None
    assert one.answers == (
        MarkedAnswer("It is blue, new.", ((6, 10, 2), (12, 15, 1))),
        MarkedAnswer("It is red.", ()),
    )
    assert (other.question, other.answers) == ("Why?", (MarkedAnswer("So.", ()),))


def test_a_file_may_be_packed_and_have_blank_lines(tmp_path: Path, own: Path) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(b"\n" + own.read_bytes() + b"\n\n"))
    assert [r.answers for r in rows.read(packed)] == [r.answers for r in rows.read(own)]


GOOD: dict[str, Any] = {"context": "a", "answer": "It is so.", "spans": []}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", r"not JSON: .* Write one JSON object a line"),
        ("[]", r"not a JSON object. Write \{"),
        ('{"context": "a\ud800"}'.encode("utf-8", "surrogatepass"), "not UTF-8"),
        ({"answer": "a", "spans": []}, "neither sources nor context. Give one"),
        ({**GOOD, "sources": ["b"]}, "has sources and context. Give one"),
        ({"context": "a", "spans": []}, r"no answer, only 'context', 'spans'. Add"),
        ({**GOOD, "answer": " "}, "answer is empty"),
        ({**GOOD, "context": 7}, "Source 0 cannot be read"),
        ({"context": "a", "answer": "b"}, r'no list of spans.*"spans": \[\] if none'),
        ({**GOOD, "spans": [3]}, "span 3 is not an object"),
        ({**GOOD, "spans": [{"start": 0, "end": 10}]}, "end 10, and the answer 9 characters"),
        ({**GOOD, "spans": [{"start": 4, "end": 4}]}, "0 <= start < end"),
        ({**GOOD, "spans": [{"start": True, "end": 4}]}, "start True"),
        ({**GOOD, "spans": [{"start": 2, "end": 3}]}, "marks white space alone"),
        ({**GOOD, "spans": [{"start": 0, "end": 2, "label": "bad"}]}, "one of unsupported, contra"),
    ],
)
def test_what_is_wrong_with_a_row_is_told_with_its_line(
    tmp_path: Path, row: object, problem: str
) -> None:
    path = tmp_path / "own.jsonl"
    text = row if isinstance(row, bytes) else str(row) if isinstance(row, str) else json.dumps(row)
    line = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(json.dumps(GOOD).encode() + b"\n\n" + line + b"\n")
    with pytest.raises(RowError, match=problem) as caught:
        rows.read(path)
    assert str(caught.value).startswith(f"{path}:3: ")


def test_a_damaged_file_is_told(tmp_path: Path, own: Path) -> None:
    packed = tmp_path / "own.jsonl.gz"
    packed.write_bytes(gzip.compress(own.read_bytes())[:-9])
    with pytest.raises(RowError, match="breaks off after this line"):
        rows.read(packed)


def test_a_tenth_of_the_contexts_is_held_out_with_all_their_answers(tmp_path: Path) -> None:
    found = own_rows(30)
    found += [{**row, "question": "And?"} for row in found]
    path = write_own(tmp_path / "own.jsonl", found)
    held, known = rows.split(path, rows.read(path))
    sides = [{record.sources[0].text for record in side} for side in (held, known)]
    assert [len(side) for side in sides] == [3, 27]
    assert not sides[0] & sides[1]
    assert sum(len(record.answers) for record in (*held, *known)) == 120
    assert rows.split(path, rows.read(path)) == (held, known)


def test_one_context_is_too_few(tmp_path: Path) -> None:
    path = write_own(tmp_path / "own.jsonl", own_rows(1))
    with pytest.raises(TooFewContextsError, match="1 different contexts, and at least 2"):
        rows.split(path, rows.read(path))


# The command.


def test_from_labelled_answers_to_a_detector(own: Path, start: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = ("train", "reader", "--data", own, "--out", out, "--start", start, "--threads", 1)
    result = invoke(*command, "--device", "cpu", "--steps", 2, "--answers", 2)
    assert result.exit_code == 0, result.output
    assert "step 2 of 2: loss " in result.stderr
    assert f"Model: {out / 'model'}" in result.stderr
    # Six contexts leave one to measure with, and no other to judge its answers by.
    assert "Calibrated on 2 validation answers, which are too few to measure" in result.stderr
    manifest = Manifest.read(out / "model")
    verify(manifest)
    assert set(manifest.operating_points) == {"precision", "balanced", "recall"}
    with Detector.load(out / "model", threads=1) as detector:
        detection = detector.detect(sources=["The tower is red."], answer="The tower is blue.")
    assert detection.detector.threshold == manifest.operating_points["balanced"]
    assert detection.claims[0].probability is not None

    again = invoke(*command, "--device", "cpu", "--steps", 2, "--answers", 2)
    assert again.exit_code == 2
    assert "has a run already. Continue it with --resume" in again.stderr
    other = invoke(*command, "--device", "cpu", "--steps", 2, "--answers", 1, "--resume")
    assert other.exit_code == 2
    assert "answers was 2 and is now 1" in other.stderr


def test_answers_of_one_kind_leave_the_calibration_as_it_is(
    start: Path, tmp_path: Path, model_folder: Path
) -> None:
    own = write_own(tmp_path / "own.jsonl", [row for row in own_rows(3) if not row["spans"]])
    out = tmp_path / "run"
    result = invoke(
        *("train", "reader", "--data", own, "--out", out, "--start", start),
        *("--device", "cpu", "--steps", 1, "--threads", 1),
    )
    assert result.exit_code == 0, result.output
    assert "Not calibrated: of 1 validation answers 0 have marked words" in result.stderr
    shipped = Manifest.read(model_folder)
    assert Manifest.read(out / "model").operating_points == shipped.operating_points


def test_a_wrong_row_ends_the_command_with_a_message(
    own: Path, start: Path, tmp_path: Path
) -> None:
    own.write_text(own.read_text() + "{}\n")
    result = invoke("train", "reader", "--data", own, "--out", tmp_path / "run", "--start", start)
    assert result.exit_code == 2
    assert f"error: {own}:13: The row has neither sources nor context." in result.stderr


def test_weights_of_something_else_are_refused(own: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.safetensors"
    save_file({"a": torch.zeros(1)}, wrong)
    result = invoke("train", "reader", "--data", own, "--out", tmp_path / "run", "--start", wrong)
    assert result.exit_code == 2
    assert "Training cannot start from" in result.stderr
    assert "such as the reader.safetensors of a run" in result.stderr


def test_ctrl_c_says_how_to_go_on(
    own: Path, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(self: Steps, number: int, loss: float) -> None:
        del loss
        self.n_done = number
        if number == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Steps, "step", step)
    result = invoke(
        *("train", "reader", "--data", own, "--out", tmp_path / "run", "--start", start),
        *("--device", "cpu", "--steps", 3, "--checkpoint-every", 1, "--threads", 1),
    )
    assert result.exit_code == 130
    assert "Stopped after step 2. The same command with --resume goes on after step 1." in (
        result.stderr
    )


# The loop.


class Interrupted(Logged):
    """Somebody presses Ctrl-C after a step."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after

    def step(self, number: int, loss: float) -> None:
        super().step(number, loss)
        if number == self._after:
            raise KeyboardInterrupt


@pytest.fixture
def loader(own: Path, pieces: WordPieces, words: WordWeights) -> Loader:
    return Loader(own, pieces, words, RECIPE)


RECIPE = Recipe(steps=4, ragtruth_per_step=2, answers=2, warmup=2)


@pytest.mark.parametrize("lora", [None, Lora(rank=2, alpha=4)])
def test_a_run_that_was_interrupted_ends_with_the_same_weights(
    loader: Loader, tmp_path: Path, lora: Lora | None
) -> None:
    def model() -> Reader:
        made = shallow(seed=0)
        if lora:
            add_adapters(made, lora)
        return made

    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    train(RECIPE, loader, model(), tmp_path / "whole", resume=False)
    with pytest.raises(KeyboardInterrupt):
        train(
            RECIPE,
            loader,
            model(),
            tmp_path / "parts",
            resume=False,
            checkpoint_every=2,
            report=Interrupted(3),
        )
    train(RECIPE, loader, model(), tmp_path / "parts", resume=True)
    whole, parts = (
        load_file(tmp_path / name / "reader.safetensors") for name in ("whole", "parts")
    )
    assert whole.keys() == parts.keys()
    for name, weight in whole.items():
        assert torch.equal(weight, parts[name]), name


# Adapters.


def test_adapters_begin_as_nothing_and_alone_learn_with_heads_and_features(
    record: LabelledContext, pieces: WordPieces, words: WordWeights, loader: Loader, tmp_path: Path
) -> None:
    model = shallow(seed=0).eval()
    evidence = data.evidence_of(record, pieces, words)
    sentences = data.sentences_of(record, evidence, pieces)
    asked = pieces.encode(record.question or "").ids
    group = data.group_of(sentences, evidence.passages, asked, pieces)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        plain = model(group)[0]
        add_adapters(model, Lora())
        assert torch.equal(model.eval()(group)[0], plain)
    layer = "layers.0."
    expected = {
        f"{layer}{name}.lora_{part}.default.weight" for name in TARGETS for part in ("A", "B")
    }
    expected |= {
        f"{head}.{kind}" for head in ("head", "sentence_head") for kind in ("weight", "bias")
    }
    expected |= {"feat.weight", "role.weight"}
    assert {name for name, p in model.named_parameters() if p.requires_grad} == expected
    n_learning = sum(len(part["params"]) for part in optimizer_of(model, 1e-3, 1e-2).param_groups)
    assert n_learning == len(expected)

    train(RECIPE, loader, model, tmp_path, resume=False)
    after = load_file(tmp_path / "reader.safetensors")
    changed = {name for name, tensor in after.items() if not torch.equal(tensor, before[name])}
    assert after.keys() == before.keys()
    assert changed >= {f"{layer}{name}.weight" for name in TARGETS} | {"head.weight"}
    assert not {name for name in changed if name.startswith(("word", "pos", "ln"))}

    alone = Reader()
    alone.layers = alone.layers[:1]
    alone.load_state_dict(merged(model))
    with torch.inference_mode():
        for one, other in zip(alone.eval()(group), model.eval()(group), strict=True):
            assert torch.allclose(one, other, atol=1e-5)

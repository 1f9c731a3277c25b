"""Encoders of the Hugging Face hub, fine-tuned into detectors."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from groundwire.detection.example import read_sources
from groundwire.engine.checkpoints import load_checkpoint
from groundwire.engine.classifier import Classifier, Frame
from groundwire.engine.token_classifier import TokenClassifierSession
from groundwire.engine.windowing import TokenClassifier
from groundwire.errors import InputError, UnpinnedModelError
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.encoder import (
    EncoderRun,
    Inputs,
    Loss,
    class_weights,
    records_of,
    train_encoder,
    with_adapters,
)
from groundwire_training.recipe import EncoderRecipe, Lora
from groundwire_training.report import Logged
from groundwire_training.sets import LabelledContext
from tests.cli.conftest import invoke
from tests.engine.test_checkpoints import KINDS, SIZES
from tests.tiny import byte_tokenizer, word_tokenizer
from tests.training.test_loop import write_records

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]

RECORD = LabelledContext(
    id="1",
    task="own",
    sources=read_sources(["paris is the capital of france .", "rome has a river ."]),
    question="what is big",
    answers=(
        MarkedAnswer("rome is in germany .", ((11, 18, 2),)),
        MarkedAnswer("rome has a river .", ()),
    ),
)


def own_data(path: Path, n_contexts: int = 5) -> Path:
    rows: list[dict[str, Any]] = []
    for letter in "abcdefgh"[:n_contexts]:
        row = {"context": f"paris {letter} is the capital of france .", "question": "what"}
        wrong = {"start": 0, "end": 4}
        rows += [
            {**row, "answer": f"rome {letter} is the capital", "spans": [wrong]},
            {**row, "answer": f"paris {letter} is the capital", "spans": []},
        ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_base(folder: Path, kind: str, tokenizer: Tokenizer) -> Path:
    """An encoder that knows nothing and has no classifier, as ``save_pretrained`` writes it."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **{**SIZES, **KINDS[kind]})
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]"
    ).save_pretrained(folder)
    return folder


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    return write_base(tmp_path / "bert", "bert", word_tokenizer())


# What goes in.


class Node:
    type = "tensor(int64)"

    def __init__(self, name: str) -> None:
        self.name = name


class Recorded:
    """Stands for the graph of a deployed model: it keeps what it is fed, and supports nothing."""

    def __init__(self) -> None:
        self.fed: list[tuple[list[int], list[int]]] = []

    def get_inputs(self) -> list[Node]:
        return [Node(n) for n in ("input_ids", "attention_mask", "token_type_ids")]

    def get_outputs(self) -> list[Node]:
        return [Node("logits")]

    def run(
        self, names: list[str], feeds: Mapping[str, NDArray[np.int64]]
    ) -> list[NDArray[np.float32]]:
        del names
        self.fed.append((feeds["input_ids"][0].tolist(), feeds["token_type_ids"][0].tolist()))
        return [np.zeros((*feeds["input_ids"].shape, 2), np.float32)]


def deployed(tokenizer: Tokenizer, max_length: int) -> tuple[TokenClassifier, Recorded]:
    session = Recorded()
    classifier = Classifier(
        name="tiny",
        revision="1",
        labels=(1,),
        n_labels=2,
        max_length=max_length,
        tokenizer=tokenizer,
        frame=Frame.of(tokenizer, {}),
        session=session,
    )
    return TokenClassifier(classifier), session


@pytest.mark.parametrize("question", [None, "what is big", "what is big " * 9])
@pytest.mark.parametrize("long", [False, True])
def test_training_sees_what_the_deployed_model_is_fed(question: str | None, long: bool) -> None:
    tokenizer = word_tokenizer()
    inputs = Inputs(tokenizer, Frame.of(tokenizer, {}), 64, 2)
    padding = " and many people ." * (40 if long else 1)
    sources = read_sources([RECORD.sources[0].text + padding, RECORD.sources[1].text])
    for answer in ("rome has a river .", "rome has a river . " * (12 if long else 1)):
        record = LabelledContext("1", "own", sources, question, (MarkedAnswer(answer, ()),))
        model, session = deployed(tokenizer, 64)
        model.read(TokenClassifierSession.join(sources), question, answer)
        learned = [(s.ids.tolist(), s.types.tolist()) for s in inputs.sequences(record)]
        assert learned
        assert all(sequence in session.fed for sequence in learned)
        assert long or learned == session.fed


def test_word_pieces_of_the_answer_alone_have_labels() -> None:
    tokenizer = word_tokenizer()
    for n_labels, label in ((2, 1), (3, 2)):
        inputs = Inputs(tokenizer, Frame.of(tokenizer, {}), 64, n_labels)
        wrong, right = inputs.sequences(RECORD)
        told = [
            (tokenizer.id_to_token(int(piece)), int(target))
            for piece, target in zip(wrong.ids, wrong.labels, strict=True)
            if target >= 0
        ]
        assert (
            told == [("rome", 0), ("is", 0), ("in", 0), ("germany", label), (".", 0)][-len(told) :]
        )
        assert wrong.labels[-1] == -100
        assert set(right.labels.tolist()) == {-100, 0}


def test_of_a_long_context_the_part_that_is_most_like_the_answer_is_learned_from() -> None:
    tokenizer = word_tokenizer()
    inputs = Inputs(tokenizer, Frame.of(tokenizer, {}), 32, 2)
    text = "paris is big . " * 20 + "berlin was built in 1889 . " + "paris is big . " * 20
    record = LabelledContext(
        "1", "own", read_sources([text]), None, (MarkedAnswer("berlin in 1889", ()),)
    )
    (sequence,) = inputs.sequences(record)
    assert len(sequence.ids) <= 32
    assert {tokenizer.token_to_id("berlin"), tokenizer.token_to_id("1889")} <= set(
        sequence.ids[sequence.labels < 0].tolist()
    )


# The loss.


def test_the_loss_is_the_mean_over_all_passes_of_a_step() -> None:
    torch.manual_seed(0)
    logits, labels = torch.randn(2, 3, 2), torch.tensor([[0, 1, -100], [1, -100, -100]])
    whole = Loss(None)({"logits": logits}, labels)
    parts = [Loss(None)({"logits": logits[i : i + 1]}, labels[i : i + 1], 3) for i in (0, 1)]
    assert float(sum(parts)) == pytest.approx(float(whole))
    double = Loss(torch.tensor([2.0, 2.0]))({"logits": logits}, labels)
    assert float(double) == pytest.approx(2 * float(whole))


def run_of(base: Path, data: Path, out: Path, **options: Any) -> EncoderRun:  # noqa: ANN401
    recipe = EncoderRecipe(epochs=2, batch_size=2, rate=1e-2, max_length=64)
    options = {"recipe": recipe, "threads": 1, "checkpoint_every": 2, **options}
    return EncoderRun(base=str(base), data=data, out=out, **options)


def test_rare_classes_weigh_more_if_asked(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    inputs = Inputs(tokenizer, Frame.of(tokenizer, {}), 64, 2)
    sequences = list(inputs.sequences(RECORD))
    n = sum(int((s.labels >= 0).sum()) for s in sequences)
    run = run_of(tmp_path, tmp_path, tmp_path, class_weights="balanced")
    n_bad = sum(int((s.labels == 1).sum()) for s in sequences)
    assert class_weights(run, sequences) == pytest.approx([n / (2 * (n - n_bad)), n / (2 * n_bad)])
    with pytest.raises(InputError, match="3 class weights and 2 classes"):
        class_weights(run_of(tmp_path, tmp_path, tmp_path, class_weights=(1.0, 2.0, 3.0)), [])


# The run.


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "lora"),
    [
        ("bert", ()),
        pytest.param("modernbert", ("--lora", "--lora-rank", 2), marks=pytest.mark.nightly),
    ],
)
def test_what_comes_out_is_a_checkpoint_that_the_engine_opens(
    tmp_path: Path, kind: str, lora: tuple[object, ...]
) -> None:
    tokenizer = byte_tokenizer() if kind == "modernbert" else word_tokenizer()
    base, out = write_base(tmp_path / "base", kind, tokenizer), tmp_path / "run"
    result = invoke(
        *("train", "encoder", "--base", base, "--data", own_data(tmp_path / "own.jsonl")),
        *("--out", out, "--device", "cpu", "--threads", 1, "--epochs", 1, "--batch-size", 4),
        *("--accumulate", 2, "--labels", 3, "--max-length", 64, *lora),
    )
    assert result.exit_code == 0, result.output
    assert "8 sequences to train with, 2 to measure with." in result.stderr
    assert "step 1 of 1: loss " in result.stderr
    assert "validation: F1 of answers " in result.stderr
    config = json.loads((out / "model" / "config.json").read_text())
    assert list(config["id2label"].values()) == ["supported", "unsupported", "contradicted"]
    assert not [name for name in load_file(out / "model" / "model.safetensors") if "lora" in name]
    model = load_checkpoint(out / "model", threads=1, cache_dir=tmp_path / "cache")
    assert model.max_length == 64
    scores = model.read("paris is the capital", None, "rome is the capital")
    assert np.isfinite(scores.probabilities).all()
    assert len(scores.probabilities)


def test_merged_adapters_say_what_adapters_said(bert: Path) -> None:
    from transformers import AutoModelForTokenClassification

    torch.manual_seed(0)
    plain = AutoModelForTokenClassification.from_pretrained(bert)
    model = with_adapters(plain, Lora(rank=2)).eval()
    learning = {name for name, p in model.named_parameters() if p.requires_grad}
    assert all("lora_" in name or "classifier" in name for name in learning)
    assert any("classifier" in name for name in learning)
    assert any("lora_B" in name for name in learning)
    ids = torch.arange(5, 20)[None]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
        adapted = model(input_ids=ids).logits
        found = model.merge_and_unload()(input_ids=ids).logits
    assert torch.allclose(found, adapted, atol=1e-5)


class Interrupted(Logged):
    def step(self, number: int, loss: float) -> None:
        super().step(number, loss)
        if number == 3:
            raise KeyboardInterrupt


@pytest.mark.parametrize("lora", [None, pytest.param(Lora(rank=2), marks=pytest.mark.nightly)])
def test_a_run_that_was_interrupted_ends_with_the_same_weights(
    bert: Path, tmp_path: Path, lora: Lora | None
) -> None:
    data = own_data(tmp_path / "own.jsonl")
    whole = train_encoder(run_of(bert, data, tmp_path / "whole", lora=lora), Logged())
    with pytest.raises(KeyboardInterrupt):
        train_encoder(run_of(bert, data, tmp_path / "parts", lora=lora), Interrupted())
    with pytest.raises(InputError, match="Continue it with --resume"):
        train_encoder(run_of(bert, data, tmp_path / "parts", lora=lora), Logged())
    parts = train_encoder(run_of(bert, data, tmp_path / "parts", lora=lora, resume=True), Logged())
    one, other = (load_file(folder / "model.safetensors") for folder in (whole, parts))
    assert one.keys() == other.keys()
    for name, weight in one.items():
        assert torch.equal(weight, other[name]), name


def test_a_hub_model_without_a_commit_is_refused_before_anything_is_fetched(
    tmp_path: Path,
) -> None:
    data = own_data(tmp_path / "own.jsonl")
    run = run_of(Path("someone/some-model"), data, tmp_path / "run")
    with pytest.raises(UnpinnedModelError, match="full commit hash"):
        train_encoder(run, Logged())


def test_of_a_folder_of_sets_contexts_are_held_out_and_slots_written_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_records(tmp_path)
    monkeypatch.setattr("groundwire_training.encoder.VALIDATION_CONTEXTS", 2)
    held, known = records_of(tmp_path, 0)
    assert [record.task for record in held] == ["QA"] * 2 + ["slots-towns"] * 2
    assert [record.task for record in known] == ["QA"] * 4 + ["slots-towns"] * 6
    for record in (*held[2:], *known[4:]):
        assert [bool(answer.spans) for answer in record.answers] == [False, True, True, True]

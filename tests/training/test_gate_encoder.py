"""The gate by the published recipe, on a tiny encoder."""

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import transformers

from groundwire.errors import UnpinnedModelError
from groundwire_training.gate_encoder import GateEncoderRun, train_gate_encoder
from groundwire_training.recipe import EncoderRecipe, Lora
from groundwire_training.report import Logged
from tests.engine.test_checkpoints import SIZES
from tests.tiny import word_tokenizer
from tests.training.test_gate import write_own

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]


def test_the_numbers_are_those_published() -> None:
    run = GateEncoderRun(base="a", data=Path("a"), out=Path("b"))
    assert (run.lora.rank, run.lora.alpha, run.lora.dropout) == (16, 32, 0.1)
    assert (run.recipe.rate, run.recipe.epochs) == (2e-5, 3)


def test_an_encoder_is_fine_tuned_into_a_classifier_of_prompts(tmp_path: Path) -> None:
    base = tmp_path / "base"
    config = transformers.AutoConfig.for_model("bert", **SIZES)
    model = transformers.AutoModel.from_config(config)  # type: ignore[no-untyped-call]
    model.save_pretrained(base)
    tokenizer = transformers.PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=word_tokenizer(), cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]"
    )
    tokenizer.save_pretrained(base)
    run = GateEncoderRun(
        base=str(base),
        data=write_own(tmp_path / "own.jsonl"),
        out=tmp_path / "run",
        recipe=EncoderRecipe(epochs=1, max_length=64),
        lora=Lora(rank=2),
    )
    folder = train_gate_encoder(run, Logged())
    trained = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    assert trained.config.id2label == {0: "NO_FACT_CHECK_NEEDED", 1: "FACT_CHECK_NEEDED"}


def test_a_hub_model_needs_its_commit(tmp_path: Path) -> None:
    run = GateEncoderRun(
        base="answerdotai/ModernBERT-base",
        data=write_own(tmp_path / "own.jsonl"),
        out=tmp_path / "run",
    )
    with pytest.raises(UnpinnedModelError):
        train_gate_encoder(run, Logged())

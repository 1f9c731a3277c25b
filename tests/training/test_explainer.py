"""The explainer: an encoder that is fine-tuned, and the embedded head that is calibrated."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import transformers

from groundwire.detection.values import EvidenceRef
from groundwire.engine.entailment import EntailmentModel
from groundwire.engine.models import Manifest, find_model, verify
from groundwire.errors import InputError, UnpinnedModelError
from groundwire.explain import Explainer
from groundwire_training.explainer import ExplainerRun, train_explainer
from groundwire_training.pairs import Pair, read_pairs, split_pairs
from groundwire_training.recipe import EncoderRecipe, Lora, RunExistsError
from groundwire_training.report import Logged
from groundwire_training.rows import RowError
from tests.engine.test_checkpoints import SIZES
from tests.tiny import word_tokenizer
from tests.training.conftest import write

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]

RECIPE = EncoderRecipe(epochs=1, max_length=64)
PLACES = ("paris", "rome", "berlin", "germany", "france", "italy")


def write_own(path: Path) -> Path:
    """Claims about places: the same place is entailed, another one contradicts."""
    rows: list[dict[str, Any]] = []
    for i, place in enumerate(PLACES):
        other = PLACES[(i + 1) % len(PLACES)]
        evidence = f"The tower was built in {place} in 18{10 + i}."
        rows += [
            {
                "evidence": evidence,
                "claim": f"The tower was built in {place}.",
                "label": "entailment",
            },
            {"premise": evidence, "hypothesis": f"The tower was built in {other}.", "label": 2},
            {
                "sentence1": evidence,
                "sentence2": "A river is big.",
                "gold_label": "neutral",
            },
        ]
    return write(path, rows)


def write_base(folder: Path, **config: object) -> Path:
    """A tiny BERT with random weights: an encoder, or a classifier if classes are named."""
    settings = transformers.AutoConfig.for_model("bert", **{**SIZES, "num_labels": 3, **config})
    kind = (
        transformers.AutoModelForSequenceClassification
        if "id2label" in config
        else transformers.AutoModel
    )
    kind.from_config(settings).save_pretrained(folder)  # type: ignore[no-untyped-call]
    tokenizer = transformers.PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=word_tokenizer(), cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]"
    )
    tokenizer.save_pretrained(folder)
    return folder


def run_of(tmp_path: Path, base: Path | str | None, **changes: object) -> ExplainerRun:
    given: dict[str, Any] = {
        "base": None if base is None else str(base),
        "data": write_own(tmp_path / "own.jsonl"),
        "out": tmp_path / "run",
        "recipe": RECIPE,
    }
    return ExplainerRun(**{**given, **changes})


class Said(Logged):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def say(self, text: str) -> None:
        self.texts.append(text)


# The data.


def test_rows_have_our_keys_or_those_of_snli(tmp_path: Path) -> None:
    pairs = read_pairs(write_own(tmp_path / "own.jsonl.gz"))
    assert [pair.label for pair in pairs[:3]] == [0, 2, 1]
    assert len({pair.evidence for pair in pairs[:3]}) == 1
    assert read_pairs(tmp_path) == pairs  # a folder: each of its files


def test_a_row_whose_annotators_did_not_agree_is_left_out(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"premise": "a", "hypothesis": "b", "label": -1},
        {"premise": "a", "hypothesis": "b", "gold_label": "-"},
        {"premise": ["a", "c"], "hypothesis": "b", "label": "ENTAILMENT"},
    ]
    assert read_pairs(write(tmp_path / "own.jsonl", rows)) == [Pair("a\nc", "b", 0)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"premise": "a", "hypothesis": "b", "label": "not_entailment"}, "two classes are too few"),
        ({"premise": "a", "hypothesis": "b", "label": 3}, "The label is 3"),
        ({"premise": "a", "hypothesis": "b", "label": True}, "The label is True"),
        ({"premise": "a", "label": 0}, "none of claim, hypothesis, answer, sentence2"),
        ({"premise": " ", "hypothesis": "b", "label": 0}, "The premise of the row is not a text"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(
    tmp_path: Path, row: dict[str, Any], message: str
) -> None:
    with pytest.raises(RowError, match=rf"own\.jsonl:1: .*{message}"):
        read_pairs(write(tmp_path / "own.jsonl", [row]))


def test_a_file_without_labels_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "own.jsonl", [{"premise": "a", "hypothesis": "b", "label": -1}])
    with pytest.raises(InputError, match="no row with a label"):
        read_pairs(path)


def test_claims_with_the_same_evidence_are_on_one_side(tmp_path: Path) -> None:
    path = write_own(tmp_path / "own.jsonl")
    held, known = split_pairs(path, read_pairs(path))
    assert held
    assert known
    assert not {pair.evidence for pair in held} & {pair.evidence for pair in known}


# An encoder.


@pytest.mark.nightly
def test_an_encoder_is_fine_tuned_into_an_explainer(tmp_path: Path) -> None:
    report = Said()
    folder = train_explainer(run_of(tmp_path, write_base(tmp_path / "base")), report)
    model = EntailmentModel(folder, cache_dir=tmp_path / "cache")
    found = model.judge("The tower was built in rome.", "The tower was built in paris.")
    assert found.entailment + found.neutral + found.contradiction == pytest.approx(1, abs=1e-5)
    assert report.texts[0] == "15 claims to train with, 3 to measure with."
    assert "mean F1 of the classes" in report.texts[-1]


def test_a_base_that_is_an_nli_model_keeps_the_order_of_its_classes(tmp_path: Path) -> None:
    base = write_base(
        tmp_path / "base", id2label={0: "contradiction", 1: "ENTAILMENT", 2: "neutral"}
    )
    folder = train_explainer(run_of(tmp_path, base, lora=Lora(rank=2)), Logged())
    config = transformers.AutoConfig.from_pretrained(folder)
    assert config.id2label == {0: "contradiction", 1: "entailment", 2: "neutral"}


def test_a_run_goes_on_only_when_asked_to(tmp_path: Path) -> None:
    run = run_of(tmp_path, write_base(tmp_path / "base"), checkpoint_every=1)
    train_explainer(run, Logged())
    with pytest.raises(RunExistsError, match="--resume"):
        train_explainer(run, Logged())
    resumed = run_of(tmp_path, tmp_path / "base", checkpoint_every=1, resume=True)
    assert (train_explainer(resumed, Logged()) / "model.safetensors").exists()


def test_a_hub_model_needs_its_commit(tmp_path: Path) -> None:
    with pytest.raises(UnpinnedModelError):
        train_explainer(run_of(tmp_path, "tasksource/ModernBERT-base-nli"), Logged())


# The embedded head.


def test_without_a_base_the_embedded_head_is_calibrated_and_not_trained(tmp_path: Path) -> None:
    report = Said()
    folder = train_explainer(run_of(tmp_path, None), report)
    manifest, embedded = Manifest.read(folder), find_model()
    verify(manifest)
    assert manifest.revision == embedded.revision
    changed = {key for key in manifest.raw if manifest.raw[key] != embedded.raw.get(key)}
    assert changed == {"lines_calibration"}
    assert "18 claims, cross-fitted: cross entropy" in report.texts[0]
    explainer = Explainer.load(folder, threads=1)
    assert explainer.name == str(folder)
    line = EvidenceRef(source_id="S0", start=0, end=9, text="It is red")
    assert explainer.judge("It is red.", (line,)).is_calibrated


def test_claims_of_one_kind_cannot_be_fitted(tmp_path: Path) -> None:
    data = write(tmp_path / "one.jsonl", [{"evidence": "It is red.", "claim": "Red.", "label": 0}])
    with pytest.raises(InputError, match="Both kinds are needed"):
        train_explainer(run_of(tmp_path, None, data=data), Logged())

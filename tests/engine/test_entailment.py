"""Published NLI models: which class is which, windows, and what the graph says of a pair."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundwire.detection.values import Entailment
from groundwire.engine.entailment import EntailmentModel, entailment_labels
from groundwire.errors import (
    DetectionError,
    ModelError,
    UnpinnedModelError,
    UnreadableError,
)
from groundwire.explain import Explainer
from tests.engine.test_checkpoints import SIZES, first_of
from tests.explain.marked import detected
from tests.tiny import pair_graph, word_tokenizer, write_checkpoint

NAMES = {"0": "entailment", "1": "neutral", "2": "contradiction"}
#: "italy" entails, "germany" contradicts, whatever the claim is.
ROWS = {"italy": (3.0, 0.0, 0.0), "germany": (0.0, 0.0, 2.0)}


def tiny(
    folder: Path, rows: dict[str, Any] | None = None, *, n_labels: int = 3, **config: object
) -> Path:
    """An NLI model on disk."""
    tokenizer = word_tokenizer()
    return write_checkpoint(
        folder,
        tokenizer=tokenizer,
        config={
            "architectures": ["BertForSequenceClassification"],
            "id2label": NAMES,
            **config,
        },
        graph=pair_graph(tokenizer, ROWS if rows is None else rows, n_labels=n_labels),
    )


def shares(found: Entailment) -> tuple[float, float, float]:
    return found.entailment, found.neutral, found.contradiction


# Which class is which.


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (("ENTAILMENT", "NEUTRAL", "CONTRADICTION"), (0, 1, 2)),
        (("contradiction", "entailment", "neutral"), (1, 2, 0)),
        (("Contradictory", "neutral", "entails"), (2, 1, 0)),
    ],
)
def test_the_names_of_the_classes_tell_their_order(
    names: tuple[str, ...], order: tuple[int, ...]
) -> None:
    config = {"id2label": {str(i): name for i, name in enumerate(names)}}
    assert entailment_labels(config) == order


@pytest.mark.parametrize(
    "names",
    [
        ("LABEL_0", "LABEL_1", "LABEL_2"),
        ("entailment", "not_entailment"),
        ("entailment", "not_entailment", "neutral"),
        ("entailment", "neutral", "contradiction", "other"),
        ("entailment", "entailed", "contradiction"),
        (),
    ],
)
def test_classes_that_do_not_say_are_never_guessed(names: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match="id2label") as caught:
        entailment_labels({"id2label": {str(i): name for i, name in enumerate(names)}})
    assert str(list(names)) in str(caught.value)


def test_a_model_whose_classes_do_not_say_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="'LABEL_0', 'LABEL_1', 'LABEL_2'"):
        Explainer.load(tiny(tmp_path, id2label={str(i): f"LABEL_{i}" for i in range(3)}))


def test_a_token_classifier_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="a sequence classifier is needed"):
        EntailmentModel(tiny(tmp_path, architectures=["BertForTokenClassification"]))


def test_a_folder_is_pinned_by_what_is_in_it(tmp_path: Path) -> None:
    before = Explainer.load(tiny(tmp_path / "nli")).revision
    assert Explainer.load(tiny(tmp_path / "elsewhere")).revision == before
    assert Explainer.load(tiny(tmp_path / "nli", {"italy": (0.0, 3.0, 0.0)})).revision != before


def test_a_hub_model_needs_its_commit() -> None:
    with pytest.raises(UnpinnedModelError):
        Explainer.load("tasksource/ModernBERT-base-nli")


def test_a_graph_with_other_classes_than_the_configuration_is_refused_at_once(
    tmp_path: Path,
) -> None:
    with pytest.raises(ModelError, match=r"returned shape \(1, 2\)"):
        EntailmentModel(tiny(tmp_path, {"italy": (1.0, 0.0)}, n_labels=2))


# What it says.


def test_the_three_are_what_the_model_says_each_for_itself(tmp_path: Path) -> None:
    """No probability follows from another: neutral does not make the other two equal."""
    model = EntailmentModel(tiny(tmp_path))
    total = math.e**3 + 1 + math.e**2
    found = shares(model.judge("italy and germany", "rome is big"))
    assert found == pytest.approx((math.e**3 / total, 1 / total, math.e**2 / total), abs=1e-6)
    neutral = EntailmentModel(tiny(tmp_path / "other", {"a": (1.0, 3.0, 0.0)})).judge("a", "b")
    assert neutral.neutral > neutral.entailment > neutral.contradiction
    assert not neutral.is_calibrated


def test_the_order_of_the_configuration_decides(tmp_path: Path) -> None:
    names = {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}
    found = EntailmentModel(tiny(tmp_path, id2label=names)).judge("italy", "rome")
    assert found.contradiction > 0.9


@pytest.mark.parametrize("place", ["first", "last"])
def test_one_window_with_the_evidence_is_enough(tmp_path: Path, place: str) -> None:
    model = EntailmentModel(tiny(tmp_path, max_position_embeddings=16))
    filler = "germany is a big river " * 12
    premise = f"italy {filler}" if place == "first" else f"{filler} italy"
    alone = model.judge(filler, "rome is big")
    assert alone.contradiction > 0.8
    found = model.judge(premise, "rome is big")
    assert found.entailment > 3 * alone.entailment


def test_all_of_a_long_claim_has_to_be_entailed(tmp_path: Path) -> None:
    rows = {"italy": (3.0, 0.0, 0.0), "rome": (0.0, 6.0, 0.0)}
    model = EntailmentModel(tiny(tmp_path, rows, max_position_embeddings=16))
    claim = "tower " * 20
    assert model.judge("italy", claim).entailment > 0.8
    assert model.judge("italy", f"{claim} rome").neutral > 0.8


def test_evidence_is_read_line_by_line_and_the_claim_is_the_hypothesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []
    model = EntailmentModel(tiny(tmp_path))

    def judge(premise: str, hypothesis: str) -> Entailment:
        asked.append((premise, hypothesis))
        return Entailment(entailment=0.0, neutral=0.0, contradiction=1.0)

    monkeypatch.setattr(model, "judge", judge)
    found, given = detected("The tower is in ⟦rome⟧.", "It is in paris.", "It is in france.")
    explained = Explainer(model).explain(found, given)
    assert asked == [("It is in paris.\nIt is in france.", "The tower is in rome.")]
    assert explained.explanations[0].entailment is not None


def test_what_is_no_number_is_a_failure(tmp_path: Path) -> None:
    model = EntailmentModel(tiny(tmp_path, {"rome": (np.inf, 0.0, 0.0)}))
    with pytest.raises(DetectionError, match="not a number"):
        model.judge("italy", "rome")


@pytest.mark.parametrize("claim", ["", "  "])
def test_a_claim_without_words_is_a_failure(tmp_path: Path, claim: str) -> None:
    with pytest.raises(UnreadableError, match="that the model can read"):
        EntailmentModel(tiny(tmp_path)).judge("italy", claim)


@pytest.mark.nightly
@pytest.mark.torch
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", first_of(["bert", "modernbert"]))
def test_a_checkpoint_without_a_graph_is_exported_and_says_what_pytorch_says(
    kind: str, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tests.engine.test_checkpoints import KINDS

    folder = tmp_path / "model"
    torch.manual_seed(0)
    names = {0: "neutral", 1: "contradiction", 2: "entailment"}
    settings = {**SIZES, **KINDS[kind], "num_labels": 3, "id2label": names}
    config = transformers.AutoConfig.for_model(kind, **settings)
    model = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    model.save_pretrained(folder)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=word_tokenizer(), cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]"
    )
    tokenizer.save_pretrained(folder)
    premise, claim = "the tower was built in paris", "the tower was built in rome"
    read = tokenizer(premise, claim, return_tensors="pt", return_token_type_ids=True)
    names_taken = ["input_ids", "attention_mask", *["token_type_ids"] * (kind == "bert")]
    taken = {name: read[name] for name in names_taken}
    with torch.no_grad():
        expected = model(**taken).logits.softmax(-1)[0, [2, 0, 1]].tolist()
    found = EntailmentModel(folder, cache_dir=tmp_path / "cache").judge(premise, claim)
    assert shares(found) == pytest.approx(expected, abs=1e-4)

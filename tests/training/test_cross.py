"""Training the cross-encoder: rows of claims with their lines, loss, resuming, and the graph."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import random

import torch

from groundwire.detection.evidence import WordWeights
from groundwire.engine.architecture import MPNET
from groundwire.engine.cross_encoder import CROSS_GRAPH, CROSS_WORDS
from groundwire.engine.features import NEUTRAL, TABLE_ROWS
from groundwire.engine.models import Manifest, find_model
from groundwire.engine.runtime import Graph
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import InputError, ModelError
from groundwire_training import loop
from groundwire_training.cross import (
    CrossExample,
    CrossModel,
    batches,
    drawn,
    examples_of,
    sampled,
    train,
)
from groundwire_training.cross_run import CrossRun, first_model
from groundwire_training.data import IGNORED
from groundwire_training.export import read_cross
from groundwire_training.loop import Loader
from groundwire_training.package import package_cross
from groundwire_training.recipe import Recipe
from groundwire_training.report import Logged
from groundwire_training.sets import LabelledContext
from tests.training.test_loop import write_records

pytestmark = pytest.mark.torch

SIZES = replace(MPNET, layers=1, width=48, heads=4, inner=96)
RECIPE = Recipe(
    steps=4,
    ragtruth_per_step=1,
    slots_per_step=1,
    answers=3,
    padded_share=0.0,
    corrupted_share=0.0,
    premise_share=0.0,
    dropout=0.0,
)


@pytest.fixture
def loader(
    tmp_path: Path, pieces: WordPieces, words: WordWeights, monkeypatch: pytest.MonkeyPatch
) -> Loader:
    monkeypatch.setattr(loop, "VALIDATION_CONTEXTS", 2)
    write_records(tmp_path / "data")
    return Loader(tmp_path / "data", pieces, words, RECIPE)


def small_model(seed: int = 0) -> CrossModel:
    torch.manual_seed(seed)
    model = CrossModel(SIZES)
    with torch.no_grad():
        torch.nn.init.normal_(model.feat.weight, std=0.1)
        model.feat.weight[-1] = 0
        assert model.near is not None
        torch.nn.init.normal_(model.near)
    return model


def in_bfloat16(model: CrossModel) -> CrossModel:
    for part in model.layers.modules():
        if isinstance(part, torch.nn.Linear):
            part.bfloat16()
    return model


def test_each_claim_is_a_row_with_its_lines_and_labels(
    record: LabelledContext, loader: Loader
) -> None:
    found = examples_of(record, loader, None)
    assert [e.label for e in found] == [0, 2, 0, 0, 0]
    tower = found[1]
    claim = loader.pieces.encode("It opened in 1989, in May.").ids
    assert tower.ids[1 : len(claim) + 1].tolist() == claim.tolist()
    assert (tower.labels != IGNORED).sum() == len(claim)
    evidence = tower.ids[len(claim) + 2 :].tolist()
    assert set(loader.pieces.encode("opened in 1889").ids.tolist()) <= set(evidence)


def example(ids: list[int], label: int) -> CrossExample:
    n = len(ids)
    return CrossExample(
        np.array(ids), np.zeros(n, int), np.zeros((n, 6), int), np.full(n, label), label, 0
    )


def test_as_many_right_claims_as_wrong_ones_are_kept_and_the_likest_first() -> None:
    wrong = [example([1, 2, 3, 4], 2), example([5, 6, 7, 8], 1), example([9, 10, 11, 12], 1)]
    near, far = example([1, 2, 3, 40], 0), [example([20 + i] * 4, 0) for i in range(9)]
    kept = sampled([*far, *wrong, near, near], RECIPE, random.Random(0))
    assert sum(e.label > 0 for e in kept) == 3
    assert sum(e.label == 0 for e in kept) == 3
    assert any(e is near for e in kept)


def test_of_claims_that_are_all_right_two_are_kept() -> None:
    kept = sampled([example([i], 0) for i in range(9)], RECIPE, random.Random(0))
    assert len(kept) == 2


def test_a_recipe_says_how_many_wrong_claims_are_kept_and_how_many_right_ones_for_each() -> None:
    examples = [example([i], int(i < 5)) for i in range(20)]
    recipe = replace(RECIPE, most_wrong=4, right_claims=1.5)
    kept = sampled(examples, recipe, random.Random(0))
    assert sorted(e.label for e in kept) == [0] * 6 + [1] * 4


def test_processes_draw_what_a_thread_draws(loader: Loader) -> None:
    def ids(device: str) -> list[list[list[int]]]:
        steps = drawn(loader, range(1, 4), device, 2)
        return [[e.ids.tolist() for e in examples] for examples in steps]

    assert ids("cuda") == ids("cpu")
    assert len(ids("cpu")) == 3
    assert list(drawn(loader, range(4, 4), "cpu", 2)) == []


def test_a_claim_is_judged_alike_alone_and_beside_others(
    record: LabelledContext, loader: Loader
) -> None:
    model = small_model().eval()
    examples = examples_of(record, loader, None)
    (together,) = batches(examples)
    with torch.inference_mode():
        pieces, claims = model.judge(together)
        longest_first = sorted(examples, key=lambda e: -len(e.ids))
        for i, one in enumerate(longest_first):
            (alone,) = batches([one])
            expected, whole = model.judge(alone)
            n = len(one.ids)
            assert torch.allclose(pieces[i, :n], expected[0, :n], atol=1e-5)
            assert torch.allclose(claims[i], whole[0], atol=1e-5)


def test_the_graph_says_what_the_model_says(
    record: LabelledContext, loader: Loader, tmp_path: Path
) -> None:
    model = small_model().eval()
    package_cross(
        model.state_dict(), SIZES, tmp_path / "fp32", version="1", knows_remarks=False, int8=False
    )
    package_cross(model.state_dict(), SIZES, tmp_path / "int8", version="1", knows_remarks=False)
    exact, rounded = (
        Graph(tmp_path / kind / CROSS_GRAPH, threads=1)._session for kind in ("fp32", "int8")
    )
    for one in examples_of(record, loader, None):
        end = int((one.labels != IGNORED).sum()) + 1
        inputs = {
            "ids": one.ids,
            "roles": one.roles,
            "features": one.features,
            "claim_end": np.array([end]),
        }
        with torch.inference_mode():
            (batch,) = batches([one])
            pieces, claim = model.judge(batch)
        logits, whole = exact.run(["logits", "claim"], inputs)
        np.testing.assert_allclose(logits, pieces[0, 1:end].numpy(), atol=1e-4)
        np.testing.assert_allclose(whole, claim.numpy(), atol=1e-4)
        np.testing.assert_allclose(
            rounded.run(["logits"], inputs)[0], pieces[0, 1:end].numpy(), atol=0.2
        )
    for kind, tolerance in (("fp32", 1e-6), ("int8", 0.03)):
        for name, tensor in read_cross(tmp_path / kind, SIZES).items():
            assert torch.allclose(tensor, model.state_dict()[name], atol=tolerance), name
        assert read_cross(tmp_path / kind, SIZES).keys() == model.state_dict().keys()
    manifest = Manifest.read(tmp_path / "int8")
    assert manifest.name == "reader-base"
    assert {CROSS_GRAPH, CROSS_WORDS} <= set(manifest.files)


def test_a_row_with_large_values_costs_the_others_no_precision(
    record: LabelledContext, loader: Loader, tmp_path: Path
) -> None:
    model = small_model().eval()
    with torch.no_grad():  # the features of [CLS] are those of no other word piece
        model.feat.weight[int(NEUTRAL[0])] += 300.0
    for kind in ("fp32", "int8"):
        package_cross(
            model.state_dict(),
            SIZES,
            tmp_path / kind,
            version="1",
            knows_remarks=False,
            int8=kind == "int8",
        )
    one = examples_of(record, loader, None)[0]
    features = np.full_like(one.features, TABLE_ROWS - 1)
    features[0] = NEUTRAL
    end = int((one.labels != IGNORED).sum()) + 1
    inputs = {"ids": one.ids, "roles": one.roles, "features": features, "claim_end": [end]}
    exact, rounded = (
        Graph(tmp_path / kind / CROSS_GRAPH, threads=1)._session.run(["logits"], inputs)[0]
        for kind in ("fp32", "int8")
    )
    np.testing.assert_allclose(rounded, exact, atol=0.05)


class Interrupting(Logged):
    """Interrupts a run after a step."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self._last = last

    def step(self, number: int, loss: float) -> None:
        if number == self._last:
            raise KeyboardInterrupt


def test_a_run_that_was_interrupted_ends_with_the_same_weights(
    loader: Loader, tmp_path: Path
) -> None:
    def run(name: str, report: Logged) -> dict[str, torch.Tensor]:
        model = in_bfloat16(small_model())
        (tmp_path / name).mkdir(exist_ok=True)
        train(
            RECIPE,
            loader,
            model,
            tmp_path / name,
            resume=True,
            checkpoint_every=2,
            curve_contexts=1,
            report=report,
        )
        return model.state_dict()

    whole = run("whole", Logged())
    with pytest.raises(KeyboardInterrupt):
        run("parts", Interrupting(3))
    resumed = run("parts", Logged())
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_all_weights_but_two_tables_learn_even_by_steps_that_bfloat16_cannot_tell(
    loader: Loader, tmp_path: Path
) -> None:
    model = in_bfloat16(small_model())
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    train(
        replace(RECIPE, steps=40, rate=1e-5),
        loader,
        model,
        tmp_path,
        resume=False,
        checkpoint_every=40,
        curve_contexts=1,
        report=Logged(),
    )
    after = model.state_dict()
    changed = {name for name in after if not torch.equal(after[name], before[name])}
    matrices = {f"layers.0.{name}.weight" for name in ("q", "k", "v", "o", "f1", "f2")}
    assert matrices | {"pos.weight", "head.weight", "layers.0.ln1.bias"} <= changed
    assert {"word.weight", "near"} <= after.keys() - changed


def test_training_goes_on_from_a_model_folder(tmp_path: Path) -> None:
    model = small_model()
    package_cross(model.state_dict(), SIZES, tmp_path / "model", version="1", knows_remarks=False)
    run = CrossRun(data=tmp_path, out=tmp_path / "out", recipe=RECIPE, start=tmp_path / "model")
    begun = first_model(run)
    assert begun.sizes == SIZES
    assert torch.allclose(begun.head.weight, model.head.weight)
    assert begun.typed_layers()[0].q.weight.dtype == torch.bfloat16


def test_a_model_without_a_cross_encoder_cannot_be_trained_further(tmp_path: Path) -> None:
    small = find_model().folder
    run = CrossRun(data=tmp_path, out=tmp_path / "out", recipe=RECIPE, start=small)
    with pytest.raises(ModelError, match=f"it has no {CROSS_GRAPH}"):
        first_model(run)
    with pytest.raises(InputError, match="--base, a pretrained encoder, or --start"):
        first_model(replace(run, start=None))

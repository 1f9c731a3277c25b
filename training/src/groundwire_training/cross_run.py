"""Runs the training of the cross-encoder: trains, exports, calibrates with the embedded reader."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from groundwire.detection.evidence import WordWeights
from groundwire.engine.models import find_model
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import ModelError
from groundwire_training import calibrate
from groundwire_training.bases import read_base
from groundwire_training.cross import CrossModel, train
from groundwire_training.loop import Loader, trained_part
from groundwire_training.lora import add_adapters, merged
from groundwire_training.package import package_cross
from groundwire_training.recipe import Lora, Recipe, begin_run
from groundwire_training.report import Report

_STATE, _ADAPTERS, _MODEL = "state.pt", "adapters.safetensors", "model"
#: Beginnings of the names of head weights, which are not taken from the base: it has other heads.
_HEADS = ("head.", "sentence_head.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossRun:
    """Settings of a training run of the cross-encoder.

    Attributes:
        data: A folder of sets, or a file of labelled answers.
        out: Folder for recipe, checkpoints, and the model folder ``model``.
        recipe: The numbers of the training.
        base: ``model.safetensors`` of all-mpnet-base-v2 or all-MiniLM-L6-v2.
        layers: Number of layers of ``base`` to keep, from the first; ``None`` keeps all.
        lora: Adapters to train. Heads and small tables are trained too.
        start: ``adapters.safetensors`` of an earlier run with the same base, layers and adapters,
            to train further.
        threads: CPU threads; ``None`` is one for each core.
        checkpoint_every: Steps between two checkpoints.
        curve_contexts: Validation contexts of each kind that are scored during training; ``None``
            is all.
        resume: Whether to continue from the last checkpoint, if there is one.
        version: Version of the weights, for the manifest.
    """

    data: Path
    out: Path
    recipe: Recipe
    base: Path
    lora: Lora
    layers: int | None = None
    start: Path | None = None
    threads: int | None = None
    checkpoint_every: int = 20
    curve_contexts: int | None = None
    resume: bool = False
    version: str = "0.1.0"


def train_cross(run: CrossRun, report: Report) -> Path:
    """Train, export in int8 and calibrate; an interrupted run can be resumed.

    Returns:
        The model folder, ``out / "model"``.

    Raises:
        InputError: If the data cannot be used, or ``out`` has another run.
        ModelError: If the base cannot be used.
    """
    begin_run(run.out, numbers_of(run), is_begun=(run.out / _STATE).exists(), resume=run.resume)
    tables = find_model().folder
    loader = Loader(
        run.data, WordPieces(tables / "tokenizer.json"), WordWeights.load(tables), run.recipe
    )
    torch.set_num_threads(1)
    model = first_model(run)
    train(
        run.recipe,
        loader,
        model,
        run.out,
        resume=run.resume,
        checkpoint_every=run.checkpoint_every,
        curve_contexts=run.curve_contexts,
        report=report,
        threads=run.threads or os.cpu_count() or 1,
    )
    learned = {name: t.half().contiguous() for name, t in trained_part(model).items()}
    save_file(learned, run.out / _ADAPTERS)
    folder = run.out / _MODEL
    report.say("Exporting in int8.")
    package_cross(
        merged(model),
        model.sizes,
        folder,
        version=run.version,
        knows_remarks=run.recipe.asides_per_step > 0,
    )
    report.say("Reading validation answers through the engine, to calibrate.")
    records = calibrate.validation_records(run.data)
    reader = calibrate.open_reader(folder, run.threads or 1)
    scored = calibrate.score(reader, records)
    if not calibrate.can_fit(scored):
        report.say("Not calibrated: validation answers of both kinds are needed.")
        return folder
    plain = calibrate.score(reader, calibrate.plain_claims(run.data))
    weights = calibrate.choose_weights(scored, plain)
    scored = [answer.mixed(weights) for answer in scored]
    calibrate.calibrate(folder, scored, weights=weights)
    if calibrate.can_cross_fit(scored):
        report.say(calibrate.table(calibrate.report(scored)))
    return folder


def first_model(run: CrossRun) -> CrossModel:
    """Make the model for the first step: the base in bfloat16, and adapters.

    Raises:
        ModelError: If the base is another model, or ``start`` has adapters of other sizes.
    """
    torch.manual_seed(run.recipe.seed)
    try:
        base = read_base(run.base, layers=run.layers, dropout=run.recipe.dropout)
    except (SafetensorError, KeyError, RuntimeError, ValueError) as error:
        raise ModelError(
            f"Training cannot start from {run.base}: {str(error).splitlines()[0]} --base takes the "
            "model.safetensors of all-mpnet-base-v2 or all-MiniLM-L6-v2."
        ) from error
    model = CrossModel(base.sizes, dropout=run.recipe.dropout)
    known = {n: t for n, t in base.state_dict().items() if not n.startswith(_HEADS)}
    model.load_state_dict(known, strict=False)
    add_adapters(model, run.lora)
    for name, part in model.named_parameters():
        if ".base_layer." in name:  # frozen weights: in float32, each pass would cast them anew
            part.data = part.data.bfloat16()
    if run.start:
        learned = load_file(run.start)
        unknown = model.load_state_dict(
            {name: tensor.float() for name, tensor in learned.items()}, strict=False
        ).unexpected_keys
        if unknown:
            raise ModelError(
                f"{run.start} has {len(unknown)} tensors that this model does not have, such as "
                f"{unknown[0]}. Give the --layers and --lora-rank of the run that wrote it."
            )
    return model


def numbers_of(run: CrossRun) -> dict[str, object]:
    """Return the settings that a resumed run must not change; it may change the number of steps."""
    numbers = {name: value for name, value in asdict(run.recipe).items() if name != "steps"}
    return {**numbers, "lora": asdict(run.lora), "layers": run.layers}

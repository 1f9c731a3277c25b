"""Runs the training of the cross-encoder: trains, exports, calibrates with the embedded reader."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError

from groundwire.detection.evidence import WordWeights
from groundwire.engine.architecture import Architecture
from groundwire.engine.cross_encoder import CROSS_GRAPH
from groundwire.engine.models import Manifest, find_model
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import InputError, ModelError
from groundwire_training import calibrate
from groundwire_training.bases import read_base
from groundwire_training.cross import CrossModel, train
from groundwire_training.export import read_cross
from groundwire_training.loop import Loader
from groundwire_training.package import package_cross
from groundwire_training.recipe import Recipe, begin_run
from groundwire_training.report import Report

_STATE, _MODEL = "state.pt", "model"
#: Beginnings of the names of head weights, which are not taken from the base: it has other heads.
_HEADS = ("head.", "sentence_head.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossRun:
    """Settings of a training run of the cross-encoder.

    Attributes:
        data: A folder of sets, or a file of labelled answers.
        out: Folder for recipe, checkpoints, and the model folder ``model``.
        recipe: The numbers of the training.
        base: ``model.safetensors`` of all-mpnet-base-v2 or all-MiniLM-L6-v2, to begin with.
        layers: Number of layers of ``base`` to keep, from the first; ``None`` keeps all.
        start: The model folder of a cross-encoder, to train further in place of a base.
        device: ``cpu`` or ``cuda``.
        threads: CPU threads, or for a GPU the processes that draw claims; ``None`` is one for each
            core.
        checkpoint_every: Steps between two checkpoints.
        curve_contexts: Validation contexts of each kind that are scored during training; ``None``
            is all.
        resume: Whether to continue from the last checkpoint, if there is one.
        version: Version of the weights, for the manifest.
    """

    data: Path
    out: Path
    recipe: Recipe
    base: Path | None = None
    layers: int | None = None
    start: Path | None = None
    device: str = "cpu"
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
        InputError: If the data cannot be used, ``out`` has another run, or there is neither
            ``base`` nor ``start``.
        ModelError: If the base, or the model to start from, cannot be used.
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
        device=run.device,
        threads=run.threads or os.cpu_count() or 1,
    )
    folder = run.out / _MODEL
    report.say("Exporting in int8.")
    package_cross(
        model.cpu().state_dict(),
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
    """Make the model for the first step; for a CPU, the matrices of its layers are in bfloat16.

    Raises:
        ModelError: If the base or the model to start from is another one.
    """
    torch.manual_seed(run.recipe.seed)
    if run.start:
        manifest = Manifest.read(run.start)
        if CROSS_GRAPH not in manifest.files:
            raise ModelError(
                f"Training cannot start from {run.start}: it has no {CROSS_GRAPH}. --start takes "
                "the model folder of a cross-encoder, which an earlier run wrote."
            )
        sizes = Architecture.from_manifest(manifest.raw)
        weights = read_cross(run.start, sizes)
    elif run.base:
        try:
            base = read_base(run.base, layers=run.layers, dropout=run.recipe.dropout)
        except (SafetensorError, KeyError, RuntimeError, ValueError) as error:
            raise ModelError(
                f"Training cannot start from {run.base}: {str(error).splitlines()[0]} --base takes "
                "the model.safetensors of all-mpnet-base-v2 or all-MiniLM-L6-v2."
            ) from error
        sizes = base.sizes
        weights = {n: t for n, t in base.state_dict().items() if not n.startswith(_HEADS)}
    else:
        raise InputError("Training needs --base, a pretrained encoder, or --start.")
    model = CrossModel(sizes, dropout=run.recipe.dropout)
    model.load_state_dict(weights, strict=False)
    for part in model.layers.modules():
        # To cast float32 weights in every pass is slow on a CPU and cheap on a GPU.
        if isinstance(part, torch.nn.Linear) and run.device == "cpu":
            part.bfloat16()
    return model


def numbers_of(run: CrossRun) -> dict[str, object]:
    """Return the settings that a resumed run must not change; it may change the number of steps."""
    numbers = {name: value for name, value in asdict(run.recipe).items() if name != "steps"}
    return {**numbers, "layers": run.layers, "device": run.device}

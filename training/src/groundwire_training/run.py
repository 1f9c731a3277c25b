"""Runs the training of the reader: trains, exports, calibrates and writes a model folder."""

from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError

from groundwire.detection.evidence import WordWeights
from groundwire.engine.models import Manifest, find_model
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import ModelError
from groundwire_training import calibrate
from groundwire_training.bases import read_base, read_weights
from groundwire_training.devices import is_mixed
from groundwire_training.loop import Loader, train
from groundwire_training.lora import add_adapters
from groundwire_training.model import Reader
from groundwire_training.package import package
from groundwire_training.recipe import Lora, Recipe, begin_run
from groundwire_training.report import Report

_STATE, _WEIGHTS, _MODEL = "state.pt", "reader.safetensors", "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderRun:
    """Settings of a training run of the reader.

    Attributes:
        data: A folder of sets, or a file of labelled answers.
        out: Folder for recipe, checkpoints, and the model folder ``model``.
        recipe: The numbers of the training.
        start: Weights of a reader to train further.
        base: ``model.safetensors`` of all-MiniLM-L6-v2 or all-mpnet-base-v2, to begin with if there
            is no ``start``.
        layers: Number of layers of ``base`` to keep, from the first; ``None`` keeps all.
        tables: Folder with ``tokenizer.json`` and ``words.npz``; ``None``: the embedded reader's.
        lora: Settings of adapters to train; ``None`` trains all weights.
        device: ``cpu`` or ``cuda``.
        threads: CPU threads; ``None`` leaves the number to PyTorch, and calibrates with one.
        precision: ``fp32``, ``bf16``, or ``auto``: bf16 if the device has instructions for it.
        checkpoint_every: Steps between two checkpoints.
        curve_contexts: Validation contexts of each kind that are scored during training; ``None``
            is all.
        resume: Whether to continue from the last checkpoint, if there is one.
        version: Version of the weights, for the manifest.
    """

    data: Path
    out: Path
    recipe: Recipe
    start: Path | None = None
    base: Path | None = None
    layers: int | None = None
    tables: Path | None = None
    lora: Lora | None = None
    device: str = "cpu"
    threads: int | None = None
    precision: str = "auto"
    checkpoint_every: int = 100
    curve_contexts: int | None = None
    resume: bool = False
    version: str = "0.1.0"


def train_reader(run: ReaderRun, report: Report) -> Path:
    """Train, export in int8 and calibrate; an interrupted run can be resumed.

    Returns:
        The model folder, ``out / "model"``.

    Raises:
        InputError: If the data cannot be used, or ``out`` has another run.
        ModelError: If the weights to start from cannot be used.
    """
    is_begun = (run.out / _STATE).exists()
    begin_run(run.out, numbers_of(run), is_begun=is_begun, resume=run.resume)
    tables = run.tables or find_model().folder
    loader = Loader(
        run.data, WordPieces(tables / "tokenizer.json"), WordWeights.load(tables), run.recipe
    )
    if run.threads:
        torch.set_num_threads(run.threads)
    train(
        run.recipe,
        loader,
        first_model(run),
        run.out,
        run.resume,
        checkpoint_every=run.checkpoint_every,
        device=run.device,
        mixed=is_mixed(run.precision, run.device),
        curve_contexts=run.curve_contexts,
        report=report,
    )
    return finish(run, tables, report)


def finish(run: ReaderRun, tables: Path, report: Report) -> Path:
    """Write the model folder of a finished training, and calibrate it.

    If the validation answers are not enough for a calibration, the folder gets the calibration and
    thresholds of the folder of tables, or of the embedded reader.
    """
    shipped = Manifest.read(tables if (tables / "manifest.json").exists() else find_model().folder)
    folder = run.out / _MODEL
    report.say("Exporting in int8.")
    package(
        run.out / _WEIGHTS,
        tables,
        folder,
        version=run.version,
        operating_points=shipped.operating_points,
        calibration=shipped.calibration,
    )
    report.say("Reading validation answers through the engine, to calibrate.")
    reader = calibrate.open_reader(folder, run.threads or 1)
    scored = calibrate.score(reader, calibrate.validation_records(run.data))
    if calibrate.can_fit(scored):
        calibrate.calibrate(folder, scored)
        if calibrate.can_cross_fit(scored):
            report.say(calibrate.table(calibrate.report(scored)))
        else:
            report.say(
                f"Calibrated on {len(scored)} validation answers, which are too few to measure the "
                "model: that needs hallucinated and grounded answers to several contexts."
            )
    else:
        n_marked = sum(answer.is_hallucinated for answer in scored)
        report.say(
            f"Not calibrated: of {len(scored)} validation answers {n_marked} have marked words, "
            "and both kinds are needed. Calibration and thresholds are those of the embedded "
            "reader; add answers of the other kind."
        )
    return folder


def first_model(run: ReaderRun) -> Reader:
    """Make the model that training begins with.

    Raises:
        ModelError: If ``start`` or ``base`` does not have the weights that it should have.
    """
    torch.manual_seed(run.recipe.seed)
    path = run.start or run.base
    try:
        if run.start:
            model = read_weights(run.start, dropout=run.recipe.dropout)
        elif run.base:
            model = read_base(run.base, layers=run.layers, dropout=run.recipe.dropout)
        else:
            model = Reader()
    except (SafetensorError, KeyError, RuntimeError, ValueError) as error:
        raise ModelError(
            f"Training cannot start from {path}: {str(error).splitlines()[0]} --start takes the "
            "weights of a reader, such as the reader.safetensors of a run; --base takes the "
            "model.safetensors of all-MiniLM-L6-v2 or all-mpnet-base-v2."
        ) from error
    if run.lora:
        add_adapters(model, run.lora)
    return model


def numbers_of(run: ReaderRun) -> dict[str, object]:
    """Return the settings that a resumed run must not change; it may change the number of steps."""
    numbers = {name: value for name, value in asdict(run.recipe).items() if name != "steps"}
    return {**numbers, "lora": run.lora and asdict(run.lora), "layers": run.layers}

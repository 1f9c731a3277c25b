"""``groundwire train``: reader, cross-encoder, an encoder of one's choice, explainer, or gate."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click

from groundwire.cli.inputs import FilePath, FiniteRange, refuse_empty
from groundwire.errors import MissingExtraError
from groundwire_training.recipe import EncoderRecipe, GateRecipe, Lora, Recipe
from groundwire_training.steps import Steps, steps

DATA = FilePath(exists=True, readable=True, path_type=Path)
FOLDER = FilePath(file_okay=False, path_type=Path)
WEIGHTS = FilePath(exists=True, dir_okay=False, readable=True, path_type=Path)

#: What the extra ``train`` brings; looked for, not imported.
_PACKAGES = ("torch", "safetensors", "sklearn", "onnx", "transformers", "accelerate", "peft")

_FROM = (
    "Training has to begin somewhere. Give --start FILE with the weights of a reader, such as "
    "training/reader.fp16.safetensors of the repository, which are those of the embedded reader "
    "or newer, to train it further; or --base FILE with the model.safetensors of all-MiniLM-L6-v2, "
    "to begin without. Answers of your own are seldom enough for the second."
)
_ATTRIBUTE = re.compile(r"^ {8}(\w+): (.*(?:\n {12}.*)*)", re.MULTILINE)
_F = TypeVar("_F", bound=Callable[..., Any])


def described(kind: type) -> dict[str, str]:
    """What the docstring of a class says of each of its attributes."""
    found = _ATTRIBUTE.findall(kind.__doc__ or "")
    return {name: " ".join(text.replace("``", "").split()) for name, text in found}


def options_of(kind: type, *, prefix: str = "") -> Callable[[_F], _F]:
    """An option for each number of a recipe, with its default and what its docstring says."""
    texts = described(kind)

    def add(command: _F) -> _F:
        for field in reversed(fields(kind)):
            command = click.option(
                f"--{prefix}{field.name.replace('_', '-')}",
                type=_range(field.name, field.default),
                metavar="N" if isinstance(field.default, int) else "X",
                default=field.default,
                show_default=True,
                help=texts.get(field.name),
            )(command)
        return command

    return add


def _range(name: str, default: object) -> click.IntRange | FiniteRange:
    """What a number may be: a share is at most 1, and of what there must be there is at least 1."""
    if name.endswith("_per_step"):
        return FiniteRange(0, None)
    if isinstance(default, int):
        return click.IntRange(min=0 if name == "seed" else 1)
    if name.endswith("share"):
        return FiniteRange(0, 1)
    return FiniteRange(0, 1 if name == "dropout" else None, max_open=name == "dropout")


def read_class_weights(
    ctx: click.Context, param: click.Parameter, value: str
) -> str | tuple[float, ...]:
    """Read ``none``, ``balanced``, or numbers with commas between them."""
    if value in ("none", "balanced"):
        return value
    try:
        weights = tuple(float(number) for number in value.split(","))
    except ValueError:
        weights = ()
    if not weights or not all(0 < weight < 1e6 for weight in weights):
        raise click.BadParameter(
            f"{value!r} must be none, balanced, or a positive number for each class: 1,3",
            ctx,
            param,
        )
    return weights


def data_option(text: str) -> Callable[[_F], _F]:
    """What to learn from."""
    return click.option("--data", type=DATA, metavar="PATH", required=True, help=text)


labelled_answers = data_option(
    "A JSON Lines file of your own, gzip or not, or a folder with ragtruth/train.jsonl.gz, "
    "slots/train.jsonl.gz and slots/validation.jsonl.gz."
)


def common_options(command: _F) -> _F:
    """What most kinds of training have in common."""
    options = (
        click.option(
            "--out",
            type=FOLDER,
            metavar="DIR",
            required=True,
            help="Where checkpoints go, and the model: DIR/model.",
        ),
        click.option("--resume", is_flag=True, help="Go on from the last checkpoint in --out."),
        click.option(
            "--device",
            type=click.Choice(["auto", "cpu", "cuda"]),
            default="auto",
            show_default=True,
            help="Where to train. auto: on a GPU if PyTorch finds one.",
        ),
        click.option("--threads", type=click.IntRange(1, 256), metavar="N", help="CPU threads."),
        click.option(
            "--lora",
            is_flag=True,
            help="Train low-rank adapters and heads in place of all weights; they are merged in "
            "the end.",
        ),
        options_of(Lora, prefix="lora-"),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(
    epilog="\b\nExamples:\n"
    "  groundwire train reader --data own.jsonl --start reader.fp16.safetensors --out runs/1\n"
    "  groundwire train cross --data own.jsonl --base model.safetensors --out runs/5\n"
    "  groundwire train encoder --data own.jsonl --base path/to/encoder --out runs/2\n"
    "  groundwire train gate --data prompts.jsonl --out runs/3\n"
    "  groundwire train explainer --data claims.jsonl --base path/to/encoder --out runs/4"
)
def train() -> None:
    """Train the reader, its cross-encoder, an encoder of the hub, the explainer or the gate.

    Needs PyTorch: pip install '.[train]' ./training. docs/training.md and docs/gate.md
    have the formats of the data.
    """


@train.command()
@labelled_answers
@common_options
@click.option(
    "--start",
    type=WEIGHTS,
    metavar="FILE",
    help="Weights of a reader to train further, as .safetensors.",
)
@click.option(
    "--base",
    type=WEIGHTS,
    metavar="FILE",
    help="model.safetensors of all-MiniLM-L6-v2 or all-mpnet-base-v2, to begin without a reader.",
)
@click.option(
    "--layers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep the first N layers of --base.  [default: all]",
)
@click.option(
    "--tables",
    type=FilePath(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder with tokenizer.json and words.npz.  [default: those of the embedded reader]",
)
@click.option(
    "--checkpoint-every",
    type=click.IntRange(min=1),
    metavar="N",
    default=100,
    show_default=True,
    help="Steps between two checkpoints; every third is scored on validation.",
)
@click.option(
    "--curve-contexts",
    type=click.IntRange(min=1),
    metavar="N",
    help="Validation contexts of each kind that are scored on the way.  [default: all]",
)
@click.option(
    "--precision",
    type=click.Choice(["auto", "fp32", "bf16"]),
    default="auto",
    show_default=True,
    help="Of products. auto: bf16 on hardware that multiplies in it.",
)
@click.option(
    "--version",
    metavar="TEXT",
    default="0.1.0",
    show_default=True,
    callback=refuse_empty,
    help="Of the weights, for the manifest.",
)
@options_of(Recipe)
def reader(*, lora: bool, device: str, **options: Any) -> None:  # noqa: ANN401  # as click passes it
    """Train the reader, export it in int8, and calibrate it.

    DIR/model is then a model folder with its manifest. A run that was interrupted goes on when
    the same command is given again with --resume, and ends with the same weights.
    """
    if options["start"] and options["base"]:
        raise click.UsageError("--start excludes --base, which begins anew.")
    base = options["data"] / "base" / "model.safetensors"
    if not (options["start"] or options["base"]):
        if not base.is_file():
            raise click.UsageError(_FROM)
        options["base"] = base
    require_packages("Training the reader")
    from groundwire_training.devices import find_device
    from groundwire_training.run import ReaderRun, train_reader

    run = ReaderRun(
        recipe=taken(Recipe, options),
        lora=taken(Lora, options, prefix="lora_") if lora else None,
        device=find_device(device),
        **{name: value for name, value in options.items() if name in _names(ReaderRun)},
    )
    with told() as report:
        folder = train_reader(run, report)
    click.echo(f"Model: {folder}", err=True)


@train.command()
@labelled_answers
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    required=True,
    help="Where checkpoints go, and the model: DIR/model.",
)
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint in --out.")
@click.option("--threads", type=click.IntRange(1, 256), metavar="N", help="CPU threads.")
@click.option(
    "--base",
    type=WEIGHTS,
    metavar="FILE",
    required=True,
    help="model.safetensors of all-mpnet-base-v2 or all-MiniLM-L6-v2.",
)
@click.option(
    "--start",
    type=WEIGHTS,
    metavar="FILE",
    help="What an earlier run has learned, to go on from: its adapters.safetensors.",
)
@click.option(
    "--layers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep the first N layers of --base.  [default: all]",
)
@click.option(
    "--checkpoint-every",
    type=click.IntRange(min=1),
    metavar="N",
    default=20,
    show_default=True,
    help="Steps between two checkpoints; every third is scored on validation.",
)
@click.option(
    "--curve-contexts",
    type=click.IntRange(min=1),
    metavar="N",
    help="Validation contexts of each kind that are scored on the way.  [default: all]",
)
@click.option(
    "--version",
    metavar="TEXT",
    default="0.1.0",
    show_default=True,
    callback=refuse_empty,
    help="Of the weights, for the manifest.",
)
@options_of(Lora, prefix="lora-")
@options_of(Recipe)
def cross(**options: Any) -> None:  # noqa: ANN401  # as click passes it
    """Train a cross-encoder: it reads each claim together with its closest lines.

    It is calibrated beside the embedded reader. DIR/model is then a folder for --detector.
    """
    require_packages("Training the cross-encoder")
    from groundwire_training.cross_run import CrossRun, train_cross

    run = CrossRun(
        recipe=taken(Recipe, options),
        lora=taken(Lora, options, prefix="lora_"),
        **{name: value for name, value in options.items() if name in _names(CrossRun)},
    )
    with told() as report:
        folder = train_cross(run, report)
    click.echo(f"Model: {folder}", err=True)


@train.command()
@labelled_answers
@common_options
@click.option(
    "--base",
    metavar="NAME_OR_DIR",
    required=True,
    callback=refuse_empty,
    help="The encoder: a folder that save_pretrained wrote, or the id of a hub model.",
)
@click.option("--revision", metavar="COMMIT", help="The commit of a hub model, 40 digits.")
@click.option(
    "--labels",
    "n_labels",
    type=click.Choice(["2", "3"]),
    default="2",
    show_default=True,
    help="2: supported, hallucinated. 3: supported, unsupported, contradicted.",
)
@click.option(
    "--class-weights",
    callback=read_class_weights,
    metavar="WEIGHTS",
    default="none",
    show_default=True,
    help="none, balanced (a class weighs more the rarer it is), or a number for each class: 1,3",
)
@click.option(
    "--checkpoint-every",
    type=click.IntRange(min=1),
    metavar="N",
    default=500,
    show_default=True,
    help="Steps between two checkpoints.",
)
@options_of(EncoderRecipe)
def encoder(*, lora: bool, device: str, n_labels: str, **options: Any) -> None:  # noqa: ANN401
    """Fine-tune an encoder of the Hugging Face hub into a detector of your own.

    It learns from [CLS] context [SEP] question [SEP] answer [SEP], as it will be read. DIR/model
    is then a folder for groundwire check --detector.
    """
    require_packages("Training an encoder")
    from groundwire_training.devices import find_device
    from groundwire_training.encoder import EncoderRun, train_encoder

    run = EncoderRun(
        recipe=taken(EncoderRecipe, options),
        lora=taken(Lora, options, prefix="lora_") if lora else None,
        device=find_device(device),
        n_labels=int(n_labels),
        **{name: value for name, value in options.items() if name in _names(EncoderRun)},
    )
    with told() as report:
        folder = train_encoder(run, report)
    click.echo(f"Model: {folder}", err=True)


@train.command()
@click.option(
    "--data",
    type=DATA,
    metavar="PATH",
    required=True,
    help="A JSON Lines file with prompt and label (1 needs a check, 0 does not), or a folder with "
    "prompts/ and published/.",
)
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    required=True,
    help="Where embeddings, the report and the model go: DIR/model.",
)
@click.option(
    "--leave-sources-out",
    is_flag=True,
    help="Also measure on each set what a gate that has seen nothing of it does; takes long.",
)
@click.option(
    "--base",
    metavar="NAME_OR_DIR",
    callback=refuse_empty,
    help="Fine-tune this encoder by the published recipe instead (LoRA, class weights).",
)
@click.option("--revision", metavar="COMMIT", help="The commit of a hub model, 40 digits.")
@click.option("--resume", is_flag=True, help="With --base: go on from the last checkpoint.")
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="With --base: where to train.",
)
@options_of(GateRecipe)
def gate(
    *,
    base: str | None,
    revision: str | None,
    resume: bool,
    device: str,
    leave_sources_out: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Train the gate: a small head on the embedded encoder.

    DIR/model is then a folder for groundwire gate --model. A second run finds the embeddings of
    the first in DIR. With --base the published recipe is used: LoRA of rank 16, 3 epochs of at
    most 50,000 prompts; DIR/model is then a sequence classifier for transformers.
    """
    recipe, data, out = taken(GateRecipe, options), options["data"], options["out"]
    if base is None:
        if not all(map(find_spec, ("sklearn", "scipy"))):
            raise MissingExtraError("Training the gate", "train")
        from groundwire_training.gate import GateRun, train_gate

        run = GateRun(data=data, out=out, recipe=recipe, leave_sources_out=leave_sources_out)
        folder = train_gate(run, lambda text: click.echo(text, err=True))
    else:
        require_packages("Fine-tuning an encoder")
        from groundwire_training.devices import find_device
        from groundwire_training.gate_encoder import GateEncoderRun, train_gate_encoder

        with told() as report:
            folder = train_gate_encoder(
                GateEncoderRun(
                    base=base,
                    revision=revision,
                    data=data,
                    out=out,
                    prompts=recipe,
                    device=find_device(device),
                    resume=resume,
                ),
                report,
            )
    click.echo(f"Model: {folder}", err=True)


@train.command()
@data_option(
    "A JSON Lines file with evidence, claim and label (entailment, neutral, contradiction), gzip "
    "or not, or a folder of such files.",
)
@common_options
@click.option(
    "--base",
    metavar="NAME_OR_DIR",
    callback=refuse_empty,
    help="The encoder to fine-tune: a folder that save_pretrained wrote, or the id of a hub model.",
)
@click.option("--revision", metavar="COMMIT", help="The commit of a hub model, 40 digits.")
@click.option(
    "--checkpoint-every",
    type=click.IntRange(min=1),
    metavar="N",
    default=500,
    show_default=True,
    help="Steps between two checkpoints.",
)
@options_of(EncoderRecipe)
def explainer(*, lora: bool, device: str, **options: Any) -> None:  # noqa: ANN401
    """Fine-tune an encoder into an explainer: does the evidence entail a claim, or contradict it.

    DIR/model is then a folder for groundwire explain --model. Without --base nothing is trained:
    the probabilities of the embedded sentence head are fitted to your claims. The head itself is
    trained with the reader.
    """
    require_packages("Training an explainer")
    from groundwire_training.devices import find_device
    from groundwire_training.explainer import ExplainerRun, train_explainer

    run = ExplainerRun(
        recipe=taken(EncoderRecipe, options),
        lora=taken(Lora, options, prefix="lora_") if lora else None,
        device=find_device(device),
        **{name: value for name, value in options.items() if name in _names(ExplainerRun)},
    )
    with told() as report:
        folder = train_explainer(run, report)
    click.echo(f"Model: {folder}", err=True)


def require_packages(what: str) -> None:
    """Refuse to begin without the packages of the extra.

    Raises:
        MissingExtraError: If one is not installed.
    """
    if not all(map(find_spec, _PACKAGES)):
        raise MissingExtraError(what, "train")


_R = TypeVar("_R", Recipe, EncoderRecipe, GateRecipe, Lora)


def taken(kind: type[_R], options: Mapping[str, Any], *, prefix: str = "") -> _R:
    """A recipe of the options that :func:`options_of` made."""
    return kind(**{name: options[prefix + name] for name in _names(kind)})


def _names(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


@contextmanager
def told() -> Iterator[Steps]:
    """Show progress; where a run is interrupted, say how it goes on."""
    with steps() as report:
        try:
            yield report
        except KeyboardInterrupt:
            where = f"after step {report.n_saved:,}" if report.n_saved else "from the beginning"
            report.say(
                f"Stopped after step {report.n_done:,}. The same command with --resume goes on "
                f"{where}."
            )
            raise

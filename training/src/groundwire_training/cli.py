"""The command ``groundwire train``: reader, cross-encoder, encoder, explainer and gate."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click

from groundwire.cli.inputs import NAME, FilePath, FiniteRange
from groundwire.errors import MissingExtraError
from groundwire_training.recipe import EncoderRecipe, GateRecipe, Lora, Recipe
from groundwire_training.steps import Steps, steps

DATA = FilePath(exists=True, readable=True, path_type=Path)
FOLDER = FilePath(file_okay=False, path_type=Path)
WEIGHTS = FilePath(exists=True, dir_okay=False, readable=True, path_type=Path)

#: Packages of the extra ``train``. The command checks that they are there, without importing them.
_PACKAGES = ("torch", "safetensors", "sklearn", "onnx", "transformers", "accelerate", "peft")

_FROM = (
    "Training needs weights to start from. Give --start FILE with the weights of a reader, to "
    "train it further: training/reader.fp16.safetensors of the repository has those of the "
    "embedded reader or newer ones. Or give --base FILE with the model.safetensors of "
    "all-MiniLM-L6-v2, to train a new reader; answers of your own are seldom enough for that."
)
_ATTRIBUTE = re.compile(r"^ {8}(\w+): (.*(?:\n {12}.*)*)", re.MULTILINE)
_F = TypeVar("_F", bound=Callable[..., Any])


def described(kind: type) -> dict[str, str]:
    """Return the description of each attribute in the docstring of a class, by name."""
    found = _ATTRIBUTE.findall(kind.__doc__ or "")
    return {name: " ".join(text.replace("``", "").split()) for name, text in found}


def options_of(kind: type, *, prefix: str = "") -> Callable[[_F], _F]:
    """Return a decorator that adds an option for each field of a recipe.

    The field's default is the option's default, and its description in the docstring is the help.
    """
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
    """Return the range of values that a field may have, by its name and its default."""
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
    """Parse the option for class weights: ``none``, ``balanced``, or numbers with commas between.

    Raises:
        click.BadParameter: If the value is none of these.
    """
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
    """Return a decorator that adds the option ``--data``, with ``text`` as its help."""
    return click.option("--data", type=DATA, metavar="PATH", required=True, help=text)


labelled_answers = data_option(
    "A JSON Lines file of your own, gzip or not, or a folder with ragtruth/train.jsonl.gz, "
    "slots/train.jsonl.gz and slots/validation.jsonl.gz."
)


out_option = click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    required=True,
    help="Where checkpoints go, and the model: DIR/model.",
)
resume_option = click.option(
    "--resume", is_flag=True, help="Continue from the last checkpoint in --out."
)
threads_option = click.option(
    "--threads", type=click.IntRange(1, 256), metavar="N", help="CPU threads."
)
device_option = click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where to train. auto: on a GPU if PyTorch finds one.",
)
layers_option = click.option(
    "--layers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep the first N layers of --base.  [default: all]",
)
curve_option = click.option(
    "--curve-contexts",
    type=click.IntRange(min=1),
    metavar="N",
    help="Validation contexts of each kind that are scored during training.  [default: all]",
)
version_option = click.option(
    "--version",
    metavar="TEXT",
    default="0.1.0",
    show_default=True,
    type=NAME,
    help="Version of the weights, for the manifest.",
)
revision_option = click.option(
    "--revision", metavar="COMMIT", help="The commit of a hub model, 40 digits."
)


drawing_option = click.option(
    "--threads",
    type=click.IntRange(1, 256),
    metavar="N",
    help="CPU threads; for a GPU, processes that draw claims.  [default: one for each core]",
)


def checkpoint_option(default: int, text: str = "") -> Callable[[_F], _F]:
    """Return a decorator that adds the option ``--checkpoint-every``; ``text`` ends its help."""
    return click.option(
        "--checkpoint-every",
        type=click.IntRange(min=1),
        metavar="N",
        default=default,
        show_default=True,
        help=f"Steps between two checkpoints{text}.",
    )


def common_options(command: _F) -> _F:
    """Add the options that most kinds of training share."""
    options = (
        out_option,
        resume_option,
        device_option,
        threads_option,
        click.option(
            "--lora",
            is_flag=True,
            help="Train low-rank adapters and heads in place of all weights; they are merged at "
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
@layers_option
@click.option(
    "--tables",
    type=FilePath(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder with tokenizer.json and words.npz.  [default: those of the embedded reader]",
)
@checkpoint_option(100, "; every third is scored on validation")
@curve_option
@click.option(
    "--precision",
    type=click.Choice(["auto", "fp32", "bf16"]),
    default="auto",
    show_default=True,
    help="Precision of matrix products. auto: bf16 on hardware that multiplies in it.",
)
@version_option
@options_of(Recipe)
def reader(*, lora: bool, device: str, **options: Any) -> None:  # noqa: ANN401  # as click passes it
    """Train the reader, export it in int8, and calibrate it.

    The model folder is DIR/model. To continue an interrupted run, repeat the command with
    --resume; it ends with the same weights.
    """
    if options["start"] and options["base"]:
        raise click.UsageError("Give either --start or --base: --base trains a new reader.")
    base = options["data"] / "base" / "model.safetensors"
    if not (options["start"] or options["base"]):
        if not base.is_file():
            raise click.UsageError(_FROM)
        options["base"] = base
    require_packages("Training the reader")
    from groundwire_training.devices import find_device
    from groundwire_training.run import ReaderRun, train_reader

    run = ReaderRun(
        recipe=recipe_of(Recipe, options),
        lora=recipe_of(Lora, options, prefix="lora_") if lora else None,
        device=find_device(device),
        **{name: value for name, value in options.items() if name in _names(ReaderRun)},
    )
    with progress() as report:
        folder = train_reader(run, report)
    click.echo(f"Model: {folder}", err=True)


@train.command()
@labelled_answers
@out_option
@resume_option
@device_option
@drawing_option
@click.option(
    "--base",
    type=WEIGHTS,
    metavar="FILE",
    help="model.safetensors of all-mpnet-base-v2 or all-MiniLM-L6-v2, to begin with.",
)
@click.option(
    "--start",
    type=FilePath(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The model folder of a cross-encoder, to train further in place of a base.",
)
@layers_option
@checkpoint_option(20, "; every third is scored on validation")
@curve_option
@version_option
@options_of(Recipe)
def cross(*, device: str, **options: Any) -> None:  # noqa: ANN401  # as click passes it
    """Train a cross-encoder, which reads each claim with its closest lines.

    It is calibrated together with the embedded reader. The model folder for --detector is
    DIR/model.
    """
    require_packages("Training the cross-encoder")
    from groundwire_training.cross_run import CrossRun, train_cross
    from groundwire_training.devices import find_device

    run = CrossRun(
        recipe=recipe_of(Recipe, options),
        device=find_device(device),
        **{name: value for name, value in options.items() if name in _names(CrossRun)},
    )
    with progress() as report:
        folder = train_cross(run, report)
    click.echo(f"Model: {folder}", err=True)


@train.command()
@labelled_answers
@common_options
@click.option(
    "--base",
    metavar="NAME_OR_DIR",
    required=True,
    type=NAME,
    help="The encoder: a folder that save_pretrained wrote, or the id of a hub model.",
)
@revision_option
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
@checkpoint_option(500)
@options_of(EncoderRecipe)
def encoder(*, lora: bool, device: str, n_labels: str, **options: Any) -> None:  # noqa: ANN401
    """Fine-tune an encoder of the Hugging Face hub into a detector of your own.

    Its input is [CLS] context [SEP] question [SEP] answer [SEP]. The folder for groundwire check
    --detector is DIR/model.
    """
    require_packages("Training an encoder")
    from groundwire_training.devices import find_device
    from groundwire_training.encoder import EncoderRun, train_encoder

    run = EncoderRun(
        recipe=recipe_of(EncoderRecipe, options),
        lora=recipe_of(Lora, options, prefix="lora_") if lora else None,
        device=find_device(device),
        n_labels=int(n_labels),
        **{name: value for name, value in options.items() if name in _names(EncoderRun)},
    )
    with progress() as report:
        folder = train_encoder(run, report)
    click.echo(f"Model: {folder}", err=True)


@train.command()
@data_option(
    "A JSON Lines file with prompt and label (1 needs a check, 0 does not), or a folder with "
    "prompts/ and published/."
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
    help="Also measure, for each set, a gate that was trained without it; takes long.",
)
@click.option(
    "--base",
    metavar="NAME_OR_DIR",
    type=NAME,
    help="Fine-tune this encoder by the published recipe instead (LoRA, class weights).",
)
@revision_option
@click.option("--resume", is_flag=True, help="With --base: continue from the last checkpoint.")
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

    The folder for groundwire gate --model is DIR/model. A second run reuses the embeddings of the
    first, in DIR. With --base the published recipe is used: LoRA of rank 16, 3 epochs of at most
    50,000 prompts; DIR/model is then a sequence classifier for transformers.
    """
    recipe, data, out = recipe_of(GateRecipe, options), options["data"], options["out"]
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

        with progress() as report:
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
    type=NAME,
    help="The encoder to fine-tune: a folder that save_pretrained wrote, or the id of a hub model.",
)
@revision_option
@checkpoint_option(500)
@options_of(EncoderRecipe)
def explainer(*, lora: bool, device: str, **options: Any) -> None:  # noqa: ANN401
    """Fine-tune an encoder into an explainer of marked claims.

    It decides whether evidence entails a claim or contradicts it. The folder for groundwire explain
    --model is DIR/model. Without --base no weights are trained: the embedded explainer's
    probabilities are calibrated on your claims. Its weights are trained with the reader.
    """
    require_packages("Training an explainer")
    from groundwire_training.devices import find_device
    from groundwire_training.explainer import ExplainerRun, train_explainer

    run = ExplainerRun(
        recipe=recipe_of(EncoderRecipe, options),
        lora=recipe_of(Lora, options, prefix="lora_") if lora else None,
        device=find_device(device),
        **{name: value for name, value in options.items() if name in _names(ExplainerRun)},
    )
    with progress() as report:
        folder = train_explainer(run, report)
    click.echo(f"Model: {folder}", err=True)


def require_packages(what: str) -> None:
    """Check that the packages of the extra ``train`` are installed.

    Raises:
        MissingExtraError: If a package is missing.
    """
    if not all(map(find_spec, _PACKAGES)):
        raise MissingExtraError(what, "train")


_R = TypeVar("_R", Recipe, EncoderRecipe, GateRecipe, Lora)


def recipe_of(kind: type[_R], options: Mapping[str, Any], *, prefix: str = "") -> _R:
    """Make a recipe from the values of the options that :func:`options_of` added."""
    return kind(**{name: options[prefix + name] for name in _names(kind)})


def _names(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


@contextmanager
def progress() -> Iterator[Steps]:
    """Show progress; after an interrupt, say how to continue the run."""
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

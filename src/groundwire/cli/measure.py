"""``groundwire measure``: how often a language model hallucinates on questions of one's own."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from groundwire.cli.check import detector_options
from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import READ_FILE, RESULT_FILE
from groundwire.cli.measure_options import (
    DATA,
    by_option,
    classify_options,
    column_option,
    force_option,
    generate_options,
    json_option,
    load_options,
    output_option,
    price_options,
    resume_option,
)
from groundwire.cli.measure_steps import Classifying, Generating, Loading, detect
from groundwire.cli.results import ResultsExistError
from groundwire.cli.status import ExitStatus
from groundwire.files.writing import replacing, to_json
from groundwire.loading import Choice

if TYPE_CHECKING:
    from groundwire.evaluation.workflow.aggregate import Prices

_T = TypeVar("_T")

EPILOG = """\b
Examples:
  groundwire measure run --data questions.jsonl --model gpt-4o-mini --model gpt-4o --out measured
  groundwire measure run --data questions.csv --column question=q --column sources=passage \\
      --base-url http://localhost:8000/v1 --model my-model --out measured
  groundwire measure compare before/classified.jsonl after/classified.jsonl

\b
A question has sources (or context), perhaps an id, a task (or category) and a context_id. The key
is that of OPENAI_API_KEY. run does all steps in a folder, and goes on where it was cut short.

\b
Exit status of load, generate, aggregate and run:
  0  all rows were read, answered and judged
  1  some rows failed: they are told, and in no rate
  2  nothing was measured, or the command was wrong
"""


@click.group(epilog=EPILOG)
def measure() -> None:
    """Measure how often language models hallucinate on questions of your own."""


@measure.command("load")
@load_options
@output_option
@force_option
@click.pass_context
def load_command(ctx: click.Context, /, *, output: Path, force: bool, **load: Any) -> None:  # noqa: ANN401
    """Read questions with their sources, from a table or a hub."""
    _require_free(output, resume=False, force=force)
    _require_apart(output, data=load["data"])
    ctx.exit(Loading(**load).to(output, is_kept=False))


@measure.command("generate")
@click.option("--questions", type=READ_FILE, required=True, metavar="FILE", help="What load wrote.")
@generate_options
@price_options
@output_option
@resume_option
@force_option
@click.pass_context
def generate_command(
    ctx: click.Context,
    /,
    *,
    questions: Path,
    prices_in: tuple[str, ...],
    prices_out: tuple[str, ...],
    output: Path,
    resume: bool,
    force: bool,
    **generate: Any,  # noqa: ANN401
) -> None:
    """Ask one or several language models, at any endpoint that speaks chat completions.

    Answers are written in the order of the questions, those without one with their error. Keys are
    read from the environment and go nowhere but to the endpoint.
    """
    options = Generating(**generate)
    _require_free(output, resume=resume or options.retry_failed, force=force)
    _require_apart(output, questions=questions)
    prices = _prices(prices_in, prices_out)
    ctx.exit(options.to(questions, output, prices, force=force, is_renewed=False))


@measure.command("detect")
@click.option(
    "--answers",
    type=DATA,
    required=True,
    metavar="FILE",
    help="What generate wrote, or a table of answers that are there already, with their sources.",
)
@column_option
@output_option
@resume_option
@force_option
@detector_options
@click.pass_context
def detect_command(
    ctx: click.Context,
    /,
    *,
    answers: Path,
    columns: tuple[str, ...],
    output: Path,
    resume: bool,
    force: bool,
    choice: Choice,
) -> None:
    """Judge answers; the file is one that groundwire report reads, too."""
    _require_free(output, resume=resume, force=force)
    _require_apart(output, answers=answers)
    setup = ctx.ensure_object(Setup)
    detect(setup, choice, answers, output, columns, force=force, is_renewed=False)


@measure.command("classify")
@click.option("--results", type=READ_FILE, required=True, metavar="FILE", help="What detect wrote.")
@click.option(
    "--answers", type=DATA, required=True, metavar="FILE", help="The answers that it judged."
)
@column_option
@classify_options
@output_option
@resume_option
@force_option
@click.option("--threads", type=click.IntRange(1, 256), metavar="N", help="CPU threads to use.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda:N.")
@click.pass_context
def classify_command(
    ctx: click.Context,
    /,
    *,
    results: Path,
    answers: Path,
    columns: tuple[str, ...],
    output: Path,
    resume: bool,
    force: bool,
    **classify: Any,  # noqa: ANN401
) -> None:
    """Say how bad each finding is: label, category and severity, from 0 to 4."""
    _require_free(output, resume=resume, force=force)
    _require_apart(output, results=results, answers=answers)
    setup = ctx.ensure_object(Setup)
    Classifying(**classify).to(
        setup, results, answers, output, columns, force=force, is_renewed=False
    )


@measure.command("aggregate")
@click.argument("classified", type=READ_FILE)
@by_option
@price_options
@json_option
@click.option("--markdown", type=RESULT_FILE, metavar="FILE", help="Write the table as Markdown.")
@click.pass_context
def aggregate_command(
    ctx: click.Context,
    /,
    *,
    classified: Path,
    by: str | None,
    prices_in: tuple[str, ...],
    prices_out: tuple[str, ...],
    as_json: bool,
    markdown: Path | None,
) -> None:
    """Count: rates with intervals, contradictions, severities, by model and category."""
    if markdown is not None:
        _require_apart(markdown, classified=classified)
    from groundwire.evaluation.workflow.aggregate import aggregate
    from groundwire.evaluation.workflow.table import to_markdown

    found = aggregate(classified, by=by, prices=_prices(prices_in, prices_out))
    if markdown is not None:
        with replacing(markdown) as stream:
            stream.write(to_markdown(found))
    _show(found, as_json=as_json)
    ctx.exit(_status(found))


@measure.command("compare")
@click.argument("files", nargs=-1, required=True, type=READ_FILE)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="The two models, first and second, where a file has several.",
)
@json_option
def compare_command(*, files: tuple[Path, ...], models: tuple[str, ...], as_json: bool) -> None:
    """Compare two models on the same questions: the difference, and whether it is chance.

    FILES is one file that classify wrote, with both models, or two, the first and the second.
    """
    if len(files) > 2:
        raise click.UsageError("Give one file with two models, or two files.")
    if len(models) not in (0, 2):
        raise click.UsageError("Name both models with --model, or none.")
    from groundwire.evaluation.workflow.compare import compare
    from groundwire.evaluation.workflow.table import compared_to_text

    first, second = models or (None, None)
    found = compare(files[0], files[-1], first=first, second=second).to_dict()
    click.echo(to_json(found, indent=2) if as_json else compared_to_text(found))


@measure.command("run")
@load_options
@generate_options
@price_options
@detector_options
@classify_options
@click.option(
    "--by", metavar="COLUMN", help="Tell the values of this column of the questions apart as well."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="Where all files go; what is there and still holds is not made again.",
)
@json_option
@click.pass_context
def run_command(
    ctx: click.Context,
    /,
    *,
    prices_in: tuple[str, ...],
    prices_out: tuple[str, ...],
    by: str | None,
    out: Path,
    as_json: bool,
    choice: Choice,
    **options: Any,  # noqa: ANN401
) -> None:
    """Do all steps in a folder: from questions to a report.

    Cut short, the same command goes on. A step whose input or options changed is made anew; what a
    model has answered before is kept, and not paid for again.
    """
    loading, generating = _of(Loading, options), _of(Generating, options)
    on = {"threads": choice.threads, "device": choice.device}
    classifying = _of(Classifying, {**options, **on})
    if loading.data is not None and loading.data.resolve() == out.resolve():
        raise click.UsageError("--out is the folder of --data: name one elsewhere.")
    prices, setup = _prices(prices_in, prices_out), ctx.ensure_object(Setup)
    generating.address()  # what cannot work is refused before anything is written
    out.mkdir(parents=True, exist_ok=True)
    questions, answers = out / "questions.jsonl", out / "answers.jsonl"
    results, classified = out / "results.jsonl", out / "classified.jsonl"
    loading.to(questions, is_kept=True)
    _require_column(by, questions)  # before anything is paid for
    generating.to(questions, answers, prices, force=False, is_renewed=True)
    detect(setup, choice, answers, results, (), force=False, is_renewed=True)
    classifying.to(setup, results, answers, classified, (), force=False, is_renewed=True)
    from groundwire.evaluation.workflow.aggregate import aggregate
    from groundwire.evaluation.workflow.table import to_markdown

    found = aggregate(classified, by=by, prices=prices)
    for name, text in (
        ("report.json", to_json(found, indent=2) + "\n"),
        ("report.md", to_markdown(found)),
    ):
        with replacing(out / name) as stream:
            stream.write(text)
    _show(found, as_json=as_json)
    ctx.exit(_status(found))


def _of(kind: type[_T], options: Mapping[str, Any]) -> _T:
    """The options of a step among those of all; what is no option keeps its default."""
    names = kind.__dataclass_fields__  # type: ignore[attr-defined] # each is a dataclass
    return kind(**{name: options[name] for name in names if name in options})


def _require_column(by: str | None, questions: Path) -> None:
    from groundwire.evaluation.datasets.files import NumberedQuestion
    from groundwire.evaluation.workflow.questions import read
    from groundwire.evaluation.workflow.rows import require_column

    require_column(
        by,
        (row.question.columns for row in read(questions) if isinstance(row, NumberedQuestion)),
    )


def _require_free(output: Path, *, resume: bool, force: bool) -> None:
    if resume and force:
        raise click.UsageError("--resume continues the output and --force replaces it: choose.")
    if output.exists() and not resume and not force:
        raise ResultsExistError(output)


def _require_apart(output: Path, **inputs: Path | None) -> None:
    """An output is no input, and not among the files of one."""
    for name, path in inputs.items():
        if path is not None and output.resolve() in (path.resolve(), path.resolve() / output.name):
            raise click.UsageError(f"--output is --{name}, or in its folder: name another.")


def _prices(read: tuple[str, ...], written: tuple[str, ...]) -> "Prices":
    from groundwire.evaluation.workflow.aggregate import Prices

    return Prices.of(read, written)


def _show(found: Mapping[str, Any], *, as_json: bool) -> None:
    from groundwire.evaluation.workflow.table import to_text

    click.echo(to_json(found, indent=2) if as_json else to_text(found))


def _status(found: Mapping[str, Any]) -> ExitStatus:
    if not found["n_verdicts"]:
        return ExitStatus.FAILED
    outcomes = found["outcomes"]
    is_whole = not outcomes["failed"] and not outcomes["unavailable"]
    return ExitStatus.PASSED if is_whole else ExitStatus.FLAGGED

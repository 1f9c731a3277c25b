"""``groundwire measure``: measures how often language models hallucinate on a user's questions."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from groundwire.cli.batch import Files, results_exist
from groundwire.cli.check import DetectorOptions
from groundwire.cli.console import show, write_text
from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import READ_FILE, RESULT_FILE
from groundwire.cli.judging import Judging
from groundwire.cli.labelled import Labelled
from groundwire.cli.measure_options import Generating, PriceOptions, Questions, with_explainer
from groundwire.cli.options import argument, command, commands, group, option
from groundwire.cli.status import ExitStatus
from groundwire.evaluation.loading import DetectorChoice
from groundwire.text.files.writing import to_json


@commands()
def measure() -> None:
    r"""Measure how often language models hallucinate on questions of your own.

    Examples:
        groundwire measure run --data questions.jsonl --model gpt-4o-mini --model gpt-4o --out out
        groundwire measure run --data questions.csv --column question=q --column sources=passage \
            --base-url http://localhost:8000/v1 --model my-model --out measured
        groundwire measure compare before/results.jsonl after/results.jsonl

    A question has sources (or context), perhaps an id, a task (or category) and a context_id. The
    key is read from OPENAI_API_KEY. run does both steps in a folder: generate, then evaluate. After
    an interruption, the same command goes on, and does not ask for answers again.

    Exit status of generate, evaluate and run:
        0  all rows were read, answered and judged
        1  some rows failed: they are reported, and count in no rate
        2  nothing was measured, or the command was wrong
    """


@command("generate", under=measure)
def generate_command(
    ctx: click.Context,
    /,
    *,
    questions: Questions = group(Questions),
    generating: Generating = group(Generating),
    prices: PriceOptions = group(PriceOptions),
    output: Path = option("--output", type=RESULT_FILE, required=True),
    force: bool = option("--force"),
) -> None:
    """Ask one or several language models, at any endpoint that speaks chat completions.

    Answers are written in the order of the questions; a failed call has an error in place of the
    answer. Keys are read from the environment and are sent to the endpoint alone.

    Args:
        output: The table of answers, as JSON Lines. Replies are kept beside it as they come, in
            a file that ends in .replies, so that the same command asks only for missing answers.
        force: Replace an --output that this command did not write.
    """
    from groundwire.evaluation.measure.generate import replies_path

    _require_apart(output, questions.data)
    if output.suffix not in (".jsonl", ".ndjson", ".json"):
        raise click.UsageError("--output is JSON Lines: give it a name that ends in .jsonl.")
    if output.exists() and not replies_path(output).exists() and not force:
        raise results_exist(output)
    ctx.exit(generating.to(questions, output, prices.read()))


@command("evaluate", under=measure)
def evaluate_command(
    ctx: click.Context,
    /,
    *,
    labelled: Labelled = group(Labelled),
    choice: DetectorChoice = group(DetectorOptions),
    by: str | None = option("--by", "COLUMN"),
    prices: PriceOptions = group(PriceOptions),
    as_json: bool = option("--json"),
) -> None:
    """Judge answers and count: rates with intervals, severities, by model and category.

    --data is what generate wrote, or any table of answers with their sources; a column named model
    says who gave an answer. groundwire report can read what --output keeps.

    Args:
        by: Also count by the values of this column of the data.
        as_json: Print the numbers as JSON.
    """
    from groundwire.evaluation.measure.rates import rates
    from groundwire.evaluation.measure.table import to_text

    costs = prices.read()
    setup = with_explainer(ctx.ensure_object(Setup), choice)
    with labelled.judged(ctx, choice, setup) as path:
        found = rates(path, by=by, prices=costs)
    show(found, lambda _: to_text(found), as_json=as_json)
    ctx.exit(_status(found))


@command("compare", under=measure)
def compare_command(
    *,
    files: tuple[Path, ...] = argument(type=READ_FILE, required=True),
    models: tuple[str, ...] = option("--model", "NAME"),
    as_json: bool = option("--json"),
) -> None:
    """Compare two models on the same questions: the difference, and whether it is chance.

    FILES is one --output of evaluate with both models, or two: one for each model.

    Args:
        models: The two models, first and second, where a file has several.
        as_json: Print the numbers as JSON.
    """
    if len(files) > 2:
        raise click.UsageError("Give one file with two models, or two files.")
    if len(models) not in (0, 2):
        raise click.UsageError("Name both models with --model, or none.")
    from groundwire.evaluation.measure.compare import compare
    from groundwire.evaluation.measure.table import compared_to_text

    first, second = models or (None, None)
    found = compare(files[0], files[-1], first=first, second=second)
    show(found, lambda _: compared_to_text(found), as_json=as_json)


@command("run", under=measure)
def run_command(
    ctx: click.Context,
    /,
    *,
    questions: Questions = group(Questions),
    generating: Generating = group(Generating),
    prices: PriceOptions = group(PriceOptions),
    choice: DetectorChoice = group(DetectorOptions),
    by: str | None = option("--by", "COLUMN"),
    out: Path = option("--out", "DIR", click.Path(file_okay=False, path_type=Path), required=True),
    as_json: bool = option("--json"),
) -> None:
    """Generate answers and evaluate them in a folder: from questions to a report.

    If the command is repeated, it asks only for missing answers, and judges all answers anew.

    Args:
        by: Also count by the values of this column of the data.
        out: The folder of all files.
        as_json: Print the numbers as JSON.
    """
    costs = prices.read()
    answers, results = out / "answers.jsonl", out / "results.jsonl"
    _require_apart(answers, questions.data)
    out.mkdir(parents=True, exist_ok=True)
    if generating.to(questions, answers, costs) is ExitStatus.FAILED:
        ctx.exit(ExitStatus.FAILED)
    setup = with_explainer(ctx.ensure_object(Setup), choice)
    _judge(choice, setup, answers, results)
    from groundwire.evaluation.measure.rates import rates
    from groundwire.evaluation.measure.table import to_text

    found = rates(results, by=by, prices=costs)
    write_text(out / "report.json", to_json(found, indent=2) + "\n")
    show(found, lambda _: to_text(found), as_json=as_json)
    ctx.exit(_status(found))


def _judge(choice: DetectorChoice, setup: Setup, answers: Path, results: Path) -> None:
    """Judge all answers, and replace the results of an earlier run."""
    from groundwire.evaluation.datasets.files import read_labelled
    from groundwire.evaluation.datasets.lines import count_rows, fingerprints
    from groundwire.evaluation.datasets.mapping import ColumnMapping

    judging = Judging(setup=setup, choice=choice)
    with judging.judged(
        Files(batch=answers, output=results, resume=False, force=True),
        read_labelled(answers, ColumnMapping.of(())),
        hashes=fingerprints(answers),
        count=partial(count_rows, answers),
    ):
        return


def _require_apart(output: Path, data: Path) -> None:
    """Refuse an output that is the input file, or that is in the input folder."""
    if output.resolve() in (data.resolve(), data.resolve() / output.name):
        raise click.UsageError("The output is an input, or in its folder: name another.")


def _status(found: Mapping[str, Any]) -> ExitStatus:
    if not found["n_verdicts"]:
        return ExitStatus.FAILED
    outcomes = found["outcomes"]
    is_whole = not outcomes["failed"] and not outcomes["unavailable"]
    return ExitStatus.PASSED if is_whole else ExitStatus.FLAGGED

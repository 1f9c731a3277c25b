"""``groundwire measure``: measures how often language models hallucinate on a user's questions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from groundwire.cli.console import show
from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import RESULT_FILE
from groundwire.cli.labelled import Labelled
from groundwire.cli.measure_options import Generating, Questions, with_explainer
from groundwire.cli.options import command, commands, option
from groundwire.cli.status import ExitStatus


@commands()
def measure() -> None:
    r"""Measure how often language models hallucinate on questions of your own.

    Examples:
        groundwire measure generate --data questions.csv --column question=q \
            --column sources=passage --model gpt-4o-mini --model gpt-4o --output answers.jsonl
        groundwire measure evaluate --data answers.jsonl --output results.jsonl

    A question has sources (or context), perhaps an id, a task (or category) and a context_id. The
    endpoint's key is read from OPENAI_API_KEY, unless --api-key-env names another variable. After
    an interruption, the same command continues, and asks only for the answers that are missing.

    Exit status of generate and evaluate:
        0  all rows were read, answered and judged
        1  some rows failed: they are reported, and count in no rate
        2  nothing was measured, or the command was wrong
    """


@command("generate", under=measure)
def generate_command(
    ctx: click.Context,
    /,
    *,
    questions: Questions,
    generating: Generating,
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

    if output.resolve() in (questions.data.resolve(), questions.data.resolve() / output.name):
        raise click.UsageError("The output is an input, or in its folder: name another.")
    if output.suffix not in (".jsonl", ".ndjson", ".json"):
        raise click.UsageError("--output is JSON Lines: give it a name that ends in .jsonl.")
    if output.exists() and not replies_path(output).exists() and not force:
        raise click.UsageError(
            f"{output} exists, and this command did not write it. Replace it with --force, or name "
            "another --output."
        )
    ctx.exit(generating.to(questions, output))


@command("evaluate", under=measure)
def evaluate_command(
    ctx: click.Context, /, *, labelled: Labelled, as_json: bool = option("--json")
) -> None:
    """Judge answers, and give rates with intervals and severities, by model and category.

    --data is what generate wrote, or any table of answers with their sources; a column named model
    says which model gave an answer. groundwire report can read the file that --output names.

    Args:
        as_json: Print the numbers as JSON.
    """
    from groundwire.evaluation.measure.rates import rates
    from groundwire.evaluation.measure.table import to_text

    with labelled.judged(ctx, with_explainer(ctx.ensure_object(Setup))) as path:
        found = rates(path)
    show(found, lambda: to_text(found), as_json=as_json)
    ctx.exit(_status(found))


def _status(found: Mapping[str, Any]) -> ExitStatus:
    if not found["n_verdicts"]:
        return ExitStatus.FAILED
    outcomes = found["outcomes"]
    is_whole = not outcomes["failed"] and not outcomes["unavailable"]
    return ExitStatus.PASSED if is_whole else ExitStatus.FLAGGED

"""``groundwire check``: one answer, or a file of them, against its sources."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from groundwire.cli.console import ColorChoice, color_option, wants_color
from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import (
    RESULT_FILE,
    TEXT_FILE,
    read_sources,
    read_text_option,
    refuse_empty,
    refuse_shared_stdin,
)
from groundwire.cli.status import exit_status
from groundwire.detection.example import Example
from groundwire.detection.values import OPERATING_POINTS
from groundwire.evaluation.loading import DetectorChoice
from groundwire.text.files.writing import to_json

_F = TypeVar("_F", bound=Callable[..., Any])

#: Fields of :class:`DetectorChoice` that are options.
_OF_CHOICE = ("operating_point", "model", "revision", "threads", "device")


def read_operating_point(ctx: click.Context, param: click.Parameter, value: str) -> str | float:
    """Read the name of an operating point, or a threshold in (0, 1]."""
    if value in OPERATING_POINTS:
        return value
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 < number <= 1:
        raise click.BadParameter(
            f"{value!r} is no operating point. It must be one of {', '.join(OPERATING_POINTS)}, "
            "or a threshold above 0 and at most 1.",
            ctx,
            param,
        )
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """The options that concern one answer."""

    source: tuple[str, ...]
    source_file: tuple[Path, ...]
    question: str | None
    question_file: Path | None
    answer: str | None
    answer_file: Path | None
    html: Path | None

    def example(self) -> Example:
        """Read what the options name."""
        if self.answer is None and self.answer_file is None:
            raise click.UsageError(
                "There is no answer to check. Give --answer TEXT or --answer-file FILE, "
                "a request and its response with --conversation FILE, or a file of answers with "
                "--batch FILE."
            )
        self.refuse_shared_stdin()
        answer = read_text_option(self.answer, self.answer_file, "--answer", "--answer-file")
        assert answer is not None
        return Example.of(
            sources=read_sources(self.source, self.source_file),
            question=read_text_option(
                self.question, self.question_file, "--question", "--question-file"
            ),
            answer=answer,
        )

    def refuse_shared_stdin(self, *others: Path | None) -> None:
        """Standard input can be read once."""
        refuse_shared_stdin([*self.source_file, self.question_file, self.answer_file, *others])


def answer_options(command: _F) -> _F:
    """The options of one answer, with its sources."""
    options = (
        click.option(
            "--source",
            metavar="TEXT",
            multiple=True,
            help="A text the answer may rest on; can be repeated.",
        ),
        click.option(
            "--source-file",
            type=TEXT_FILE,
            metavar="FILE",
            multiple=True,
            help="A file with such a text; can be repeated. Results name it by its file name.",
        ),
        click.option("--question", metavar="TEXT", help="What was asked. It is never evidence."),
        click.option(
            "--question-file", type=TEXT_FILE, metavar="FILE", help="A file with the question."
        ),
        click.option("--answer", metavar="TEXT", help="The answer to check."),
        click.option(
            "--answer-file", type=TEXT_FILE, metavar="FILE", help="A file with the answer."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def detector_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose a detector, which the command gets as ``choice``."""

    @wraps(command)
    def collected(*args: object, **given: object) -> object:
        own: dict[str, Any] = {name: given.pop(name) for name in _OF_CHOICE}
        return command(*args, choice=DetectorChoice(**own), **given)

    options = (
        click.option(
            "--operating-point",
            callback=read_operating_point,
            metavar="POINT",
            default="balanced",
            show_default=True,
            help="precision, balanced, recall, or a threshold above 0 and at most 1: words are "
            "marked if the probability that they are unsupported reaches it; with similarity, "
            "sentences whose similarity is below it.",
        ),
        click.option(
            "--detector",
            "model",
            callback=refuse_empty,
            metavar="NAME_OR_PATH",
            help="reader, similarity, similarity:hash, a folder, or the id of a hub model; of "
            "others ngram, nli:MODEL, lettucedetect:MODEL, or judge:MODEL@URL (an LLM, to which "
            "answers and sources are sent).  [default: reader]",
        ),
        click.option(
            "--revision", callback=refuse_empty, metavar="COMMIT", help="The commit of a hub model."
        ),
        click.option(
            "--threads", type=click.IntRange(1, 256), metavar="N", help="CPU threads to use."
        ),
        click.option(
            "--device",
            callback=refuse_empty,
            metavar="DEVICE",
            default="cpu",
            show_default=True,
            help="cpu or cuda:N, for models from a folder or the hub.",
        ),
    )
    for option in reversed(options):
        collected = option(collected)
    return collected


EPILOG = """\b
Examples:
  groundwire check --source "Paris has 2.1 million inhabitants." \\
      --answer "Paris has 9 million inhabitants."
  groundwire check --source-file a.txt --source-file b.json --answer-file answer.txt
  some-llm | groundwire check --source-file facts.txt --answer-file - --json
  groundwire check --conversation chat.json --config groundwire.yaml
  groundwire check --batch answers.jsonl.gz --output results.jsonl --resume

\b
Exit status:
  0  grounded, or no check was needed
  1  hallucinated, partial (something was not read) or unverified (no source)
  2  the check failed or had no answer, or the command was wrong
"""


@click.command(epilog=EPILOG)
@answer_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--html",
    type=RESULT_FILE,
    metavar="FILE",
    help="Also write the result as a page of its own.",
)
@color_option
@detector_options
@click.option(
    "--conversation",
    type=TEXT_FILE,
    metavar="FILE",
    help='Check a chat as the gateway would, through all stages. FILE is {"request": ..., '
    '"response": ...} in JSON, as an OpenAI-compatible service has them, or a request whose last '
    "message is the answer.",
)
@click.option(
    "--config",
    type=TEXT_FILE,
    metavar="FILE",
    help="The configuration of --conversation; options and environment variables win over it.",
)
@click.option(
    "--batch",
    type=TEXT_FILE,
    metavar="FILE",
    help="Check every row of a JSON Lines file, gzip or not. A row has sources (a list; or source "
    "or context), an answer, and perhaps a question and an id.",
)
@click.option(
    "--output",
    type=RESULT_FILE,
    metavar="FILE",
    help="Where the results of --batch go, a JSON row each; packed if the name ends in .gz.  "
    "[default: standard output]",
)
@click.option("--resume", is_flag=True, help="Continue an --output that was cut short.")
@click.option("--force", is_flag=True, help="Replace an --output that exists.")
@click.pass_context
def check(
    ctx: click.Context,
    /,
    *,
    as_json: bool,
    color: ColorChoice,
    choice: DetectorChoice,
    conversation: Path | None,
    config: Path | None,
    batch: Path | None,
    output: Path | None,
    resume: bool,
    force: bool,
    **single: Any,  # noqa: ANN401  # the options of Single
) -> None:
    """Check an answer against its sources, and mark the words they do not support.

    Texts and files have options of their own; as a FILE, - is standard input. Without any source
    the outcome is unverified.
    """
    setup = ctx.ensure_object(Setup)
    if conversation is not None:
        # The file has a question, sources and an answer of its own.
        others = ("batch", "output", "resume", "force", *Single.__dataclass_fields__)
        refuse_options(ctx, others, "cannot be used with --conversation.")
        from groundwire.cli.conversation import PipelineOptions, check_conversation

        given = frozenset(filter(partial(_is_given, ctx), ctx.params))
        configured = PipelineOptions(choice=choice, given=given, config=config)
        check_conversation(setup, configured, conversation, as_json=as_json, color=color)
        return
    refuse_options(ctx, ("config",), "needs --conversation.")
    if batch is None:
        refuse_options(ctx, ("output", "resume", "force"), "needs --batch.")
        check_one(setup, choice, Single(**single), as_json=as_json, color=color)
        return
    refuse_options(ctx, Single.__dataclass_fields__, "cannot be used with --batch.")

    from groundwire.cli.batch import Files, check_file

    check_file(setup, choice, Files(batch=batch, output=output, resume=resume, force=force))


def check_one(
    setup: Setup, choice: DetectorChoice, single: Single, *, as_json: bool, color: ColorChoice
) -> None:
    """Check one answer, print the result, and exit with its status."""
    from groundwire import render

    example = single.example()
    detection = setup.load(choice).detect(
        sources=example.sources, question=example.question, answer=example.answer
    )
    if single.html:
        single.html.write_text(
            render.to_html(detection, question=example.question), encoding="utf-8"
        )
    if as_json:
        click.echo(to_json(detection.to_dict(), indent=2))
    else:
        colored = wants_color(color)
        click.echo(render.to_terminal(detection, color=colored), color=colored)
    click.get_current_context().exit(exit_status([detection.outcome]))


def refuse_options(ctx: click.Context, names: Iterable[str], why: str) -> None:
    """Refuse options that were given and have no meaning beside others."""
    for parameter in ctx.command.params:
        if parameter.name in names and _is_given(ctx, parameter.name):
            raise click.UsageError(f"{parameter.opts[0]} {why}")


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE

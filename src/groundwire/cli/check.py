"""``groundwire check``: checks one answer, or a file of answers, against the sources."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from groundwire.cli import inputs
from groundwire.cli.console import COLOR, ColorChoice, show_colored
from groundwire.cli.detectors import DetectorChoice, Setup
from groundwire.cli.options import command, is_given, names_of, option
from groundwire.cli.progress import waiting
from groundwire.cli.status import exit_status
from groundwire.detection.any_detector import AnyDetector
from groundwire.detection.example import Example
from groundwire.detection.values import Detection


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """The options that name one answer, its question and its sources.

    Attributes:
        source: A text that the answer may rest on; can be repeated.
        source_file: A file with a text, which is one source under the file's name; or a file with a
            JSON list of documents, each of which is a source. Can be repeated.
        question: The question. It is never evidence.
        question_file: A file with the question.
        answer: The answer to check.
        answer_file: A file with the answer.
    """

    source: tuple[str, ...] = option("--source", "TEXT")
    source_file: tuple[Path, ...] = option("--source-file", type=inputs.TEXT_FILE)
    question: str | None = option("--question", "TEXT")
    question_file: Path | None = option("--question-file", type=inputs.TEXT_FILE)
    answer: str | None = option("--answer", "TEXT")
    answer_file: Path | None = option("--answer-file", type=inputs.TEXT_FILE)

    def example(self) -> Example:
        """Read the texts that the options name, and make an example of them."""
        if self.answer is None and self.answer_file is None:
            raise click.UsageError(
                "There is no answer to check. Give --answer TEXT or --answer-file FILE, "
                "a request and its response with --conversation FILE, or a file of answers with "
                "--batch FILE."
            )
        inputs.refuse_shared_stdin([*self.source_file, self.question_file, self.answer_file])
        answer = inputs.read_text_option(self.answer, self.answer_file, "--answer")
        assert answer is not None
        return Example.of(
            sources=inputs.read_sources(self.source, self.source_file),
            question=inputs.read_text_option(self.question, self.question_file, "--question"),
            answer=answer,
        )


@command()
def check(
    ctx: click.Context,
    /,
    *,
    single: AnswerOptions,
    as_json: bool = option("--json"),
    html: Path | None = option("--html", type=inputs.RESULT_FILE),
    repairs: bool = option("--repair"),
    color: ColorChoice = COLOR,
    choice: DetectorChoice,
    conversation: Path | None = option("--conversation", type=inputs.TEXT_FILE),
    config: Path | None = option("--config", type=inputs.TEXT_FILE),
    batch: Path | None = option("--batch", type=inputs.TEXT_FILE),
    columns: tuple[str, ...] = option("--column", "FIELD=COLUMN"),
    output: Path | None = option("--output", type=inputs.RESULT_FILE),
    resume: bool = option("--resume"),
    force: bool = option("--force"),
) -> None:
    r"""Check an answer against its sources, and mark the words they do not support.

    An option takes either a TEXT or a FILE; the FILE - is standard input. Without any source
    the outcome is unverified.

    Args:
        as_json: Print the result as JSON.
        html: Also write the result as an HTML page; with --repair, that of the repaired answer.
        repairs: Replace wrong words with words of the sources, take out clauses and sentences that
            the sources surely do not support, and show the changes and the repaired answer. Nothing
            is changed unless the repaired answer is grounded.
        conversation: Check a chat as the gateway would, through all stages. FILE is JSON:
            {"request": ..., "response": ...} in the format of the OpenAI API, or only a request,
            whose last message is the answer.
        config: The configuration for --conversation; options and environment variables override
            it.
        batch: Check every row of a file: JSON Lines, a JSON array, CSV, TSV or Parquet, packed
            with gzip or not. A row has sources (a text or a list), an answer, and perhaps a
            question and an id.
        columns: The column of --batch that holds a field (sources, answer, question or id), if the
            column has none of the field's usual names; can be repeated.
        output: The file for the results of --batch, a JSON row each.
            [default: standard output]
        resume: Continue an --output that was cut short.
        force: Replace an --output that exists.

    Examples:
        groundwire check --source "Paris has 2.1 million inhabitants." \
            --answer "Paris has 9 million inhabitants."
        groundwire check --source-file a.txt --source-file b.json --answer-file answer.txt
        some-llm | groundwire check --source-file facts.txt --answer-file - --json
        groundwire check --conversation chat.json --config groundwire.yaml
        groundwire check --batch answers.jsonl.gz --output results.jsonl --resume
        groundwire check --batch answers.csv --column answer=reply --column sources=docs

    Exit status:
        0  grounded, or no check was needed; with --repair, the repaired answer counts
        1  hallucinated, partial (something was not read) or unverified (no source)
        2  the check failed, there was no answer to check, or the command was wrong
    """
    setup = ctx.ensure_object(Setup)
    of_batch = ("columns", "output", "resume", "force")
    of_answer = (*names_of(AnswerOptions), "html", "repairs")
    if conversation is not None:
        # A conversation has its own question, sources and answer, so options for these are refused.
        refuse_options(ctx, ("batch", *of_batch, *of_answer), "cannot be used with --conversation.")
        from groundwire.cli.conversation import check_conversation

        check_conversation(ctx, choice, conversation, config, as_json=as_json, color=color)
        return
    refuse_options(ctx, ("config",), "needs --conversation.")
    if batch is not None:
        refuse_options(ctx, ("repairs",), "cannot be used with --batch: in Python, repair() can.")
        refuse_options(
            ctx,
            of_answer,
            "cannot be used with --batch: rows have texts of their own, and groundwire report "
            "makes a page of an --output.",
        )
        from groundwire.cli.batch import Files, check_file
        from groundwire.evaluation.datasets.mapping import ColumnMapping

        mapping = ColumnMapping.of(columns)
        files = Files(batch=batch, output=output, resume=resume, force=force, columns=mapping)
        check_file(setup, choice, files)
        return
    refuse_options(ctx, of_batch, "needs --batch.")
    from groundwire import render

    inputs.refuse_replacing(html, [*single.source_file, single.question_file, single.answer_file])
    example = single.example()
    detector, detection = detected(setup, choice, example)
    repaired = None
    if repairs:
        from groundwire.explain.repair import repair_detected

        repaired = repair_detected(detector, example, detection)
        detection = repaired.after or detection
    if html is not None:
        page = render.to_html(detection, question=example.question, sources=example.sources)
        html.write_text(page, encoding="utf-8")
    if repaired is not None:
        show_colored(repaired, render.repair_to_terminal, as_json=as_json, color=color)
    else:
        show_colored(detection, render.to_terminal, as_json=as_json, color=color)
    ctx.exit(exit_status([detection.outcome]))


def detected(
    setup: Setup, choice: DetectorChoice, example: Example
) -> tuple[AnyDetector, Detection]:
    """Load the chosen detector and check an answer; return the detector and the detection."""
    with waiting(sum(len(source.text) for source in example.sources)):
        detector = setup.load(choice)
        return detector, detector.detect(
            sources=example.sources, question=example.question, answer=example.answer
        )


def refuse_options(ctx: click.Context, names: Iterable[str], why: str) -> None:
    """Raise a UsageError if the command line has any of the options to refuse.

    Args:
        ctx: Context of the command.
        names: Names of the parameters to refuse.
        why: The end of the error, after the name of the option.
    """
    for parameter in ctx.command.params:
        if parameter.name in names and is_given(ctx, parameter.name):
            raise click.UsageError(f"{parameter.opts[0]} {why}")

"""``groundwire explain``: why words were marked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from groundwire.cli.check import Single, answer_options, detector_options, refuse_options
from groundwire.cli.console import ColorChoice, color_option, wants_color
from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import (
    TEXT_FILE,
    FiniteRange,
    read_sources,
    read_text_option,
    refuse_empty,
)
from groundwire.cli.status import exit_status
from groundwire.detection.example import Source
from groundwire.detection.values import Detection
from groundwire.evaluation.loading import DetectorChoice, ExplainerChoice
from groundwire.text.files.writing import to_json

EPILOG = """\b
Examples:
  groundwire explain --source "The tower opened in 1889." --answer "It opened in 1989."
  groundwire check --source-file a.txt --answer-file answer.txt --json > found.json
  groundwire explain --source-file a.txt --detection found.json

\b
Exit status, after what follows from the evidence was dropped:
  0  grounded, or no check was needed
  1  hallucinated, partial (something was not read) or unverified (no source)
  2  the check failed, or the command was wrong
"""
#: Options that concern a check; a saved detection has had one.
_OF_CHECK = ("question", "question_file", "model", "revision", "operating_point")
_SHARE = FiniteRange(0, 1, min_open=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToExplain:
    """What is to be explained."""

    detection: Detection
    sources: tuple[Source, ...]


@click.command(epilog=EPILOG)
@answer_options
@click.option(
    "--detection",
    "saved",
    type=TEXT_FILE,
    metavar="FILE",
    help="What groundwire check --json printed, in place of a check. It needs the same sources.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@color_option
@detector_options
@click.option(
    "--model",
    "explainer",
    callback=refuse_empty,
    metavar="NAME_OR_PATH",
    help="What explains: a folder, of a reader or of an NLI model, or the id of an NLI model on "
    "the hub.  [default: the embedded sentence head]",
)
@click.option(
    "--model-revision", callback=refuse_empty, metavar="COMMIT", help="The commit of that model."
)
@click.option(
    "--threshold",
    type=_SHARE,
    metavar="X",
    default=0.9,
    show_default=True,
    help="Severity is one less where the explainer is less sure of its label.",
)
@click.option(
    "--entailment-threshold",
    type=_SHARE,
    metavar="X",
    default=0.75,
    show_default=True,
    help="Probability of entailment from which marked words are dropped.",
)
@click.option("--keep-entailed", is_flag=True, help="Drop nothing.")
@click.pass_context
def explain(
    ctx: click.Context,
    /,
    *,
    saved: Path | None,
    as_json: bool,
    color: ColorChoice,
    choice: DetectorChoice,
    explainer: str | None,
    model_revision: str | None,
    threshold: float,
    entailment_threshold: float,
    keep_entailed: bool,
    **single: Any,  # noqa: ANN401  # the options of Single
) -> None:
    """Say why words of an answer are marked: what differs, how bad it is, what the source says.

    The answer is checked as groundwire check does, or a check of before is taken. Words that
    follow from the evidence are dropped, and listed as such.
    """
    setup = ctx.ensure_object(Setup)
    if saved is not None:
        refuse_options(ctx, _OF_CHECK, "cannot be used with --detection: that check was made.")
    found = _found(setup, choice, Single(**single, html=None), saved)
    explained = setup.load_explainer(
        ExplainerChoice(
            model=explainer,
            revision=model_revision,
            threshold=threshold,
            entailment_threshold=entailment_threshold,
            drops_entailed=not keep_entailed,
            device=choice.device if explainer else "cpu",
            threads=choice.threads,
        )
    ).explain(found.detection, found.sources)
    if as_json:
        click.echo(to_json(explained.to_dict(), indent=2))
    else:
        from groundwire.render.findings import findings_to_terminal

        colored = wants_color(color)
        click.echo(findings_to_terminal(explained, color=colored), color=colored)
    ctx.exit(exit_status([explained.detection.outcome]))


def _found(setup: Setup, choice: DetectorChoice, single: Single, saved: Path | None) -> ToExplain:
    """A check made now, or one that was saved."""
    if saved is None:
        if single.answer is None and single.answer_file is None:
            raise click.UsageError(
                "There is no answer to explain. Give --answer TEXT or --answer-file FILE, or "
                "--detection FILE with a check that was made."
            )
        example = single.example()
        detection = setup.load(choice).detect(
            sources=example.sources, question=example.question, answer=example.answer
        )
        return ToExplain(detection=detection, sources=example.sources)
    from groundwire.cli.saved import read_detection

    single.refuse_shared_stdin(saved)
    answer = read_text_option(single.answer, single.answer_file, "--answer", "--answer-file")
    sources = tuple(read_sources(single.source, single.source_file))
    return ToExplain(
        detection=read_detection(saved, answer=answer, sources=sources), sources=sources
    )

"""``groundwire explain``: why words were marked."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from groundwire.cli.check import AnswerOptions, DetectorOptions, refuse_options
from groundwire.cli.console import COLOR, ColorChoice, show
from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import (
    NAME,
    TEXT_FILE,
    FiniteRange,
    read_sources,
    read_text,
    read_text_option,
)
from groundwire.cli.options import group, option, with_options
from groundwire.cli.status import exit_status
from groundwire.detection.detection_json import detection_of
from groundwire.detection.example import Source
from groundwire.detection.values import Claim, Detection, Span
from groundwire.errors import InputError
from groundwire.evaluation.loading import DetectorChoice, ExplainerChoice

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
#: Options of a check, which have no meaning for a saved detection.
_OF_CHECK = ("question", "question_file", "model", "revision", "operating_point")
_SHARE = FiniteRange(0, 1, min_open=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToExplain:
    """A detection to explain, with its sources."""

    detection: Detection
    sources: tuple[Source, ...]


@click.command(epilog=EPILOG)
@click.pass_context
@with_options
def explain(
    ctx: click.Context,
    /,
    *,
    single: AnswerOptions = group(AnswerOptions),
    saved: Path | None = option("--detection", type=TEXT_FILE),
    as_json: bool = option("--json"),
    color: ColorChoice = COLOR,
    choice: DetectorChoice = group(DetectorOptions),
    explainer: str | None = option("--model", "NAME_OR_PATH", NAME),
    model_revision: str | None = option("--model-revision", "COMMIT", NAME),
    threshold: float = option("--threshold", "X", _SHARE, default=0.9),
    entailment_threshold: float = option("--entailment-threshold", "X", _SHARE, default=0.75),
    keep_entailed: bool = option("--keep-entailed"),
) -> None:
    """Say why words of an answer are marked: what differs, how bad it is, what the source says.

    The answer is checked as groundwire check does, or a check of before is taken. Words that
    follow from the evidence are dropped, and listed as such.

    Args:
        saved: The output of groundwire check --json, in place of a check. It needs the same
            sources.
        as_json: Print the result as JSON.
        explainer: The explainer: a folder, of a reader or of an NLI model, or the id of an NLI
            model on the hub.  [default: the embedded sentence head]
        model_revision: The commit of that model.
        threshold: Severity is one less where the explainer is less sure of its label.
        entailment_threshold: Probability of entailment from which marked words are dropped.
        keep_entailed: Drop nothing.
    """
    setup = ctx.ensure_object(Setup)
    if saved is not None:
        refuse_options(ctx, _OF_CHECK, "cannot be used with --detection: that check was made.")
    found = _found(setup, choice, single, saved)
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
    from groundwire.render.findings import findings_to_terminal

    show(
        explained.to_dict(),
        lambda colored: findings_to_terminal(explained, color=colored),
        as_json=as_json,
        color=color,
    )
    ctx.exit(exit_status([explained.detection.outcome]))


def _found(
    setup: Setup, choice: DetectorChoice, single: AnswerOptions, saved: Path | None
) -> ToExplain:
    """Check the answer now, or read a saved detection."""
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
    single.refuse_shared_stdin(saved)
    answer = read_text_option(single.answer, single.answer_file, "--answer", "--answer-file")
    sources = tuple(read_sources(single.source, single.source_file))
    return ToExplain(
        detection=read_detection(saved, answer=answer, sources=sources), sources=sources
    )


def read_detection(path: Path, *, answer: str | None, sources: Sequence[Source]) -> Detection:
    """Read a detection, and make sure that it belongs to an answer and to sources.

    Args:
        path: The output of ``groundwire check --json``.
        answer: The answer, which is no part of the file; without it, the text between the claims is
            blank.
        sources: The sources of the check, with the ids that the detection has.

    Raises:
        InputError: If it is no detection, or one of another answer or other sources.
        NotUtf8Error: If the file is not UTF-8.
        OSError: If it cannot be read.
    """
    begin = f"{path.name} cannot be explained:"
    try:
        detection = detection_of(json.loads(read_text(path)), answer)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{begin} it is no detection ({type(error).__name__}: {error}). Give what groundwire "
            "check --json printed."
        ) from error
    parts: list[Claim | Span] = [*detection.claims, *detection.spans]
    for part in parts:
        if detection.answer[part.start : part.end] != part.text:
            raise InputError(
                f"{begin} it is of another answer: characters {part.start}-{part.end} are not its "
                f"{part.text[:60]!r}. Give the answer that was checked, or none."
            )
    texts = {source.id: source.text for source in sources}
    for place in (place for claim in detection.claims for place in claim.evidence):
        if texts.get(place.source_id, "")[place.start : place.end] != place.text:
            raise InputError(
                f"{begin} it is of other sources: {place.source_id} {place.start}-{place.end} is "
                f"not {place.text[:60]!r}. Give the sources of the check, by the same options in "
                "the same order."
            )
    return detection

"""``groundwire explain``: says why words of an answer were marked."""

import click

from groundwire.cli.check import AnswerOptions, detected
from groundwire.cli.console import COLOR, ColorChoice, show_colored
from groundwire.cli.detectors import DetectorChoice, Setup
from groundwire.cli.inputs import NAME, FiniteRange
from groundwire.cli.options import command, option
from groundwire.cli.status import exit_status

_SHARE = FiniteRange(0, 1, min_open=True)


@command()
def explain(
    ctx: click.Context,
    /,
    *,
    single: AnswerOptions,
    as_json: bool = option("--json"),
    color: ColorChoice = COLOR,
    choice: DetectorChoice,
    explainer: str | None = option("--model", "NAME_OR_PATH", NAME),
    model_revision: str | None = option("--model-revision", "COMMIT", NAME),
    threshold: float = option("--threshold", "X", _SHARE, default=0.9),
    entailment_threshold: float = option("--entailment-threshold", "X", _SHARE, default=0.75),
    keep_entailed: bool = option("--keep-entailed"),
) -> None:
    """Say why words of an answer are marked: what differs, how bad it is, what the source says.

    The command checks the answer as groundwire check does. Marked words that follow from the
    evidence are dropped: they are no longer marked, and are listed separately.

    Args:
        as_json: Print the result as JSON.
        explainer: The explainer: a folder with a reader or an NLI model, or the id of an NLI model
            on the hub.  [default: the embedded model]
        model_revision: The commit of an NLI model on the hub.
        threshold: If the explainer's label is less probable than this, the severity may be one
            lower.
        entailment_threshold: Lowest probability of entailment at which marked words are dropped.
        keep_entailed: Drop no marked words.

    Examples:
        groundwire explain --source "The tower opened in 1889." --answer "It opened in 1989."
        groundwire explain --source-file a.txt --source-file b.json --answer-file answer.txt --json

    Exit status, after what follows from the evidence was dropped:
        0  grounded, or no check was needed
        1  hallucinated, partial (something was not read) or unverified (no source)
        2  the check failed, or the command was wrong
    """
    setup = ctx.ensure_object(Setup)
    example = single.example()
    _, detection = detected(setup, choice, example)
    explained = setup.load_explainer(
        model=explainer,
        revision=model_revision,
        threshold=threshold,
        entailment_threshold=entailment_threshold,
        drops_entailed=not keep_entailed,
        device=choice.device if explainer else "cpu",
        threads=choice.threads,
    ).explain(detection, example.sources)
    from groundwire.render.findings import findings_to_terminal

    show_colored(explained, findings_to_terminal, as_json=as_json, color=color)
    ctx.exit(exit_status([explained.detection.outcome]))

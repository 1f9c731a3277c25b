"""``groundwire gate``: says which prompts call for an answer that has to be checked."""

import sys

import click

from groundwire.cli.inputs import NAME, FiniteRange, read_text
from groundwire.cli.options import argument, command, option
from groundwire.text.files.reading import STDIN
from groundwire.text.files.writing import to_json
from groundwire.text.screen import one_line


@command()
def gate(
    *,
    texts: tuple[str, ...] = argument("[TEXT]..."),
    threshold: float = option("--threshold", "X", FiniteRange(0, 1, min_open=True), default=0.6),
    model: str | None = option("--model", "NAME_OR_PATH", NAME),
    revision: str | None = option("--revision", "COMMIT", NAME),
    as_json: bool = option("--json"),
) -> None:
    """Say which prompts call for an answer that has to be checked.

    Each TEXT is a prompt; without TEXT, each line of standard input is one. The output has a line
    for each prompt: the decision, the confidence in it, and the prompt.

    Args:
        threshold: A prompt needs a check if the model's probability for that is at least this, and
            above 0.5.
        model: A folder with a gate or a sequence classifier, or the id of a classifier on the hub.
            [default: the embedded gate]
        revision: The commit of a hub model.
        as_json: Print a JSON object on a line for each prompt.

    Examples:
        groundwire gate "When was Einstein born?" "Write a poem about autumn"
        groundwire gate --json < prompts.txt
    """
    from groundwire.policy.gate import Gate

    opened = Gate.load(model, threshold=threshold, revision=revision)
    for text in texts or read_text(STDIN).splitlines():
        found = opened.classify(text)
        if as_json:
            click.echo(to_json({"prompt": text, **found.to_dict()}))
        else:
            decision = "needs check" if found.needs_fact_check else "no check   "
            click.echo(f"{decision}  {found.confidence:.2f}  {one_line(text)}")
        sys.stdout.flush()

"""``groundwire gate``: which prompts call for a check."""

import sys

import click

from groundwire.cli.inputs import FiniteRange, read_text, refuse_empty
from groundwire.text.files.reading import STDIN
from groundwire.text.files.writing import to_json


@click.command(
    epilog="\b\nExamples:\n"
    '  groundwire gate "When was Einstein born?" "Write a poem about autumn"\n'
    "  groundwire gate --json < prompts.txt"
)
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option(
    "--threshold",
    type=FiniteRange(0, 1, min_open=True),
    metavar="X",
    default=0.6,
    show_default=True,
    help="Probability from which a prompt needs a check.",
)
@click.option(
    "--model",
    callback=refuse_empty,
    metavar="NAME_OR_PATH",
    help="A folder, of a gate or of a sequence classifier, or the id of one on the hub.  "
    "[default: the embedded gate]",
)
@click.option(
    "--revision", callback=refuse_empty, metavar="COMMIT", help="The commit of a hub model."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def gate(
    *,
    texts: tuple[str, ...],
    threshold: float,
    model: str | None,
    revision: str | None,
    as_json: bool,
) -> None:
    """Say which prompts call for an answer that has to be checked.

    Each TEXT is a prompt; without any, each line of standard input is one. A line tells the
    decision, the confidence in it, and the prompt.
    """
    from groundwire.policy.gate import Gate
    from groundwire.render import visible

    opened = Gate.load(model, threshold=threshold, revision=revision)
    for text in texts or read_text(STDIN).splitlines():
        found = opened.classify(text)
        if as_json:
            click.echo(to_json({"prompt": text, **found.to_dict()}))
        else:
            decision = "needs check" if found.needs_fact_check else "no check   "
            shown = visible(" ".join(text.split()))
            click.echo(f"{decision}  {found.confidence:.2f}  {shown}")
        sys.stdout.flush()

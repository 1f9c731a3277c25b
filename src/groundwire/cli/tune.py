"""``groundwire tune``: which threshold to run, by labelled answers."""

from typing import TYPE_CHECKING

import click

from groundwire.cli.check import detector_options
from groundwire.cli.inputs import refuse_empty
from groundwire.cli.labelled import Labelled, judged_file, labelled_options
from groundwire.cli.status import ExitStatus
from groundwire.evaluation.loading import DetectorChoice
from groundwire.evaluation.tuning.target import LOW
from groundwire.text.files.writing import to_json

if TYPE_CHECKING:
    from groundwire.evaluation.tuning.tuning import Tuning

EPILOG = """\b
Examples:
  groundwire tune --data labelled.jsonl --target fpr=0.01
  groundwire tune --data labelled.jsonl --target recall=0.8 --confidence 0.9 --by tenant
  groundwire evaluate --data labelled.jsonl --operating-point 0.05 --output results.jsonl
  groundwire tune --results results.jsonl --target f1 --json

\b
Exit status:
  0  there is a threshold; with fpr, precision and recall the target is promised of it
  1  there is none, for all answers or for a group: it says how many answers it would take;
     or some rows could not be read or checked, which is told
  2  there is nothing to choose by, or the command was wrong
"""


@click.command(epilog=EPILOG, context_settings={"default_map": {"operating_point": str(LOW)}})
@click.option(
    "--target",
    required=True,
    metavar="TARGET",
    help="fpr=RATE (at most this share of the grounded answers is flagged), precision=RATE, "
    "recall=RATE, or f1 (as high as it gets, nothing is promised).",
)
@click.option(
    "--confidence",
    type=float,
    default=0.95,
    show_default=True,
    metavar="SHARE",
    help="How often a promise is to hold; above 0.5 and below 1.",
)
@click.option(
    "--by",
    callback=refuse_empty,
    metavar="COLUMN",
    help="A threshold for each value of a column as well, such as task or tenant.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Of what is drawn; to be fixed before looking, as the target is.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON, with the curve.")
@labelled_options
@detector_options
@click.pass_context
def tune(
    ctx: click.Context,
    /,
    *,
    target: str,
    confidence: float,
    by: str | None,
    seed: int,
    as_json: bool,
    labelled: Labelled,
    choice: DetectorChoice,
) -> None:
    """Choose a threshold by labelled answers, with a guarantee where there can be one."""
    from groundwire.evaluation.tuning.sample import read_sample
    from groundwire.evaluation.tuning.target import TuningTarget
    from groundwire.evaluation.tuning.tuning import require_confidence
    from groundwire.evaluation.tuning.tuning import tune as choose

    wanted = TuningTarget.parse(target)  # before anything is judged
    require_confidence(confidence)
    with judged_file(ctx, choice, labelled) as path:
        read = read_sample(path, by=by)
    found = choose(
        *(read.header, read.sample, wanted),
        confidence=confidence,
        by=by,
        seed=seed,
        rows=read.rows,
    )
    show(found, as_json=as_json)
    is_right = found.is_held and found.rows.is_complete
    ctx.exit(ExitStatus.PASSED if is_right else ExitStatus.FLAGGED)


def show(found: "Tuning", *, as_json: bool) -> None:
    """Print what was chosen: as JSON, or for people."""
    from groundwire.evaluation.tuning.snippet import to_yaml
    from groundwire.evaluation.tuning.table import BEFOREHAND, promise, to_text

    if not as_json:
        click.echo(to_text(found))
        return
    told = {
        "told": [promise(found, each) for each in found.groups],
        "proviso": None if found.target.value is None else BEFOREHAND,
        "configuration": to_yaml(found),
    }
    click.echo(to_json({**found.to_dict(), **told}, indent=2))

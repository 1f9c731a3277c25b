"""``groundwire tune``: chooses a threshold with the help of labelled answers."""

import click

from groundwire.cli.console import show
from groundwire.cli.inputs import NAME
from groundwire.cli.labelled import Labelled
from groundwire.cli.options import command, option
from groundwire.cli.status import ExitStatus
from groundwire.evaluation.tuning.target import LOW


@command(context_settings={"default_map": {"operating_point": str(LOW)}})
def tune(
    ctx: click.Context,
    /,
    *,
    target: str = option("--target", "TARGET", required=True),
    confidence: float = option("--confidence", "SHARE", default=0.95),
    by: str | None = option("--by", "COLUMN", NAME),
    seed: int = option("--seed", type=click.IntRange(0), default=0),
    as_json: bool = option("--json"),
    labelled: Labelled,
) -> None:
    """Choose a threshold from labelled answers, with a guarantee where there can be one.

    Args:
        target: fpr=RATE (at most this share of the grounded answers is flagged),
            precision=RATE, recall=RATE, or f1 (the highest f1, without a guarantee).
        confidence: Probability with which a guarantee holds; above 0.5 and below 1.
        by: Also choose a threshold for each value of this column, such as task or tenant.
        seed: Seed of the random draws. Choose it, like the target, before you see any result.
        as_json: Print the whole result as JSON, with the curve.

    Examples:
        groundwire tune --data labelled.jsonl --target fpr=0.01
        groundwire tune --data labelled.jsonl --target recall=0.8 --confidence 0.9 --by tenant
        groundwire evaluate --data labelled.jsonl --operating-point 0.05 --output results.jsonl
        groundwire tune --results results.jsonl --target f1 --json

    Exit status:
        0  there is a threshold; for fpr, precision and recall it is guaranteed to meet the target
        1  there is no such threshold, for all answers or for a group, and the result says how many
           answers would be needed; or some rows could not be read or checked
        2  there are no answers to choose by, or the command was wrong
    """
    from groundwire.evaluation.tuning.sample import read_sample
    from groundwire.evaluation.tuning.snippet import to_yaml
    from groundwire.evaluation.tuning.table import BEFOREHAND, promise, to_text
    from groundwire.evaluation.tuning.target import TuningTarget
    from groundwire.evaluation.tuning.tuning import require_confidence
    from groundwire.evaluation.tuning.tuning import tune as choose

    wanted = TuningTarget.parse(target)  # a wrong target is an error before judging begins
    require_confidence(confidence)
    with labelled.judged(ctx) as path:
        read = read_sample(path, by=by)
    found = choose(read, wanted, confidence=confidence, seed=seed)
    promises = {
        "promises": [promise(found, each) for each in found.groups],
        "proviso": None if found.target.value is None else BEFOREHAND,
        "configuration": to_yaml(found),
    }
    show(found.to_dict() | promises, lambda: to_text(found), as_json=as_json)
    is_right = found.is_held and found.rows.is_complete
    ctx.exit(ExitStatus.PASSED if is_right else ExitStatus.FLAGGED)

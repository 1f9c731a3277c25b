"""``groundwire regress``: fails a CI pipeline if results are worse than their limits allow."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.annotations import github
from groundwire.cli.console import show
from groundwire.cli.inputs import READ_FILE, refuse_replacing
from groundwire.cli.labelled import Labelled
from groundwire.cli.options import command, option
from groundwire.cli.status import ExitStatus
from groundwire.errors import GroundwireError

if TYPE_CHECKING:
    from groundwire.evaluation.regress import Regression, RegressionCheck

TITLE = "groundwire regress"


@command()
def regress(
    ctx: click.Context,
    /,
    *,
    baseline: Path | None = option("--baseline", type=READ_FILE),
    drops: tuple[str, ...] = option("--max-drop", "SCORE=POINTS"),
    max_rate: float | None = option("--max-rate", "SHARE"),
    as_json: bool = option("--json"),
    labelled: Labelled,
) -> None:
    """Fail if scores fell too far below a baseline, or if too many answers are hallucinated.

    The command also fails if more rows have an error than in the baseline, or if more answers were
    not checked at all. Without a baseline, the command fails if any row has an error. On GitHub,
    failures are also printed as annotations, which GitHub shows beside a change.

    Args:
        baseline: The output of an earlier groundwire evaluate --json, or the file that its --output
            named. With such a file, each answer is also compared with the same answer before.
        drops: The percentage points by which a score may fall, such as f1=1.0; can be repeated.
        max_rate: The share of answers that may be hallucinated, such as 0.05. Answers that were
            not fully checked count as hallucinated. Labels are not needed.
        as_json: Print the comparison as JSON.

    Examples:
        groundwire evaluate --data labelled.jsonl --json > base.json
        groundwire regress --baseline base.json --data labelled.jsonl --max-drop f1=1.0
        groundwire regress --data answers.jsonl --max-rate 0.05
        groundwire regress --baseline before.jsonl --results now.jsonl --max-drop f1=1

    Exit status:
        0  all is within its limits
        1  a score fell by more than is allowed, too many answers are flagged, or rows were not
           read or not checked
        2  there is nothing to compare (other data, a missing score), or the command was wrong
    """
    if not drops and max_rate is None:
        raise click.UsageError("Give a limit: --max-drop SCORE=POINTS, --max-rate SHARE, or both.")
    if drops and baseline is None:
        raise click.UsageError("--max-drop is a drop from a baseline: give --baseline.")
    labelled.check(ctx)
    refuse_replacing(labelled.output.output, [baseline])
    from groundwire.evaluation.regress import AllowedChanges, Baseline, compare

    def annotate(messages: Iterable[str]) -> None:
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for line in github(messages, title=TITLE):
                click.echo(line, err=as_json)

    try:
        # The arguments are read before anything is judged, so that their errors come first.
        limits = AllowedChanges.of(drops, max_rate)
        before = None if baseline is None else Baseline.read(baseline)
        with labelled.judged(ctx) as path:
            found = compare(path, before, limits)
    except GroundwireError as error:
        annotate([str(error)])
        raise
    show(found.to_dict(), lambda: to_text(found), as_json=as_json)
    annotate(check.sentence for check in found.checks if not check.is_passed)
    ctx.exit(ExitStatus.PASSED if found.is_passed else ExitStatus.FLAGGED)


def to_text(found: "Regression") -> str:
    """Format a comparison as a table, with notes and the first answers that are newly wrong."""
    from groundwire.evaluation.table import aligned, why_no_interval
    from groundwire.text.screen import one_line

    rows: list[tuple[str, ...]] = [("", "before", "now", "worse by (95 %)", "allowed", "")]
    rows += [_row(check) for check in found.checks]
    lines = [*aligned(rows, left=(0, len(rows[0]) - 1))]
    notes = (check.note if check.is_passed else check.sentence for check in found.checks)
    lines += filter(None, [why_no_interval("".join(lines))])
    lines += ["", *filter(None, notes)]
    if found.n_newly_wrong:
        ids = ", ".join(map(one_line, found.newly_wrong))
        more = ", ..." if found.n_newly_wrong > len(found.newly_wrong) else ""
        lines.append(f"right before and wrong now: {found.n_newly_wrong:,} ({ids}{more})")
    return "\n".join(lines).rstrip()


def _row(check: "RegressionCheck") -> tuple[str, ...]:
    from groundwire.evaluation.regress import COUNTS

    verdict = "passed" if check.is_passed else "FAILED"
    if check.name in COUNTS:
        before = "-" if check.before is None else f"{check.before:,.0f}"
        return (check.name, before, f"{check.now:,.0f}", "", f"{check.allowed:,.0f}", verdict)
    worse = "" if check.worse is None else f"{check.worse:+z.2f}"
    if check.ci95 is not None:
        low, high = ("-" if end is None else f"{end:+z.2f}" for end in check.ci95)
        worse += f" ({low} to {high})"
    before = "-" if check.before is None else f"{100 * check.before:.1f}"
    return (check.name, before, f"{100 * check.now:.1f}", worse, f"{check.allowed:g}", verdict)

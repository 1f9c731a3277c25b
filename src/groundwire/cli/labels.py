"""``groundwire labels``: prints the labels that reviewers gave to answers in the console."""

from typing import TYPE_CHECKING

import click

from groundwire.cli.console import say
from groundwire.cli.options import command, option
from groundwire.cli.settings import StoreOptions
from groundwire.cli.store_change import end, run

if TYPE_CHECKING:
    from groundwire.control.store import Store


@command(short_help="Print the labels that reviewers gave to answers.")
def labels(
    ctx: click.Context, /, *, tenant: str | None = option("--tenant", "ID"), store: StoreOptions
) -> None:
    """Print the answers that reviewers have labelled in the console, as JSON Lines.

    Answers about which reviewers disagree, or whose texts are not kept any more, are left
    out. The command works on the database itself, so no gateway has to run. The export is recorded
    in the audit trail, which needs the gateways' audit.key: from --config, GROUNDWIRE_AUDIT_KEY, or
    the file in gateway.data_dir.

    Args:
        tenant: Only answers of this tenant.

    Examples:
        groundwire labels > labels.jsonl
        groundwire tune --data labels.jsonl --target precision=0.9 --by tenant

    Exit status:
        0  done
        1  done, but could not be recorded in the audit trail
        2  nothing was printed, or not all
    """
    asked = {"labels": "all"} if tenant is None else {"labels": "all", "tenant": tenant}

    async def export(store: "Store") -> int:
        from groundwire.control.review.labels import Labels

        n_rows = 0
        async for line in Labels(store).export(tenant=tenant):
            click.echo(line, nl=False)
            n_rows += 1
        return n_rows

    done = run(store.read(ctx), export, lambda _, events: (events.exported(asked),))
    say(f"{done.value} labelled answers.")
    end(ctx, done)

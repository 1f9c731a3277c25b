"""``groundwire keys``: makes, lists and revokes the gateway's keys in the database itself.

The command needs no running gateway, so somebody who has lost the last admin key can make another.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import click

from groundwire.cli.console import say
from groundwire.cli.inputs import NAME, FiniteRange
from groundwire.cli.options import argument, command, commands, option
from groundwire.cli.settings import StoreOptions
from groundwire.cli.store_change import end, run
from groundwire.text.screen import visible

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.control.store import Store
    from groundwire.control.tenants.record import KeyRecord
    from groundwire.control.tenants.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerOptions:
    """The options that say whose keys a command is about, and in which database.

    Attributes:
        tenant: The command is about the keys of this tenant.
        role: The command is about keys of the admin plane. A new key gets this role: admin
            (everything) or auditor (reads everything, changes nothing).
    """

    tenant: str | None = option("--tenant", "ID", NAME)
    role: str | None = option(
        "--admin", "[ROLE]", click.Choice(["admin", "auditor"]), is_flag=False, flag_value="admin"
    )
    store: StoreOptions

    def read(self, ctx: click.Context) -> "Config":
        """Read the configuration in effect. If it cannot be used, the command ends.

        Raises:
            UsageError: If neither or both of ``--tenant`` and ``--admin`` are given.
            MissingExtraError: If the extra ``gateway`` is not installed.
        """
        if (self.tenant is None) == (self.role is None):
            raise click.UsageError("Say whose keys: --tenant ID, or --admin.")
        return self.store.read(ctx)


@commands()
def keys() -> None:
    """Make, list and revoke keys, of tenants and of the admin plane.

    The commands work on the database itself, so no gateway has to run. Running gateways notice a
    change within a second. Each change is recorded in the audit trail, which needs the gateways'
    audit.key: from --config, GROUNDWIRE_AUDIT_KEY, or the file in gateway.data_dir.

    Examples:
        groundwire keys create --admin
        groundwire keys create --admin auditor --name "the auditors" --expires-in 90
        groundwire keys create --tenant acme --config groundwire.yaml
        groundwire keys list --tenant acme
        groundwire keys revoke 1e2a42d676ea --tenant acme

    Exit status:
        0  done
        1  done, but could not be recorded in the audit trail
        2  nothing was done
    """


@command(short_help="Make a key, and print it once.", under=keys)
def create(
    ctx: click.Context,
    /,
    *,
    owner: OwnerOptions,
    name: str | None = option("--name", "TEXT"),
    days: float | None = option(
        "--expires-in", "DAYS", FiniteRange(min=0, min_open=True, max=36_500)
    ),
) -> None:
    """Make a key. It is printed on standard output, once, and not stored.

    Args:
        name: A name for people to read.
        days: The number of days that the key is valid.  [default: until it is revoked]
    """
    config = owner.read(ctx)
    registry = _registry(config)
    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)

    from groundwire.control.keys import Role

    done = run(
        config,
        lambda store: registry(store).create_key(
            tenant=owner.tenant,
            role=None if owner.role is None else Role(owner.role),
            name=name,
            expires_at=expires_at,
        ),
        lambda made, events: events.key_made(made),
    )
    made = done.value
    whose = f"tenant {owner.tenant}" if owner.role is None else f"the role {owner.role}"
    say(f"A key of {whose}, {made.record.id}. It is shown this once:")
    click.echo(made.secret)
    end(ctx, done)


@command("list", short_help="List keys.", under=keys)
def list_(ctx: click.Context, /, *, owner: OwnerOptions) -> None:
    """List the keys of a tenant or the admin plane: configured keys, then others, latest first."""
    config = owner.read(ctx)
    registry = _registry(config)
    for each in run(config, lambda store: registry(store).keys(owner.tenant)).value:
        click.echo(_line(each))


@command(short_help="Revoke a key.", under=keys)
def revoke(ctx: click.Context, /, *, key_id: str = argument("KEY"), owner: OwnerOptions) -> None:
    """Revoke a key for good. KEY is its id in the list."""
    config = owner.read(ctx)
    registry = _registry(config)
    done = run(
        config,
        lambda store: registry(store).revoke_key(key_id, tenant=owner.tenant),
        lambda revoked, events: events.key_revoked(revoked),
    )
    revoked = done.value
    say(f"Revoked {key_id}." if revoked.is_new else f"{key_id} was revoked before.")
    end(ctx, done)


def _registry(config: "Config") -> "Callable[[Store], Registry]":
    """Return a function that opens the tenants and keys of a database."""
    from groundwire.control.tenants.configured import ConfiguredTenants
    from groundwire.control.tenants.registry import Registry

    return partial(Registry, configured=ConfiguredTenants.of(config))


def _line(record: "KeyRecord") -> str:
    whose = record.tenant if record.role is None else str(record.role)
    created = "configured" if record.created_at is None else f"{record.created_at:%Y-%m-%d}"
    used = "never used" if record.last_used_at is None else f"used {record.last_used_at:%Y-%m-%d}"
    line = f"{record.id:<12}  {record.status!s:<8}  {created:<10}  {used:<15}  {whose}"
    return visible(f"{line}  {record.name}" if record.name else line)  # names are untrusted

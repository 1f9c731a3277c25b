"""``groundwire keys``: keys made, listed and revoked in the database itself.

It needs the database, and no gateway that runs; gateways that do take part at once. So who has lost
the last admin key makes another.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from groundwire.cli.console import say
from groundwire.cli.inputs import NAME, FiniteRange
from groundwire.cli.options import argument, command, commands, group, option
from groundwire.cli.serve import require_gateway
from groundwire.cli.settings import StoreOptions
from groundwire.cli.status import ExitStatus
from groundwire.text.files.writing import to_json

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.control.audit import AuditEvent, AuditLog
    from groundwire.control.audit.control_events import ControlEvents
    from groundwire.control.tenants.record import KeyRecord
    from groundwire.control.tenants.registry import Registry

_T = TypeVar("_T")

_Work = Callable[["Registry"], Awaitable[_T]]
_Events = Callable[[_T, "ControlEvents"], Sequence["AuditEvent"]]

#: Seconds for which a command tries to record a change.
RECORD_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerOptions:
    """The options that say whose keys, and in which database.

    Attributes:
        tenant: The tenant whose keys are meant.
        role: Keys of the admin plane are meant. Of a new key it is the role: admin (everything) or
            auditor (reads everything, changes nothing).
    """

    tenant: str | None = option("--tenant", "ID", NAME)
    role: str | None = option(
        "--admin",
        "[ROLE]",
        click.Choice(["admin", "auditor"]),
        is_flag=False,
        flag_value="admin",
    )
    store: StoreOptions = group(StoreOptions)

    def read(self, ctx: click.Context) -> "Config":
        """The configuration in effect."""
        if (self.tenant is None) == (self.role is None):
            raise click.UsageError("Say whose keys: --tenant ID, or --admin.")
        require_gateway()
        return self.store.read(ctx)


@dataclass(frozen=True, slots=True)
class _Done(Generic[_T]):
    value: _T
    is_recorded: bool = True


@commands()
def keys() -> None:
    """Make, list and revoke keys, of tenants and of the admin plane.

    Works on the database itself: no gateway has to run. Those that do know of it within a second.
    What is changed is recorded in the audit trail, so it takes the gateways' audit.key: that of
    --config, GROUNDWIRE_AUDIT_KEY, or the file in gateway.data_dir.

    Examples:
        groundwire keys create --admin
        groundwire keys create --admin auditor --name "the auditors" --expires-in 90
        groundwire keys create --tenant acme --config groundwire.yaml
        groundwire keys list --tenant acme
        groundwire keys revoke 1e2a42d676ea --tenant acme

    Exit status:
        0  done
        1  done, and could not be recorded in the audit trail
        2  nothing was done
    """


@command(short_help="Make a key, and print it once.", under=keys)
def create(
    ctx: click.Context,
    /,
    *,
    owner: OwnerOptions = group(OwnerOptions),
    name: str | None = option("--name", "TEXT"),
    days: float | None = option(
        "--expires-in", "DAYS", FiniteRange(min=0, min_open=True, max=36_500)
    ),
) -> None:
    """Make a key. It is printed on standard output, once, and not stored.

    Args:
        name: A name for people to read.
        days: The number of days that it is valid.  [default: until it is revoked]
    """
    config = owner.read(ctx)
    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)

    from groundwire.control.keys import Role

    done = _run(
        config,
        lambda registry: registry.create_key(
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
    _end(ctx, done)


@command("list", short_help="List keys.", under=keys)
def list_(
    ctx: click.Context,
    /,
    *,
    owner: OwnerOptions = group(OwnerOptions),
    as_json: bool = option("--json"),
) -> None:
    """List the keys of a tenant, or those of the admin plane, the latest first, by their ids.

    Args:
        as_json: Print them as JSON Lines.
    """
    config = owner.read(ctx)
    for each in _run(config, lambda registry: registry.keys(owner.tenant)).value:
        click.echo(to_json(_data(each)) if as_json else _line(each))


@command(short_help="Revoke a key.", under=keys)
def revoke(
    ctx: click.Context,
    /,
    *,
    key_id: str = argument("KEY"),
    owner: OwnerOptions = group(OwnerOptions),
) -> None:
    """Revoke a key for good. KEY is its id in the list."""
    config = owner.read(ctx)
    done = _run(
        config,
        lambda registry: registry.revoke_key(key_id, tenant=owner.tenant),
        lambda revoked, events: events.key_revoked(revoked),
    )
    revoked = done.value
    say(f"Revoked {key_id}." if revoked.is_new else f"{key_id} was revoked before.")
    _end(ctx, done)


def _end(ctx: click.Context, done: "_Done[Any]") -> None:
    if not done.is_recorded:
        say("warning: it is done, and could not be recorded in the audit log.")
        ctx.exit(ExitStatus.FLAGGED)


def _run(config: "Config", work: _Work[_T], events: _Events[_T] | None = None) -> "_Done[_T]":
    """Read or change the tenants and keys of a configuration, and record a change."""
    return asyncio.run(_done(config, work, events))


async def _done(config: "Config", work: _Work[_T], events: _Events[_T] | None) -> "_Done[_T]":
    from groundwire.control.audit.configured import audit_log
    from groundwire.control.audit.control_events import COMMAND_LINE, ControlEvents
    from groundwire.control.audit.own_trail import check_own
    from groundwire.control.audit.redact import Redaction
    from groundwire.control.store.opening import existing_store
    from groundwire.control.tenants.configured import ConfiguredTenants
    from groundwire.control.tenants.registry import Registry

    # First the steps that can fail and would keep the change from being recorded.
    keys = () if events is None else _signing_keys(config)
    redact = Redaction.of(config.audit.redact).apply
    async with existing_store(config) as store:
        if keys and config.audit.path is None:
            async with store.reading() as connection:
                await check_own(connection, keys)
        audit = audit_log(config, is_stored=True) if keys else None
        done = await work(Registry(store, configured=ConfiguredTenants.of(config)))
        made = ControlEvents(actor=COMMAND_LINE, trace_id="", redact=redact)
        found = () if events is None else events(done, made)
        if audit is not None and found:  # else not even a chain begins
            return _Done(done, is_recorded=await _is_recorded(audit, found))
        return _Done(done)


def _signing_keys(config: "Config") -> Sequence[bytes]:
    """Return the keys of the gateways, to sign the record with; none if there will be no record.

    A new key is never made: to those who verify, a record signed with it would look forged.
    """
    if not config.audit.enabled:
        return ()
    if config.audit.path == "-":
        say("This is not recorded: the audit log is what a gateway prints (audit.path: -).")
        return ()
    from groundwire.control.audit.signing import existing_keys

    return existing_keys(config)


async def _is_recorded(audit: "AuditLog", events: Sequence["AuditEvent"]) -> bool:
    """Record a change, and return whether the record is on disk."""
    await audit.open()
    await audit.write(*events)
    return await audit.close(timeout_s=RECORD_S) == 0


def _data(record: "KeyRecord") -> dict[str, Any]:
    moments = ("created_at", "expires_at", "revoked_at", "last_used_at")
    times = {name: getattr(record, name) for name in moments}
    return {
        "id": record.id,
        "tenant": record.tenant,
        "role": record.role,
        "name": record.name,
        "status": str(record.status),
        "is_configured": record.is_configured,
        **{name: value and value.isoformat() for name, value in times.items()},
    }


def _line(record: "KeyRecord") -> str:
    from groundwire.render import visible  # names come from anywhere

    whose = record.tenant if record.role is None else str(record.role)
    created = "configured" if record.created_at is None else f"{record.created_at:%Y-%m-%d}"
    used = "never used" if record.last_used_at is None else f"used {record.last_used_at:%Y-%m-%d}"
    status = str(record.status)
    line = f"{record.id:<12}  {status:<8}  {created:<10}  {used:<15}  {whose}"
    return visible(f"{line}  {record.name}" if record.name else line)

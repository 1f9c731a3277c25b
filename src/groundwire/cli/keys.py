"""``groundwire keys``: keys made, listed and revoked in the database itself.

It needs the database, and no gateway that runs; gateways that do take part at once. So who has lost
the last admin key makes another.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from groundwire.cli.config import read_config
from groundwire.cli.inputs import TEXT_FILE, FiniteRange, refuse_empty
from groundwire.cli.serve import require_gateway
from groundwire.cli.setting_options import setting_option, with_values
from groundwire.cli.status import ExitStatus
from groundwire.errors import SettingError
from groundwire.text.files.writing import to_json

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.control.audit import AuditEvent, AuditLog
    from groundwire.control.audit.control_events import ControlEvents
    from groundwire.control.store import Store
    from groundwire.control.tenants import KeyRecord, Registry

_T = TypeVar("_T")

_Work = Callable[["Registry"], Awaitable[_T]]
_Events = Callable[[_T, "ControlEvents"], Sequence["AuditEvent"]]

#: How long the record of what was done is tried.
RECORD_S = 30.0

EPILOG = """\b
Examples:
  groundwire keys create --admin
  groundwire keys create --admin auditor --name "the auditors" --expires-in 90
  groundwire keys create --tenant acme --config groundwire.yaml
  groundwire keys list --tenant acme
  groundwire keys revoke 1e2a42d676ea --tenant acme

\b
Exit status:
  0  done
  1  done, and could not be recorded in the audit trail
  2  nothing was done
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose keys: a tenant's, or those of the admin plane."""

    tenant: str | None
    role: str | None


@dataclass(frozen=True, slots=True)
class _Done(Generic[_T]):
    value: _T
    is_recorded: bool = True


@click.group(epilog=EPILOG)
def keys() -> None:
    """Make, list and revoke keys, of tenants and of the admin plane.

    Works on the database itself: no gateway has to run. Those that do know of it within a second.
    What is changed is recorded in the audit trail, so it takes the gateways' audit.key: that of
    --config, GROUNDWIRE_AUDIT_KEY, or the file in gateway.data_dir.
    """


def owner_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say whose keys, and in which database."""
    for option in (
        setting_option(
            "store.url",
            "--store",
            metavar="URL",
            help="The database.  [default: that of the configuration]",
        ),
        click.option(
            "--config",
            "file",
            type=TEXT_FILE,
            metavar="FILE",
            help="The configuration that the gateway runs with.",
        ),
        click.option(
            "--admin",
            "role",
            is_flag=False,
            flag_value="admin",
            type=click.Choice(["admin", "auditor"]),
            metavar="[ROLE]",
            help="Keys of the admin plane; of a new one the role: admin (everything) or auditor "
            "(reads everything, changes nothing).",
        ),
        click.option(
            "--tenant", metavar="ID", callback=refuse_empty, help="Keys of a tenant's requests."
        ),
    ):
        command = option(command)
    return command


@keys.command(short_help="Make a key, and print it once.")
@owner_options
@click.option("--name", metavar="TEXT", help="What people call it.")
@click.option(
    "--expires-in",
    "days",
    type=FiniteRange(min=0, min_open=True, max=36_500),
    metavar="DAYS",
    help="How long it is taken.  [default: until it is revoked]",
)
@click.pass_context
def create(
    ctx: click.Context,
    /,
    *,
    tenant: str | None,
    role: str | None,
    file: Path | None,
    store: object,
    name: str | None,
    days: float | None,
) -> None:
    """Make a key. It is printed on standard output, once, and kept nowhere."""
    config, owner = _prepared(ctx, file, store), _owner(tenant, role)
    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)

    from groundwire.control.tenants import Role

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
    _say(f"A key of {whose}, {made.record.id}. It is shown this once:")
    click.echo(made.secret)
    _end(ctx, done)


@keys.command("list", short_help="List keys.")
@owner_options
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON Lines.")
@click.pass_context
def list_(
    ctx: click.Context,
    /,
    *,
    tenant: str | None,
    role: str | None,
    file: Path | None,
    store: object,
    as_json: bool,
) -> None:
    """List the keys of a tenant, or those of the admin plane, the latest first: never the keys
    themselves."""  # noqa: D205, D209
    config, owner = _prepared(ctx, file, store), _owner(tenant, role)
    for each in _run(config, lambda registry: _all(registry, owner)).value:
        click.echo(to_json(_data(each)) if as_json else _line(each))


@keys.command(short_help="Let a key be taken no more.")
@click.argument("key_id", metavar="KEY")
@owner_options
@click.pass_context
def revoke(
    ctx: click.Context,
    /,
    *,
    key_id: str,
    tenant: str | None,
    role: str | None,
    file: Path | None,
    store: object,
) -> None:
    """Let a key be taken no more, for good. KEY is its id, as the list has it."""
    config, owner = _prepared(ctx, file, store), _owner(tenant, role)
    done = _run(
        config,
        lambda registry: registry.revoke_key(key_id, tenant=owner.tenant),
        lambda revoked, events: events.key_revoked(revoked),
    )
    revoked = done.value
    _say(f"Revoked {key_id}." if revoked.is_new else f"{key_id} was revoked before.")
    _end(ctx, done)


def _owner(tenant: str | None, role: str | None) -> Owner:
    if (tenant is None) == (role is None):
        raise click.UsageError("Say whose keys: --tenant ID, or --admin.")
    return Owner(tenant=tenant, role=role)


def _prepared(ctx: click.Context, file: Path | None, store: object) -> "Config":
    require_gateway()
    given = {} if store is None else {"store.url": store}
    return with_values(read_config(ctx, file), given)


def _end(ctx: click.Context, done: "_Done[Any]") -> None:
    if not done.is_recorded:
        _say("warning: it is done, and could not be recorded in the audit log.")
        ctx.exit(ExitStatus.FLAGGED)


def _run(config: "Config", work: _Work[_T], events: _Events[_T] | None = None) -> "_Done[_T]":
    """Do something with the registry of a configuration, and record what it was."""
    return asyncio.run(_done(config, work, events))


async def _done(config: "Config", work: _Work[_T], events: _Events[_T] | None) -> "_Done[_T]":
    from groundwire.control.audit.configured import audit_log
    from groundwire.control.audit.control_events import COMMAND_LINE, ControlEvents
    from groundwire.control.audit.own_trail import check_own
    from groundwire.control.audit.redact import Redaction
    from groundwire.control.store import Store
    from groundwire.control.tenants import ConfiguredTenants, Registry

    # First what could keep it from being recorded.
    keys = () if events is None else _signing_keys(config)
    redact = Redaction.of(config.audit.redact).apply
    # A key that was revoked stays so after a power cut, as it does with the admin API.
    store = Store.of(config, is_synced=events is not None)
    await _open(store)
    try:
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
    finally:
        await store.close()


def _signing_keys(config: "Config") -> Sequence[bytes]:
    """What the record is to be signed with; nothing if there will be none.

    The gateways' key, that is, and never a new one: who verifies would take what it has signed for
    forged.
    """
    if not config.audit.enabled:
        return ()
    if config.audit.path == "-":
        _say("This is not recorded: the audit log is what a gateway prints (audit.path: -).")
        return ()
    from groundwire.control.audit.signing import known_keys
    from groundwire.control.folder import data_folder

    keys = known_keys(config, data_folder(config))
    if not keys:
        raise SettingError(
            "audit.key",
            None,
            "what the gateways sign their records with, or this could not be recorded: give their "
            "configuration with --config, or GROUNDWIRE_AUDIT_KEY. A first start makes one",
        )
    return keys


async def _open(store: "Store") -> None:
    """Open a database that is there, and whose tables are as they should be.

    To migrate is for a start or for who asks for it: gateways that are older would start no more.
    """
    if store.address.path is not None and not store.address.path.exists():
        raise SettingError(
            "store.url", store.where, "a database that is there: groundwire serve makes one"
        )
    await store.open(migrates=False)


async def _is_recorded(audit: "AuditLog", events: Sequence["AuditEvent"]) -> bool:
    """Record what was done, and say whether that is on disk."""
    await audit.open()
    await audit.write(*events)
    return await audit.close(timeout_s=RECORD_S) == 0


async def _all(registry: "Registry", owner: Owner) -> "list[KeyRecord]":
    found: list[KeyRecord] = []
    after = None
    while page := (
        await registry.admin_keys(after=after, limit=1000)
        if owner.tenant is None
        else await registry.keys(owner.tenant, after=after, limit=1000)
    ):
        found.extend(page)
        after = page[-1].id
        if page[-1].is_configured:
            break  # there is no stored one
    return found


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


def _say(line: str) -> None:
    from groundwire.render import visible

    click.echo(visible(line), err=True)

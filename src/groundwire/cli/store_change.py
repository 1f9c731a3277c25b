"""Lets commands work on the database, and write audit events about the work."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from groundwire.cli.console import say
from groundwire.cli.status import ExitStatus

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.control.audit.control_events import ControlEvents
    from groundwire.control.audit.event import AuditEvent
    from groundwire.control.store import Store

_T = TypeVar("_T")

_Work = Callable[["Store"], Awaitable[_T]]
_Events = Callable[[_T, "ControlEvents"], Sequence["AuditEvent"]]

#: Limit on the time that a command waits for its audit events to be written, in seconds.
RECORD_S = 30.0


@dataclass(frozen=True, slots=True)
class StoreChange(Generic[_T]):
    """The result of a command's work on the database.

    Attributes:
        value: The value that the command's work returned.
        is_recorded: False if an event of the work could not be written to the audit trail.
    """

    value: _T
    is_recorded: bool = True


def run(config: "Config", work: _Work[_T], events: _Events[_T] | None = None) -> StoreChange[_T]:
    """Read or change the database of a configuration, and write audit events about the work.

    Args:
        config: The configuration.
        work: Reads or changes the database.
        events: Makes audit events from the result of ``work``; ``None`` if nothing is recorded.
    """
    return asyncio.run(_done(config, work, events))


def end(ctx: click.Context, done: StoreChange[Any]) -> None:
    """End the command with a warning and exit status 1 if its work could not be recorded."""
    if not done.is_recorded:
        say("warning: it is done, but could not be recorded in the audit log.")
        ctx.exit(ExitStatus.FLAGGED)


async def _done(config: "Config", work: _Work[_T], events: _Events[_T] | None) -> StoreChange[_T]:
    from groundwire.control.audit.configured import audit_log
    from groundwire.control.audit.control_events import COMMAND_LINE, ControlEvents
    from groundwire.control.audit.own_trail import check_own
    from groundwire.control.audit.redact import Redaction
    from groundwire.control.store.opening import existing_store

    # Keys and redaction for the audit trail are prepared before ``work`` runs, so that nothing is
    # changed if the preparation fails.
    keys = () if events is None else _signing_keys(config)
    redact = Redaction.of(config.audit.redact).apply
    async with existing_store(config) as store:
        if keys and config.audit.path is None:
            async with store.reading() as connection:
                await check_own(connection, keys)
        audit = audit_log(config, is_stored=True) if keys else None
        done = await work(store)
        made = ControlEvents(actor=COMMAND_LINE, trace_id="", redact=redact)
        found = () if events is None else events(done, made)
        if audit is None or not found:
            return StoreChange(done)
        await audit.open()
        await audit.write(*found)
        return StoreChange(done, is_recorded=await audit.close(timeout_s=RECORD_S) == 0)


def _signing_keys(config: "Config") -> Sequence[bytes]:
    """Return the keys of the audit trail: first the key that signs, then earlier keys.

    The result is empty if nothing will be recorded. If there is no key, an error is raised. No key
    is made, because a record that is signed with a new key would look forged.
    """
    if not config.audit.enabled:
        return ()
    if config.audit.path == "-":
        say("This is not recorded: the audit log is what a gateway prints (audit.path: -).")
        return ()
    from groundwire.control.audit.signing import existing_keys

    return existing_keys(config)

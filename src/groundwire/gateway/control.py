"""The control plane of a process: its database, tenants and keys, and the audit trail.

It is opened within the data plane's lifespan and shared with the admin plane. The database may come
late, and may go: the process lives on, says so, and finds back by itself.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from groundwire.config import Config
from groundwire.control.activity import Activity
from groundwire.control.audit import AuditEvent, AuditLog
from groundwire.control.audit.configured import audit_log
from groundwire.control.audit.control_events import (
    FIRST_START,
    ControlEvents,
    login,
    login_failed,
)
from groundwire.control.audit.own_trail import check_start
from groundwire.control.audit.redact import Redaction
from groundwire.control.audit.retention import Retention
from groundwire.control.audit.signing import signing_keys
from groundwire.control.audit.trail import Trail
from groundwire.control.folder import data_folder
from groundwire.control.keys import Role
from groundwire.control.logins import Logins
from groundwire.control.store import (
    Store,
    StoreBusyError,
    StoreError,
    StoreFullError,
    wait_until_open,
)
from groundwire.control.store.opening import pauses
from groundwire.control.tenants.directory import Directory
from groundwire.control.tenants.first_start import FirstStart, prepare
from groundwire.control.tenants.registry import Registry
from groundwire.control.tenants.watching import Watcher
from groundwire.gateway.control_state import PATIENCE_S, ControlState
from groundwire.gateway.http.problems import SERVER, Problem
from groundwire.pipeline import Pipeline
from groundwire.policy.policy import Overrides

_T = TypeVar("_T")

#: Seconds that a start waits for the database; after that it continues, and is not ready.
_FIRST_S = 5.0

#: Seconds between two looks for failed logins and counts of answers that are to be stored.
_TELLING_S = 5.0

#: What is wrong with a database before it was first read, and after that failed.
_UNREAD, _UNREADABLE = "it has not been read yet", "it cannot be read"

#: Seconds at the end for an audit log that fails and has nothing to write.
_VAIN_S = 1.0

#: A database that restarts is back in seconds.
_RETRY_AFTER = {"Retry-After": "2"}


class ControlPlane:
    """The control plane of a process: tenants, keys and the audit trail over one database.

    Attributes:
        config: The configuration.
        store: The database.
        registry: Reads and changes the tenants and keys in the database.
        directory: The tenants and keys that this process knows.
        watcher: Keeps the directory up to date with the database.
        audit: The log that writes audit records.
        trail: Reads the audit records in the database.
        activity: Counts answers, and the time that checks take.
        pipeline: The stages of a check, once they are loaded: they say which policies are possible.
    """

    def __init__(
        self,
        config: Config,
        *,
        is_local_demo: bool = False,
        on_start: Callable[[FirstStart], None] = lambda start: None,
    ) -> None:
        """Prepare the control plane; :meth:`begin` opens it.

        Args:
            config: The configuration.
            is_local_demo: Whether no key is needed, so that none is made.
            on_start: Called with the keys of this start, new ones included, once they are known.

        Raises:
            ConfigError: If keys or redaction are not possible.
            SettingError: If the audit log cannot be written.
        """
        self.config, self.is_local_demo, self._on_start = config, is_local_demo, on_start
        # A confirmed change of a tenant or a key must survive a power cut.
        self.store = Store.of(config, is_synced=True)
        self.directory = Directory(config)
        self.registry = Registry(self.store, configured=self.directory.configured)
        self.watcher = Watcher(self.registry, self.directory, poll_s=config.store.poll_s)
        self.audit = audit_log(config, is_stored=True)
        self.trail = Trail(self.store)
        self.activity = Activity(self.store)
        self._retention = _retention(config, self.store, self.audit)
        self.pipeline: Pipeline | None = None
        self._redaction = Redaction.of(config.audit.redact)
        self._logins = Logins()
        self._start, self._problem = FirstStart(), _UNREAD
        self._is_open = False
        self._tried = asyncio.Event()
        self._opening: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    # Opening and closing.

    async def begin(self) -> None:
        """Begin to open the database, and wait up to :data:`_FIRST_S` seconds for it."""
        await self.audit.open()
        self._opening = asyncio.create_task(self._open(), name="open the store")
        self._telling = asyncio.create_task(self._tell(), name="tell of logins and answers")
        with suppress(TimeoutError):
            await asyncio.wait_for(self._tried.wait(), _FIRST_S)

    async def wait_until_open(self) -> None:
        """Wait until tenants and keys are known, however long that takes.

        Raises:
            GroundwireError: If the database can never be used.
        """
        assert self._opening is not None, "it was not begun"
        await asyncio.shield(self._opening)

    async def require_open(self) -> None:
        """Make sure that tenants and keys are known; waits while they are read for the first time.

        Raises:
            Problem: If they are not.
        """
        if self._is_open:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._tried.wait(), PATIENCE_S)
        if not self._is_open:
            raise store_unavailable()

    async def close(self) -> None:
        """Write waiting records, and close the database."""
        limit_s = self.config.gateway.shutdown_s
        deadline = time.monotonic() + limit_s
        begun = [task for task in (self._opening, self._telling) if task is not None]
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
        if self._tasks:
            # The other half of the time is for the audit log, which has to record what they did.
            await asyncio.wait(self._tasks, timeout=limit_s / 2)
        if self._retention is not None:
            await self._retention.close()
        if self._is_open:
            with suppress(StoreError):
                await self.activity.write()
        # The queue may be full: events without a place when the log is closed count as lost.
        self.audit.add(*_failed(self._logins.rest()))
        # If nothing waits and nothing can be written, only the end of the chain would be missing.
        is_vain = self.audit.is_failing and not self.audit.stats.depth
        left_s = max(deadline - time.monotonic(), 0.0)
        await self.audit.close(timeout_s=min(left_s, _VAIN_S) if is_vain else left_s)
        await self.watcher.close()
        await self.store.close()

    @property
    def state(self) -> ControlState:
        """The state of the control plane, for readiness and metrics."""
        is_up = self._is_open and self.watcher.is_current
        return ControlState(
            is_open=self._is_open,
            is_up=is_up,
            problem=None if is_up else self._problem,
            revision=self.directory.revision,
            age_s=self.watcher.age_s if self._is_open else 0.0,
            is_audit_failing=self.audit.is_failing,
            n_waiting=self.audit.stats.depth,
        )

    async def _open(self) -> None:
        try:
            for pause_s in pauses():
                await wait_until_open(self.store, on_failure=self._not_yet)
                try:
                    await check_start(self.store, self.config)
                    await self._prepare()
                    await self.watcher.open()
                    break
                except (StoreError, TimeoutError) as error:
                    if isinstance(error, StoreError) and not error.is_passing:
                        raise
                    self._not_yet(error)
                await asyncio.sleep(pause_s)
            self._problem, self._is_open = _UNREADABLE, True
            if not self.is_local_demo:
                self._on_start(self._start)
                self._start = FirstStart()
            if self._retention is not None:
                await self._retention.open()
        finally:
            self._tried.set()

    def _not_yet(self, error: StoreError | TimeoutError) -> None:
        """Note why the database cannot be used yet."""
        self._problem = error.problem if isinstance(error, StoreError) else "it does not answer"
        self._tried.set()

    async def _prepare(self) -> None:
        """Make the first keys if there are none, and keep them until they can be shown."""
        if self.is_local_demo or self._start != FirstStart():
            return
        self._start = await prepare(self.registry, self.config)
        events = self.events(FIRST_START, trace_id="")
        recorded = [each for made in self._start.keys for each in events.key_made(made)]
        # The keys exist, so requests are served even if this cannot be recorded yet.
        await self.audit.settle(recorded)

    # Changes.

    def check_overrides(self, overrides: Overrides) -> None:
        """Make sure that the detectors that are loaded can do what a tenant asks for.

        Raises:
            ConfigError: If it cannot, with what is possible.
        """
        if self.pipeline is not None:
            self.pipeline.check_overrides(overrides)

    def events(self, actor: str, *, trace_id: str) -> ControlEvents:
        """Return the builder of the events of a request."""
        return ControlEvents(actor=actor, trace_id=trace_id, redact=self._redaction.apply)

    async def change(
        self,
        work: Callable[[Registry], Awaitable[_T]],
        events: Callable[[_T], Sequence[AuditEvent]],
    ) -> _T:
        """Make a change. When this returns, it is in effect in this process, and on record.

        Args:
            work: The change.
            events: Builds the events to record from the result of the change.

        Raises:
            Problem: If its record cannot be written and ``audit.on_failure`` is ``refuse``; then
                nothing is changed, unless the failure shows too late.
            GroundwireError: Whatever the change raises.
        """
        refuses = self.config.audit.on_failure == "refuse"
        if refuses and self.audit.is_failing:
            raise audit_unavailable("Nothing was changed.")
        # The client may leave: the change is recorded all the same.
        task = asyncio.create_task(self._change(work, events))
        self._keep(task)
        made, is_settled = await asyncio.shield(task)
        if refuses and not is_settled:
            raise audit_unavailable("The change was made; its record is written as soon as it can.")
        return made

    async def record(self, events: Sequence[AuditEvent]) -> None:
        """Record something that is not a change.

        Raises:
            Problem: If it cannot be, and ``audit.on_failure`` is ``refuse``.
        """
        if not await self.audit.settle(events) and self.config.audit.on_failure == "refuse":
            raise audit_unavailable("Nothing was done.")

    async def _change(
        self,
        work: Callable[[Registry], Awaitable[_T]],
        events: Callable[[_T], Sequence[AuditEvent]],
    ) -> tuple[_T, bool]:
        made = await work(self.registry)
        # The change is stored: if it cannot be read back now, the watcher does so later.
        with suppress(StoreError):
            await self.watcher.refresh()
        return made, await self.audit.settle(events(made))

    # Logins.

    def note_login(self, key_id: str, role: Role, address: str, *, trace_id: str) -> None:
        """Note the use of an admin key; it is recorded if it was not used lately."""
        if self._logins.is_new(key_id, address, now=time.monotonic()):
            self.audit.add(login(key_id, role, address, trace_id=trace_id))

    def note_failed_login(self, address: str, *, trace_id: str) -> None:
        """Note a request without a valid admin key; it is recorded now, or with others later."""
        if self._logins.failed(address, now=time.monotonic()):
            self.audit.add(login_failed(address, 1, trace_id=trace_id))

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(_TELLING_S)
            # These failures count as recorded: the log takes them even if this task is cancelled.
            await self.audit.write(*_failed(self._logins.due(now=time.monotonic())))
            if self._is_open:
                with suppress(StoreError):  # the counts are kept
                    await self.activity.write()

    def _keep(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # marks the exception as seen; whoever waits for the task gets it


def _failed(failures: Sequence[tuple[str, int]]) -> Sequence[AuditEvent]:
    """Build the events of failed logins by address, with their number."""
    return [login_failed(address, n_times, trace_id="") for address, n_times in failures]


def _retention(config: Config, store: Store, audit: AuditLog) -> Retention | None:
    """Make the task that removes old records, if the audit log writes into the store."""
    own = config.audit
    if not own.enabled or own.path is not None:
        return None
    return Retention(
        store,
        audit,
        retention_days=own.retention_days,
        detail_days=own.detail_days,
        keys=signing_keys(config, data_folder(config)),
    )


def store_unavailable(error: StoreError | None = None) -> Problem:
    """Build the problem of a database that fails."""
    code = "store_unavailable"
    if isinstance(error, StoreBusyError):
        code = "store_busy"
    elif isinstance(error, StoreFullError):
        code = "store_full"
    return Problem(
        status=503,
        type=SERVER,
        code=code,
        message="The database cannot be used yet." if error is None else str(error),
        next_step="Try again; /readyz says how it is.",
        headers=_RETRY_AFTER,
    )


def audit_unavailable(what: str) -> Problem:
    """Build the problem of an audit log that cannot be written and must be."""
    return Problem(
        status=503,
        type=SERVER,
        code="audit_unavailable",
        message=f"The audit log cannot be written, and audit.on_failure is refuse. {what}",
        next_step="See to the database or the file of the audit log; /readyz says how it is.",
        headers=_RETRY_AFTER,
    )

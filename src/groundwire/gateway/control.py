"""The control plane of a process: its database, tenants and keys, and the audit trail.

The app of the data plane (the proxy) opens and closes the control plane; the app of the admin plane
(the admin API and the console) shares it. While the database is down, the process keeps running,
reports the problem in ``/readyz``, and tries to reconnect.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from groundwire.config import Config
from groundwire.control.activity import Activity
from groundwire.control.audit.configured import audit_log
from groundwire.control.audit.control_events import FIRST_START, ControlEvents, login_failed
from groundwire.control.audit.event import AuditEvent
from groundwire.control.audit.own_trail import check_start
from groundwire.control.audit.redact import Redaction
from groundwire.control.audit.retention import Retention
from groundwire.control.audit.signing import signing_keys
from groundwire.control.audit.trail import Trail
from groundwire.control.keys import Role
from groundwire.control.logins import Logins
from groundwire.control.store import Store
from groundwire.control.store.errors import StoreBusyError, StoreError, StoreFullError
from groundwire.control.store.opening import pauses, wait_until_open
from groundwire.control.tenants.directory import Directory
from groundwire.control.tenants.record import FirstStart
from groundwire.control.tenants.registry import Registry
from groundwire.control.tenants.watching import Watcher
from groundwire.gateway.control_state import PATIENCE_S, ControlState
from groundwire.gateway.http.problems import Problem
from groundwire.pipeline import Pipeline
from groundwire.policy.policy import Overrides

_T = TypeVar("_T")

#: Limit on the seconds that the start of the gateway waits for the database. After that, the
#: gateway starts without the database, but reports that it is not ready.
_FIRST_S = 5.0

#: Pause in seconds between two runs of a task. The task writes failed logins to the audit log (see
#: :meth:`.Logins.due`), and counts of answers and check times to the database.
_TELLING_S = 5.0

#: Problems in ``/readyz``: the database was not read yet, or cannot be read.
_UNREAD, _UNREADABLE = "it has not been read yet", "it cannot be read"

#: Limit on the seconds that the shutdown waits for a failing audit log that has no events to write.
_VAIN_S = 1.0


class ControlPlane:
    """The control plane of a process: tenants, keys and the audit trail over one database.

    Attributes:
        store: The database.
        registry: Reads and changes the tenants and keys in the database.
        directory: The tenants and keys that this process knows.
        watcher: Keeps the directory up to date with the database.
        audit: The log that writes audit events.
        trail: Reads the audit events in the database.
        activity: Counts answers and the time of checks, in the database.
        pipeline: Checks which settings of tenants are possible, and replays stored answers;
            ``None`` until it is loaded.
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
            is_local_demo: Whether requests need no key. If true, the first start makes no keys.
            on_start: Called once the database is open, with the keys that this start made, if any;
                never called in a local demo.

        Raises:
            ConfigError: If the admin key is also a tenant's key, or a key of the audit log cannot
                be read, used or made.
            KindError: If ``audit.redact`` is invalid.
            SettingError: If the address of the database is not valid, or the file of the audit log
                cannot be written.
        """
        self.config, self.is_local_demo, self._on_start = config, is_local_demo, on_start
        # A confirmed change of a tenant or a key must survive a power cut.
        self.store = Store.of(config, is_synced=True)
        self.directory = Directory(config)
        self.registry = Registry(
            self.store, configured=self.directory.configured, check=self.check_overrides
        )
        self.watcher = Watcher(self.registry, self.directory, poll_s=config.store.poll_s)
        self.audit = audit_log(config, is_stored=True)
        self.trail = Trail(self.store)
        self.activity = Activity(self.store)
        own = config.audit
        self._retention: Retention | None = None  # None if the database stores no audit events
        if own.enabled and own.path is None:
            self._retention = Retention(
                self.store,
                self.audit.settle,
                retention_days=own.retention_days,
                detail_days=own.detail_days,
                keys=signing_keys(config),
            )
        self.pipeline: Pipeline | None = None
        self._redaction = Redaction.of(config.audit.redact)
        self._logins = Logins()
        self._start, self._problem = FirstStart(), _UNREAD
        self._is_open = False
        self._tried = asyncio.Event()
        self._opening: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    # Methods that open and close the control plane.

    async def begin(self) -> None:
        """Open the audit log, and begin to open the database.

        This method waits until the first attempt to open the database has ended, for at most
        :data:`_FIRST_S` seconds.
        """
        await self.audit.open()
        self._opening = asyncio.create_task(self._open(), name="open the store")
        self._telling = asyncio.create_task(self._tell(), name="tell of logins and answers")
        with suppress(TimeoutError):
            await asyncio.wait_for(self._tried.wait(), _FIRST_S)

    async def wait_until_open(self) -> None:
        """Wait without a time limit until tenants and keys are known.

        Raises:
            GroundwireError: If the database cannot be used, and waiting would not help.
        """
        assert self._opening is not None, "it was not begun"
        await asyncio.shield(self._opening)

    async def require_open(self) -> None:
        """Make sure that tenants and keys are known; wait for the first attempt to read them.

        Raises:
            Problem: 503, if they are not known after this attempt, or after
                :data:`.control_state.PATIENCE_S` seconds.
        """
        if self._is_open:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._tried.wait(), PATIENCE_S)
        if not self._is_open:
            raise store_unavailable()

    async def close(self) -> None:
        """Let running changes end, write waiting audit events, and close the database.

        The changes and the audit events have ``gateway.shutdown_s`` seconds together. The counts
        of answers and of check times since the last write are stored too, if the database can be
        used.
        """
        limit_s = self.config.gateway.shutdown_s
        deadline = time.monotonic() + limit_s
        begun = [task for task in (self._opening, self._telling) if task is not None]
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
        if self._tasks:
            # Changes in progress get at most half of ``shutdown_s``. The rest is for the audit log,
            # which has to record these changes.
            await asyncio.wait(self._tasks, timeout=limit_s / 2)
        if self._retention is not None:
            await self._retention.close()
        if self._is_open:
            with suppress(StoreError):
                await self.activity.write()
        # `add` queues events even if the queue is full, so it does not delay the shutdown. If the
        # events cannot be written before the log is closed, they count as lost.
        self.audit.add(*_failed(self._logins.due(now=math.inf)))
        # If no event waits, a failing log lacks only entries about itself, such as the final entry,
        # which says that the log was closed. These entries are not worth a long wait.
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
        """Remember why the database cannot be opened, and end all waits for the first attempt."""
        self._problem = error.problem if isinstance(error, StoreError) else "it does not answer"
        self._tried.set()

    async def _prepare(self) -> None:
        """Make the first keys if they do not exist yet, and keep them for the call to ``on_start``.

        In a local demo, no keys are made.
        """
        if self.is_local_demo or self._start != FirstStart():
            return
        self._start = await self.registry.first_keys(has_admin_plane=self.config.admin.enabled)
        events = self.events(FIRST_START, trace_id="")
        recorded = [each for made in self._start.keys for each in events.key_made(made)]
        # The keys exist, so requests are served even if the audit log cannot record the keys yet.
        await self.audit.settle(recorded)

    # Methods that make changes, and record changes and other actions.

    def check_overrides(self, overrides: Overrides) -> None:
        """Make sure that answers can be checked with a tenant's settings.

        Until the configured models are loaded, all settings are accepted.

        Raises:
            ConfigError: If the settings name a detector that is not available here, a threshold
                that does not suit the detector, or the action ``repair`` although the model for
                repairs is not installed.
            ModelError: If the model of the chosen detector cannot be found.
        """
        if self.pipeline is not None:
            self.pipeline.check_overrides(overrides)

    def events(self, actor: str, *, trace_id: str) -> ControlEvents:
        """Return a builder of audit events about an actor's actions."""
        return ControlEvents(
            actor=actor,
            trace_id=trace_id,
            redact=self._redaction.apply,
            configured=self.config.tenants.keys(),
        )

    async def change(
        self,
        work: Callable[[Registry], Awaitable[_T]],
        events: Callable[[_T], Sequence[AuditEvent]],
    ) -> _T:
        """Make a change in the database; then apply and record the change in this process.

        The change is, for example, one of a tenant, a key or an account. If the database or the
        audit log fails after the change was stored, applying or recording it is tried again later.

        Args:
            work: Makes the change in the database.
            events: Builds the audit events from the result of ``work``.

        Raises:
            Problem: If ``audit.on_failure`` is ``refuse`` and the audit log fails. If the log
                already fails before the change, nothing is changed; if it fails afterwards, the
                change stays.
            GroundwireError: If ``work`` raises it.
        """
        refuses = self.config.audit.on_failure == "refuse"
        if refuses and self.audit.is_failing:
            raise audit_unavailable("Nothing was changed.")

        async def change_and_record() -> tuple[_T, bool]:
            made = await work(self.registry)
            # The change is stored: if it cannot be read back now, the watcher reads it later.
            await self.watcher.refresh()
            return made, await self.audit.settle(events(made))

        # If the client leaves, the change is still completed and recorded.
        task = asyncio.create_task(change_and_record())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        made, is_settled = await asyncio.shield(task)
        if refuses and not is_settled:
            raise audit_unavailable("The change was made; its record is written as soon as it can.")
        return made

    async def record(self, events: Sequence[AuditEvent]) -> None:
        """Write audit events about an action other than a change, such as an export or a sign-in.

        Raises:
            Problem: If the events are not written in time, and ``audit.on_failure`` is ``refuse``.
        """
        if not await self.audit.settle(events) and self.config.audit.on_failure == "refuse":
            raise audit_unavailable("Nothing was done.")

    # Methods that record logins.

    def note_login(self, key_id: str, role: Role, address: str, *, trace_id: str) -> None:
        """Record the use of an admin key from an address.

        The use is not recorded if an earlier use was recorded recently, see :meth:`.Logins.is_new`.
        """
        if self._logins.is_new(key_id, address, now=time.monotonic()):
            self.audit.add(self.events(key_id, trace_id=trace_id).login(role, address))

    def note_failed_login(self, address: str, *, trace_id: str) -> None:
        """Count a failed login, such as a request with a wrong admin key, or a failed sign-in.

        The failed login is recorded at once, or later in one audit event with other failed logins.
        """
        if self._logins.failed(address, now=time.monotonic()):
            self.audit.add(login_failed(address, 1, trace_id=trace_id))

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(_TELLING_S)
            # ``due`` forgets the failed logins that it returns. ``write`` queues the events about
            # them before its first await, so they are recorded even if this task is cancelled.
            await self.audit.write(*_failed(self._logins.due(now=time.monotonic())))
            if self._is_open:
                with suppress(StoreError):  # then the counts are kept, and written later
                    await self.activity.write()


def _failed(failures: Sequence[tuple[str, int]]) -> Sequence[AuditEvent]:
    """Build one audit event for each pair of an address and its number of failed logins."""
    return [login_failed(address, n_times, trace_id="") for address, n_times in failures]


def store_unavailable(error: StoreError | None = None) -> Problem:
    """Return the error (status 503) for a request that needs the database, which cannot be used.

    ``error`` is the failure of the database; ``None`` if the database was not opened yet.
    """
    code = "store_unavailable"
    if isinstance(error, StoreBusyError):
        code = "store_busy"
    elif isinstance(error, StoreFullError):
        code = "store_full"
    message = "The database cannot be used yet." if error is None else str(error)
    return Problem.named("store_unavailable", code=code, message=message)


def audit_unavailable(what: str) -> Problem:
    """Return the error (status 503) for a request whose audit events cannot be written.

    ``what`` is a sentence on the result of the request, such as "Nothing was changed.".
    """
    return Problem.named("audit_log_unavailable", what=what)

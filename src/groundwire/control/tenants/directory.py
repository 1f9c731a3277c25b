"""The tenants and keys that this process knows: replaced as a whole, read without a lock."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from groundwire.config import Config
from groundwire.config.keys import key_hash
from groundwire.control.keys import AdminKey, Key, find_by_hash, is_made_here
from groundwire.control.store.moments import now
from groundwire.control.tenants.configured import ConfiguredTenants
from groundwire.control.tenants.record import (
    KeyRecord,
    KeyStatus,
    TenantRecord,
    TenantSnapshot,
    over,
)
from groundwire.policy.policy import Overrides


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """All that is known at one moment, the configuration included. It is never changed.

    ``records`` and ``overrides`` are by the ids of tenants, ``keys`` by their hashes.
    """

    revision: int
    records: Mapping[str, TenantRecord]
    overrides: Mapping[str, Overrides]
    keys: Mapping[str, KeyRecord]


class Directory(Mapping[str, Overrides]):
    """Looks up keys, and as a mapping the settings that tenants have of their own.

    Readers may be in any thread: each sees the state before a change or the one after it.
    """

    def __init__(self, config: Config, *, clock: Callable[[], datetime] = now) -> None:
        """Know what a configuration says; :meth:`apply` adds what is stored.

        Args:
            config: Its tenants and keys hold beside those that are stored.
            clock: Returns the present moment.

        Raises:
            ConfigError: If its admin key is also a tenant's.
        """
        self.configured = ConfiguredTenants.of(config)
        self._clock = clock
        #: Id of a stored key → its last use, as long as that is not stored.
        self.uses: dict[str, datetime] = {}
        self._state = self._start = _State(
            revision=-1,
            records={
                each: TenantRecord(id=each, is_configured=True) for each in self.configured.tenants
            },
            overrides=dict(self.configured.tenants),
            keys={key.sha256: key for key in self.configured.keys},
        )

    def apply(self, snapshot: TenantSnapshot) -> None:
        """Replace all that is known of the store."""
        before, start = self._state, self._start
        self._state = _State(
            revision=snapshot.revision,
            records={**start.records, **snapshot.tenants},
            overrides={
                **start.overrides,
                **{each.id: self._read(before, each) for each in snapshot.tenants.values()},
            },
            # Where a key stands in both, the configuration says whose it is.
            keys={**{each.sha256: each for each in snapshot.keys}, **start.keys},
        )

    def _read(self, before: _State, record: TenantRecord) -> Overrides:
        if before.records.get(record.id) is record:
            return before.overrides[record.id]
        return over(record.overrides, self.configured.tenants.get(record.id))

    @property
    def revision(self) -> int:
        """The revision of the last snapshot; -1 before the first."""
        return self._state.revision

    # Lookups of keys.

    def find(self, key: bytes) -> Key | None:
        """Return the key of a tenant with this text, if it is valid now."""
        found = self._active(key)
        return None if found is None or found.tenant is None else Key(found.tenant, found.sha256)

    def find_admin(self, key: bytes) -> AdminKey | None:
        """Return the admin key with this text, if it is valid now."""
        found = self._active(key)
        if found is None or found.role is None:
            return None
        return AdminKey(key_id=found.id, role=found.role, name=found.name)

    def is_ours(self, key: bytes) -> bool:
        """Return whether it is or was a key of ours, or begins like one."""
        return is_made_here(key) or find_by_hash(self._state.keys, key_hash(key)) is not None

    def take_uses(self) -> dict[str, datetime]:
        """Remove and return the last uses that are not stored yet."""
        taken: dict[str, datetime] = {}
        with suppress(KeyError):  # all are taken; other threads may add some meanwhile
            while True:
                key_id, moment = self.uses.popitem()
                taken[key_id] = max(moment, taken.get(key_id, moment))
        return taken

    def return_uses(self, uses: Mapping[str, datetime]) -> None:
        """Put back uses that could not be stored, unless there are later ones."""
        for key_id, moment in uses.items():
            self.uses.setdefault(key_id, moment)

    def _active(self, key: bytes) -> KeyRecord | None:
        found, moment = find_by_hash(self._state.keys, key_hash(key)), self._clock()
        if found is None or found.status_at(moment) is not KeyStatus.ACTIVE:
            return None
        if not found.is_configured:
            self.uses[found.id] = moment
        return found

    # Lookups of tenants.

    def record(self, tenant: str) -> TenantRecord | None:
        """Return a tenant, stored or configured."""
        return self._state.records.get(tenant)

    def __getitem__(self, tenant: str) -> Overrides:
        return self._state.overrides[tenant]

    def __iter__(self) -> Iterator[str]:
        return iter(self._state.overrides)

    def __len__(self) -> int:
        return len(self._state.overrides)

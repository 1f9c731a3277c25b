"""Keeps the tenants and keys that this process knows; they are read without a lock."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from groundwire.config import Config
from groundwire.config.keys import key_hash
from groundwire.control.keys import AdminKey, Key, is_made_here
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
    """An unchanging state: the tenants and keys of configuration and store at one moment.

    Attributes:
        snapshot: The store's snapshot; an empty one of revision -1 before the store is first read.
        overrides: Id of a tenant → the tenant's own settings.
        keys: Hash of a key → the record of the key.
    """

    snapshot: TenantSnapshot
    overrides: Mapping[str, Overrides]
    keys: Mapping[str, KeyRecord]


class Directory(Mapping[str, Overrides]):
    """Looks up keys, and maps the ids of tenants to the tenants' own settings.

    Readers may be in any thread: each sees either the state before a change or the state after it.
    """

    def __init__(self, config: Config, *, clock: Callable[[], datetime] = now) -> None:
        """Begin with the tenants and keys of a configuration; :meth:`apply` adds the stored ones.

        Raises:
            ConfigError: If the configured admin key is also the key of a tenant.
        """
        self.configured = ConfiguredTenants.of(config)
        self._clock = clock
        #: Id of a stored key → moment of its last use, if the moment is not stored yet.
        self.uses: dict[str, datetime] = {}
        self._state = self._start = _State(
            snapshot=TenantSnapshot(revision=-1),
            overrides=dict(self.configured.tenants),
            keys={key.sha256: key for key in self.configured.keys},
        )

    def apply(self, snapshot: TenantSnapshot) -> None:
        """Replace the stored tenants and keys by those of a snapshot."""
        before, start = self._state, self._start
        self._state = _State(
            snapshot=snapshot,
            overrides={
                **start.overrides,
                **{each.id: self._read(before, each) for each in snapshot.tenants.values()},
            },
            # If a key is both stored and configured, the configuration says whose key it is.
            keys={**{each.sha256: each for each in snapshot.keys}, **start.keys},
        )

    def _read(self, before: _State, record: TenantRecord) -> Overrides:
        if before.snapshot.tenants.get(record.id) is record:
            return before.overrides[record.id]
        return over(record.overrides, self.configured.tenants.get(record.id))

    @property
    def revision(self) -> int:
        """The revision of the last snapshot; -1 before the first."""
        return self._state.snapshot.revision

    # Lookups and uses of keys.

    def find(self, key: bytes) -> Key | None:
        """Find a tenant's key that is valid now, by the key's text; ``None`` if there is none.

        The use of a stored key is noted.
        """
        found = self._active(key)
        return None if found is None or found.tenant is None else Key(found.tenant, found.id)

    def find_admin(self, key: bytes) -> AdminKey | None:
        """Find an admin key that is valid now, by the key's text; ``None`` if there is none.

        The use of a stored key is noted.
        """
        found = self._active(key)
        if found is None or found.role is None:
            return None
        return AdminKey(key_id=found.id, role=found.role, name=found.name)

    def is_ours(self, key: bytes) -> bool:
        """Return whether a text is a key of this gateway, valid or not, or begins like one."""
        return is_made_here(key) or key_hash(key) in self._state.keys

    def take_uses(self) -> dict[str, datetime]:
        """Remove and return the uses that are not stored yet: key id → moment of the last use."""
        taken: dict[str, datetime] = {}
        with suppress(KeyError):  # raised when no use is left; other threads may add uses
            while True:
                key_id, moment = self.uses.popitem()
                taken[key_id] = max(moment, taken.get(key_id, moment))
        return taken

    def return_uses(self, uses: Mapping[str, datetime]) -> None:
        """Put back uses that could not be stored, unless a key was used again meanwhile."""
        for key_id, moment in uses.items():
            self.uses.setdefault(key_id, moment)

    def _active(self, key: bytes) -> KeyRecord | None:
        # The time of this lookup reveals no key: no client can choose the hash of what it sends.
        found, moment = self._state.keys.get(key_hash(key)), self._clock()
        if found is None or found.status_at(moment) is not KeyStatus.ACTIVE:
            return None
        if not found.is_configured:
            self.uses[found.id] = moment
        return found

    # Lookups of tenants.

    def __getitem__(self, tenant: str) -> Overrides:
        return self._state.overrides[tenant]

    def __iter__(self) -> Iterator[str]:
        return iter(self._state.overrides)

    def __len__(self) -> int:
        return len(self._state.overrides)

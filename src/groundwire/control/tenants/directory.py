"""What this process knows of tenants and keys: swapped whole, read by anyone without a lock."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from groundwire.config import Config
from groundwire.config.keys import key_hash
from groundwire.control.keys import AdminKey, Key, find_by_hash, is_made_here
from groundwire.control.store.moments import now, of_datetime
from groundwire.control.tenants.configured import ConfiguredTenants
from groundwire.control.tenants.record import KeyRecord, TenantRecord, TenantSnapshot, over
from groundwire.policy.policy import Overrides


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A key that is known, whether it is taken or not; a configured one has no ``record``."""

    key: Key | AdminKey
    sha256: str
    record: KeyRecord | None = None
    expires_at: int | None = None

    def is_taken(self, moment: int) -> bool:
        """Whether it is, now and not when it was read."""
        if self.record is not None and self.record.revoked_at is not None:
            return False
        return self.expires_at is None or moment < self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """All that is known at one moment. It is replaced, and never changed.

    ``keys`` are by their hashes; what stands in the configuration is among all of it.
    """

    revision: int
    records: Mapping[str, TenantRecord]
    overrides: Mapping[str, Overrides]
    keys: Mapping[str, _Known]


class Directory:
    """Answers, for requests, whose a key is and what its tenant has of its own.

    Readers may be in any thread: each sees one state whole, the one before a change or the one
    after it.
    """

    def __init__(self, config: Config, *, clock: Callable[[], int] = now) -> None:
        """Know what a configuration says; :meth:`apply` adds what is stored.

        Args:
            config: Whose tenants and keys hold beside those that are stored.
            clock: This moment, in microseconds since 1970.

        Raises:
            ConfigError: If its admin key is also a tenant's.
        """
        self.configured = ConfiguredTenants.of(config)
        self._clock = clock
        #: Id of a stored key → when it was used last: what is still to be stored.
        self.uses: dict[str, int] = {}
        self._state = self._start = _State(
            revision=-1,
            records={
                each: TenantRecord(id=each, is_configured=True) for each in self.configured.tenants
            },
            overrides=dict(self.configured.tenants),
            keys=_configured_keys(self.configured),
        )

    def apply(self, snapshot: TenantSnapshot) -> None:
        """Know this from now on, and nothing that was known before."""
        before, start = self._state, self._start
        self._state = _State(
            revision=snapshot.revision,
            records={**start.records, **snapshot.tenants},
            overrides={
                **start.overrides,
                **{each.id: self._read(before, each) for each in snapshot.tenants.values()},
            },
            # Where a key stands in both, the configuration says whose it is.
            keys={
                **{each.sha256: _known(before, each) for each in snapshot.keys.values()},
                **start.keys,
            },
        )

    def _read(self, before: _State, record: TenantRecord) -> Overrides:
        if before.records.get(record.id) is record:
            return before.overrides[record.id]
        return over(record.overrides, self.configured.tenants.get(record.id))

    @property
    def revision(self) -> int:
        """Of the last snapshot; -1: there was none."""
        return self._state.revision

    # Keys.

    def find(self, key: bytes) -> Key | None:
        """The tenant's key that these bytes are, if it is taken now."""
        found = self._taken(key)
        return found if isinstance(found, Key) else None

    def find_admin(self, key: bytes) -> AdminKey | None:
        """The admin key that these bytes are, if it is taken now."""
        found = self._taken(key)
        return found if isinstance(found, AdminKey) else None

    def is_ours(self, key: bytes) -> bool:
        """Whether it is or was a key of ours, or begins like one: it is not sent on."""
        return is_made_here(key) or find_by_hash(self._state.keys, key_hash(key)) is not None

    def take_uses(self) -> dict[str, int]:
        """What is still to be stored of uses; from now on it is not."""
        taken: dict[str, int] = {}
        with suppress(KeyError):  # all are taken. Others may be noted meanwhile, in any thread
            while True:
                key_id, moment = self.uses.popitem()
                taken[key_id] = max(moment, taken.get(key_id, moment))
        return taken

    def return_uses(self, uses: Mapping[str, int]) -> None:
        """Take back what could not be stored, but for what was used again meanwhile."""
        for key_id, moment in uses.items():
            self.uses.setdefault(key_id, moment)

    def _taken(self, key: bytes) -> Key | AdminKey | None:
        known, moment = find_by_hash(self._state.keys, key_hash(key)), self._clock()
        if known is None or not known.is_taken(moment):
            return None
        if known.record is not None:
            self.uses[known.key.key_id] = moment
        return known.key

    # Tenants.

    def overrides(self, tenant: str) -> Overrides | None:
        """What a tenant has of its own: stored, else configured. ``None``: it is not known."""
        return self._state.overrides.get(tenant)

    def record(self, tenant: str) -> TenantRecord | None:
        """A tenant, stored or configured."""
        return self._state.records.get(tenant)

    def as_mapping(self) -> Mapping[str, Overrides]:
        """What tenants have of their own, by id, always as it is known now."""
        return _Live(self)

    def _overrides(self) -> Mapping[str, Overrides]:
        return self._state.overrides


class _Live(Mapping[str, Overrides]):
    """A view of a directory."""

    __slots__ = ("_directory",)

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def __getitem__(self, tenant: str) -> Overrides:
        return self._directory._overrides()[tenant]

    def __iter__(self) -> Iterator[str]:
        return iter(self._directory._overrides())

    def __len__(self) -> int:
        return len(self._directory._overrides())


def _known(before: _State, record: KeyRecord) -> _Known:
    known = before.keys.get(record.sha256)
    if known is not None and known.record is record:
        return known
    key: Key | AdminKey
    if record.role is None:
        key = Key(record.tenant or "", record.sha256)
    else:
        key = AdminKey(key_id=record.id, role=record.role, name=record.name)
    expires_at = None if record.expires_at is None else of_datetime(record.expires_at)
    return _Known(key=key, sha256=record.sha256, record=record, expires_at=expires_at)


def _configured_keys(configured: ConfiguredTenants) -> dict[str, _Known]:
    keys = {key.sha256: _Known(key=key, sha256=key.sha256) for key in configured.keys}
    if configured.admin is not None:
        admin, digest = configured.admin
        keys[digest] = _Known(key=admin, sha256=digest)
    return keys

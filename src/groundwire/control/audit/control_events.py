"""Builds the events of the control plane: changes, logins, labels of reviewers, and exports.

Events contain ids of keys, never a key. Names and values that people have given to tenants and keys
are redacted.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from groundwire.control.accounts import Account, SavedAccount
from groundwire.control.audit.event import NO_TENANT, AuditEvent, EventType, moment_text
from groundwire.control.audit.redact import RedactionKind
from groundwire.control.tenants.record import (
    Changed,
    Deleted,
    KeyRecord,
    NewKey,
    Revoked,
    TenantRecord,
)
from groundwire.control.verdicts import AnswerReview

#: Values of ``actor``: ``COMMAND_LINE`` for the work of a command such as ``groundwire keys``,
#: ``FIRST_START`` for the keys that a gateway makes when it starts.
COMMAND_LINE, FIRST_START = "command-line", "first-start"

#: Filters of an export whose values are moments; these values are not redacted.
_MOMENTS = frozenset({"since", "until"})


def account_actor(name: str) -> str:
    """Return the value of ``actor`` in events that the owner of an account causes."""
    return f"account:{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlEvents:
    """Builds the events of one request to the control plane, a command, or the start of a gateway.

    Attributes:
        actor: Who causes the events, such as the id of the request's key, the
            :func:`account_actor` of a signed-in person, or :data:`COMMAND_LINE`.
        trace_id: The id of the request; empty without a request.
        redact: Function that redacts a text before an event keeps it.
        configured: The ids of the tenants in the configuration; no event says that one of these is
            new.
    """

    actor: str
    trace_id: str
    redact: Callable[[str], str] = str
    configured: Collection[str] = ()

    def changed(self, change: Changed) -> tuple[AuditEvent, ...]:
        """Return the events of a change of a tenant; empty if nothing changed."""
        record, version = change.record, {"version": change.record.version}
        before = change.before or TenantRecord(id=record.id)
        events = []
        is_new = change.is_new and record.id not in self.configured
        if is_new:
            named = {} if record.name is None else {"name": self.redact(record.name)}
            events.append(self._event(EventType.TENANT_CREATED, record.id, version | named))
        renamed: dict[str, Any] = {}
        if not is_new and before.name != record.name:
            renamed = {"name": {"from": self._text(before.name), "to": self._text(record.name)}}
        # A change of the tenant's name has no event of its own: the event about the metadata
        # includes the change.
        for part, type_, more in (
            ("metadata", EventType.TENANT_METADATA_UPDATED, renamed),
            ("policy", EventType.TENANT_POLICY_UPDATED, {}),
        ):
            old, new = getattr(before, part), getattr(record, part)
            if old != new or more:
                diff = self.redacted(diff_of(old, new))
                events.append(self._event(type_, record.id, version | {"diff": diff} | more))
        return tuple(events)

    def deleted(self, deleted: Deleted) -> tuple[AuditEvent, ...]:
        """Return the event of a deleted tenant, with its stored values and the ids of its keys."""
        record = deleted.record
        named = {} if record.name is None else {"name": self.redact(record.name)}
        payload = {
            "version": record.version,
            "keys": [each.id for each in deleted.keys],
            **self.redacted({"metadata": record.metadata, "policy": record.policy}),
        }
        return (self._event(EventType.TENANT_DELETED, record.id, payload | named),)

    def key_made(self, made: NewKey) -> tuple[AuditEvent, ...]:
        """Return the event of a new key, after the events of its tenant if the tenant is new."""
        stored = (event for change in made.tenants for event in self.changed(change))
        key = made.record
        expires = None if key.expires_at is None else moment_text(key.expires_at)
        payload = self._key(key) | {"expires_at": expires}
        return (*stored, self._event(EventType.KEY_CREATED, key.tenant, payload))

    def key_revoked(self, revoked: Revoked) -> tuple[AuditEvent, ...]:
        """Return the event of a revoked key; empty if the key was revoked before."""
        key = revoked.record
        if not revoked.is_new:
            return ()
        return (self._event(EventType.KEY_REVOKED, key.tenant, self._key(key)),)

    def account_saved(self, saved: SavedAccount) -> tuple[AuditEvent, ...]:
        """Return the event of an account that was made or changed."""
        account, before = saved.account, saved.role_before
        payload: dict[str, Any] = {"account": account.name, "role": str(account.role)}
        if account.identity is not None:
            payload |= {"issuer": account.identity.issuer, "subject": account.identity.subject}
        if before is None:
            return (self._event(EventType.ACCOUNT_CREATED, None, payload),)
        payload |= {"role_before": str(before), "has_new_password": saved.has_new_password}
        return (self._event(EventType.ACCOUNT_UPDATED, None, payload),)

    def login(self, role: StrEnum, address: str) -> AuditEvent:
        """Return the event of a login to the admin plane, with the role of the account or key."""
        return self._event(EventType.ADMIN_LOGIN, None, {"role": str(role), "address": address})

    def signed_in_by_provider(self, saved: SavedAccount, address: str) -> tuple[AuditEvent, ...]:
        """Return the event of a sign-in at an OpenID Connect provider.

        If the account is new, or has another role than before, the event of the made or changed
        account comes first.
        """
        account = saved.account
        entered = self.login(account.role, address)
        is_same = saved.role_before is account.role
        return (entered,) if is_same else (*self.account_saved(saved), entered)

    def account_removed(self, account: Account) -> tuple[AuditEvent, ...]:
        """Return the event of an account that was removed."""
        payload = {"account": account.name, "role": str(account.role)}
        return (self._event(EventType.ACCOUNT_REMOVED, None, payload),)

    def answer_labelled(self, review: AnswerReview) -> tuple[AuditEvent, ...]:
        """Return the event of a reviewer's labels for an answer, without the labelled words."""
        marks = [
            {"start": each.start, "end": each.end, "verdict": str(each.verdict)}
            for each in review.marks
        ]
        payload = {"event_id": review.event_id, "labels": marks}
        return (self._event(EventType.ANSWER_LABELLED, review.tenant, payload),)

    def exported(self, filters: Mapping[str, Any]) -> AuditEvent:
        """Return the event of an export of records."""
        filters_used = {
            name: value if name in _MOMENTS else self._text(value)
            for name, value in filters.items()
        }
        return self._event(EventType.RECORDS_EXPORTED, None, {"filters": filters_used})

    def _key(self, key: KeyRecord) -> dict[str, Any]:
        role = None if key.role is None else str(key.role)
        name = None if key.name is None else self.redact(key.name)
        return {"key_id": key.id, "role": role, "name": name}

    def _event(self, type_: EventType, tenant: str | None, payload: dict[str, Any]) -> AuditEvent:
        return AuditEvent(
            type=type_,
            tenant=NO_TENANT if tenant is None else tenant,
            trace_id=self.trace_id,
            payload={"actor": self.actor, **payload},
        )

    def redacted(self, parts: dict[str, Any]) -> dict[str, Any]:
        """Return a copy of mappings in which their keys and the texts in their values are redacted.

        ``parts`` has the mappings by name, such as ``policy``. These names stay as they are, and so
        do the keys of mappings within values. If the redaction finds a secret in a text only when
        the text stands after its key, such as ``password``, the text is hidden as a whole.
        """
        return {
            part: {self.redact(key): self._text(value, key) for key, value in values.items()}
            for part, values in parts.items()
        }

    def _text(self, value: Any, key: str = "") -> Any:  # noqa: ANN401 - a value of a policy
        if isinstance(value, dict):
            return {name: self._text(each, key) for name, each in value.items()}
        return self._named(key, value) if isinstance(value, str) else value

    def _named(self, key: str, value: str) -> str:
        """Redact a text; hide all of it if only its key, such as ``password``, reveals a secret."""
        apart = self.redact(value)
        if self.redact(f"{key}: {value}") == f"{self.redact(key)}: {apart}":
            return apart
        return RedactionKind.SECRET.marker


def login_failed(address: str, n_times: int, *, trace_id: str) -> AuditEvent:
    """Build the event of failed logins to the admin plane.

    ``n_times`` counts the failures since the last event about the address. ``trace_id`` is empty if
    the event is made later than the failures.
    """
    return AuditEvent(
        type=EventType.ADMIN_LOGIN_FAILED,
        tenant=NO_TENANT,
        trace_id=trace_id,
        payload={"actor": None, "address": address, "count": n_times},
    )


def diff_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return which keys were added, changed and removed, with their values.

    >>> diff_of({"a": "1", "b": "2"}, {"b": "3", "c": "4"})
    {'added': {'c': '4'}, 'changed': {'b': {'from': '2', 'to': '3'}}, 'removed': {'a': '1'}}
    """
    return {
        "added": {key: value for key, value in after.items() if key not in before},
        "changed": {
            key: {"from": before[key], "to": value}
            for key, value in after.items()
            if key in before and before[key] != value
        },
        "removed": {key: value for key, value in before.items() if key not in after},
    }

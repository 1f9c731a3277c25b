"""Decides which logins to the admin plane are audited, so that many attempts make few events."""

from dataclasses import dataclass

from cachetools import LRUCache

#: Seconds after an audit event about the use of a key from an address, during which further uses of
#: this key from this address make no event, unless the earlier use was forgotten meanwhile.
LOGIN_S = 3600.0

#: Shortest time, in seconds, between two events about failed logins from one address. Only the last
#: event, when the gateway stops, may come sooner.
FAILURE_S = 60.0

#: Limit on the pairs of key and address that are remembered, and on the addresses of failed logins.
_MAX_SEEN = 1000

#: The text in place of the address of a failed login, if the address is not remembered and
#: :data:`_MAX_SEEN` addresses are remembered already.
OTHERS = "others"


@dataclass(slots=True)
class _Failures:
    """The time of the last event about an address, and the number of failed logins since then."""

    event_at: float
    n_since: int = 0


class Logins:
    """Remembers uses of keys and failed logins. Callers pass the time ``now``, in seconds."""

    def __init__(self) -> None:
        self._uses: LRUCache[tuple[str, str], float] = LRUCache(_MAX_SEEN)
        self._failures: dict[str, _Failures] = {}

    def is_new(self, key_id: str, address: str, *, now: float) -> bool:
        """Note that a key was used from an address; return whether to record this use as an event.

        A use is recorded unless another use of this key from this address was recorded in the last
        :data:`LOGIN_S` seconds. Only the :data:`_MAX_SEEN` pairs of key and address that were used
        last are remembered; a use of any other pair is recorded.
        """
        seen = self._uses.get((key_id, address))
        if seen is not None and now - seen < LOGIN_S:
            return False
        self._uses[key_id, address] = now
        return True

    def failed(self, address: str, *, now: float) -> bool:
        """Note a failed login from an address; return whether to record it as an event now.

        Failed logins that are not recorded now are counted, and :meth:`due` returns their number.
        """
        if address not in self._failures and len(self._failures) >= _MAX_SEEN:
            address = OTHERS
        known = self._failures.get(address)
        if known is not None:
            known.n_since += 1
            return False
        self._failures[address] = _Failures(now)
        return True

    def due(self, *, now: float) -> tuple[tuple[str, int], ...]:
        """Return the addresses about which an event is due, with their numbers of failed logins.

        Failed logins since the last event about an address are due :data:`FAILURE_S` seconds after
        this event. The number counts only failed logins that were not recorded or returned before.
        If ``now`` is infinite, all these failed logins are due.
        """
        over = [
            (address, each)
            for address, each in self._failures.items()
            if now - each.event_at >= FAILURE_S
        ]
        found = tuple((address, each.n_since) for address, each in over if each.n_since)
        for address, each in over:
            if each.n_since:
                each.event_at, each.n_since = now, 0
            else:
                del self._failures[address]
        return found

"""Which uses of the admin plane are worth an event: few, whoever tries how often."""

from collections import OrderedDict
from dataclasses import dataclass

#: A key that is used on from the same address is told of again after this time.
LOGIN_S = 3600.0

#: Failures from one address are told of once in this time, with their number.
FAILURE_S = 60.0

#: Pairs of key and address, and addresses, that are remembered.
_MAX_SEEN = 1000

#: Stands for all addresses beyond those.
OTHERS = "others"


@dataclass(slots=True)
class _Failures:
    """Of one address: when they were last told of, and how many came since."""

    told_at: float
    n_since: int = 0


class Logins:
    """What was seen of whom. It is told the time, and never waits."""

    def __init__(self) -> None:
        self._uses: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._failures: dict[str, _Failures] = {}

    def is_new(self, key_id: str, address: str, *, now: float) -> bool:
        """Whether a key was not used from there lately; it is now."""
        seen = self._uses.get((key_id, address))
        if seen is not None and now - seen < LOGIN_S:
            return False
        self._uses[key_id, address] = now
        self._uses.move_to_end((key_id, address))
        while len(self._uses) > _MAX_SEEN:
            self._uses.popitem(last=False)
        return True

    def failed(self, address: str, *, now: float) -> bool:
        """Note a failure; whether to tell of it now. If not, :meth:`due` gives it later."""
        if address not in self._failures and len(self._failures) >= _MAX_SEEN:
            address = OTHERS
        known = self._failures.get(address)
        if known is not None:
            known.n_since += 1
            return False
        self._failures[address] = _Failures(now)
        return True

    def due(self, *, now: float) -> tuple[tuple[str, int], ...]:
        """Addresses whose minute is over, each with the failures that nobody was told of.

        They count as told; who had none is forgotten.
        """
        over = [
            (address, each)
            for address, each in self._failures.items()
            if now - each.told_at >= FAILURE_S
        ]
        found = tuple((address, each.n_since) for address, each in over if each.n_since)
        for address, each in over:
            if each.n_since:
                each.told_at, each.n_since = now, 0
            else:
                del self._failures[address]
        return found

    def rest(self) -> tuple[tuple[str, int], ...]:
        """All failures that nobody was told of: it ends."""
        found = [(address, each.n_since) for address, each in self._failures.items()]
        self._failures.clear()
        return tuple((address, n) for address, n in found if n)

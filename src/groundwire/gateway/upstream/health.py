"""The health of an upstream: a state machine over times that are handed in.

An upstream that fails ``max_failures`` times in a row counts as down. It is left alone for
``cooldown_s``; then one request tries it, and while that has not succeeded no other does for as
long again. A request whose end nobody learns of, since its caller went away, needs no care so.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRules:
    """When an upstream counts as down: failures in a row, and seconds until it is tried."""

    max_failures: int
    cooldown_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The health of one upstream.

    Attributes:
        n_failures: Failures in a row, up to now.
        down_until: When it may be tried again, in seconds of the caller's clock; ``None``: it is
            not down.
    """

    n_failures: int = 0
    down_until: float | None = None

    @property
    def is_up(self) -> bool:
        """Whether it counts as up."""
        return self.down_until is None

    def may_be_asked(self, *, now: float) -> bool:
        """Whether a request may go to it: it is up, or due to be tried."""
        return self.down_until is None or now >= self.down_until

    def asked(self, *, now: float, rules: HealthRules) -> "Health":
        """A request goes to it. If that is to try it, it is the only one for a while."""
        if self.down_until is None or now < self.down_until:
            return self
        return replace(self, down_until=now + rules.cooldown_s)

    def failed(self, *, now: float, rules: HealthRules) -> "Health":
        """A request to it failed."""
        n_failures = self.n_failures + 1
        is_down = n_failures >= rules.max_failures
        return Health(n_failures=n_failures, down_until=now + rules.cooldown_s if is_down else None)

    def succeeded(self) -> "Health":
        """Record that it answered."""
        return _UP


_UP = Health()

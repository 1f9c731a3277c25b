"""The health of an upstream: whether the upstream is up, and otherwise when to try it again.

An upstream that fails ``max_failures`` times in a row counts as down. After ``cooldown_s`` seconds,
one request tries the upstream again. If this trial fails or does not end, the next trial is at
least ``cooldown_s`` seconds later. So a trial that never ends, because its caller went away, does
not prevent further trials.
"""

from dataclasses import dataclass, replace

from groundwire.config.tree import UpstreamDefaults


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The health of one upstream, an immutable value.

    Attributes:
        n_failures: Failures in a row.
        down_until: The time at which the upstream may be tried again, in seconds of the caller's
            clock; ``None`` if the upstream is up.
    """

    n_failures: int = 0
    down_until: float | None = None

    @property
    def is_up(self) -> bool:
        """Whether the upstream counts as up."""
        return self.down_until is None

    def may_be_asked(self, *, now: float) -> bool:
        """Return whether the upstream is up or due to be tried."""
        return self.down_until is None or now >= self.down_until

    def asked(self, *, now: float, rules: UpstreamDefaults) -> "Health":
        """Return the health after a request was sent to the upstream.

        If the upstream is down and due to be tried again, the request is a trial: it delays the
        next trial by ``cooldown_s``. Any other request changes nothing.
        """
        if self.down_until is None or now < self.down_until:
            return self
        return replace(self, down_until=now + rules.cooldown_s)

    def failed(self, *, now: float, rules: UpstreamDefaults) -> "Health":
        """Return the health after a request to the upstream failed."""
        n_failures = self.n_failures + 1
        is_down = n_failures >= rules.max_failures
        return Health(n_failures=n_failures, down_until=now + rules.cooldown_s if is_down else None)

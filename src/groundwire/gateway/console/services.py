"""The services that all pages of the console share."""

import asyncio
import secrets
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, cast

from cachetools import TTLCache
from starlette.requests import Request

from groundwire.control.accounts import Accounts
from groundwire.control.review.labels import Labels
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.middleware.readiness import Readiness

if TYPE_CHECKING:
    from groundwire.gateway.console.oidc import Provider

#: Limits on the failed tries to sign in from one address: with one name (at a provider: with one
#: cookie), and in total. They also limit the wrong passwords of somebody who changes a password.
MAX_OF_NAME, MAX_OF_ADDRESS = 5, 50
#: Seconds from the last change of a count of failed tries until the count is dropped.
WINDOW_S = 900
#: Highest number of counts of tries that a :class:`Throttle` keeps.
_MAX_SEEN = 20_000


class Throttle:
    """Limits the failed tries to sign in from one address, for each name and in total."""

    def __init__(self) -> None:
        self._tries: TTLCache[tuple[str, ...], int] = TTLCache(_MAX_SEEN, WINDOW_S)

    def is_over(self, name: str, address: str) -> bool:
        """Count a try to sign in, and return whether the try exceeds a limit and must be refused.

        Call this method before the password is checked, so that simultaneous tries count too. A
        count does not grow beyond its limit.
        """
        is_over = False
        for key, limit in (((name, address), MAX_OF_NAME), ((address,), MAX_OF_ADDRESS)):
            n_tries = self._tries.get(key, 0)
            is_over = is_over or n_tries >= limit
            if n_tries < limit:
                self._tries[key] = n_tries + 1
        return is_over

    def forget(self, name: str, address: str) -> None:
        """Forget the tries with a name from an address, after a try that does not count as failed.

        The number of all tries from the address falls by one.
        """
        self._tries.pop((name, address), None)
        self._tries[address,] = max(self._tries.get((address,), 0) - 1, 0)


@dataclass(slots=True, kw_only=True)
class BudgetLines:
    """The lines about budgets on the overview, which a task computes.

    Attributes:
        lines: The lines that were computed last, each with a name, a state and a text.
        computed_at: When the lines were computed, by ``time.monotonic()``; ``-inf`` if never.
        task: The last task that was started to compute them; ``None`` before the first.
    """

    lines: list[tuple[str, str, str]] = field(default_factory=list)
    computed_at: float = -inf
    task: asyncio.Task[None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleServices:
    """The services of the console.

    Attributes:
        control: The control plane.
        readiness: The state of the gateway's start, and the services that the start has loaded.
        accounts: The accounts of people.
        labels: The labels that reviewers gave to answers.
        provider: The provider at which people may sign in; ``None`` if none is configured.
        throttle: Limits failed sign-ins.
        budgets: The lines about budgets on the overview.
        replaying: A lock that lets one replay of stored answers run at a time.
        demo_secret: The secret of the one session of a local demo, which needs no account.
    """

    control: ControlPlane
    readiness: Readiness
    accounts: Accounts
    labels: Labels
    provider: "Provider | None" = None
    throttle: Throttle = field(default_factory=Throttle)
    budgets: BudgetLines = field(default_factory=BudgetLines)
    replaying: asyncio.Lock = field(default_factory=asyncio.Lock)
    demo_secret: str = field(default_factory=secrets.token_urlsafe, repr=False)


def services_of(request: Request) -> ConsoleServices:
    """Return the services of the console to which a request was sent."""
    return cast(ConsoleServices, request.app.state.console)

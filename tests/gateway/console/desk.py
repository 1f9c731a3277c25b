"""A console in this process, and somebody who sits before it."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx2 as httpx
from argon2 import PasswordHasher

from groundwire.control.accounts import AccountRole, Accounts
from groundwire.gateway.console.app import AdminPlane
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.metrics import Metrics
from groundwire.gateway.middleware.readiness import Readiness
from tests.gateway.admin.plane import config_of, recorded, url_of

PASSWORD = "right horse battery"

#: Hashes in a millisecond; a password is then checked as fast, for its hash has the parameters.
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
_TOKEN = re.compile(r'name="token" value="([0-9a-f]{64})"')

T = TypeVar("T")


@dataclass(kw_only=True)
class Desk:
    """Somebody before a browser without scripts.

    Attributes:
        control: The control plane of the console.
        run: Runs a coroutine in the loop of the console.
        app: The admin plane.
        client: The browser, with its cookies.
        token: The token of forms of the last page.
    """

    control: ControlPlane
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    app: Any
    client: httpx.AsyncClient
    token: str = field(default="", init=False)

    def get(self, path: str = "", **settings: Any) -> httpx.Response:  # noqa: ANN401
        """Load a page; ``path`` begins after ``/console``."""
        return self._seen(self.run(self.client.get(f"/console{path}", **settings)))

    def post(
        self,
        path: str,
        form: Mapping[str, str] | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> httpx.Response:
        """Send a form, with the token of the last page unless the form has one."""
        data = {"token": self.token, **(form or {})}
        return self._seen(self.run(self.client.post(f"/console{path}", data=data, **settings)))

    def move(self, address: str) -> None:
        """Go on with a fresh browser, at another address."""
        self.run(self.client.aclose())
        self.client, self.token = _browser(self.app, address), ""

    def add(self, name: str, role: AccountRole = AccountRole.ADMIN) -> None:
        """Make an account."""
        accounts = Accounts(self.control.store, hasher=CHEAP)
        self.run(accounts.save(name, role=role, password=PASSWORD))

    def sign_in(self, name: str = "anna", password: str = PASSWORD) -> httpx.Response:
        """Sign in, and load the first page."""
        answer = self.post("/sign-in", {"name": name, "password": password})
        if answer.status_code == 303:
            self.get("/account")
        return answer

    def events(self, *types: str) -> list[dict[str, Any]]:
        """The events of the audit trail so far, of some types."""
        self.run(self.control.audit.settle([]))
        return recorded(url_of(self.control.store), *types)

    def _seen(self, answer: httpx.Response) -> httpx.Response:
        if found := _TOKEN.search(answer.text):
            self.token = found[1]
        return answer


def _browser(app: Any, address: str = "127.0.0.1") -> httpx.AsyncClient:  # noqa: ANN401
    transport = httpx.ASGITransport(app=app, client=(address, 123))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8090")


@contextmanager
def desk(folder: Path, yaml: str = "", *, is_local_demo: bool = False) -> Iterator[Desk]:
    """A console whose files are in a folder, with the accounts anna, rita and vic by role."""
    config = config_of(folder, yaml)
    with asyncio.Runner() as runner:
        control = ControlPlane(config, is_local_demo=is_local_demo)
        app = AdminPlane(control, readiness=Readiness(), metrics=Metrics())
        made = Desk(control=control, run=runner.run, app=app, client=_browser(app))
        runner.run(control.begin())
        runner.run(control.wait_until_open())  # on a busy machine, begin() may give up before
        try:
            yield made
        finally:
            runner.run(made.client.aclose())
            runner.run(control.close())

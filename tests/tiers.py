"""Which tier a test is of, and how many examples hypothesis tries there.

A plain run needs no server, no database and no page of the documentation, and is over in minutes.
``pytest -m "merge or torch"`` is what has to pass before a change is merged, and
``pytest -m nightly`` the rest. CONTRIBUTING.md shows the commands.
"""

import os
import socket
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

#: Examples of a property, by the name that the environment variable has. How long one takes says
#: more about the machine than about the code.
N_EXAMPLES = {"dev": 15, "ci": 100, "nightly": 500}
VARIABLE = "GROUNDWIRE_TESTS"

#: What a test needs says which tier it is of, unless it says so itself: marks, and fixtures that
#: start servers.
_TIERS = {"postgres": "merge", "browser": "nightly", "clients": "nightly", "ray": "nightly"}
#: The marks of tests that a plain run leaves out.
OTHER_TIERS = ("merge", "nightly", "torch", "network")
AF_UNIX = getattr(socket, "AF_UNIX", None)  # Windows has none

_SERVERS = frozenset({"running", "planes", "postgres", "mortal_postgres", "wire"})


def load_profile() -> None:
    """Have hypothesis try as many examples as the environment says; without it, the fewest."""
    for name, n in N_EXAMPLES.items():
        settings.register_profile(name, max_examples=n, deadline=None, print_blob=True)
    settings.load_profile(os.environ.get(VARIABLE, "dev"))


def costly(share: float) -> settings:
    """Settings of a property whose examples take long: a share of the profile's, at least five."""
    profile = settings.default
    assert profile is not None, "load_profile comes first"
    return settings(max_examples=max(5, round(share * profile.max_examples)))


def put_into_tiers(items: list[pytest.Item]) -> None:
    """Give each test the mark of its tier."""
    for item in items:
        if item.get_closest_marker("merge") or item.get_closest_marker("nightly"):
            continue
        needed = [_TIERS[mark.name] for mark in item.iter_markers() if mark.name in _TIERS]
        if isinstance(item, pytest.Function) and not _SERVERS.isdisjoint(item.fixturenames):
            needed.append("merge")
        for tier in needed[:1]:
            item.add_marker(tier)


class NoServers:
    """Fails a test of the plain tier that listens on a socket, so that none gets in unseen."""

    def __init__(self) -> None:
        self._is_plain = False
        sys.addaudithook(self._look)  # it can never be taken away

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Look while a test of the plain tier runs."""
        self._is_plain = not any(item.get_closest_marker(name) for name in OTHER_TIERS)
        try:
            return (yield)
        finally:
            self._is_plain = False

    def _look(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._is_plain and event == "socket.bind":
            (listener, address) = arguments
            if isinstance(listener, socket.socket) and listener.family != AF_UNIX:
                raise RuntimeError(
                    f"A test of the plain tier listens at {address}: give it the mark merge."
                )

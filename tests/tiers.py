"""Puts tests into tiers, and decides how many examples hypothesis tries.

A plain run of pytest starts no server or database, runs no examples of the documentation, and ends
within minutes. Before a change is merged, ``pytest -m "merge or torch"`` has to pass too. All other
tests run with ``pytest -m nightly``. CONTRIBUTING.md shows the commands.
"""

import os
import socket
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

#: The number of examples of a property for each value of the environment variable. Profiles set no
#: deadline, because the time of an example says more about the machine than about the code.
N_EXAMPLES = {"dev": 15, "ci": 100, "nightly": 500}
VARIABLE = "GROUNDWIRE_TESTS"

#: The tier of tests with these marks, unless a test names its tier itself. Tests with the fixtures
#: of ``_SERVERS``, which start servers, are in the tier ``merge``.
_TIERS = {"postgres": "merge", "browser": "nightly", "clients": "nightly"}
#: The marks of tests that a plain run leaves out.
OTHER_TIERS = ("merge", "nightly", "torch", "network")
AF_UNIX = getattr(socket, "AF_UNIX", None)  # Windows has none

_SERVERS = frozenset({"running", "planes", "postgres", "mortal_postgres", "wire"})


def load_profile() -> None:
    """Set the number of hypothesis's examples by the environment variable; by default the least."""
    for name, n in N_EXAMPLES.items():
        settings.register_profile(name, max_examples=n, deadline=None, print_blob=True)
    settings.load_profile(os.environ.get(VARIABLE, "dev"))


def costly(share: float) -> settings:
    """Return settings for a slow property: a share of the usual examples, but at least five."""
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
    """A pytest plugin that makes a test of the plain tier fail if it listens on a socket."""

    def __init__(self) -> None:
        self._is_plain = False
        sys.addaudithook(self._look)  # Python cannot remove an audit hook, so there is a flag

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch for listening sockets while a test of the plain tier runs."""
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

"""Gateways that take many requests, for tests of what is hostile."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.gateway.chats import Gateway, gateway
from tests.gateway.hostile.modes import MODES


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Gateway]]:
    """A gateway for each mode, for tests that put many requests to it."""
    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(gateway(tmp_path_factory.mktemp(mode), yaml))
            for mode, yaml in MODES.items()
        }

"""What the gateway's tests share: apps served for real."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.gateway.serving import serving

Running = Callable[..., str]


@pytest.fixture
def running() -> Iterator[Running]:
    """Serves apps until the test ends; ``running(app)`` gives the base URL.

    Each has a port of its own; keyword arguments are those of :func:`serving`.
    """
    with ExitStack() as stack:

        def run(app: Any, **settings: Any) -> str:  # noqa: ANN401 - any ASGI app
            return stack.enter_context(serving(app, **settings))

        yield run

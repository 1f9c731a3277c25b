"""What tests of the admin plane share: planes that run until the test ends."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.admin.plane import Plane, plane

Planes = Callable[..., Plane]


@pytest.fixture
def planes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Planes]:
    """Starts gateways with an admin plane; each has a folder of its own unless one is given."""
    if "store_url" in request.fixturenames:
        request.getfixturevalue("store_url")  # first, so that gateways end before their database
    with ExitStack() as stack:
        n_started = 0

        def start(yaml: str = "", *, folder: Path | None = None, **settings: Any) -> Plane:  # noqa: ANN401
            nonlocal n_started
            n_started += 1
            own = folder or tmp_path / f"gateway-{n_started}"
            return stack.enter_context(plane(own, yaml, **settings))

        yield start


@pytest.fixture
def own(planes: Planes) -> Plane:
    """One gateway, on a file of SQLite."""
    return planes()


@pytest.fixture
def stored(planes: Planes, store_url: str) -> Plane:
    """One gateway, on each kind of database."""
    return planes(environ={"GROUNDWIRE_STORE_URL": store_url})

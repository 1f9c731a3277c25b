"""What tests of the console share."""

from collections.abc import Iterator

import pytest

from groundwire.control.accounts import AccountRole
from tests.gateway.console.desk import Desk, desk


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A console with an account of each role: anna (admin), rita (reviewer), vic (viewer)."""
    with desk(tmp_path_factory.mktemp("console")) as made:
        roles = (AccountRole.ADMIN, AccountRole.REVIEWER, AccountRole.VIEWER)
        for name, role in zip(("anna", "rita", "vic"), roles, strict=True):
            made.add(name, role)
        yield made


@pytest.fixture
def console(shared: Desk) -> Desk:
    """The same, with a fresh browser."""
    shared.client.cookies.clear()
    shared.token = ""
    return shared

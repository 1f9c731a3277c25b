"""What these tests share: the embedded gate, opened once."""

import pytest

from groundwire import Gate


@pytest.fixture(scope="session")
def gate() -> Gate:
    """The embedded gate."""
    return Gate.load(threads=1)

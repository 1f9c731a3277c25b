"""No test of a verifier sees the keys and addresses of the machine it runs on."""

from collections.abc import Iterator

import pytest

from groundwire.verify.cache import SHARED


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "BERRY_SERVICE_URL"):
        monkeypatch.delenv(name, raising=False)
    SHARED.clear()
    yield
    SHARED.clear()

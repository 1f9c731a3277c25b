"""The tools with the embedded model, loaded once."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from groundwire.config import parse
from groundwire.mcp.backend import Backend
from groundwire.mcp.files import Roots
from groundwire.mcp.models import Models
from groundwire.mcp.sessions import Stores


@pytest.fixture(scope="session")
def models() -> Iterator[Models]:
    """The embedded model, loaded when a test needs it."""
    config = parse("detector: {threads: 2}", name="groundwire.yaml")
    models = Models(config)
    yield models
    models.close()


@pytest.fixture
def backend(models: Models, tmp_path: Path) -> Backend:
    """As the command line makes it, with one allowed folder."""
    (tmp_path / "auth.md").write_text("# Auth\n\nTokens last for 60 minutes.\nThey are signed.\n")
    return Backend(
        config=parse("", name="groundwire.yaml"),
        models=models,
        stores=Stores(forgets=False),
        roots=Roots.of([tmp_path]),
    )


@pytest.fixture
def shared_backend(backend: Backend) -> Backend:
    """The same for a transport with several clients."""
    return replace(backend, stores=Stores(), needs_handle=True)

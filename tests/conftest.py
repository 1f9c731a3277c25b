"""Fixtures that all tests share: the embedded model, opened once, and databases."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from groundwire import Detector
from groundwire.detection.evidence import WordWeights
from groundwire.engine.cache import ByteCache
from groundwire.engine.models import READER_SMALL, READER_VARIABLE, find_model
from groundwire.engine.reader import Reader
from groundwire.engine.tokenizer import WordPieces
from groundwire.engine.work import Work
from tests.postgres import _mortal as _mortal
from tests.postgres import mortal_postgres as mortal_postgres
from tests.postgres import postgres as postgres
from tests.postgres import postgres_url as postgres_url
from tests.postgres import store_url as store_url
from tests.tiers import NoServers, load_profile, put_into_tiers

pytest.register_assert_rewrite("tests.browser")  # to show what a page has written
load_profile()
# Tests that name no reader use the small one, whether or not reader-base is installed.
os.environ[READER_VARIABLE] = READER_SMALL


def pytest_configure(config: pytest.Config) -> None:
    """Make tests of the plain tier fail if they start a server."""
    config.pluginmanager.register(NoServers())


@pytest.hookimpl(tryfirst=True)  # before pytest looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the mark of its tier."""
    put_into_tiers(items)


@pytest.fixture(scope="session", autouse=True)
def _no_certificates(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Hide the system's certificates from HTTP clients, which would take long to read them.

    No server of the tests has a certificate. Tests with the mark ``network`` need the system's.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not any(item.get_closest_marker("network") for item in request.session.items):
            patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
            patch.delenv("SSL_CERT_FILE", raising=False)
        yield


@pytest.fixture(scope="session")
def detector() -> Iterator[Detector]:
    """A detector with the embedded reader and two threads, shared by all tests with its cache."""
    with Detector.load(threads=2) as loaded:
        yield loaded


@pytest.fixture(scope="session")
def reader(detector: Detector) -> Reader:
    """The reader of the shared detector; tests put other graphs and caches into copies of it."""
    assert isinstance(detector.backend, Reader)
    return detector.backend


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """The folder of the embedded reader."""
    return find_model().folder


@pytest.fixture(scope="session")
def pieces(model_folder: Path) -> WordPieces:
    """The reader's tokenizer."""
    return WordPieces(model_folder / "tokenizer.json")


@pytest.fixture(scope="session")
def words(model_folder: Path) -> WordWeights:
    """The reader's tables of word weights."""
    return WordWeights.load(model_folder)


@pytest.fixture
def fresh_reader(reader: Reader) -> Reader:
    """The reader of the shared detector with an empty cache of 64 MB, and nothing read yet."""
    shared = reader.shared.with_caches(ByteCache(64_000_000), reader.shared.sources)
    return replace(reader, shared=shared, counter=Work())

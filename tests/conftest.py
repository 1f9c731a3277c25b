"""What all tests share: the embedded model, opened once; databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from groundwire import Detector
from groundwire.engine.cache import ByteCache
from groundwire.engine.reader import Reader
from groundwire.engine.runtime import KeysValues
from groundwire.engine.tokenizer import WordPieces
from groundwire.evidence import WordWeights
from groundwire.models import find_model
from tests.postgres import _mortal as _mortal
from tests.postgres import mortal_postgres as mortal_postgres
from tests.postgres import postgres as postgres
from tests.postgres import postgres_url as postgres_url
from tests.postgres import store_url as store_url

# How long an example takes says more about the machine than about the code.
settings.register_profile("groundwire", deadline=None, print_blob=True)
settings.load_profile("groundwire")


@pytest.fixture(scope="session")
def detector() -> Iterator[Detector]:
    """The embedded reader with two threads, shared: its cache is warm by chance."""
    with Detector.load(threads=2) as loaded:
        yield loaded


@pytest.fixture(scope="session")
def reader(detector: Detector) -> Reader:
    """The judge of that detector; tests put other graphs and caches into copies of it."""
    assert isinstance(detector._judge, Reader)
    return detector._judge


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """Where the embedded reader lies."""
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
def empty_cache() -> ByteCache[KeysValues]:
    """A cache of 64 MB that nobody else uses."""
    return ByteCache(64_000_000)

"""What tests of tenants share: a database of their own, on both kinds."""

from collections.abc import AsyncIterator

import pytest_asyncio

from groundwire.control.store import Store
from groundwire.control.tenants.registry import Registry
from tests.postgres import migrated_file as migrated_file
from tests.postgres import migrated_url as store_url

__all__ = ["migrated_file", "store_url"]


@pytest_asyncio.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """An open store, empty."""
    store = Store(store_url)
    await store.open()
    yield store
    await store.close()


@pytest_asyncio.fixture
async def registry(store: Store) -> Registry:
    """Nothing is configured, nothing stored."""
    return Registry(store)

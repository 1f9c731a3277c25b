"""Databases of these tests have their tables from the beginning."""

from tests.postgres import migrated_file as migrated_file
from tests.postgres import migrated_url as store_url

__all__ = ["migrated_file", "store_url"]

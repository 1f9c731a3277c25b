"""The JSON Schemas that others rely on are what they were: a change of one is made on purpose."""

import pytest

pytest.importorskip("fastapi", reason="needs the gateway extra")
pytest.importorskip("mcp_types", reason="needs the mcp extra")

from tests.golden.golden import FOLDER, differences, read
from tests.golden.schemas import build

FOUND = dict(build())


def test_each_schema_is_kept() -> None:
    assert sorted(FOUND) == sorted(f"schemas/{path.stem}" for path in FOLDER.glob("schemas/*"))


@pytest.mark.parametrize("name", FOUND)
def test_a_schema_is_what_it_was(name: str) -> None:
    assert differences(read(name), FOUND[name]) == []

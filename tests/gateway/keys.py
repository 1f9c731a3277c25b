"""Keys that tests use."""

import json
from collections.abc import Iterable
from pathlib import Path

from groundwire.control.keys import Key

KEY = "gw_test_key_of_the_default_tenant"
OTHER_KEY = "gw_test_key_of_acme"


def write_keys(path: Path, keys: Iterable[Key]) -> None:
    """Store keys as the file of an earlier version has them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"tenant": each.tenant, "sha256": each.sha256, "created": ""} for each in keys]
    path.write_text(json.dumps({"version": 1, "keys": rows}), encoding="utf-8")

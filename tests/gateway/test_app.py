"""The app as a whole: its routes, its layers, its start and its end."""

from pathlib import Path

import pytest

from groundwire.config import Config, parse
from groundwire.errors import ConfigError
from groundwire.gateway.app import create_app
from tests.gateway.client import fetch
from tests.gateway.conftest import Running
from tests.gateway.keys import KEY


def config_of(folder: Path, text: str = "") -> Config:
    """A configuration whose files are in a folder of the test's."""
    return parse(
        f"gateway: {{api_key: {KEY}, data_dir: '{folder}'}}\n"
        f"upstream.url: http://127.0.0.1:9/v1\n{text}",
        name="c.yaml",
    )


AUTHORIZED = {"Authorization": f"Bearer {KEY}"}


def test_probes_need_no_key(running: Running, tmp_path: Path) -> None:
    url = running(create_app(config_of(tmp_path), loads=False))
    assert fetch(f"{url}/livez").json() == {"status": "alive"}
    ready = fetch(f"{url}/readyz")
    assert ready.status == 200
    assert ready.json()["models"] == {"status": "none"}
    assert [each["name"] for each in ready.json()["upstreams"]] == ["default"]
    assert fetch(f"{url}/metrics").status == 200


def test_the_app_needs_some_key() -> None:
    with pytest.raises(ConfigError, match="There is no key"):
        create_app(Config())

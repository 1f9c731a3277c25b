"""The files of examples/compose are consistent, and the gateway can read them; nothing is built."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from ruamel.yaml import YAML

from groundwire.config import Config, parse

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "compose"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="this is no checkout")


def service() -> dict[str, Any]:
    data = YAML(typ="safe").load(FOLDER / "compose.yaml")
    (found,) = data["services"].values()
    assert set(data) == {"services", "volumes"}
    assert isinstance(found, dict)
    return found


def dockerfile() -> str:
    return (FOLDER / "Dockerfile").read_text(encoding="utf-8")


def config() -> Config:
    """Return the configuration in the container, from its file and its environment variables."""
    own = dict(re.findall(r"(GROUNDWIRE_\w+)=(\S+)", dockerfile()))
    given = {
        "GROUNDWIRE_UPSTREAM_URL": "http://host.docker.internal:11434/v1",
        "GROUNDWIRE_GATEWAY_API_KEY": "gw_" + "0" * 64,
    }
    assert set(service()["environment"]) == set(given)
    text = (FOLDER / "groundwire.yaml").read_text(encoding="utf-8")
    return parse(text, name="groundwire.yaml", environ=own | given)


def test_the_configuration_is_one_and_listens_where_the_port_leads() -> None:
    gateway = config().gateway
    assert gateway.host == "0.0.0.0"
    assert service()["ports"] == [f"127.0.0.1:{gateway.port}:{gateway.port}"]
    assert f"http://127.0.0.1:{gateway.port}/readyz" in dockerfile()
    assert f"EXPOSE {gateway.port}\n" in dockerfile()


def test_the_container_is_given_the_time_that_requests_have() -> None:
    assert int(service()["stop_grace_period"].removesuffix("s")) > 3 * config().gateway.shutdown_s


def test_what_is_written_goes_to_the_volume() -> None:
    folder = config().gateway.data_dir
    assert f"data:{folder}" in service()["volumes"]
    assert f"VOLUME {folder}\n" in dockerfile()
    assert service()["read_only"] is True


def test_the_files_that_are_copied_and_mounted_exist() -> None:
    build = service()["build"]
    context = (FOLDER / build["context"]).resolve()
    assert context == ROOT
    assert context / build["dockerfile"] == FOLDER / "Dockerfile"
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile(), re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert "pyproject.toml" in names
    assert [name for name in names if not (ROOT / name).exists()] == []
    mounted, target, _ = service()["volumes"][0].split(":")
    assert (FOLDER / mounted).is_file()
    assert f'CMD ["--config", "{target}"]' in dockerfile()


def variant() -> dict[str, Any]:
    """Return the data of ``compose.postgres.yaml``, which adds PostgreSQL."""
    data = YAML(typ="safe").load(FOLDER / "compose.postgres.yaml")
    assert isinstance(data, dict)
    return data


def test_the_gateway_knows_the_database_that_comes_with_it() -> None:
    gateway, database = variant()["services"]["gateway"], variant()["services"]["postgres"]
    (url,) = gateway["environment"].values()
    own = database["environment"]
    password = own["POSTGRES_PASSWORD"]
    assert password.startswith("${POSTGRES_PASSWORD:?")
    config = parse("", name="", environ={"GROUNDWIRE_STORE_URL": url.replace(password, "5ec2e7")})
    assert config.store.url is not None
    read = urlsplit(config.store.url.reveal())
    assert (read.username, read.password, read.hostname, read.path.strip("/")) == (
        *(own["POSTGRES_USER"], "5ec2e7", "postgres", own["POSTGRES_DB"]),
    )


def test_the_gateway_starts_once_the_database_takes_connections() -> None:
    services = variant()["services"]
    assert services["gateway"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    own, check = services["postgres"]["environment"], services["postgres"]["healthcheck"]["test"]
    assert check[check.index("--username") + 1] == own["POSTGRES_USER"]
    assert check[check.index("--dbname") + 1] == own["POSTGRES_DB"]


def test_the_database_keeps_what_it_has_and_is_reached_by_the_gateway_alone() -> None:
    database = variant()["services"]["postgres"]
    (volume,) = database["volumes"]
    assert volume.partition(":")[0] in variant()["volumes"]
    assert "ports" not in database


def test_the_variant_adds_to_services_that_there_are() -> None:
    base = YAML(typ="safe").load(FOLDER / "compose.yaml")
    assert set(variant()["services"]) - set(base["services"]) == {"postgres"}
    assert not set(variant()["services"]["gateway"]) & {"image", "build", "ports", "volumes"}

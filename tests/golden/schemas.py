"""Every JSON Schema that others may rely on: files of the package, OpenAPI documents, tools."""

import json
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from groundwire import __version__
from groundwire.config import parse
from groundwire.gateway.admin.app import create_admin_app
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.metrics import Metrics
from groundwire.gateway.middleware.readiness import Readiness
from groundwire.gateway.native import document
from groundwire.mcp.backend import Backend
from groundwire.mcp.files import Roots
from groundwire.mcp.models import Models
from groundwire.mcp.sessions import Stores
from groundwire.mcp.toolbox import tools_of


def build() -> Iterator[tuple[str, object]]:
    """The golden files, anew."""
    for path in sorted(
        resources.files("groundwire").joinpath("detection/schemas").iterdir(), key=str
    ):
        yield f"schemas/{path.name.partition('.')[0]}", json.loads(path.read_text("utf-8"))
    yield "schemas/openapi", _without_version(document())
    yield "schemas/admin-openapi", _without_version(_admin_document())
    yield "schemas/tools", _tools()


def _without_version(found: dict[str, Any]) -> dict[str, Any]:
    assert found["info"]["version"] == __version__
    return {**found, "info": {**found["info"], "version": "..."}}


def _admin_document() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            "GROUNDWIRE_UPSTREAM_URL": "http://127.0.0.1:9/v1",
            "GROUNDWIRE_GATEWAY_API_KEY": "gw_" + "k" * 43,
            "GROUNDWIRE_ADMIN_API_KEY": "gwa_" + "a" * 43,
            "GROUNDWIRE_GATEWAY_DATA_DIR": str(Path(folder)),
        }
        control = ControlPlane(parse("", name="groundwire.yaml", environ=environ))
        admin = create_admin_app(control, readiness=Readiness(), metrics=Metrics())
        return dict(admin.openapi())


def _tools() -> dict[str, Any]:
    config = parse("", name="groundwire.yaml", environ={})
    backend = Backend(
        config=config,
        models=Models(config),
        stores=Stores(forgets=False),
        roots=Roots.of([Path.cwd()]),
    )
    return {
        name: {"input": tool.input_schema, "output": tool.output_schema}
        for name, tool in tools_of(backend).items()
    }

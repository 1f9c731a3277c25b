"""A gateway with its admin plane, as ``groundwire serve`` has it, before a scripted upstream."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import select

from groundwire import Detector, Pipeline
from groundwire.config import Config, parse
from groundwire.control.store import Store, tables
from groundwire.control.tenants.record import FirstStart
from groundwire.gateway.app import create_app
from groundwire.gateway.control import ControlPlane
from tests.gateway.chats import KEY, fixed, request
from tests.gateway.client import Reply, fetch
from tests.gateway.serving import serving_both
from tests.gateway.wire import ScriptedUpstream

#: The admin key of the configuration, and a prefix of nobody's key.
ADMIN = "gwa_" + "a" * 43

#: As DVARA documents it.
DVARAS = {
    "metadata": {
        "grounding.enabled": "true",
        "grounding.action": "BLOCK",
        "grounding.max-sources": "20",
        "grounding.max-source-length": "5000",
    }
}


@dataclass(frozen=True, kw_only=True)
class Plane:
    """What runs.

    Attributes:
        url: Of the data plane, without ``/v1``.
        admin_url: Of the admin plane.
        upstream: What answers chats.
        folder: Where its files are.
        control: What both share.
        failures: Why it cannot run.
        starts: What was told of keys at the start.
        stop: Ends it, in order.
    """

    url: str
    admin_url: str
    upstream: ScriptedUpstream
    folder: Path
    control: ControlPlane
    failures: list[Exception] = field(default_factory=list)
    starts: list[FirstStart] = field(default_factory=list)
    stop: Callable[[], None]

    def ask(
        self,
        method: str,
        path: str,
        data: object = None,
        *,
        key: str | None = ADMIN,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Ask the admin plane; ``path`` begins after ``/v1/admin``, or is a whole one after //."""
        own = {} if key is None else {"Authorization": f"Bearer {key}"}
        whole = path[1:] if path.startswith("//") else f"/v1/admin{path}"
        return fetch(
            self.admin_url + whole,
            method=method,
            data=data,
            headers={**own, **(headers or {})},
        )

    def get(self, path: str, **settings: Any) -> Any:  # noqa: ANN401 - JSON
        """What is at a path of the admin plane."""
        reply = self.ask("GET", path, **settings)
        assert reply.status == 200, reply.text
        return reply.json()

    def recorded(self, *types: str) -> list[dict[str, Any]]:
        """What its audit trail has, of some types; what goes on after a response may be missing."""
        return recorded(url_of(self.control.store), *types)

    def chat(self, *, key: str = KEY, **more: object) -> Reply:
        """Ask for a chat completion."""
        own = {"Authorization": f"Bearer {key}"}
        return fetch(f"{self.url}/v1/chat/completions", headers=own, data=request(**more))

    def make_key(self, tenant: str, **settings: object) -> str:
        """A new key of a tenant, which is made if it is not there."""
        assert self.ask("PUT", f"/tenants/{tenant}", {}).status in (200, 201)
        made = self.ask("POST", f"/tenants/{tenant}/keys", settings)
        assert made.status == 201, made.text
        return str(made.json()["secret"])

    def make_admin(self, role: str) -> str:
        """A new key of the admin plane."""
        made = self.ask("POST", "/keys", {"role": role})
        assert made.status == 201, made.text
        return str(made.json()["secret"])


def config_of(
    folder: Path,
    yaml: str = "",
    *,
    upstream: str = "http://127.0.0.1:9/v1",
    environ: Mapping[str, str] | None = None,
) -> Config:
    """A configuration whose files are in a folder, and whose ports are any."""
    variables = {
        "GROUNDWIRE_UPSTREAM_URL": upstream,
        "GROUNDWIRE_GATEWAY_API_KEY": KEY,
        "GROUNDWIRE_ADMIN_API_KEY": ADMIN,
        "GROUNDWIRE_GATEWAY_PORT": "0",
        "GROUNDWIRE_ADMIN_PORT": "0",
        "GROUNDWIRE_GATEWAY_DATA_DIR": str(folder),
        "GROUNDWIRE_GATEWAY_SHUTDOWN_S": "10",
        **(environ or {}),
    }
    return parse(
        yaml,
        name="groundwire.yaml",
        environ={name: value for name, value in variables.items() if value},
    )


@contextmanager
def plane(
    folder: Path,
    yaml: str = "",
    *,
    detector: Detector | None = None,
    pipeline_of: "Callable[[Config, ControlPlane], Pipeline] | None" = None,
    environ: Mapping[str, str] | None = None,
    is_local_demo: bool = False,
) -> Iterator[Plane]:
    """A gateway and its admin plane, while the block runs.

    Args:
        folder: For its files, the database among them unless the environment names another.
        yaml: Its configuration; upstream, keys and ports are added.
        detector: What judges; by default one that doubts one word.
        pipeline_of: Makes the pipeline; by default one around the detector alone.
        environ: Further variables; one that is empty takes ours away.
        is_local_demo: Whether no key is needed.
    """
    with ScriptedUpstream() as upstream:
        config = config_of(folder, yaml, upstream=upstream.url, environ=environ)
        starts: list[FirstStart] = []
        failures: list[Exception] = []
        control = ControlPlane(config, is_local_demo=is_local_demo, on_start=starts.append)
        make = pipeline_of or partial(pipeline_around, detector or fixed())
        pipeline = make(config, control)
        app = create_app(
            config,
            pipeline=pipeline,
            control=control,
            is_local_demo=is_local_demo,
            on_failure=failures.append,
        )
        try:
            with serving_both(app, config, control) as planes:
                yield Plane(
                    url=planes.url,
                    admin_url=planes.admin_url,
                    upstream=upstream,
                    folder=folder,
                    control=control,
                    failures=failures,
                    starts=starts,
                    stop=planes.stop,
                )
        finally:
            pipeline.close()


def loaded(config: Config, control: ControlPlane) -> Pipeline:
    """The pipeline of a configuration, with its models."""
    return Pipeline.load(config, tenants=control.directory)


def pipeline_around(detector: Detector, config: Config, control: ControlPlane) -> Pipeline:
    """The pipeline of a configuration, without gate and explainer, around a detector."""
    return Pipeline(
        detector,
        decisions=config.decisions,
        policy=config.policy,
        limits=config.limits,
        tenants=control.directory,
        ignores_short=config.similarity.all_short == "grounded",
    )


def url_of(store: Store) -> str:
    """The address of a store, with the password."""
    return store.address.dsn or store.where


def recorded(url: str, *types: str) -> list[dict[str, Any]]:
    """What a database has of the audit trail, chain by chain; of some types, if any are named."""

    async def read() -> list[str]:
        async with Store(url) as store, store.reading() as connection:
            columns, writers = tables.audit_records.c, tables.audit_writers.c
            lines = await connection.execute(
                select(columns.line)
                .join(tables.audit_writers, writers.writer == columns.writer)
                .order_by(writers.started_at, columns.writer, columns.seq)
            )
            return list(lines.scalars())

    events = [json.loads(line) for line in asyncio.run(read())]
    return [each for each in events if not types or each["type"] in types]

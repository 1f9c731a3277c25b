"""The app as a whole: its routes, its layers, its start and its end."""

import json
from pathlib import Path

import pytest

from groundwire import Pipeline
from groundwire.config import Config, parse
from groundwire.detector import Detector
from groundwire.errors import ConfigError, GroundwireError
from groundwire.gateway.app import create_app
from tests.gateway.chats import fixed
from tests.gateway.client import fetch
from tests.gateway.conftest import Running
from tests.gateway.keys import KEY

pytestmark = pytest.mark.merge

AUTHORIZED = {"Authorization": f"Bearer {KEY}"}


def config_of(folder: Path, text: str = "") -> Config:
    """A configuration whose files are in a folder of the test's, and whose upstream is nobody."""
    return parse(
        f"gateway: {{api_key: {KEY}, data_dir: {json.dumps(str(folder))}, max_body_bytes: 1000}}\n"
        f"upstreams: [{{name: local, url: 'http://127.0.0.1:9/v1'}}]\n{text}",
        name="c.yaml",
    )


def test_probes_need_no_key(running: Running, tmp_path: Path) -> None:
    url = running(create_app(config_of(tmp_path), pipeline=Pipeline(fixed())))
    assert fetch(f"{url}/livez").json() == {"status": "alive"}
    ready = fetch(f"{url}/readyz")
    assert ready.status == 200
    assert ready.json() == {
        "status": "ready",
        "models": {"status": "loaded", "detector": "fixed", "operating_point": "balanced"},
        "upstreams": [{"name": "local", "status": "up"}],
        "warnings": [],
    }


def test_what_is_odd_about_the_configuration_is_told_without_names(
    running: Running, tmp_path: Path
) -> None:
    text = "detector.name: similarity:hash\ntenants: {acme: {action: block, explain: false}}"
    url = running(create_app(config_of(tmp_path, text), pipeline=Pipeline(fixed())))
    reply = fetch(f"{url}/readyz")
    assert [each["code"] for each in reply.json()["warnings"]] == ["blocks_right_answers"]
    assert "acme" not in reply.text


def test_metrics_count_requests_and_how_they_ended(running: Running, tmp_path: Path) -> None:
    url = running(create_app(config_of(tmp_path), pipeline=Pipeline(fixed())))
    assert fetch(f"{url}/v1/models").status == 401
    reply = fetch(f"{url}/metrics")
    assert reply.headers["Content-Type"].startswith("text/plain; version=")
    assert 'groundwire_requests_total{endpoint="models",status_class="4xx"} 1.0' in reply.text
    assert "groundwire_in_flight 1.0" in reply.text


def test_a_pipeline_that_is_given_is_told_of_and_left_open(
    running: Running, tmp_path: Path, detector: Detector
) -> None:
    url = running(create_app(config_of(tmp_path), pipeline=Pipeline(detector)))
    models = fetch(f"{url}/readyz").json()["models"]
    assert models == {"status": "loaded", "detector": "reader", "operating_point": "balanced"}
    assert detector.detect(sources=["a"], answer="b c d.").outcome


def test_models_load_while_probes_are_answered_and_requests_wait(
    running: Running, tmp_path: Path
) -> None:
    url = running(create_app(config_of(tmp_path)))
    assert fetch(f"{url}/livez").status == 200
    assert fetch(f"{url}/readyz").status in (200, 503)
    assert fetch(f"{url}/nothing", headers=AUTHORIZED).status == 404
    assert fetch(f"{url}/readyz").json()["models"]["status"] == "loaded"


@pytest.mark.filterwarnings("ignore::groundwire.config.findings.ConfigWarning")  # of the name
def test_models_that_cannot_be_loaded_make_it_unready(running: Running, tmp_path: Path) -> None:
    failures: list[Exception] = []
    config = config_of(tmp_path, "detector.name: no-such-model")
    url = running(create_app(config, on_failure=failures.append))
    reply = fetch(f"{url}/v1/models", headers=AUTHORIZED)
    assert (reply.status, reply.error["code"]) == (503, "not_started")
    ready = fetch(f"{url}/readyz")
    assert ready.status == 503
    assert ready.json()["status"] == "failed"
    assert fetch(f"{url}/livez").status == 200
    assert [isinstance(each, GroundwireError) for each in failures] == [True]


def test_the_app_needs_some_key() -> None:
    with pytest.raises(ConfigError, match="There is no key"):
        create_app(Config())


def test_a_path_that_there_is_not_is_told_with_the_next_step(
    running: Running, tmp_path: Path
) -> None:
    url = running(create_app(config_of(tmp_path), pipeline=Pipeline(fixed())))
    reply = fetch(f"{url}/chat/completions", headers=AUTHORIZED, data={})
    assert reply.status == 404
    assert reply.error["message"] == (
        "There is nothing at POST /chat/completions. Did you mean /v1/chat/completions?"
    )
    for path in ("/docs", "/redoc", "/", "/v1"):
        assert fetch(f"{url}{path}", headers=AUTHORIZED).status == 404


def test_the_api_describes_itself_without_a_key(running: Running, tmp_path: Path) -> None:
    url = running(create_app(config_of(tmp_path), pipeline=Pipeline(fixed())))
    document = fetch(f"{url}/openapi.json").json()
    assert document["info"]["title"] == "Groundwire"
    assert "/v1/{path}" not in document["paths"]


def test_layers_hold_on_all_routes(running: Running, tmp_path: Path) -> None:
    url = running(create_app(config_of(tmp_path), pipeline=Pipeline(fixed())))
    for path in ("/v1/chat/completions", "/v1/check", "/v1/embeddings", "/other"):
        refused = fetch(f"{url}{path}", data={})
        assert (refused.status, refused.error["code"]) == (401, "missing_api_key")
        assert refused.headers["X-Trace-ID"] == refused.error["trace_id"]
        large = fetch(f"{url}{path}", headers=AUTHORIZED, data={"a": "x" * 1000})
        assert (large.status, large.error["code"]) == (413, "body_too_large")


def test_the_demo_needs_no_key(running: Running, tmp_path: Path) -> None:
    config = parse(
        f"gateway.data_dir: {json.dumps(str(tmp_path))}\nupstream.url: http://127.0.0.1:9", name=""
    )
    url = running(create_app(config, pipeline=Pipeline(fixed()), is_local_demo=True))
    assert fetch(f"{url}/other").status == 404
    assert fetch(f"{url}/other", host="evil.example").status == 403

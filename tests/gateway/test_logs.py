"""What the gateway logs: lines that machines and people read, and that hold no secret."""

import json
import logging
from collections.abc import Iterator

import pytest

from groundwire.config import parse
from groundwire.gateway.app import create_app
from groundwire.gateway.logs import TRACE_ID, JsonLines, TextLines, log_to_stderr
from groundwire.pipeline import Pipeline
from tests.gateway.chats import fixed
from tests.gateway.client import fetch
from tests.gateway.conftest import Running
from tests.gateway.keys import KEY

SECRET = "what-a-user-wrote"

OURS = logging.getLogger("groundwire")


@pytest.fixture
def _restored() -> Iterator[None]:
    """Set up logging as it was before."""
    root, access = logging.getLogger(), logging.getLogger("groundwire.access")
    before = root.handlers[:], root.level, OURS.level, access.level
    yield
    logging.captureWarnings(False)
    root.handlers[:], root.level = before[0], before[1]
    OURS.setLevel(before[2])
    access.setLevel(before[3])


def record(message: str = "said", **fields: object) -> logging.LogRecord:
    made = OURS.makeRecord("groundwire.x", logging.WARNING, "f.py", 1, message, (), None)
    made.__dict__["fields"] = fields
    return made


def test_a_record_is_a_json_object_with_the_trace_of_its_request() -> None:
    token = TRACE_ID.set("0af7651916cd43dd8448eb211c80319c")
    try:
        line = JsonLines().format(record("two\nlines", status=200))
    finally:
        TRACE_ID.reset(token)
    assert "\n" not in line
    data = json.loads(line)
    assert data.pop("time").endswith("Z")
    assert data == {
        "level": "warning",
        "logger": "groundwire.x",
        "message": "two\nlines",
        "status": 200,
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
    }


@pytest.mark.parametrize("formatter", [JsonLines(), TextLines()])
def test_neither_a_key_nor_what_an_exception_says_is_written(formatter: logging.Formatter) -> None:
    made = record(f"a key {KEY}", given=KEY)
    try:
        raise RuntimeError(SECRET)
    except RuntimeError as error:
        made.exc_info = (RuntimeError, error, error.__traceback__)
    line = formatter.format(made)
    assert KEY not in line
    assert SECRET not in line
    assert "gw_***" in line
    assert "RuntimeError at " in line
    assert "\n" not in line


@pytest.mark.usefixtures("_restored")
def test_what_is_less_severe_than_the_level_is_not_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log_to_stderr(parse("log: {level: warning}", name="").log)
    OURS.info("quiet")
    OURS.warning("loud")
    logging.getLogger("aiohttp").info("of a library")
    assert "WARNING groundwire: loud\n" in capsys.readouterr().err


@pytest.mark.merge
@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize("access", [True, False])
def test_a_request_is_logged_by_the_name_of_its_endpoint(
    running: Running, access: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"gateway.api_key: {KEY}\naudit.enabled: false"
    url = running(create_app(parse(text, name=""), pipeline=Pipeline(fixed())))
    log_to_stderr(parse(f"log: {{format: json, access: {access}}}", name="").log)
    path, own = f"{url}/files/{SECRET}?key={KEY}", {"Authorization": f"Bearer {KEY}"}
    trace_id = fetch(path, headers=own).headers["X-Trace-ID"]
    fetch(f"{url}/livez")
    said = capsys.readouterr().err
    if not access:
        assert said == ""
        return
    (line,) = said.splitlines()  # probes are of level debug
    data = json.loads(line)
    assert data.pop("duration_ms") >= 0
    assert len(data.pop("key_id")) == 12
    del data["time"]
    assert data == {
        "level": "info",
        "logger": "groundwire.access",
        "message": "request",
        "method": "GET",
        "endpoint": "other",
        "status": 404,
        "trace_id": trace_id,
        "tenant": "default",
    }

import gzip
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.gateway.client import Reply, fetch
from tests.gateway.conftest import Running
from tests.gateway.relayed import AUTHORIZED, KEY, config_for, events, relay_app
from tests.gateway.wire import (
    PATIENCE_S,
    End,
    Framing,
    Gate,
    Script,
    ScriptedUpstream,
    eventually,
    stream_events,
)

pytestmark = pytest.mark.merge

EVENTS = stream_events(["Paris ", "ist schön."])
JSON = {"Content-Type": "application/json", **AUTHORIZED}
BLOCK = "check: {action: block}\n"


@pytest.fixture
def servers() -> Iterator[tuple[ScriptedUpstream, ScriptedUpstream]]:
    with ExitStack() as stack:
        yield stack.enter_context(ScriptedUpstream()), stack.enter_context(ScriptedUpstream())


@pytest.fixture
def server(servers: tuple[ScriptedUpstream, ScriptedUpstream]) -> ScriptedUpstream:
    servers[0].otherwise(Script.json({"object": "thing"}))
    return servers[0]


@pytest.fixture
def other(servers: tuple[ScriptedUpstream, ScriptedUpstream]) -> ScriptedUpstream:
    servers[1].otherwise(Script.json({"object": "other"}))
    return servers[1]


@pytest.fixture
def url(running: Running, server: ScriptedUpstream, tmp_path: Path) -> str:
    """A relay in front of ``server``, with all settings as they are by default."""
    return running(relay_app(config_for(server, tmp_path)))


def both(server: ScriptedUpstream, other: ScriptedUpstream, *models: str) -> str:
    first, second = models or ("['*']", "['*']")
    return (
        f"upstreams:\n  - {{name: a, url: '{server.url}', models: {first}, weight: 2}}\n"
        f"  - {{name: b, url: '{other.url}', models: {second}}}\n"
    )


def connected(url: str, head: str, body: bytes = b"") -> socket.socket:
    """A connection on which a request was sent; ``head`` without the key and the last line."""
    parts = urlsplit(url)
    connection = socket.create_connection((parts.hostname or "", parts.port or 0), PATIENCE_S)
    lines = [*head.split("\n"), "Host: x", f"Authorization: Bearer {KEY}", "", ""]
    connection.sendall("\r\n".join(lines).encode("latin-1") + body)
    return connection


def received(connection: socket.socket, end: bytes) -> bytes:
    data = b""
    while end not in data and (piece := connection.recv(65536)):
        data += piece
    return data


def raw(url: str, target: str, *, method: str = "GET") -> Reply:
    """A request whose target stands in its first line as it is written here."""
    with closing(connected(url, f"{method} {target} HTTP/1.1\nConnection: close")) as connection:
        data = b""
        while piece := connection.recv(65536):
            data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    status = int(head.split(b" ")[1])
    return Reply(status, {}, body)  # type: ignore[arg-type]


# As it came, as it is.


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_method_path_query_and_body_go_up_as_they_came(
    url: str, server: ScriptedUpstream, method: str
) -> None:
    body = b'{"unknown":  1, "a": 1, "a": 2}' if method != "GET" else b""
    reply = fetch(f"{url}/v1/files/a%2Fb%20c/?x=1&x=%32&&y", method=method, headers=JSON, body=body)
    request = server.requests[0]
    assert reply.json() == {"object": "thing"}
    assert (request.method, request.target) == (method, "/v1/files/a%2Fb%20c/?x=1&x=%32&&y")
    assert request.body == body


@pytest.mark.parametrize("written", ["{}", "Bearer%20{}", "%67wa_{}"])
def test_a_key_in_the_query_stays_here(url: str, server: ScriptedUpstream, written: str) -> None:
    key = "gwa_" + "aB3_-" * 8
    query = written.format(key.removeprefix("gwa_") if "%67" in written else key)
    reply = fetch(f"{url}/v1/models?api_key={query}", headers=AUTHORIZED)
    assert (reply.status, reply.error["code"]) == (400, "key_in_query")
    assert key not in reply.text
    assert not server.requests


@pytest.mark.parametrize("written", ["{}", "a%2F{}", "{}/content", "%67wa_{}", "gw%61_{}"])
def test_a_key_in_the_path_stays_here(url: str, server: ScriptedUpstream, written: str) -> None:
    key = "gwa_" + "aB3_-" * 4
    path = written.format(key.removeprefix("gwa_") if "_{" in written else key)
    reply = fetch(f"{url}/v1/files/{path}", headers=AUTHORIZED)
    assert (reply.status, reply.error["code"]) == (400, "key_in_path")
    assert key not in reply.text
    assert not server.requests
    assert fetch(f"{url}/v1/files/gw_short", headers=AUTHORIZED).status == 200


def test_a_head_request_has_headers_alone(url: str, server: ScriptedUpstream) -> None:
    reply = fetch(f"{url}/v1/models", method="HEAD", headers=AUTHORIZED)
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["content-length"] == "19"
    assert server.requests[0].method == "HEAD"


@pytest.mark.parametrize("status", [201, 204, 304, 307, 400, 401, 404, 409, 418, 429, 500, 503])
def test_every_status_is_relayed_with_its_body(
    url: str, server: ScriptedUpstream, status: int
) -> None:
    headers = (("Location", "/elsewhere"), ("Retry-After", "7"), ("x-ratelimit-limit", "9"))
    server.script(Script(status=status, headers=headers, body=(b'{"error": "as it is"}',)))
    reply = fetch(f"{url}/v1/embeddings", headers=AUTHORIZED, data={"model": "m"})
    assert reply.status == status
    assert reply.body == (b"" if status in {204, 304} else b'{"error": "as it is"}')
    assert [reply.headers[name] for name, _ in headers] == [value for _, value in headers]


def test_repeated_headers_are_kept_and_ours_cannot_be_forged(
    url: str, server: ScriptedUpstream
) -> None:
    forged = (
        ("x-trace-id", "forged"),
        ("x-groundwire-outcome", "grounded"),
        ("X-Vsr-Hallucination-Detected", "false"),
    )
    cookies = (("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"))
    server.script(Script(headers=(*forged, *cookies)))
    reply = fetch(f"{url}/v1/files", headers={"X-Trace-ID": "mine", **AUTHORIZED})
    assert reply.headers.get_all("set-cookie") == ["a=1", "b=2"]
    assert reply.headers.get_all("x-trace-id") == ["mine"]
    assert not [name for name in reply.headers if name.startswith(("x-vsr", "x-groundwire"))]
    assert len(reply.headers.get_all("date") or ()) == 1


def test_the_key_of_the_gateway_stays_and_the_trace_id_goes_along(
    url: str, server: ScriptedUpstream
) -> None:
    reply = fetch(f"{url}/v1/files", headers={"X-API-Key": KEY, "X-Custom": "1"})
    request = server.requests[0]
    assert request.all("authorization") == ["Bearer sk-up"]
    assert KEY not in str(request.headers)
    assert request.header("x-custom") == "1"
    assert request.all("x-trace-id") == [reply.headers["x-trace-id"]]


def test_a_caller_may_have_a_key_of_his_own_for_the_upstream(
    url: str, server: ScriptedUpstream
) -> None:
    headers = {"X-Groundwire-Key": KEY, "Authorization": "Bearer sk-own"}
    fetch(f"{url}/v1/files", headers=headers)
    assert server.requests[0].all("authorization") == ["Bearer sk-own"]
    assert server.requests[0].header("x-groundwire-key") is None


def test_a_compressed_body_is_relayed_as_it_is(url: str, server: ScriptedUpstream) -> None:
    server.script(Script.json({"a": 1}, encoding="gzip"))
    headers = {"Accept-Encoding": "br, gzip, zstd", **AUTHORIZED}
    reply = fetch(f"{url}/v1/files", headers=headers)
    assert reply.headers["content-encoding"] == "gzip"
    assert server.requests[0].header("accept-encoding") == "br, gzip, zstd"
    assert gzip.decompress(reply.body) == b'{"a": 1}'


def test_a_stream_is_relayed_while_it_is_written(url: str, server: ScriptedUpstream) -> None:
    gate = Gate()
    server.script(Script.sse([EVENTS[0], gate, *EVENTS[1:]]))
    head = "POST /v1/completions HTTP/1.1\nContent-Length: 2"
    with closing(connected(url, head, b"{}")) as connection:
        data = received(connection, EVENTS[0])
        assert b"text/event-stream" in data
        gate.open()
        data += received(connection, b"0\r\n\r\n")
    assert all(event in data for event in EVENTS)


@pytest.mark.parametrize("framing", list(Framing))
@pytest.mark.parametrize("end", [End.RESET, End.CLOSE])
def test_a_stream_that_breaks_off_breaks_off(
    url: str, server: ScriptedUpstream, framing: Framing, end: End
) -> None:
    if framing is Framing.NONE and end is End.CLOSE:
        return  # that is the end
    server.script(Script.sse(EVENTS, framing=framing, end=end, claimed_length=100_000))
    head = "POST /v1/completions HTTP/1.1\nContent-Length: 2"
    with closing(connected(url, head, b"{}")) as connection:
        data = received(connection, b"never")
    assert EVENTS[0] in data
    assert not data.endswith(b"0\r\n\r\n")


# What comes up.


def test_a_chunked_body_is_sent_with_its_length(url: str, server: ScriptedUpstream) -> None:
    pieces = iter([b"x" * 100_000] * 20)
    headers = {"Content-Type": "audio/wav", **AUTHORIZED}
    fetch(f"{url}/v1/audio/transcriptions", method="POST", headers=headers, body=pieces)
    assert len(server.requests[0].body) == 2_000_000
    assert server.requests[0].header("content-length") == "2000000"


def test_a_client_that_leaves_while_it_sends_asks_for_nothing(
    url: str, server: ScriptedUpstream
) -> None:
    head = "POST /v1/files HTTP/1.1\nContent-Type: multipart/form-data\nContent-Length: 10"
    with closing(connected(url, head, b"first")):
        pass
    assert fetch(f"{url}/v1/files", headers=AUTHORIZED).status == 200
    assert [each.method for each in server.requests] == ["GET"]


def test_a_client_that_is_too_slow_to_send_is_told(
    running: Running, server: ScriptedUpstream, tmp_path: Path
) -> None:
    config = config_for(server, tmp_path)
    config = replace(config, upstream=replace(config.upstream, response_timeout_s=0.2))
    head = "POST /v1/files HTTP/1.1\nContent-Type: multipart/form-data\nContent-Length: 10"
    with closing(connected(running(relay_app(config)), head, b"first")) as connection:
        assert b"408" in received(connection, b"request_timeout")
    assert server.requests == ()


@pytest.mark.parametrize("script", [Script(hangs_at_once=True), Script.sse(EVENTS, end=End.HANG)])
def test_a_client_that_leaves_ends_the_request_upstream(
    url: str, server: ScriptedUpstream, script: Script
) -> None:
    server.script(script)
    head = "POST /v1/responses HTTP/1.1\nContent-Length: 2"
    with closing(connected(url, head, b"{}")) as connection:
        server.wait_for(1)
        if script.body:
            received(connection, EVENTS[0])
    assert server.requests[0].was_abandoned.wait(PATIENCE_S)


def test_a_slow_client_makes_the_upstream_wait(url: str, server: ScriptedUpstream) -> None:
    server.script(Script.sse([b"x" * 1_000_000] * 100))
    with closing(connected(url, "GET /v1/files HTTP/1.1")) as connection:
        received(connection, b"200 OK")
        before = -1
        while before != (before := server.requests[0].n_sent):
            time.sleep(0.3)
        assert before < 30_000_000


def test_an_upstream_that_cannot_be_reached_is_a_problem(running: Running, tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    app = relay_app(config_for(f"http://127.0.0.1:{port}/v1", tmp_path))
    reply = fetch(f"{running(app)}/v1/files", headers=AUTHORIZED)
    assert (reply.status, reply.error["code"]) == (502, "upstream_unreachable")
    assert reply.error["trace_id"] == reply.headers["x-trace-id"]
    assert str(port) not in reply.error["message"]


# Several upstreams.


def test_a_request_goes_where_its_model_is(
    running: Running, server: ScriptedUpstream, other: ScriptedUpstream, tmp_path: Path
) -> None:
    more = both(server, other, "['gpt-*']", "['*']")
    url = running(relay_app(config_for(server, tmp_path, more)))
    for model in ("gpt-4o", "llama"):
        data = {"input": "x" * 100_000, "model": model}
        fetch(f"{url}/v1/embeddings", headers=AUTHORIZED, data=data)
    packed = gzip.compress(b'{"model": "llama"}')
    fetch(
        f"{url}/v1/embeddings",
        method="POST",
        headers={"Content-Encoding": "gzip", **JSON},
        body=packed,
    )
    fetch(f"{url}/v1/models/llama", headers=AUTHORIZED)
    assert [each.path for each in server.requests] == ["/v1/embeddings"]
    assert [each.path for each in other.requests] == ["/v1/embeddings"] * 2 + ["/v1/models/llama"]
    assert other.requests[1].body == packed


@pytest.mark.parametrize(
    "body", [b"", b"[1]", b"{", b'{"model": 5}', b"\xff", b'{"a":' * 100_000, b'{"model": null}']
)
def test_a_body_that_names_no_model_goes_to_the_heaviest(
    running: Running,
    server: ScriptedUpstream,
    other: ScriptedUpstream,
    tmp_path: Path,
    body: bytes,
) -> None:
    url = running(relay_app(config_for(server, tmp_path, both(server, other))))
    for _ in range(3):
        reply = fetch(f"{url}/v1/embeddings", method="POST", headers=JSON, body=body)
        assert reply.json() == {"object": "thing"}
    assert [each.body for each in server.requests] == [body] * 3


def test_a_model_that_nobody_serves_is_not_found(
    running: Running, server: ScriptedUpstream, other: ScriptedUpstream, tmp_path: Path
) -> None:
    more = both(server, other, "['gpt-*']", "['llama']")
    url = running(relay_app(config_for(server, tmp_path, more)))
    reply = fetch(f"{url}/v1/embeddings", headers=AUTHORIZED, data={"model": "mistral"})
    assert (reply.status, reply.error["code"]) == (404, "model_not_found")


def test_where_one_has_trouble_the_other_is_asked(
    running: Running, server: ScriptedUpstream, other: ScriptedUpstream, tmp_path: Path
) -> None:
    server.otherwise(Script.error(503))
    url = running(relay_app(config_for(server, tmp_path, both(server, other))))
    reply = fetch(f"{url}/v1/files", headers=AUTHORIZED)
    assert reply.json() == {"object": "other"}


def test_a_body_that_has_to_be_read_is_bounded(
    running: Running, server: ScriptedUpstream, other: ScriptedUpstream, tmp_path: Path
) -> None:
    config = config_for(server, tmp_path, both(server, other), gateway=", max_body_bytes: 1000")
    url = running(relay_app(config))
    pieces = iter([b"x" * 600] * 2)
    reply = fetch(f"{url}/v1/embeddings", method="POST", headers=JSON, body=pieces)
    assert (reply.status, reply.error["code"]) == (413, "body_too_large")
    assert server.requests == other.requests == ()


# Lists of models.


def models(*ids: str, **changes: object) -> Script:
    data = [{"id": each, "object": "model", "owned_by": "x"} for each in ids]
    return Script.json({"object": "list", "data": data}).but(**changes)


def test_the_list_of_one_upstream_is_relayed_as_it_is(url: str, server: ScriptedUpstream) -> None:
    server.script(Script(body=(b'{"object":  "list", "odd": [1]}',)))
    assert fetch(f"{url}/v1/models", headers=AUTHORIZED).body == b'{"object":  "list", "odd": [1]}'


def test_the_lists_of_several_upstreams_are_one(
    running: Running, server: ScriptedUpstream, other: ScriptedUpstream, tmp_path: Path
) -> None:
    server.otherwise(models("a-1", "both", encoding="gzip"))
    other.otherwise(models("both", "b-1", "b-1", encoding="deflate"))
    url = running(relay_app(config_for(server, tmp_path, both(server, other))))
    reply = fetch(f"{url}/v1/models", headers=AUTHORIZED)
    assert [each["id"] for each in reply.json()["data"]] == ["a-1", "both", "b-1"]
    assert reply.json()["data"][0]["owned_by"] == "x"
    assert reply.headers.get("x-groundwire-missing-upstreams") is None


def test_what_would_not_be_found_is_not_in_the_list(
    running: Running, server: ScriptedUpstream, other: ScriptedUpstream, tmp_path: Path
) -> None:
    server.otherwise(models("gpt-4o", "whisper"))
    other.otherwise(models("gpt-copy", "llama"))
    more = both(server, other, "['gpt-*']", "['*']")
    url = running(relay_app(config_for(server, tmp_path, more)))
    reply = fetch(f"{url}/v1/models", headers=AUTHORIZED)
    assert [each["id"] for each in reply.json()["data"]] == ["gpt-4o", "llama"]


@pytest.mark.parametrize(
    "bad",
    [
        Script.error(401),
        Script.json([1]),
        Script.json({"data": {}}),
        Script(body=(b"{",)),
        Script(body=(b"[" * 100_000,)),
        Script(body=(b"\xff",)),
        Script(body=(b"x",), headers=(("Content-Encoding", "gzip"),)),
        Script(body=(b"x",), headers=(("Content-Encoding", "zstd"),)),
        Script(body=(b"{",), claimed_length=100, end=End.RESET),
        Script(raw=b"no"),
    ],
)
def test_an_upstream_without_a_list_is_left_out_and_named(
    running: Running,
    server: ScriptedUpstream,
    other: ScriptedUpstream,
    tmp_path: Path,
    bad: Script,
) -> None:
    server.otherwise(bad)
    other.otherwise(models("b-1"))
    url = running(relay_app(config_for(server, tmp_path, both(server, other))))
    reply = fetch(f"{url}/v1/models", headers=AUTHORIZED)
    assert [each["id"] for each in reply.json()["data"]] == ["b-1"]
    assert reply.headers["x-groundwire-missing-upstreams"] == "a"


def test_if_all_fail_there_is_no_list(
    running: Running, server: ScriptedUpstream, other: ScriptedUpstream, tmp_path: Path
) -> None:
    for each in (server, other):
        each.otherwise(Script.error(500))
    url = running(relay_app(config_for(server, tmp_path, both(server, other))))
    reply = fetch(f"{url}/v1/models", headers=AUTHORIZED)
    assert (reply.status, reply.error["code"]) == (502, "upstream_unreachable")


# What is not checked.

TEXT = ["responses", "messages", "completions", "responses/", "Responses", "responses/r_1/x"]
TEXT += ["audio/transcriptions", "audio/translations", "ocr", "odd"]


@pytest.mark.parametrize("path", TEXT)
def test_where_nothing_is_blocked_an_unchecked_answer_is_marked_and_recorded(
    url: str, tmp_path: Path, path: str
) -> None:
    reply = fetch(f"{url}/v1/{path}", headers=AUTHORIZED, data={"model": "m"})
    assert (reply.status, reply.headers["x-groundwire-checked"]) == (200, "false")
    eventually(lambda: len(events(tmp_path)) == 1)
    event = events(tmp_path)[0]
    assert event["type"] == "UNCHECKED_ENDPOINT"
    assert event["payload"]["decision"] == "mark"
    assert event["payload"]["model"] == "m"
    assert event["payload"]["path"] == f"/v1/{path}"


@pytest.mark.parametrize("path", TEXT)
def test_where_answers_may_be_blocked_what_is_not_checked_is_refused_and_recorded(
    running: Running, server: ScriptedUpstream, tmp_path: Path, path: str
) -> None:
    url = running(relay_app(config_for(server, tmp_path, BLOCK)))
    reply = fetch(f"{url}/v1/{path}", headers=AUTHORIZED, data={"model": "m"})
    assert (reply.status, reply.error["type"]) == (403, "guardrail_violation")
    assert reply.error["code"] == "unchecked_endpoint"
    assert "/v1/chat/completions" in reply.error["next_step"]
    assert not server.requests
    eventually(lambda: len(events(tmp_path)) == 1)
    assert events(tmp_path)[0]["payload"]["decision"] == "refuse"


@pytest.mark.parametrize(
    ("more", "setting", "status"),
    [
        ("", "auto", 200),
        (BLOCK, "mark", 200),
        ("", "refuse", 403),
        ("check: {contradicted_action: block}\n", "auto", 403),
        ("check: {unverified_action: block}\n", "auto", 403),
        ("check: {on_error: block}\n", "auto", 403),
        ("check: {action: block, enabled: false}\n", "auto", 200),
        (BLOCK + "tenants: {default: {action: log}}\n", "auto", 200),
        ("tenants: {default: {action: block}}\n", "auto", 403),
        ("tenants: {acme: {action: block}}\n", "auto", 200),
    ],
)
def test_whether_it_is_refused_follows_setting_and_policy(
    running: Running,
    server: ScriptedUpstream,
    tmp_path: Path,
    more: str,
    setting: str,
    status: int,
) -> None:
    config = config_for(server, tmp_path, more, gateway=f", unchecked_endpoints: {setting}")
    reply = fetch(
        f"{running(relay_app(config))}/v1/responses", headers=AUTHORIZED, data={"model": "m"}
    )
    assert reply.status == status


def test_what_gives_no_text_is_neither_marked_nor_refused(
    running: Running, server: ScriptedUpstream, tmp_path: Path
) -> None:
    url = running(relay_app(config_for(server, tmp_path, BLOCK)))
    for path in ("models", "embeddings", "files", "audio/speech", "messages/count_tokens"):
        reply = fetch(f"{url}/v1/{path}", headers=AUTHORIZED)
        assert reply.status == 200
        assert reply.headers.get("x-groundwire-checked") is None
    assert not events(tmp_path)


# Other spellings.


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions",
        "/v1/chat/completions/",
        "/v1//chat/completions",
        "/v1/Chat/Completions",
        "/v1/chat%2Fcompletions",
        "/v1/v1/chat/completions",
    ],
)
def test_no_spelling_of_the_chat_completions_gets_past_their_checks(
    url: str, server: ScriptedUpstream, path: str
) -> None:
    reply = raw(url, path, method="POST")
    error = json.loads(reply.body)["error"]
    assert (reply.status, error["code"]) == (404, "unknown_path")
    assert "/v1/chat/completions" in error["next_step"]
    assert not server.requests


def test_stored_chat_completions_are_text_that_is_not_checked(
    running: Running, server: ScriptedUpstream, tmp_path: Path
) -> None:
    url = running(relay_app(config_for(server, tmp_path, BLOCK)))
    for path in ("chat/completions", "chat/completions/chatcmpl-1"):
        assert fetch(f"{url}/v1/{path}", headers=AUTHORIZED).status == 403
    assert not server.requests


@pytest.mark.parametrize(
    "path",
    ["/v1/../admin", "/v1/%2e%2e/admin", "/v1/models/..%2f..%2fadmin", "/v1/..;/x", "/v1/a\\..\\b"],
)
def test_no_path_leads_out_of_the_upstreams_own(
    url: str, server: ScriptedUpstream, path: str
) -> None:
    assert raw(url, path).status == 400
    assert not server.requests


@pytest.mark.parametrize("target", ["http://169.254.169.254/v1/models", "/v1/@evil.test/models"])
def test_no_target_leads_to_another_host(url: str, server: ScriptedUpstream, target: str) -> None:
    raw(url, target)
    assert [each.header("host") for each in server.requests] == [f"127.0.0.1:{server.port}"]


@pytest.mark.parametrize("path", ["admin/tenants/a", "ADMIN/tenants/a", "%61dmin", "admin"])
def test_what_is_meant_for_an_administrator_stays_here(
    url: str, server: ScriptedUpstream, path: str
) -> None:
    body = {"metadata": {"grounding.action": "BLOCK"}}
    assert fetch(f"{url}/v1/{path}", method="PUT", data=body, headers=AUTHORIZED).status == 404
    assert not server.requests


def test_a_websocket_is_refused(url: str, server: ScriptedUpstream) -> None:
    head = "GET /v1/realtime?model=m HTTP/1.1\nUpgrade: websocket\nConnection: Upgrade"
    head += "\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    with closing(connected(url, head)) as connection:
        data = received(connection, b"websocket_not_supported")
    assert data.startswith(b"HTTP/1.1 501")
    assert not server.requests

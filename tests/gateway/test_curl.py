"""``curl`` against the gateway, as people type it: pieces, headers, and odd ways to send a body."""

import gzip
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from tests.gateway.chats import (
    KEY,
    WRONG,
    Gateway,
    events_of,
    finish_of,
    gateway,
    request,
    text_of,
    without_ids,
)
from tests.gateway.wire import (
    DONE,
    Framing,
    Gate,
    Script,
    chunk,
    completion,
    event,
    eventually,
    stream_events,
)

CURL = shutil.which("curl")
PATIENCE_S = 20
GOOD = "The Eiffel Tower was built from 1887 to 1889."
BAD = f"The Eiffel Tower was built in {WRONG}."
BLOCK = "check: {action: block}"
HEADER = "check: {action: header}"

pytestmark = [pytest.mark.merge, pytest.mark.skipif(CURL is None, reason="curl is not installed")]


@dataclass(frozen=True)
class Said:
    """What curl wrote.

    Attributes:
        line: The status line.
        headers: The headers, names in lower case.
        body: The body, as curl decoded it.
    """

    line: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.body)


def command(own: Gateway, *args: str, path: str = "/chat/completions") -> list[str]:
    """A command line: no progress, an own configuration of nobody, bounded in time."""
    key = f"Authorization: Bearer {KEY}"
    bounded = ("--max-time", str(PATIENCE_S))
    return [CURL or "", "-q", "-sS", *bounded, "-H", key, *args, f"{own.url}{path}"]


def curl(own: Gateway, *args: str, path: str = "/chat/completions", stdin: bytes = b"") -> Said:
    """Run curl to its end; it must not fail."""
    done = subprocess.run(
        command(own, "-i", *args, path=path),
        input=stdin,
        capture_output=True,
        check=False,
        timeout=2 * PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return parsed(done.stdout)


def parsed(out: bytes) -> Said:
    """The last response in what ``curl -i`` writes: 100 Continue stands before it."""
    head, _, body = out.partition(b"\r\n\r\n")
    while head.split()[1] == b"100":
        head, _, body = body.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    pairs = (each.partition(": ") for each in lines)
    return Said(line=line, headers={name.lower(): value for name, _, value in pairs}, body=body)


def data(**more: object) -> str:
    return json.dumps(request(**more))


@contextmanager
def running(own: Gateway, *args: str) -> Iterator[IO[bytes]]:
    """What curl writes, as it writes it."""
    with subprocess.Popen(
        command(own, *args), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.kill()


def read(out: IO[bytes], n: int) -> bytes:
    """Exactly so many bytes, or what there is if curl ends before."""
    found = b""
    while len(found) < n and (more := out.read(n - len(found))):
        found += more
    return found


def said(text: str) -> bytes:
    return event(chunk({"content": text}))


def test_a_stream_arrives_piece_by_piece(tmp_path: Path) -> None:
    pieces = [said("The tower "), said("is in Paris. "), said("It is tall.")]
    gates = [Gate() for _ in pieces]
    script = [each for pair in zip(gates, pieces, strict=True) for each in pair]
    with gateway(tmp_path) as own:
        own.upstream.script(Script.sse([*script, DONE]))
        with running(own, "-N", "-d", data(stream=True)) as out:
            for gate, piece in zip(gates, pieces, strict=True):
                gate.open()
                assert read(out, len(piece)) == piece  # and the next waits for its gate
            assert out.read() == DONE


def test_a_sentence_arrives_once_it_is_judged(tmp_path: Path) -> None:
    first, gate = [said("It is in Paris."), said(" It is")], Gate()
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse([*first, gate, said(f" of {WRONG}. It"), DONE]))
        with running(own, "-N", "-d", data(stream=True)) as out:
            assert read(out, len(first[0])) == first[0]
            gate.open()
            rest = out.read()
    assert finish_of(events_of(rest)) == "content_filter"
    assert WRONG.encode() not in without_ids(rest)


def test_curl_that_is_ended_ends_the_upstream(tmp_path: Path) -> None:
    piece = said("The tower ")
    with gateway(tmp_path) as own:
        own.upstream.script(Script.sse([piece, Gate()]))
        with running(own, "-N", "-d", data(stream=True)) as out:
            assert read(out, len(piece)) == piece
        (asked,) = own.upstream.requests
        eventually(asked.was_abandoned.is_set)


def test_headers_are_seen(tmp_path: Path) -> None:
    with gateway(tmp_path, HEADER) as own:
        own.upstream.script(Script.json(completion(BAD)))
        found = curl(own, "-d", data(), "-H", "X-Trace-ID: trace-1")
    assert found.line == "HTTP/1.1 200 OK"
    assert found.headers["x-trace-id"] == "trace-1"
    assert found.headers["x-vsr-hallucination-spans"] == WRONG
    assert found.json() == completion(BAD)


def test_a_refusal_is_an_error_for_curl_that_fails_on_errors(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.json(completion(BAD)))
        done = subprocess.run(
            command(own, "--fail-with-body", "-d", data()),
            capture_output=True,
            check=False,
            timeout=2 * PATIENCE_S,
        )
    assert done.returncode == 22
    assert json.loads(done.stdout)["error"]["code"] == "hallucination_detected"


def test_headers_alone_can_be_asked_for(tmp_path: Path) -> None:
    with gateway(tmp_path) as own:
        own.upstream.script(Script(headers=(("X-Own", "a"),)))
        done = subprocess.run(
            command(own, "-I", path="/models"),
            capture_output=True,
            check=False,
            timeout=2 * PATIENCE_S,
        )
        assert own.upstream.requests[0].method == "HEAD"
    assert done.returncode == 0
    assert parsed(done.stdout).headers["x-own"] == "a"


@pytest.mark.parametrize("yaml", ["", HEADER, "check: {action: body}"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_answers_are_read(tmp_path: Path, encoding: str, yaml: str) -> None:
    with gateway(tmp_path, yaml) as own:
        own.upstream.script(Script.json(completion(BAD), encoding=encoding))
        found = curl(own, "--compressed", "-d", data())
    assert found.json()["choices"][0]["message"]["content"].endswith(BAD)


@pytest.mark.parametrize("yaml", ["", HEADER, BLOCK])
def test_a_compressed_stream_is_read(tmp_path: Path, yaml: str) -> None:
    with gateway(tmp_path, yaml) as own:
        own.upstream.script(Script.sse(stream_events(GOOD.split(" ")), encoding="gzip"))
        found = curl(own, "-N", "--compressed", "-d", data(stream=True))
    assert text_of(events_of(found.body)) == "".join(GOOD.split(" "))


# Old and closing connections.


@pytest.mark.parametrize("yaml", ["", HEADER, BLOCK])
@pytest.mark.parametrize("framing", [Framing.LENGTH, Framing.CHUNKED, Framing.NONE])
def test_http_1_0_gets_a_body_that_ends_with_the_connection(
    tmp_path: Path, framing: Framing, yaml: str
) -> None:
    with gateway(tmp_path, yaml) as own:
        own.upstream.script(Script.json(completion(GOOD), framing=framing))
        found = curl(own, "--http1.0", "-d", data())
    assert found.json() == completion(GOOD)
    assert "transfer-encoding" not in found.headers


@pytest.mark.parametrize("yaml", ["", HEADER, BLOCK])
def test_http_1_0_gets_a_stream(tmp_path: Path, yaml: str) -> None:
    with gateway(tmp_path, yaml) as own:
        own.upstream.script(Script.sse(stream_events([GOOD])))
        found = curl(own, "-N", "--http1.0", "-d", data(stream=True))
    assert text_of(events_of(found.body)) == GOOD
    assert events_of(found.body)[-1] == "[DONE]"
    assert "transfer-encoding" not in found.headers


@pytest.mark.parametrize("streams", [False, True])
def test_a_connection_is_closed_if_curl_asks_for_it(tmp_path: Path, streams: bool) -> None:
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(
            Script.sse(stream_events([GOOD])) if streams else Script.json(completion(GOOD))
        )
        found = curl(own, "-H", "Connection: close", "-d", data(stream=streams))
        assert own.upstream.requests[0].header("connection") in {None, "keep-alive"}
    assert found.headers["connection"] == "close"
    assert GOOD.encode() in found.body


def test_one_connection_serves_several_requests(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(
            Script.json(completion(BAD)),
            Script.sse(stream_events([BAD, " It"])),
            Script.json(completion(GOOD)),
        )
        following = [f"{own.url}/chat/completions", "-w", "%{num_connects} "]
        one, two = ("--next", "-q", "-sS", "-N", "-H", f"Authorization: Bearer {KEY}"), "-d"
        done = subprocess.run(
            [
                *command(own, two, data()),
                *("-o", "/dev/null", "-w", "%{num_connects} "),
                *(*one, two, data(stream=True), "-o", "/dev/null", *following),
                *(*one, two, data(), "-o", "/dev/null", *following),
            ],
            capture_output=True,
            check=False,
            timeout=2 * PATIENCE_S,
        )
    assert (done.stdout.split(), done.stderr) == ([b"1", b"0", b"0"], b"")


# Ways to send a body.


@pytest.mark.parametrize("yaml", ["", BLOCK])
def test_a_chunked_body_is_read(tmp_path: Path, yaml: str) -> None:
    chunked = ("-H", "Transfer-Encoding: chunked", "-H", "Content-Type: application/json")
    with gateway(tmp_path, yaml) as own:
        own.upstream.script(Script.json(completion(GOOD)))
        found = curl(own, *chunked, "--data-binary", "@-", stdin=data().encode())
        seen = own.upstream.requests[0]
    assert found.json() == completion(GOOD)
    assert seen.json()["model"] == "scripted-1"
    assert "metadata" not in seen.json()


def test_a_chunked_body_of_another_endpoint_goes_on(tmp_path: Path) -> None:
    body = b'{"model":"e","input":"' + b"a" * 300_000 + b'"}'
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.json({"data": []}))
        chunked = ("-H", "Transfer-Encoding: chunked", "-H", "Content-Type: application/json")
        found = curl(own, *chunked, "--data-binary", "@-", path="/embeddings", stdin=body)
        (asked,) = own.upstream.wait_for(1)
    assert found.json() == {"data": []}
    assert asked.body == body


@pytest.mark.parametrize("path", ["/chat/completions", "/embeddings"])
def test_a_body_may_wait_until_it_is_asked_for(tmp_path: Path, path: str) -> None:
    expecting = ("-H", "Expect: 100-continue", "--expect100-timeout", str(PATIENCE_S))
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.json(completion(GOOD)))
        found = curl(own, *expecting, "-d", data(), path=path)
        (asked,) = own.upstream.wait_for(1)
    assert found.json() == completion(GOOD)
    assert asked.header("expect") is None


def test_a_body_that_is_not_wanted_is_not_waited_for(tmp_path: Path) -> None:
    expecting = ("-H", "Expect: 100-continue", "--expect100-timeout", str(PATIENCE_S))
    with gateway(tmp_path) as own:
        wrong = ("-H", "Authorization: Bearer gw_wrong", "-H", f"X-Groundwire-Key: gw_{'x' * 43}")
        found = curl(own, *wrong, *expecting, "-d", data())
        assert own.upstream.requests == ()
    assert found.line.split()[1] == "401"
    assert found.json()["error"]["code"] == "invalid_api_key"


def test_a_body_of_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(request(user="Zoë"), ensure_ascii=False, indent=2), "utf-8")
    with gateway(tmp_path, HEADER) as own:
        own.upstream.script(Script.json(completion(BAD)))
        found = curl(own, "-H", "Content-Type: application/json", "-d", f"@{file}")
        assert own.upstream.requests[0].json()["user"] == "Zoë"
    assert found.headers["x-vsr-hallucination-spans"] == WRONG


def test_a_compressed_body_of_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "request.json.gz"
    file.write_bytes(gzip.compress(data().encode()))
    with gateway(tmp_path, HEADER) as own:
        own.upstream.script(Script.json(completion(BAD)))
        found = curl(own, "-H", "Content-Encoding: gzip", "--data-binary", f"@{file}")
    assert found.headers["x-vsr-hallucination-spans"] == WRONG


def test_a_body_over_the_limit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    file.write_bytes(json.dumps(request(user="u" * 2_000_000)).encode())
    with gateway(tmp_path, "gateway: {max_body_bytes: 1000000}") as own:
        found = curl(own, "--data-binary", f"@{file}")
        assert own.upstream.requests == ()
    assert found.line.split()[1] == "413"
    assert found.json()["error"]["type"] == "invalid_request_error"

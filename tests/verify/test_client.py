"""No endpoint holds its caller: a call ends in time, and a reply has so many bytes."""

import json
import socket
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import openai
import pytest

from groundwire.verify.client import MAX_REPLY_BYTES, ChatClient
from tests.verify.dripping import HEAD, PATIENCE_S, Serve, drip_body, drip_headers, wire
from tests.verify.scripted import Asked, Reply, ScriptedEndpoint

BODY = {"model": "m", "messages": [{"role": "user", "content": "Why?"}]}


def opened(base_url: str, *, timeout_s: float = PATIENCE_S, max_retries: int = 0) -> ChatClient:
    return ChatClient(
        base_url=base_url,
        api_key="sk-secret",
        timeout_s=timeout_s,
        max_retries=max_retries,
        what="A test",
    )


@pytest.mark.merge
@pytest.mark.parametrize("serve", [drip_body, drip_headers])
def test_an_endpoint_that_sends_a_byte_now_and_then_is_out_of_time(
    serve: Serve,
) -> None:
    with wire(serve) as (url, served):
        client = opened(url, timeout_s=0.3, max_retries=1)
        with pytest.raises(openai.APITimeoutError):
            client.create(BODY)
        client.close()
    assert len(served) == 2  # it is asked again, as after any failure


@pytest.mark.merge
def test_a_reply_without_an_end_is_cut() -> None:
    def flood(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(HEAD + b"\r\n")
        while not over.is_set():
            connection.sendall(b" " * 2**20)

    with wire(flood) as (url, _):
        client = opened(url)
        assert len(client.create(BODY)) == MAX_REPLY_BYTES
        client.close()


@pytest.mark.merge
def test_many_threads_share_a_client() -> None:
    def respond(asked: Asked) -> Reply:
        return Reply(200, json.dumps({"said": asked.user}).encode())

    def ask(i: int) -> bytes:
        return client.create(BODY | {"messages": [{"role": "user", "content": f"{i}?"}]})

    with ScriptedEndpoint(respond) as endpoint, ThreadPoolExecutor(8) as pool:
        client = opened(endpoint.base_url)
        said = [json.loads(content)["said"] for content in pool.map(ask, range(40))]
        client.close()
    assert said == [f"{i}?" for i in range(40)]


@pytest.mark.merge
def test_closing_ends_what_is_under_way_and_nothing_comes_after() -> None:
    begun = threading.Event()

    def hold(connection: socket.socket, over: threading.Event) -> None:
        begun.set()
        over.wait(PATIENCE_S)

    with wire(hold) as (url, _), ThreadPoolExecutor(1) as pool:
        client = opened(url)
        call = pool.submit(client.create, BODY)
        assert begun.wait(PATIENCE_S)
        client.close()
        assert isinstance(call.exception(PATIENCE_S), CancelledError)
        with pytest.raises(RuntimeError, match="The client is closed"):
            client.create(BODY)
        client.close()


def test_a_client_that_was_never_used_has_no_thread() -> None:
    before = set(threading.enumerate())
    client = opened("http://127.0.0.1:9/v1")
    assert set(threading.enumerate()) <= before
    client.close()

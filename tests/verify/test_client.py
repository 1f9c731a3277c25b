"""A call of an endpoint ends in time, and a reply has a largest size."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import openai
import pytest

from groundwire.verify.client import MAX_REPLY_BYTES, ChatClient
from groundwire.verify.verifier import ANYONE, Scope
from tests.verify.scripted import Asked, Reply, ScriptedEndpoint, error

pytestmark = pytest.mark.merge

BODY = {"model": "m", "messages": [{"role": "user", "content": "Why?"}]}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"


@contextmanager
def dripping(piece: bytes, pause_s: float) -> Iterator[tuple[str, list[int]]]:
    """An endpoint whose replies have no end, and the number of its connections."""
    over, served = threading.Event(), list[int]()
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                served.append(1)
                try:
                    connection.recv(2**16)
                    connection.sendall(HEAD)
                    while not over.wait(pause_s):
                        connection.sendall(piece)
                except OSError:
                    pass  # the client is gone

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1", served
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(30)


def opened(
    base_url: str, *, timeout_s: float = 30.0, max_retries: int = 0, scope: Scope = ANYONE
) -> ChatClient:
    return ChatClient(
        base_url=base_url,
        api_key="sk-secret",
        timeout_s=timeout_s,
        max_retries=max_retries,
        what="A test",
        scope=scope,
    )


def test_an_endpoint_that_sends_a_byte_now_and_then_is_out_of_time() -> None:
    with (
        dripping(b" ", 0.02) as (url, served),
        opened(url, timeout_s=0.2, max_retries=1) as client,
        pytest.raises(openai.APITimeoutError),
    ):
        client.create(BODY)
    assert len(served) == 2  # it is asked again, as after any failure


def test_a_call_that_failed_is_not_repeated_when_nobody_waits_any_more() -> None:
    served: list[Asked] = []

    def respond(asked: Asked) -> Reply:
        served.append(asked)
        return error(500)

    with (
        ScriptedEndpoint(respond) as wire,
        opened(wire.base_url, max_retries=2, scope=Scope(is_over=lambda: bool(served))) as client,
        pytest.raises(openai.APITimeoutError),
    ):
        client.create(BODY)
    assert len(served) == 1


def test_a_reply_without_an_end_is_cut() -> None:
    with dripping(b" " * 2**20, 0) as (url, _), opened(url) as client:
        assert len(client.create(BODY)) == MAX_REPLY_BYTES


def test_many_threads_share_a_client() -> None:
    def respond(asked: Asked) -> Reply:
        return Reply(200, json.dumps({"said": asked.user}).encode())

    def ask_with(client: ChatClient) -> Callable[[int], bytes]:
        return lambda i: client.create({"messages": [{"role": "user", "content": f"{i}?"}]})

    with (
        ScriptedEndpoint(respond) as endpoint,
        opened(endpoint.base_url) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        said = [json.loads(content)["said"] for content in pool.map(ask_with(client), range(40))]
    assert said == [f"{i}?" for i in range(40)]

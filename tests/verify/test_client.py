"""No endpoint holds its caller: a call ends in time, and a reply has so many bytes."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager

import openai
import pytest

from groundwire.verify.client import MAX_REPLY_BYTES, Client
from tests.verify.scripted import Asked, Reply, ScriptedEndpoint

BODY = {"model": "m", "messages": [{"role": "user", "content": "Why?"}]}
#: An endpoint here gives up after so long, and then its reply is whole: a bound that nobody meets.
PATIENCE_S = 30.0
Serve = Callable[[socket.socket, threading.Event], None]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"


def opened(base_url: str, *, timeout_s: float = PATIENCE_S, max_retries: int = 0) -> Client:
    return Client(
        base_url=base_url,
        api_key="sk-secret",
        timeout_s=timeout_s,
        max_retries=max_retries,
        what="A test",
    )


@contextmanager
def wire(
    serve: Serve,
) -> Iterator[tuple[str, list[int]]]:
    """An endpoint on loopback that does what it likes with a connection."""
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
                    serve(connection, over)
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
        thread.join(PATIENCE_S)


def drip(connection: socket.socket, over: threading.Event, piece: bytes) -> None:
    for _ in range(int(PATIENCE_S / 0.02)):
        if over.wait(0.02):
            return
        connection.sendall(piece)


def drip_body(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(HEAD + b"\r\n")
    drip(connection, over, b" ")


def drip_headers(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(HEAD)
    drip(connection, over, b"X-Still: here\r\n")


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


def test_a_reply_without_an_end_is_cut() -> None:
    def flood(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(HEAD + b"\r\n")
        while not over.is_set():
            connection.sendall(b" " * 2**20)

    with wire(flood) as (url, _):
        client = opened(url)
        assert len(client.create(BODY)) == MAX_REPLY_BYTES
        client.close()


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
    before = threading.active_count()
    client = opened("http://127.0.0.1:9/v1")
    assert threading.active_count() == before
    client.close()

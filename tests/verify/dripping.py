"""Servers on loopback that take their time: they do what a test says with the bare connection."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: A server here gives up after so long, and then its reply is whole: a bound that nobody meets.
PATIENCE_S = 30.0
Serve = Callable[[socket.socket, threading.Event], None]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"


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


def drip_status(connection: socket.socket, over: threading.Event) -> None:
    drip(connection, over, b"HTTP")

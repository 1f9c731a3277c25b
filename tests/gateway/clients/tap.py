"""A relay that keeps every byte that a client gets."""

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit


class Tap:
    """Stands between a client and a server.

    Attributes:
        url: Where it listens, without ``/v1``.
    """

    def __init__(self, url: str, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.to = ("127.0.0.1", int(urlsplit(url).port or 0))
        self._got: list[bytes] = []

    def keep(self, data: bytes) -> None:
        """Keep bytes that go to the client."""
        self._got.append(data)

    def taken(self) -> bytes:
        """All that clients got since this was last asked."""
        got, self._got = self._got, []
        return b"".join(got)


@contextlib.contextmanager
def tapping(url: str) -> Iterator[Tap]:
    """A tap before the server at a URL, while the block runs."""

    class Relay(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(tap.to) as other:
                up = threading.Thread(target=_pump, args=(self.request, other), daemon=True)
                up.start()
                _pump(other, self.request, tap)
                up.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Relay) as server:
        server.daemon_threads = True
        server.block_on_close = False  # clients keep connections open for as long as they like
        tap = Tap(url, server.server_address[1])
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield tap
        finally:
            server.shutdown()


def _pump(source: socket.socket, target: socket.socket, tap: Tap | None = None) -> None:
    """Copy what comes until one of them closes, then close the other in that direction."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if tap is not None:
                tap.keep(data)
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)

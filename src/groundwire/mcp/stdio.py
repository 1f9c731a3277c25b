"""Over standard input and output: the usual way, for a client that starts the server itself."""

import io
import os
import signal
from collections.abc import Callable
from typing import Any, cast

import anyio
from mcp.server.stdio import stdio_server

from groundwire.mcp.server import ToolServer
from groundwire.mcp.unread import Outgoing, ReadableLines
from groundwire.mcp.wire import Wire


def serve_stdio(server: ToolServer, wire: Wire, *, says: Callable[[str], None]) -> None:
    """Serve one client until it goes away."""
    # The thread that waits for input can be ended by nothing else.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    says("Serving on standard input and output.")
    anyio.run(_serve, server, wire)


async def _serve(server: ToolServer, wire: Wire) -> None:
    incoming = io.TextIOWrapper(os.fdopen(wire.incoming, "rb"), "utf-8", errors="replace")
    outgoing = io.TextIOWrapper(os.fdopen(wire.outgoing, "wb"), "utf-8", newline="\n")
    protocol = server.protocol()
    answers = Outgoing(anyio.wrap_file(outgoing))
    lines = ReadableLines(anyio.wrap_file(incoming), answers)
    # It reads lines, and writes and flushes; the rest of a file it does not use.
    streams = stdio_server(cast("Any", lines), cast("Any", answers))
    async with streams as (read, write):
        await protocol.run(read, write, protocol.create_initialization_options())

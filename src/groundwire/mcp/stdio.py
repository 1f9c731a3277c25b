"""Standard input and output: for a client that starts the server itself."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stdout

import anyio
from mcp.server.stdio import stdio_server

from groundwire.mcp.server import ToolServer


def serve_stdio(server: ToolServer, *, says: Callable[[str], None]) -> None:
    """Serve one client until it goes away."""
    # Leave at once: the thread that waits for input cannot be ended otherwise.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    says("Serving on standard input and output.")
    anyio.run(_serve, server)


async def _serve(server: ToolServer) -> None:
    protocol = server.protocol()
    # While the SDK uses standard output for the protocol, native code writes to standard error.
    # Text that Python has buffered must not be written when the SDK restores the descriptors.
    async with stdio_server() as (read, write):
        with redirect_stdout(sys.stderr):
            await protocol.run(read, write, protocol.create_initialization_options())

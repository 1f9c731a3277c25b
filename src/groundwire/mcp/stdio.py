"""Serves the tools over standard input and output, to a client that starts the server itself."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stdout

import anyio
from mcp.server.stdio import stdio_server

from groundwire.mcp.server import ToolServer


def serve_stdio(server: ToolServer, *, says: Callable[[str], None]) -> None:
    """Serve one client until it closes standard input or the user presses Ctrl-C."""
    # Ctrl-C ends the process at once, because the thread that waits for input cannot be stopped.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    says("Serving on standard input and output.")
    anyio.run(_serve, server)


async def _serve(server: ToolServer) -> None:
    protocol = server.protocol()
    # The SDK redirects the descriptor of standard output, but text in the buffer of sys.stdout
    # would reach the client when the SDK restores the descriptor. So sys.stdout is redirected too.
    async with stdio_server() as (read, write):
        with redirect_stdout(sys.stderr):
            await protocol.run(read, write, protocol.create_initialization_options())

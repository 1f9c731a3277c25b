"""The gRPC service that Envoy asks about each request and its response."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from starlette.types import ASGIApp

from groundwire.config.tree import Gateway
from groundwire.errors import ConfigError
from groundwire.gateway.envoy.exchange import EnvoyExchange
from groundwire.gateway.envoy.messages import METHOD, SERVICE, ProcessingRequest, ProcessingResponse

#: Bytes that a gRPC message may have in addition to the body in it.
_BESIDE_BYTES = 2**20


@asynccontextmanager
async def serving(app: ASGIApp, settings: Gateway) -> AsyncIterator[int]:
    """Serve Envoy with an app inside the ``with`` block, and yield the port.

    Raises:
        ConfigError: If the port is not available.
    """

    async def process(messages: AsyncIterator[Any], context: Any) -> None:  # noqa: ANN401
        await EnvoyExchange(app, context).run(messages)

    largest = max(settings.max_body_bytes, settings.max_response_bytes) + _BESIDE_BYTES
    sizes = ("grpc.max_receive_message_length", "grpc.max_send_message_length")
    server = grpc.aio.server(
        options=[("grpc.so_reuseport", 0), *((each, largest) for each in sizes)],
        maximum_concurrent_rpcs=settings.max_requests,
    )
    handler = grpc.stream_stream_rpc_method_handler(
        process, ProcessingRequest.FromString, ProcessingResponse.SerializeToString
    )
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler})]
    )
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"{host}:{settings.ext_proc_port}"
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        text = f"gateway.ext_proc_port: listening on {address} is not possible."
        raise ConfigError([f"{text} Use another port, or 0 for any free one."]) from error
    await server.start()
    try:
        yield port
    finally:
        await server.stop(settings.shutdown_s)

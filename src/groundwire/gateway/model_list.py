"""``GET /v1/models`` for several upstreams: one list with the models of all upstreams."""

import asyncio
import json
import logging
from typing import Any

from starlette.responses import JSONResponse, Response

from groundwire.gateway.http.coding import CodingError, Decoder
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.upstream import UpstreamBrokenError, Upstreams, routing
from groundwire.gateway.upstream.asking import UpstreamRequest

_log = logging.getLogger(__name__)

#: Seconds to wait for the list of one upstream. It is short, because no model has to run.
TIMEOUT_S = 10.0

#: The most bytes that the list of one upstream may have.
MAX_BYTES = 16_777_216

#: Header that names the upstreams whose models are missing, because they gave no list.
MISSING_HEADER = "x-groundwire-missing-upstreams"


async def all_models(upstreams: Upstreams, ask: UpstreamRequest) -> Response:
    """Return the list of the models of all upstreams.

    A model that several upstreams serve is listed once, with the entry of the first upstream. A
    model of an upstream is left out if requests for it would not be routed to that upstream. An
    upstream that gives no list is left out too, and :data:`MISSING_HEADER` names it.

    Args:
        upstreams: All upstreams.
        ask: The request that each upstream gets.

    Raises:
        Problem: 502, if no upstream gives a list.
    """
    lists = await asyncio.gather(*(_models_of(upstreams, name, ask) for name in _names(upstreams)))
    found = dict(zip(_names(upstreams), lists, strict=True))
    missing = [name for name, models in found.items() if models is None]
    if len(missing) == len(found):
        raise Problem(
            502,
            "upstream_unreachable",
            message=f"None of the {len(found)} upstreams gave a list of models.",
            next_step="Check that they run, and their URLs and keys in the configuration.",
        )
    models: dict[str, Any] = {}
    for name, own in found.items():
        for model in own or ():
            if name in {each.name for each in routing.serving(model["id"], upstreams.all)}:
                models.setdefault(model["id"], model)
    headers = {MISSING_HEADER: ", ".join(missing)} if missing else None
    return JSONResponse({"object": "list", "data": list(models.values())}, headers=headers)


def _names(upstreams: Upstreams) -> tuple[str, ...]:
    return tuple(each.name for each in upstreams.all)


async def _models_of(
    upstreams: Upstreams, name: str, ask: UpstreamRequest
) -> list[dict[str, Any]] | None:
    """Return the list of one upstream; ``None`` if it fails or its list is invalid."""
    upstream = next(each for each in upstreams.all if each.name == name)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            reply = await upstreams.send_to(upstream, ask)
            body = await reply.read(MAX_BYTES)
        if reply.status != 200:
            _log.warning("upstream %s gave no list of models: status %d", name, reply.status)
            return None
        decoder = Decoder(reply.content_encoding, max_bytes=MAX_BYTES)
        return _entries(json.loads(decoder.feed(body) + decoder.finish()))
    except (
        Problem,
        UpstreamBrokenError,
        CodingError,
        TimeoutError,
        ValueError,
        RecursionError,
    ) as error:
        _log.warning("upstream %s gave no list of models: %s", name, type(error).__name__)
        return None


def _entries(value: object) -> list[dict[str, Any]]:
    entries = value.get("data") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise ValueError("no list of models")
    return [each for each in entries if isinstance(each, dict) and isinstance(each.get("id"), str)]

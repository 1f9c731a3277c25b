"""``GET /v1/models`` for several upstreams: one list with the models of all upstreams."""

import asyncio
import json
import logging
from typing import Any

from starlette.responses import JSONResponse, Response

from groundwire.config.upstreams import Upstream
from groundwire.errors import GroundwireError
from groundwire.gateway.http.coding import decoded
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.upstream import Upstreams, routing
from groundwire.gateway.upstream.asking import UpstreamRequest

_log = logging.getLogger(__name__)

#: Limit on the seconds to wait for the list of models of one upstream. The limit is low, because no
#: model has to run.
TIMEOUT_S = 10.0

#: Limit on the bytes of the list of models of one upstream.
MAX_BYTES = 16_777_216

#: Response header with the names of the upstreams that gave no list of their models.
MISSING_HEADER = "x-groundwire-missing-upstreams"


async def all_models(upstreams: Upstreams, ask: UpstreamRequest) -> Response:
    """Send the request to all upstreams, and join their lists of models into one.

    An upstream's entry for a model is left out if requests for the model would not be routed to
    this upstream. If several entries for a model are left, the first one is listed. The response
    header :data:`MISSING_HEADER` names upstreams that give no list.

    Raises:
        Problem: 502, if no upstream gives a list.
    """
    lists = await asyncio.gather(*(_models_of(upstreams, each, ask) for each in upstreams.all))
    found = list(zip(upstreams.all, lists, strict=True))
    missing = [upstream.name for upstream, models in found if models is None]
    if len(missing) == len(found):
        raise Problem.named("no_model_list", n=len(found))
    models: dict[str, Any] = {}
    for upstream, own in found:
        for model in own or ():
            if upstream in routing.serving(model["id"], upstreams.all):
                models.setdefault(model["id"], model)
    headers = {MISSING_HEADER: ", ".join(missing)} if missing else None
    return JSONResponse({"object": "list", "data": list(models.values())}, headers=headers)


async def _models_of(
    upstreams: Upstreams, upstream: Upstream, ask: UpstreamRequest
) -> list[dict[str, Any]] | None:
    """Return the models that one upstream lists; ``None`` if it fails or its list is invalid."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            reply = await upstreams.send(ask, to=upstream)
            body = await reply.read(MAX_BYTES)
        if reply.status == 200:
            body = decoded(body, reply.content_encoding, max_bytes=MAX_BYTES)
            return _entries(json.loads(body))
        problem = f"status {reply.status}"
    except (Problem, GroundwireError, TimeoutError, ValueError, RecursionError) as error:
        problem = type(error).__name__
    _log.warning("upstream %s gave no list of models: %s", upstream.name, problem)
    return None


def _entries(value: object) -> list[dict[str, Any]]:
    entries = value.get("data") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise ValueError("no list of models")
    return [each for each in entries if isinstance(each, dict) and isinstance(each.get("id"), str)]

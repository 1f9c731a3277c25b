"""The walk as JSON data, for machines."""

from collections.abc import Sequence
from typing import Any

from groundwire.gateway.demo.asking import DemoReply
from groundwire.gateway.demo.serving import Gateways
from groundwire.gateway.demo.settings import SETTINGS
from groundwire.gateway.demo.walk import Walked


def report(walked: Sequence[Walked], gateways: Gateways, *, seconds: float) -> dict[str, Any]:
    """All that was asked and came back, and whether it is as it must be.

    Args:
        walked: The scenes.
        gateways: Who was asked.
        seconds: How long it took.
    """
    return {
        "ok": all(each.is_ok for each in walked),
        "seconds": round(seconds, 3),
        "upstream": gateways.upstream,
        "key": gateways.key,
        "gateways": [
            {
                "settings": each.name,
                "yaml": SETTINGS[each.name],
                "url": f"{each.url}/v1",
                "audit": str(each.audit),
            }
            for each in gateways.running
        ],
        "scenes": [_scene(each) for each in walked],
    }


def _scene(walked: Walked) -> dict[str, Any]:
    scene, seen = walked.scene, walked.seen
    return {
        "name": scene.name,
        "title": scene.title,
        "why": scene.why,
        "settings": scene.setting,
        "request": {"method": "POST", "path": scene.ask.path, "body": scene.ask.body},
        "response": None if seen is None else _reply(seen.reply),
        "upstream_requests": None if seen is None else seen.n_asked,
        "audit": [] if seen is None else list(seen.record),
        "metrics": [] if seen is None else list(seen.metrics),
        "expectations": [{"text": text, "holds": holds} for text, holds in walked.held],
        "ok": walked.is_ok,
    }


def _reply(reply: DemoReply) -> dict[str, Any]:
    """A response; of a stream the events, ``null`` for the one that says that it is complete."""
    return {
        "status": reply.status,
        "headers": dict(reply.headers),
        "headers_ms": _ms(reply.began_s),
        "ended_ms": _ms(reply.ended_s),
        "body": reply.data,
        "text": reply.text,
        "finish_reason": reply.finish,
        "events": [{"at_ms": _ms(each.at_s), "data": each.data} for each in reply.arrivals],
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)

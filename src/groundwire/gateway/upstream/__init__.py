"""Sends requests to upstreams, the servers of models: routing, health, headers, HTTP client."""

from groundwire.gateway.upstream.client import Observer, Upstreams
from groundwire.gateway.upstream.errors import Breakage, UpstreamBrokenError
from groundwire.gateway.upstream.reply import UpstreamReply

__all__ = ["Breakage", "Observer", "UpstreamBrokenError", "UpstreamReply", "Upstreams"]

"""What answers requests: routing, health, headers, and the HTTP client."""

from groundwire.gateway.upstream.client import Observer, Upstreams
from groundwire.gateway.upstream.errors import Breakage, UpstreamBrokenError
from groundwire.gateway.upstream.reply import Reply

__all__ = ["Breakage", "Observer", "Reply", "UpstreamBrokenError", "Upstreams"]

"""The gateway's own endpoints: checks without a proxy, and HaluGate's.

``route`` reads bodies, ``models`` has their shapes; ``check``, ``batch`` and ``classify`` answer,
``running`` keeps their work off the event loop. ``document`` is the OpenAPI document; what routes
say of themselves in it is in ``described``.
"""

from groundwire.gateway.native.document import describe, document
from groundwire.gateway.native.routes import router

__all__ = ["describe", "document", "router"]

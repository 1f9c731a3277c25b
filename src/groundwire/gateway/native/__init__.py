"""The gateway's own endpoints: checks without a proxy, and HaluGate's.

``route`` reads bodies, ``models`` has their shapes; ``check``, ``batch`` and ``classify`` answer,
``running`` keeps their work off the event loop. ``document`` is the OpenAPI document, with the
examples of ``examples``, the errors of ``told`` and the proxied endpoint of ``chat``.
"""

from groundwire.gateway.native.document import describe, document
from groundwire.gateway.native.routes import router

__all__ = ["describe", "document", "router"]

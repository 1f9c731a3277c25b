"""The gateway's own endpoints: checks, verifications, and the endpoints of HaluGate's API.

``check``, ``batch``, ``verify`` and ``classify`` have the endpoints. ``route`` reads bodies,
``models`` and ``verify_models`` have the pydantic models of bodies, ``running`` runs work in
threads, and ``recorded`` writes the results of checks to the audit log. ``document`` builds the
OpenAPI document, with examples and errors from ``described``.
"""

from groundwire.gateway.native.document import document
from groundwire.gateway.native.routes import router

__all__ = ["document", "router"]

"""The gateway's own endpoints: checks, verifications, and the endpoints of HaluGate's API.

HaluGate is the hallucination check of vLLM Semantic Router.

``check``, ``batch``, ``verify`` and ``classify`` have the endpoints. ``route`` reads bodies,
``models`` and ``verify_models`` describe them, ``running`` runs work in threads, and ``recorded``
records checks in the audit log. ``document`` builds the OpenAPI document.
"""

from groundwire.gateway.native.document import document
from groundwire.gateway.native.routes import router

__all__ = ["document", "router"]

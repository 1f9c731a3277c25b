"""Endpoints with the contracts of other systems, so that these can ask Groundwire for a verdict.

Each file has the contract of one system, named at its top with the version it was read in.
``host_checks`` checks for all of them: a host asks for ``block``, so what has to be withheld is
decided by the policy as in the gateway. ``routes`` joins the routers.
"""

from groundwire.gateway.integrations.routes import PATHS, router

__all__ = ["PATHS", "router"]

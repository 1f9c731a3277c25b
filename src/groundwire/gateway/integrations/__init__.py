"""Endpoints with the APIs that other systems call, so that these can ask Groundwire for a verdict.

Each file has the API of one system (a host), whose name and version are at its top. ``host_checks``
runs the checks of all hosts, with the action ``block``: the verdict is whether the policy withholds
the answer. ``routes`` joins the routers.
"""

from groundwire.gateway.integrations.routes import PATHS, router

__all__ = ["PATHS", "router"]

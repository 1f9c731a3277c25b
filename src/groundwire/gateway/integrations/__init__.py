"""Endpoints with the APIs that other systems call, so that they can get verdicts of Groundwire.

Each file has the API of one system (a host), with its name and version at the top. ``host_checks``
runs the checks of all hosts, with the action ``block``: the verdict is whether the policy withholds
the answer. ``routes`` joins the routers.
"""

from groundwire.gateway.integrations.routes import PATHS, router

__all__ = ["PATHS", "router"]

"""Endpoints with APIs that other systems already call, so that they get Groundwire's verdicts.

Each of these systems (hosts) has a file, whose docstring names the host and, where it is known, its
version. ``host_checks`` runs the checks of all hosts. ``kept`` keeps the messages for hosts
that send the answer in a second call. ``routes`` joins the routers.
"""

from groundwire.gateway.integrations.routes import router as router

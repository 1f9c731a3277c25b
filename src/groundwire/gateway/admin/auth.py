"""Authenticates requests to the admin plane by admin key; a local demo needs none.

Outside a local demo, a request without an admin key is refused before routing, except on open paths
such as ``/livez``. So nobody without an admin key can learn which tenants and keys exist.
"""

from typing import cast

from starlette.requests import Request
from starlette.types import ASGIApp, Scope

from groundwire.control.keys import AdminKey, Role
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.http.caller import OPEN
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware.auth import candidates, check_is_local
from groundwire.gateway.middleware.guard import Guard
from groundwire.gateway.middleware.state import trace_id

#: The actor that audit events name in a local demo, which needs no key.
LOCAL_DEMO = "local-demo"

#: Path of the request that verifies the audit trail. The request changes nothing, but is a POST,
#: because verifying the whole trail takes long.
VERIFY = "/v1/admin/audit/verify"

_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def admin(request: Request) -> AdminKey:
    """Return the admin key of a request; in a local demo, a made-up one with the role admin."""
    return cast(AdminKey, request.state.admin)


class AdminAuthentication(Guard):
    """Middleware that refuses requests that have no admin key, or that the key's role forbids.

    Open paths need no key. A local demo needs none either, but refuses requests whose header Host
    or Origin names another machine.
    """

    def __init__(self, app: ASGIApp, *, control: ControlPlane) -> None:
        super().__init__(app)
        self._control, self._keys = control, control.directory
        self._is_local_demo = control.is_local_demo

    async def check(self, scope: Scope) -> None:
        """Authenticate a request, and check that the role of its key allows it.

        Raises:
            Problem: If the request is refused, or tenants and keys cannot be read yet.
        """
        if self._is_local_demo:
            check_is_local(scope)
        if scope["path"] not in OPEN:
            await self._control.require_open()
            found = self._identified(scope)
            if found.role is not Role.ADMIN and not reads(scope):
                raise Problem.named("read_only_role", role=found.role)
            scope["state"]["admin"] = found

    def _identified(self, scope: Scope) -> AdminKey:
        address = address_of(scope)
        if self._is_local_demo:
            return AdminKey(key_id=LOCAL_DEMO, role=Role.ADMIN)
        # A request may have several credentials that could be a key. At most four of them are
        # looked up, since each look-up has to compute a hash.
        given = [key for key in candidates(scope) if key][:4]
        known = [key for key in map(self._keys.find_admin, given) if key is not None]
        if not known:
            if given:
                self._control.note_failed_login(address, trace_id=trace_id(scope))
            if any(self._keys.find(each) is not None for each in given):
                raise Problem.named("admin_key_required")
            raise Problem.named("unknown_admin_key" if given else "missing_admin_key")
        key = known[0]
        self._control.note_login(key.key_id, key.role, address, trace_id=trace_id(scope))
        return key


def reads(scope: Scope) -> bool:
    """Return whether a request changes nothing; auditors may send only such requests."""
    return scope["method"] in _READING or (scope["method"], scope["path"]) == ("POST", VERIFY)


def address_of(scope: Scope) -> str:
    """Return the client's IP address, or ``unknown``; headers that state an address are ignored."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"

"""``GET /v1/admin/me``: whose key it is."""

from fastapi import APIRouter, Request

from groundwire.gateway.admin.auth import admin
from groundwire.gateway.admin.models import Me
from groundwire.gateway.admin.route import AdminRoute, errors

router = APIRouter(route_class=AdminRoute, tags=["Keys"])


@router.get("/v1/admin/me", summary="See whose key it is", operation_id="me", responses=errors())
async def me(request: Request) -> Me:
    """The key that the request came with, and what it may do."""
    found = admin(request)
    return Me(key_id=found.key_id, role=found.role, name=found.name)

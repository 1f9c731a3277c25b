"""The router of all native endpoints."""

from fastapi import APIRouter

from groundwire.gateway.native import batch, check, classify

router = APIRouter()
for part in (check.router, batch.router, classify.router):
    router.include_router(part)

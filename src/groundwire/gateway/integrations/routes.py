"""The router of all integrations."""

from fastapi import APIRouter

from groundwire.gateway.integrations import (
    agentgateway,
    azure,
    bedrock,
    kong,
    litellm,
    nemo,
    portkey,
    semantic_router,
)

router = APIRouter()
for host in (agentgateway, azure, bedrock, kong, litellm, nemo, portkey, semantic_router):
    router.include_router(host.router)

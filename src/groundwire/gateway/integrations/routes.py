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

#: The paths of the endpoints.
PATHS = (
    agentgateway.PATH,
    azure.PATH,
    bedrock.PATH,
    kong.PATH,
    litellm.PATH,
    *nemo.PATHS,
    portkey.PATH,
    semantic_router.PATH,
)

router = APIRouter()
for part in (agentgateway, azure, bedrock, kong, litellm, nemo, portkey, semantic_router):
    router.include_router(part.router)

"""The router of all integrations."""

from fastapi import APIRouter

from groundwire.gateway.integrations import (
    azure,
    bedrock,
    litellm,
    nemo,
    portkey,
    semantic_router,
)

#: The paths of the endpoints.
PATHS = (
    azure.PATH,
    bedrock.PATH,
    litellm.PATH,
    *nemo.PATHS,
    portkey.PATH,
    semantic_router.PATH,
)

router = APIRouter()
for part in (azure, bedrock, litellm, nemo, portkey, semantic_router):
    router.include_router(part.router)

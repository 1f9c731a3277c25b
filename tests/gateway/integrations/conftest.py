"""A gateway in this process, called as other systems call it."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2 as httpx
import pytest

from groundwire.config import parse
from groundwire.gateway.app import create_app
from tests.fixed_judge import FixedJudge, RecordingJudge
from tests.gateway.native_app import fixed_pipeline
from tests.gateway.serving import serving

KEY = "gw_a-key-of-the-tests-0123456789abcdef"

RIGHT, WRONG = "It is right.", "It is wrong."

# Anthropic's Messages API: the tool says RIGHT.
ASKED_WITH_TOOL = [
    {"role": "user", "content": "Is it right?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": RIGHT}],
    },
]

_JSON = {"content-type": "application/json"}
_CONFIG = f"""
tenants:
  acme: {{keys: [{KEY}]}}
  strict: {{keys: [{KEY}2], unverified_action: block}}
  off: {{keys: [{KEY}3], enabled: false}}
"""

Post = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def post() -> Iterator[Post]:
    """Sends JSON with a key; the gateway doubts the word ``wrong``."""
    yield from _posting(FixedJudge(doubtful={"wrong": 0.9}))


@pytest.fixture(scope="module")
def failing() -> Iterator[Post]:
    """Sends JSON with a key; each check of the gateway fails."""
    yield from _posting(RecordingJudge(doubtful={}, fails=True))


def _posting(judge: FixedJudge) -> Iterator[Post]:
    config = parse(_CONFIG, name="groundwire.yaml", environ={})
    own = fixed_pipeline(judge=judge, tenants=config.tenants)
    with own as pipeline, asyncio.Runner() as runner:
        app = create_app(config, pipeline=pipeline)
        lifespan = app.router.lifespan_context(app)
        runner.run(lifespan.__aenter__())
        transport = httpx.ASGITransport(app=app)
        client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080")

        def send(path: str, data: object, **headers: str) -> httpx.Response:
            sent = headers or {"authorization": f"Bearer {KEY}"}
            return runner.run(client.post(path, content=json.dumps(data), headers=_JSON | sent))

        yield send
        runner.run(client.aclose())
        runner.run(lifespan.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def gateway() -> Iterator[str]:
    """The URL of a gateway that hosts call from their own processes; it doubts ``wrong``."""
    config = parse(f"tenants: {{acme: {{keys: [{KEY}]}}}}", name="groundwire.yaml", environ={})
    with (
        fixed_pipeline(tenants=config.tenants) as pipeline,
        serving(create_app(config, pipeline=pipeline)) as url,
    ):
        yield url


def chat(*sources: str, question: str = "Is it right?") -> dict[str, Any]:
    """A chat request whose tool results are evidence."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    for number, text in enumerate(sources):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "f", "arguments": "{}"},
        }
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return {"model": "m", "messages": messages}

"""NeMo Guardrails with the configuration of docs/integrations.md, and a scripted model.

It runs in this process and as a server of its own.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.gateway.integrations.conftest import KEY, RIGHT, WRONG
from tests.gateway.integrations.page import examples
from tests.gateway.started import PATIENCE_S, free_port, started
from tests.gateway.wire import Script, ScriptedUpstream, completion

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore"),  # of what NeMo itself uses
]
if find_spec("nemoguardrails") is None:
    pytest.skip("needs nemoguardrails", allow_module_level=True)

from nemoguardrails import LLMRails, RailsConfig
from nemoguardrails.types import LLMResponse, LLMResponseChunk

QUESTION, UNKNOWN = "Is it right?", "I don't know the answer to that."

Ask = Callable[..., str]


class ScriptedModel:
    """A model that always says the same."""

    model_name, provider_name, provider_url = "scripted", None, None

    def __init__(self, says: str) -> None:
        self.says = says

    async def generate_async(self, *_: object, **__: object) -> LLMResponse:
        return LLMResponse(content=self.says)

    async def stream_async(self, *_: object, **__: object) -> AsyncIterator[LLMResponseChunk]:
        yield LLMResponseChunk(delta_content=self.says)


def configuration(gateway: str, key: str = KEY) -> tuple[str, str]:
    """The YAML and the Colang of the page, for a gateway and a key."""
    yaml, colang = examples("NeMo Guardrails")
    here = gateway.removeprefix("http://")
    yaml = yaml.replace("gw_...", key).replace("127.0.0.1:8080", here)
    assert f"{key}@{here}" in yaml
    return yaml, colang


@pytest.fixture(scope="module")
def ask(gateway: str) -> Ask:
    """Asks a model behind the configuration of the page."""
    yaml, colang = configuration(gateway)
    rails = RailsConfig.from_content(colang_content=colang, yaml_content=yaml)

    def send(says: str, **context: str) -> str:
        messages = [
            {"role": "context", "content": context},
            {"role": "user", "content": QUESTION},
        ]
        made = LLMRails(rails, llm=ScriptedModel(says))
        reply: Any = asyncio.run(made.generate_async(messages=messages))
        return str(reply["content"])

    return send


def test_a_wrong_answer_is_withheld_and_a_right_one_is_untouched(ask: Ask) -> None:
    assert ask(RIGHT, relevant_chunks=RIGHT) == RIGHT
    assert ask(WRONG, relevant_chunks=RIGHT) == UNKNOWN


@pytest.mark.parametrize("context", [{}, {"relevant_chunks": ""}, {"relevant_chunks": "\n"}])
def test_an_answer_without_chunks_is_withheld(ask: Ask, context: dict[str, str]) -> None:
    assert ask(RIGHT, **context) == UNKNOWN


def test_an_answer_that_cannot_be_checked_is_withheld(ask: Ask) -> None:
    assert ask("Это верно, и это сказано здесь.", relevant_chunks=RIGHT) == UNKNOWN


@pytest.fixture(scope="module")
def server(gateway: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Asks NeMo's own server, which has the page's configuration and one with a wrong key."""
    folder, port = tmp_path_factory.mktemp("nemo"), free_port()
    with ScriptedUpstream() as model:
        main = {"type": "main", "engine": "openai", "model": "m"}
        models = [{**main, "parameters": {"base_url": model.url}}]
        for name, key in {"page": KEY, "wrong_key": f"{KEY[:-4]}none"}.items():
            yaml, colang = configuration(gateway, key)
            (folder / name).mkdir()
            (folder / name / "config.yml").write_text(f"{yaml}models: {json.dumps(models)}\n")
            (folder / name / "rails.co").write_text(colang)
        program = str(Path(sys.executable).parent / "nemoguardrails")
        command = [program, "server", "--config", str(folder), "--port", str(port)]
        log, environ = folder / "log", {"OPENAI_API_KEY": "none"}

        def send(says: str, config_id: str = "page", **context: str) -> str:
            model.otherwise(Script.json(completion(says)))
            own = {"config_id": config_id, "context": context}
            messages = [{"role": "user", "content": QUESTION}]
            reply = httpx.post(
                f"http://127.0.0.1:{port}/v1/chat/completions",
                json={"model": "m", "messages": messages, "guardrails": own},
                timeout=PATIENCE_S,
            )
            assert reply.status_code == 200
            return str(reply.json()["choices"][0]["message"]["content"])

        with started([*command, "--disable-chat-ui"], port, log=log, environ=environ):
            yield send


@pytest.mark.shows("NeMo Guardrails", evidence="chunks and the answer")
def test_the_server_withholds_a_wrong_answer_and_leaves_a_right_one(server: Ask) -> None:
    assert server(RIGHT, relevant_chunks=RIGHT) == RIGHT
    assert server(WRONG, relevant_chunks=RIGHT) == UNKNOWN


@pytest.mark.shows("NeMo Guardrails", unchecked="the score 0, which blocks")
def test_the_server_withholds_what_was_not_checked(server: Ask) -> None:
    assert server(RIGHT) == UNKNOWN
    assert server("Это верно, и это сказано здесь.", relevant_chunks=RIGHT) == UNKNOWN
    assert server(RIGHT, "wrong_key", relevant_chunks=RIGHT) == UNKNOWN

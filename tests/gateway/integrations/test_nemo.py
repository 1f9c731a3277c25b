"""NeMo Guardrails with the configuration of docs/integrations.md, and a scripted model."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from groundwire.config import parse
from groundwire.gateway.app import create_app
from tests.gateway.integrations.conftest import KEY
from tests.gateway.native_app import fixed_pipeline
from tests.gateway.serving import serving

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore"),  # of what NeMo itself uses
]
if find_spec("nemoguardrails") is None:
    pytest.skip("needs nemoguardrails", allow_module_level=True)

from nemoguardrails import LLMRails, RailsConfig
from nemoguardrails.types import LLMResponse, LLMResponseChunk

PAGE = Path(__file__).parents[3] / "docs" / "integrations.md"
RIGHT, WRONG = "It is right.", "It is wrong."
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


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Asks a model behind the configuration of the page; the gateway doubts the word ``wrong``."""
    section = PAGE.read_text(encoding="utf-8").split("\n## NeMo Guardrails\n")[1].split("\n## ")[0]
    yaml, colang = re.findall(r"^```\w+\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    config = parse(f"tenants: {{acme: {{keys: [{KEY}]}}}}", name="groundwire.yaml", environ={})
    with (
        fixed_pipeline(tenants=config.tenants) as pipeline,
        serving(create_app(config, pipeline=pipeline)) as url,
    ):
        here = url.removeprefix("http://")
        yaml = yaml.replace("gw_...", KEY).replace("127.0.0.1:8080", here)
        assert here in yaml
        rails = RailsConfig.from_content(colang_content=colang, yaml_content=yaml)

        def send(says: str, **context: str) -> str:
            messages = [
                {"role": "context", "content": context},
                {"role": "user", "content": QUESTION},
            ]
            made = LLMRails(rails, llm=ScriptedModel(says))
            reply: Any = asyncio.run(made.generate_async(messages=messages))
            return str(reply["content"])

        yield send


def test_a_wrong_answer_is_withheld_and_a_right_one_is_untouched(ask: Ask) -> None:
    assert ask(RIGHT, relevant_chunks=RIGHT) == RIGHT
    assert ask(WRONG, relevant_chunks=RIGHT) == UNKNOWN


@pytest.mark.parametrize("context", [{}, {"relevant_chunks": ""}, {"relevant_chunks": "\n"}])
def test_an_answer_without_chunks_is_withheld(ask: Ask, context: dict[str, str]) -> None:
    assert ask(RIGHT, **context) == UNKNOWN


def test_an_answer_that_cannot_be_checked_is_withheld(ask: Ask) -> None:
    assert ask("Это верно, и это сказано здесь.", relevant_chunks=RIGHT) == UNKNOWN

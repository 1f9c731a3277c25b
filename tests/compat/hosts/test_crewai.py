"""Crews of CrewAI with the guardrail."""

import os
import warnings
from typing import Any

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore"),  # of what CrewAI itself uses
]
needs("crewai", extra="crewai")
os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")  # read when it is imported
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")

with warnings.catch_warnings(action="ignore"):  # of what it imports itself
    from crewai import Agent, BaseLLM, Crew, Task
    from crewai.tools import tool

    from groundwire.compat.crewai import groundedness_guardrail
    from groundwire.compat.verdict import HostVerdict

CALL = {"id": "call_1", "type": "function", "function": {"name": "landmark", "arguments": "{}"}}


class ScriptedModel(BaseLLM):
    """A model that first calls its tool in each attempt, and says one text after the other."""

    says: list[str] = []  # noqa: RUF012
    asked: list[Any] = []  # noqa: RUF012

    def call(self, messages: Any, tools: Any = None, *_: Any, **__: Any) -> Any:
        self.asked.append(messages)
        if tools and not any(each["role"] == "tool" for each in messages):
            return [CALL]
        return self.says.pop(0) if len(self.says) > 1 else self.says[0]

    def supports_function_calling(self) -> bool:
        return True

    def get_context_window_size(self) -> int:
        return 8_192


@tool("landmark")
def landmark() -> str:
    """Look up a landmark."""
    return TOWER


def run(*says: str, tools: bool = True, **settings: Any) -> tuple[str, ScriptedModel]:
    """What a crew says in the end, and its model."""
    model = ScriptedModel(model="scripted", says=list(says), asked=[])
    agent = Agent(
        role="guide",
        goal="Answer questions.",
        backstory="You know Paris.",
        llm=model,
        tools=[landmark] if tools else [],
    )
    if settings:
        retries = settings.pop("retries", 0)
        task = Task(
            description=QUESTION,
            expected_output="A sentence.",
            agent=agent,
            guardrail=groundedness_guardrail(**settings),
            guardrail_max_retries=retries,
        )
    else:
        task = snippet("CrewAI", question=QUESTION, agent=agent)["task"]
    return str(Crew(agents=[agent], tasks=[task]).kickoff()), model


@pytest.mark.shows("CrewAI", evidence="results of tools")
def test_a_wrong_output_is_asked_for_again_with_the_reason() -> None:
    said, model = run(WRONG, RIGHT)
    assert (said, len(model.asked)) == (RIGHT, 4)
    assert "330 metres" in str(model.asked[-1])
    assert "not supported by the evidence" in str(model.asked[-1])


def test_a_right_output_is_untouched() -> None:
    said, model = run(RIGHT)
    assert (said, len(model.asked)) == (RIGHT, 2)


def test_a_crew_fails_if_the_output_stays_wrong() -> None:
    found: list[HostVerdict] = []
    with pytest.raises(Exception, match="not supported by the evidence"):
        run(WRONG, retries=1, on_verdict=found.append)
    assert [each.status for each in found] == ["failed", "failed"]


@pytest.mark.shows("CrewAI", unchecked="a verdict with `passed=None` for `on_verdict`")
def test_an_output_without_results_of_tools_is_not_checked() -> None:
    found: list[HostVerdict] = []
    said, _ = run(RIGHT, tools=False, on_verdict=found.append)
    assert (said, [each.status for each in found]) == (RIGHT, ["not checked"])
    with pytest.raises(Exception, match="Not checked: "):
        run(RIGHT, tools=False, block_unchecked=True)

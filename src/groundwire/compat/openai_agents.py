"""An output guardrail for agents of the OpenAI Agents SDK."""

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from groundwire.compat.verdict import Checks
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The guardrail for OpenAI Agents", "openai-agents"):
    from agents import (
        Agent,
        AgentHooks,
        GuardrailFunctionOutput,
        ModelResponse,
        OutputGuardrail,
        RunContextWrapper,
    )


class Groundedness(AgentHooks):
    """Checks the final output of an agent against the evidence that its model was given.

    An object of this class serves as the hooks of the agent, which record the input of its model;
    :attr:`guardrail` is the output guardrail for the agent. Without the hooks, the guardrail does
    not know the results of tools. To add further hooks, write a subclass.
    """

    def __init__(self, *, block_unchecked: bool = False, pipeline: Pipeline | None = None) -> None:
        """Set what happens to outputs that could not be checked.

        Args:
            block_unchecked: Whether outputs that could not be checked trigger the tripwire too.
            pipeline: The pipeline that checks; by default one with the default configuration.
        """
        self._checks, self._block_unchecked = Checks(pipeline), block_unchecked
        self._given: WeakKeyDictionary[RunContextWrapper, dict[str, Any]] = WeakKeyDictionary()

    @property
    def guardrail(self) -> OutputGuardrail:
        """The output guardrail; its ``output_info`` is the verdict."""
        return OutputGuardrail(self._judge, name="groundedness")

    async def on_llm_start(
        self,
        context: RunContextWrapper,
        agent: Agent,
        system_prompt: str | None,
        input_items: Sequence[Any],
    ) -> None:
        """Record the input of the model: instructions, messages and results of tools."""
        self._given[context] = {"instructions": system_prompt, "input": list(input_items)}

    async def on_llm_end(
        self, context: RunContextWrapper, agent: Agent, response: ModelResponse
    ) -> None:
        """Record the items that the model returned besides messages, such as a web search."""
        items = [item for item in response.to_input_items() if item.get("type") != "message"]
        if context in self._given:
            self._given[context]["input"] += items

    async def _judge(
        self, context: RunContextWrapper, agent: Agent, output: object
    ) -> GuardrailFunctionOutput:
        given = self._given.get(context) or {"input": context.turn_input}
        verdict = await self._checks.achat(given, output)
        return GuardrailFunctionOutput(
            output_info=verdict.to_dict(),
            tripwire_triggered=verdict.withholds(block_unchecked=self._block_unchecked),
        )

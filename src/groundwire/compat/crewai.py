"""A guardrail for tasks of CrewAI."""

from collections.abc import Callable
from typing import Any

from groundwire.compat.verdict import Checks, HostVerdict
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The guardrail for CrewAI", "crewai"):
    from crewai import TaskOutput


def groundedness_guardrail(
    *,
    block_unchecked: bool = False,
    on_verdict: Callable[[HostVerdict], object] = lambda _: None,
    pipeline: Pipeline | None = None,
) -> Callable[[TaskOutput], tuple[bool, Any]]:
    """Return a guardrail for tasks that checks outputs against the evidence.

    Results of tools are evidence, and so is information in the task's description. If the evidence
    does not support an output, the agent is asked again with the reason, as often as the task's
    ``guardrail_max_retries`` says; then the crew fails.

    Args:
        block_unchecked: Whether outputs that could not be checked are refused as well.
        on_verdict: Called with each verdict.
        pipeline: The pipeline that checks; by default one with the default configuration.
    """
    checks = Checks(pipeline)

    def groundedness(output: TaskOutput) -> tuple[bool, Any]:
        # Messages of roles other than ``tool`` are no evidence: CrewAI or the model wrote them.
        found = [each for each in output.messages if each.get("role") == "tool"]
        question = {"role": "user", "content": output.description}
        verdict = checks.chat({"messages": [question, *found]}, output.raw)
        on_verdict(verdict)
        if verdict.withholds(block_unchecked=block_unchecked):
            return False, f"The output is not supported by the evidence. {verdict.reason}"
        return True, output

    return groundedness

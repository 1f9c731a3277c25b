"""A middleware for LangChain's agents, which checks their answers."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal

from groundwire.compat.langsmith import check_messages
from groundwire.compat.verdict import WITHHELD, Checks, HostVerdict
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The middleware for LangChain", "langchain"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, HumanMessage

#: Key of the verdict in a message's ``response_metadata``.
METADATA = "groundwire"


class GroundednessMiddleware(AgentMiddleware):
    """Checks the answers of an agent against the evidence that the model was given.

    An answer is a message that has text and calls no tool. Results of tools are evidence, and so is
    information in the system prompt and in the user's messages. The answer gets its verdict in
    ``response_metadata["groundwire"]``. Put this middleware last in the list, so that it sees what
    other middleware adds to the request.
    """

    def __init__(
        self,
        *,
        action: Literal["flag", "block", "retry"] = "block",
        block_unchecked: bool = False,
        max_retries: int = 1,
        withheld: str = WITHHELD,
        pipeline: Pipeline | None = None,
    ) -> None:
        """Set what happens to unsupported answers.

        Args:
            action: ``flag`` only adds the verdict; ``block`` replaces the answer; ``retry`` asks
                the model again, with the reason, and replaces the last answer if it fails too.
            block_unchecked: Whether answers that could not be checked are replaced as well, unless
                the action is ``flag``.
            max_retries: For ``retry``, the highest number of times that the model is asked again.
            withheld: The text of a replaced answer.
            pipeline: The pipeline that checks; by default one with the default configuration.
        """
        super().__init__()
        self._checks = Checks(pipeline)
        self._may_block, self._block_unchecked = action != "flag", block_unchecked
        self._n_retries = max_retries if action == "retry" else 0
        self._withheld = withheld

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]
    ) -> ModelResponse:
        """Call the model, check its answer, and do what the action says."""
        response = handler(request)
        verdict = self._check(request, response)
        for _ in range(self._n_retries):
            if verdict is None or verdict.passed is not False:
                break
            response = handler(_retry(request, response, verdict))
            verdict = self._check(request, response)
        return self._conclude(response, verdict)

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Call the model as :meth:`wrap_model_call` does; check its answers in a thread."""
        response = await handler(request)
        verdict = await asyncio.to_thread(self._check, request, response)
        for _ in range(self._n_retries):
            if verdict is None or verdict.passed is not False:
                break
            response = await handler(_retry(request, response, verdict))
            verdict = await asyncio.to_thread(self._check, request, response)
        return self._conclude(response, verdict)

    def _check(self, request: ModelRequest, response: ModelResponse) -> HostVerdict | None:
        """Check the answer of a response; ``None`` if the response has no answer."""
        answer = _answer_of(response)
        if answer is None:
            return None
        system = [] if request.system_message is None else [request.system_message]
        return check_messages(self._checks, [*system, *request.messages], answer.text)

    def _conclude(self, response: ModelResponse, verdict: HostVerdict | None) -> ModelResponse:
        """Add the verdict to the answer; if the answer is withheld, replace it.

        With the answer, its structured form is withheld too.
        """
        answer = _answer_of(response)
        if answer is None or verdict is None:
            return response
        about = verdict.to_dict()
        if self._may_block and verdict.withholds(block_unchecked=self._block_unchecked):
            del about["reason"]  # the reason quotes the answer
            checked = AIMessage(
                self._withheld,
                id=answer.id,
                response_metadata={METADATA: about},
                usage_metadata=answer.usage_metadata,
            )
            response = replace(response, structured_response=None)
        else:
            metadata = {**answer.response_metadata, METADATA: about}
            checked = answer.model_copy(update={"response_metadata": metadata})
        return replace(
            response, result=[checked if each is answer else each for each in response.result]
        )


def _answer_of(response: ModelResponse) -> AIMessage | None:
    """Return the answer in a response; ``None`` if the model calls tools, or writes no text."""
    for message in response.result:
        if isinstance(message, AIMessage) and not message.tool_calls and message.text.strip():
            return message
    return None


def _retry(request: ModelRequest, response: ModelResponse, verdict: HostVerdict) -> ModelRequest:
    feedback = HumanMessage(
        f"Your answer is not supported by the evidence. {verdict.reason} "
        "Answer again, and say only what the evidence says."
    )
    return request.override(messages=[*request.messages, *response.result, feedback])

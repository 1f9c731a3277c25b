"""Sends one prompt to an endpoint with chat completions, for the verifier ``openai``."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from groundwire.config.tree import Verify
from groundwire.verify.client import NO_LOGPROBS, ChatClient, call_failure
from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.logprobs import TokenPosition
from groundwire.verify.prompts import Prompt
from groundwire.verify.verifier import FailureKind

#: Base URL of OpenAI's own endpoint, the default of the verifier ``openai``.
OPENAI_URL = "https://api.openai.com/v1"

#: Limit on the retries of a call by the verifier ``openai``, for instance after status 429 or 5xx.
MAX_RETRIES = 2


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer of an endpoint.

    Attributes:
        text: Text of the answer.
        positions: Tokens of the answer, in order, with their logprobs.
        prompt_tokens: Tokens read, as the endpoint counts them; 0 if it does not say.
        completion_tokens: Tokens written, counted in the same way.
    """

    text: str
    positions: tuple[TokenPosition, ...]
    prompt_tokens: int
    completion_tokens: int


def complete(endpoint: ChatClient, prompt: Prompt, *, model: str, settings: Verify) -> Completion:
    """Send a prompt to an endpoint, and return the answer.

    Raises:
        NotVerifiedError: If the call fails, or the answer is not a chat completion with logprobs.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": prompt.messages,
        "temperature": settings.temperature,
        "logprobs": True,
        "top_logprobs": settings.top_logprobs,
        "max_tokens": prompt.max_tokens,
    }
    try:
        content = endpoint.create(body)
    except Exception as error:  # whatever the client raises, nothing was verified
        raise call_failure(error, "endpoint") from error
    try:
        reply = ChatReply.model_validate_json(content)
    except ValueError as error:
        raise NotVerifiedError(
            FailureKind.MALFORMED,
            "The endpoint's answer cannot be read: it is not a chat completion.",
        ) from error
    choice = reply.choices[0]
    tokens = choice.logprobs.content if choice.logprobs else None
    if not tokens:
        raise NotVerifiedError(FailureKind.NO_LOGPROBS, NO_LOGPROBS)
    text = choice.message.get("content")
    return Completion(text if isinstance(text, str) else "", tokens, *reply.n_tokens)


class _Logprobs(BaseModel):
    content: tuple[TokenPosition, ...] | None = None


class _Choice(BaseModel):
    message: dict[str, Any] = {}
    finish_reason: Any = None
    logprobs: _Logprobs | None = None


class ChatReply(BaseModel):
    """The parts of a chat completion that Groundwire reads."""

    choices: list[_Choice] = Field(min_length=1)
    usage: Any = None

    @property
    def n_tokens(self) -> tuple[int, int]:
        """Number of tokens read and written, as the endpoint counts them; 0 if it does not say."""
        counts = self.usage if isinstance(self.usage, dict) else {}
        return _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))


def _count(value: object) -> int:
    """Return a count that an endpoint reports; 0 if the value is not a valid count."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if is_count else 0  # type: ignore[return-value] # it is a number

"""One call of an endpoint that speaks chat completions, by the official client.

Nothing is sent but what :meth:`VerifierEndpoint.ask` is given, and nowhere but to its base URL:
redirects are not followed, and this machine is not reached through a proxy.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from groundwire.verify.client import ChatClient
from groundwire.verify.logprobs import (
    MalformedLogprobsError,
    NoLogprobsError,
    TokenPosition,
    read_positions,
)
from groundwire.verify.prompts import Prompt
from groundwire.verify.verifier import FailureKind

#: Where the client goes if nothing else is said.
OPENAI_URL = "https://api.openai.com/v1"

#: Calls are made again this often, after 429, 5xx, and connections that fail or time out, unless
#: the endpoint asks for a pause that is longer than a call may take.
MAX_RETRIES = 2

_NEWER_NAME = "api.openai.com"


def max_tokens_key(base_url: str) -> str:
    """What an endpoint calls the tokens that it may write."""
    is_newer = urlsplit(base_url).hostname == _NEWER_NAME
    return "max_completion_tokens" if is_newer else "max_tokens"


class EndpointError(Exception):
    """A call failed; its text quotes nothing that was sent or received."""

    def __init__(self, kind: FailureKind, problem: str) -> None:
        super().__init__(kind, problem)
        self.kind, self.problem = kind, problem

    def __str__(self) -> str:
        return self.problem

    @property
    def is_final(self) -> bool:
        """Whether no other call of the same verification can succeed."""
        return self.kind in (
            FailureKind.AUTHENTICATION,
            FailureKind.BUDGET_EXCEEDED,
            FailureKind.NOT_FOUND,
        )


@dataclass(frozen=True, slots=True)
class Completion:
    """What an endpoint answered.

    Attributes:
        text: Its text.
        positions: Its tokens.
        prompt_tokens: Tokens read, as it counts them; 0 if it does not say.
        completion_tokens: Tokens written.
    """

    text: str
    positions: tuple[TokenPosition, ...]
    prompt_tokens: int
    completion_tokens: int


class VerifierEndpoint(ChatClient):
    """An endpoint that the openai verifier asks.

    Raises:
        MissingExtraError: If the official client is not installed.
    """

    def __init__(self, *, base_url: str, api_key: str, timeout_s: float) -> None:
        super().__init__(
            base_url=base_url,
            api_key=api_key,
            timeout_s=timeout_s,
            max_retries=MAX_RETRIES,
            what="The openai verifier",
        )
        self._max_tokens = max_tokens_key(base_url)

    def ask(
        self, prompt: Prompt, *, model: str, temperature: float, top_logprobs: int
    ) -> Completion:
        """Call the endpoint.

        Raises:
            EndpointError: If there is no answer with logprobs.
        """
        extra = {"logprobs": True, "top_logprobs": top_logprobs}
        try:
            return _read(self._call(prompt, model, temperature, prompt.max_tokens, extra))
        except NoLogprobsError as error:
            raise EndpointError(FailureKind.NO_LOGPROBS, _NO_LOGPROBS) from error
        except (MalformedLogprobsError, ValueError, RecursionError) as error:
            problem = error if isinstance(error, MalformedLogprobsError) else "it is no JSON"
            raise EndpointError(
                FailureKind.MALFORMED, f"The endpoint's answer cannot be read: {problem}."
            ) from error

    def _call(
        self,
        prompt: Prompt,
        model: str,
        temperature: float,
        max_tokens: int,
        extra: Mapping[str, Any],
    ) -> bytes:
        body: dict[str, Any] = {
            "model": model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            "temperature": temperature,
            **extra,
            self._max_tokens: max_tokens,
        }
        try:
            return self.create(body)
        except Exception as error:  # whatever the client raises, nothing was verified
            raise _as_endpoint_error(error) from error


_NO_LOGPROBS = (
    "The endpoint's answer has no logprobs, which a verifier reads its probabilities from. Use a "
    "model and a server that give them (vLLM, SGLang, llama.cpp; Ollama does not)."
)


def _read(content: bytes) -> Completion:
    completion = json.loads(content)
    text, positions = read_positions(completion)
    usage = completion.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    return Completion(
        text,
        positions,
        token_count(counts.get("prompt_tokens")),
        token_count(counts.get("completion_tokens")),
    )


def token_count(value: object) -> int:
    """A number of tokens as an endpoint tells it; 0 if it tells none."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if is_count else 0  # type: ignore[return-value] # it is a number


def _as_endpoint_error(error: Exception) -> EndpointError:
    """What went wrong, in words of our own: an endpoint's may quote the key or the evidence."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return EndpointError(
            FailureKind.TIMEOUT,
            "The endpoint did not answer in time. Raise timeout_s, or try again later.",
        )
    if isinstance(error, openai.APIConnectionError):
        return EndpointError(
            FailureKind.CONNECTION,
            "The endpoint cannot be reached. See that it runs and that base_url is right.",
        )
    if isinstance(error, openai.APIStatusError):
        return _of_status(error.status_code, error.body)
    return EndpointError(
        FailureKind.VERIFIER, f"The call of the endpoint failed: {type(error).__name__}."
    )


def _of_status(status: int, body: object) -> EndpointError:
    details = body if isinstance(body, Mapping) else {}
    if status in (401, 403):
        return EndpointError(
            FailureKind.AUTHENTICATION,
            f"Authentication failed ({status}). See that OPENAI_API_KEY is the endpoint's.",
        )
    if status == 402 or details.get("code") == "insufficient_quota":
        return EndpointError(
            FailureKind.BUDGET_EXCEEDED,
            f"Budget exceeded ({status}). The account behind the key has no credit left.",
        )
    if status == 404:
        return EndpointError(
            FailureKind.NOT_FOUND,
            "The endpoint has no such model or path (404). See verifier_model and base_url.",
        )
    if status == 429:
        return EndpointError(
            FailureKind.RATE_LIMITED,
            "The endpoint refuses more calls for now (429). Lower max_concurrency, or try again "
            "later.",
        )
    if 400 <= status < 500:
        says_logprobs = "logprobs" in str(details)[:10_000]
        kind = FailureKind.NO_LOGPROBS if says_logprobs else FailureKind.REFUSED
        more = _NO_LOGPROBS if says_logprobs else "See verifier_model and top_logprobs."
        return EndpointError(kind, f"The endpoint refuses the request ({status}). {more}")
    more = (
        "The endpoint is elsewhere, and no redirect is followed. See that base_url is right."
        if status < 400
        else "The endpoint fails. Try again later, or see what is wrong with it."
    )
    return EndpointError(FailureKind.SERVICE_ERROR, f"Service error ({status}). {more}")

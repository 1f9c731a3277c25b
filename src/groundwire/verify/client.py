"""Calls endpoints over HTTP with OpenAI's official client, and limits the time and size of replies.

The official client's timeout is for one read, so an endpoint that sends a byte now and then could
keep its caller waiting without end. Here, each try has a deadline too, which is checked whenever a
part of the reply's body arrives.
"""

import re
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Self

from groundwire.config.kinds import is_loopback
from groundwire.errors import needs_extra
from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.verifier import ANYONE, FailureKind, Scope

#: Limit on the bytes of a reply; a longer reply is cut.
MAX_REPLY_BYTES = 16 * 2**20

#: The two names of the limit on a reply's tokens; a model may accept only one of them.
_LIMITS = ("max_tokens", "max_completion_tokens")
#: (Base URL, model) → name of the limit that the model accepts, if it refused the other name.
_taken: dict[tuple[str, str], str] = {}

NO_LOGPROBS = (
    "The endpoint's answer has no logprobs, which a verifier reads its probabilities from. Use a "
    "model and a server that give them (vLLM, SGLang, llama.cpp; Ollama does not)."
)


class ChatClient:
    """A client for one endpoint, which follows no redirects. Threads may share a client."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        timeout_s: float,
        max_retries: int,
        what: str,
        scope: Scope = ANYONE,
    ) -> None:
        """Prepare the client; connections are opened by the first call.

        Args:
            base_url: URL of the endpoint.
            api_key: Key that is sent with each call.
            timeout_s: Seconds that one try may take.
            max_retries: Limit on the retries of a call, for instance after status 429 or 5xx.
            what: Feature that needs the official client, for the error if the client is missing.
            scope: Tells whether the caller has given up; if so, nothing more is sent.

        Raises:
            MissingExtraError: If the official client is not installed.
        """
        with needs_extra(what, "verify"):
            import openai
        self.base_url = base_url
        self._client = openai.OpenAI(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout_s,
            max_retries=max_retries,
            http_client=_bounded(
                timeout_s, scope, follow_redirects=False, trust_env=not is_loopback(base_url)
            ),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def create(self, body: Mapping[str, Any]) -> bytes:
        """Ask for a chat completion, and return the body of the reply, decompressed.

        If the model refuses ``max_tokens``, the call is repeated with ``max_completion_tokens``,
        or the other way round. If the second call succeeds, later calls to the model use
        the other name from the start.

        Raises:
            Exception: Whatever the official client raises.
        """
        import openai

        model = (self.base_url, str(body.get("model")))
        sent = _with_limit_as(body, _taken.get(model))
        try:
            return self.post("/chat/completions", sent)
        except openai.APIStatusError as error:
            other = _other_limit(sent, error)
            if other is None:
                raise
        content = self.post("/chat/completions", _with_limit_as(sent, other))
        _taken[model] = other
        return content

    def post(self, path: str, body: Mapping[str, Any]) -> bytes:
        """Send JSON to a path below the base URL; return the body of the reply, decompressed.

        Raises:
            Exception: Whatever the official client raises.
        """
        reply: Any = self._client.post(path, cast_to=_http_library().Response, body=body)
        content: bytes = reply.content
        return content

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _with_limit_as(body: Mapping[str, Any], name: str | None) -> Mapping[str, Any]:
    """Rename the field of a request that limits a reply's tokens; ``None`` keeps the name."""
    if name is None:
        return body
    return {name if key in _LIMITS else key: value for key, value in body.items()}


def _other_limit(body: Mapping[str, Any], error: Any) -> str | None:  # noqa: ANN401
    """Return the other name of the token limit if ``error`` refuses the name in ``body``.

    Return ``None`` for any other error.
    """
    said = f"{error.body} {error.message}"[:10_000]
    refused = next((name for name in _LIMITS if name in body), None)
    if refused is None or error.status_code not in (400, 422) or refused not in said:
        return None
    return next(name for name in _LIMITS if name != refused)


def _http_library() -> Any:  # noqa: ANN401 - httpx or httpx2, whichever the official client uses
    import openai

    return import_module(openai.DefaultHttpxClient.__bases__[0].__module__.partition(".")[0])


def _bounded(timeout_s: float, scope: Scope, **options: Any) -> Any:  # noqa: ANN401 - HTTP client
    import openai

    class Bounded(openai.DefaultHttpxClient):
        def send(self, request: Any, **options: Any) -> Any:  # noqa: ANN401
            if scope.is_over():
                raise _http_library().ReadTimeout("Nobody waits for it.", request=request)
            deadline, content = time.monotonic() + timeout_s, bytearray()
            response = super().send(request, **{**options, "stream": True})
            try:
                for piece in response.iter_bytes():
                    content += piece
                    if len(content) >= MAX_REPLY_BYTES:
                        break
                    if time.monotonic() > deadline:
                        raise _http_library().ReadTimeout(
                            "The call took too long.", request=request
                        )
            finally:
                response.close()
            # The content was decompressed, so these headers no longer describe it.
            for name in ("content-encoding", "content-length", "transfer-encoding"):
                response.headers.pop(name, None)
            return type(response)(
                response.status_code,
                headers=response.headers,
                content=bytes(content[:MAX_REPLY_BYTES]),
                request=request,
            )

    return Bounded(timeout=timeout_s, **options)


def call_failure(error: Exception, who: str) -> NotVerifiedError:
    """Return the error that reports show for an exception of the official client.

    Of the reply, the error shows only the status and single words, such as an error code: longer
    texts may contain the key or the evidence. ``who`` is ``endpoint`` or ``service``.
    """
    import openai

    if isinstance(error, openai.APITimeoutError):
        return NotVerifiedError(
            FailureKind.TIMEOUT,
            f"The {who} did not answer in time. Allow more time, or try again later.",
        )
    if isinstance(error, openai.APIConnectionError):
        return NotVerifiedError(
            FailureKind.CONNECTION,
            f"The {who} cannot be reached. See that it runs and that its URL is right.",
        )
    if isinstance(error, openai.APIStatusError):
        return _status_failure(error.status_code, error.body, who)
    return NotVerifiedError(
        FailureKind.VERIFIER, f"The call of the {who} failed: {type(error).__name__}."
    )


def _status_failure(status: int, body: object, who: str) -> NotVerifiedError:
    details = body if isinstance(body, Mapping) else {}
    if status in (401, 403):
        return NotVerifiedError(
            FailureKind.AUTHENTICATION,
            f"Authentication failed ({status}). See that the key is the {who}'s.",
        )
    if status == 402 or details.get("code") == "insufficient_quota":
        return NotVerifiedError(
            FailureKind.BUDGET_EXCEEDED,
            f"Budget exceeded ({status}). The account behind the key has no credit left.",
        )
    if 400 <= status < 500 and "logprobs" in str(details)[:10_000]:
        return NotVerifiedError(
            FailureKind.NO_LOGPROBS, f"The {who} refuses the request ({status}). {NO_LOGPROBS}"
        )
    kind, problem = _STATUSES.get(status) or _STATUSES[min(status // 100, 5)]
    named = [f"{name} {details[name]}" for name in ("param", "code") if is_word(details.get(name))]
    problems = ", ".join([str(status), *named])
    return NotVerifiedError(kind, f"Service error ({problems}). The {who} {problem}")


def is_word(value: object) -> bool:
    """Return whether a value is one short lower-case word, which error messages may show."""
    return isinstance(value, str) and re.fullmatch("[a-z_]{1,40}", value) is not None


#: HTTP status, or its first digit → the kind of failure, and the end of the error's message.
_STATUSES = {
    404: (FailureKind.NOT_FOUND, "has no such model or path. See the model's name and the URL."),
    429: (
        FailureKind.RATE_LIMITED,
        "refuses more calls for now. Make fewer at a time, or try again later.",
    ),
    3: (
        FailureKind.SERVICE_ERROR,
        "is elsewhere, and no redirect is followed. See that its URL is right.",
    ),
    4: (
        FailureKind.REFUSED,
        "refuses the request. It may be too long for the model, or have an option that the model "
        "does not take: temperature, seed, top_logprobs, max_tokens.",
    ),
    5: (FailureKind.SERVICE_ERROR, "fails. Try again later, or see what is wrong with it."),
}

"""A language model at an endpoint for chat completions, called with OpenAI's official client.

Error messages quote only single words of a reply: longer texts may contain the key or the sources.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from groundwire.config.kinds import Endpoint, Kind, KindError, is_loopback
from groundwire.errors import GroundwireError, InputError
from groundwire.verify.client import ChatClient, call_failure, is_word
from groundwire.verify.endpoint import OPENAI_URL, ChatReply
from groundwire.verify.verifier import FailureKind

#: Environment variables that hold the key and the URL of the endpoint by default.
KEY_VARIABLE, URL_VARIABLE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
#: Placeholder that is sent to an endpoint that needs no key, because the client refuses an empty
#: key.
NO_KEY = "none"

#: Kinds of failures after which a run ends, because further calls would fail too. The status 403
#: is of such a kind, but does not end the run: see :meth:`LanguageModel.ask`.
_FINAL = (FailureKind.AUTHENTICATION, FailureKind.BUDGET_EXCEEDED, FailureKind.NOT_FOUND)


class GenerationError(GroundwireError):
    """A call to a language model failed.

    Attributes:
        is_final: Whether the run should end, because further calls would fail too.
    """

    def __init__(self, problem: str, *, is_final: bool = False) -> None:
        super().__init__(problem)
        self.is_final = is_final


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """The answer of a language model.

    Attributes:
        answer: The text.
        finish_reason: Reason why the text ended, as the endpoint says it, such as ``length`` if
            the text was cut off at the limit of tokens. Empty if the endpoint gives no reason, or
            a reason that is not a plain word.
        prompt_tokens: Number of tokens read; 0 if the endpoint gives no valid number.
        completion_tokens: Number of tokens written; 0 if the endpoint gives no valid number.
    """

    answer: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointAddress:
    """The URL of an endpoint and the key for it.

    Attributes:
        base_url: The URL, such as ``https://api.openai.com/v1``.
        api_key: The key that is sent with each call; ``repr`` hides it.
    """

    base_url: str
    api_key: str = field(repr=False)

    @classmethod
    def of(
        cls,
        base_url: str | None,
        environ: Mapping[str, str],
        *,
        variable: str | None = KEY_VARIABLE,
    ) -> Self:
        """Make an address from a URL and the environment.

        Args:
            base_url: The URL; by default the value of ``OPENAI_BASE_URL``, else OpenAI's URL.
            environ: The environment variables.
            variable: The variable that holds the key; ``None`` to use :data:`NO_KEY` as the key.

        Raises:
            InputError: If the URL is not valid, or the key is missing, is not printable ASCII, or
                would travel to another machine over plain HTTP. An endpoint on this machine needs
                no key.
        """
        given = base_url or environ.get(URL_VARIABLE, "").strip() or OPENAI_URL
        key = "" if variable is None else environ.get(variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise InputError(f"{variable} = *** is no key: it must be printable ASCII.")
        try:
            url = str(Kind(Endpoint).read(given)).rstrip("/")
        except KindError as error:
            raise InputError(f"--base-url must be {error.legal}.") from None
        address = cls(base_url=url, api_key=key or NO_KEY)
        if key and address.is_plain:
            raise InputError(
                f"--base-url is plain HTTP to {urlsplit(url).hostname}: the key would travel "
                "unencrypted. Use https://, or give no key if the endpoint wants none."
            )
        if not key and variable is not None and not is_loopback(url):
            raise InputError(
                f"There is no API key. Set {variable}, or say --no-key if the endpoint wants none."
            )
        return address

    @property
    def is_plain(self) -> bool:
        """Whether questions and sources travel to another machine unencrypted."""
        return urlsplit(self.base_url).scheme == "http" and not is_loopback(self.base_url)


class LanguageModel(ChatClient):
    """A language model at an endpoint for chat completions.

    Raises:
        MissingExtraError: If the official client is not installed.
    """

    def __init__(
        self, address: EndpointAddress, *, timeout_s: float = 120.0, max_retries: int = 5
    ) -> None:
        super().__init__(
            base_url=address.base_url,
            api_key=address.api_key,
            timeout_s=timeout_s,
            max_retries=max_retries,
            what="Asking a language model",
        )

    def ask(self, body: Mapping[str, Any]) -> ModelReply:
        """Send a request and return the reply.

        After a temporary failure the request is sent again, at most ``max_retries`` times.

        Raises:
            GenerationError: If there is no answer.
        """
        try:
            content = self.create(body)
        except Exception as error:  # any error of the client means that there is no answer
            failure = call_failure(error, "endpoint")
            # The status 403 does not end the run: some endpoints give it because of the content of
            # one request.
            is_own = getattr(error, "status_code", None) == 403
            is_final = failure.error_type in _FINAL and not is_own
            raise GenerationError(str(failure), is_final=is_final) from error
        return _read(content)


def _read(content: bytes) -> ModelReply:
    try:
        reply = ChatReply.model_validate_json(content)
    except ValueError as error:
        raise GenerationError("The endpoint's reply is no chat completion.") from error
    choice = reply.choices[0]
    answer, reason = choice.message.get("content"), choice.finish_reason
    if not isinstance(answer, str) or not answer.strip():
        why = f"finish_reason {reason}" if is_word(reason) else "without a reason"
        refused = " The model refused." if isinstance(choice.message.get("refusal"), str) else ""
        raise GenerationError(f"The reply has no text ({why}).{refused}")
    n_read, n_written = reply.n_tokens
    return ModelReply(
        answer=answer,
        finish_reason=str(reason) if is_word(reason) else "",
        prompt_tokens=n_read,
        completion_tokens=n_written,
    )

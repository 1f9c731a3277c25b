"""A language model at an endpoint that speaks chat completions, called by the official client.

Error messages never quote the endpoint's own messages, which may contain the key or the sources.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from groundwire.config.kinds import KindError, is_loopback
from groundwire.config.tree import SETTINGS
from groundwire.errors import GroundwireError, InputError
from groundwire.verify.client import MAX_REPLY_BYTES, ChatClient
from groundwire.verify.endpoint import OPENAI_URL, max_tokens_key, token_count

#: Environment variables that hold the key and the URL by default.
KEY_VARIABLE, URL_VARIABLE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
#: Sent as the key to endpoints that need no key: the client refuses an empty one.
NO_KEY = "none"

#: Matches error codes of an endpoint, such as "context_length_exceeded". A word of this form is
#: shown to the user: it names a problem and cannot be a secret.
_WORD = re.compile(r"[a-z_]{1,40}")


class GenerationError(GroundwireError):
    """A call of a language model failed."""

    #: Whether all further calls of the run would fail too, such as after a refused key.
    is_final = False


class FinalGenerationError(GenerationError):
    """A call failed for a reason, such as a refused key, that makes all further calls fail too."""

    is_final = True


class EmptyReplyError(GenerationError):
    """A reply has no text. ``is_cut`` says whether it was cut off at the limit of tokens."""

    def __init__(self, problem: str, *, is_cut: bool) -> None:
        super().__init__(problem)
        self.is_cut = is_cut


class EndpointSettingError(InputError):
    """The URL or the key of an endpoint cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """The answer of a language model.

    Attributes:
        answer: The text.
        finish_reason: Why the text ended: ``length`` if it was cut off at the limit of tokens;
            empty if the endpoint gives no reason.
        prompt_tokens: Number of tokens read, as the endpoint counts them; 0 if it does not say.
        completion_tokens: Number of tokens written, as the endpoint counts them; 0 if it does not
            say.
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
    api_key: str

    def __repr__(self) -> str:
        return f"Address(base_url={self.base_url!r}, api_key=***)"

    @classmethod
    def of(
        cls,
        base_url: str | None,
        environ: Mapping[str, str],
        *,
        variable: str | None = KEY_VARIABLE,
        option: str = "--base-url",
    ) -> Self:
        """Make an address from a URL and the environment.

        Args:
            base_url: The URL; by default the value of ``OPENAI_BASE_URL``, else OpenAI's URL.
            environ: The environment variables.
            variable: The variable that holds the key; ``None`` sends no key.
            option: The option that named the URL, for messages.

        Raises:
            EndpointSettingError: If the URL is no URL or has a secret in it; if the key is missing
                though the endpoint is on another machine, cannot stand in a header, or would travel
                over plain HTTP to another machine.
        """
        given = base_url or environ.get(URL_VARIABLE, "").strip() or OPENAI_URL
        key = "" if variable is None else environ.get(variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise EndpointSettingError(f"{variable} = *** is no key: it must be printable ASCII.")
        url = _read_url(given, option, has_key=bool(key))
        if not key and variable is not None and not is_loopback(url):
            more = ", or say --no-key for an endpoint that wants none" if option[:2] == "--" else ""
            raise EndpointSettingError(f"There is no API key. Set {variable}{more}.")
        return cls(base_url=url, api_key=key or NO_KEY)

    @property
    def is_plain(self) -> bool:
        """Whether questions and sources travel to another machine unencrypted."""
        return urlsplit(self.base_url).scheme == "http" and not is_loopback(self.base_url)


def _read_url(given: str, option: str, *, has_key: bool) -> str:
    try:
        url = urlsplit(given)
        has_secret = url.username is not None or bool(url.query or url.fragment)
        is_http = url.scheme == "http" and bool(url.hostname) and not is_loopback(given)
    except ValueError:
        raise EndpointSettingError(f"{option} is no URL.") from None
    if has_secret:
        raise EndpointSettingError(
            f"{option} has a user, a query or a fragment. The URL is kept with the results, so it "
            "may hold no secret: put the key into the environment."
        )
    if is_http and has_key:
        raise EndpointSettingError(
            f"{option} is plain HTTP to {url.hostname}: the key would travel unencrypted. Use "
            "https://, or give no key if the endpoint wants none."
        )
    if is_http:
        return given.rstrip("/")
    try:
        return str(SETTINGS["verify.base_url"].kind.read(given)).rstrip("/")
    except KindError as error:
        raise EndpointSettingError(f"{option} must be {error.legal}.") from error


class LanguageModel(ChatClient):
    """A language model at an endpoint, which answers requests.

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
        self._max_retries = max_retries

    def ask(self, body: Mapping[str, Any]) -> ModelReply:
        """Send a request and return the reply; the client repeats it after temporary failures.

        Raises:
            GenerationError: If there is no answer.
        """
        try:
            content = self.create(body)
        except Exception as error:  # any error of the client means that there is no answer
            raise self._as_error(error) from error
        return _read(content)

    def _as_error(self, error: Exception) -> GenerationError:
        import openai

        n = self._max_retries + 1
        times = "asked once" if n == 1 else f"asked {n} times"
        if isinstance(error, openai.APITimeoutError):
            return GenerationError(f"The endpoint did not answer in time, {times}.")
        if isinstance(error, openai.APIConnectionError):
            return GenerationError(
                f"The endpoint cannot be reached, {times}. See that it runs and that its URL is "
                "right."
            )
        if isinstance(error, openai.APIStatusError):
            return _of_status(error.status_code, error.body, times)
        return GenerationError(f"The call failed: {type(error).__name__}.")


def body_of(
    messages: list[dict[str, str]],
    *,
    base_url: str,
    model: str,
    temperature: float | None,
    max_tokens: int | None,
    seed: int | None = None,
) -> dict[str, Any]:
    """Build the body of a request; options that are ``None`` are left out: some models refuse them.

    The limit of tokens gets the name that the endpoint expects.
    """
    body: dict[str, Any] = {"model": model, "messages": messages}
    options = {"temperature": temperature, max_tokens_key(base_url): max_tokens, "seed": seed}
    return body | {name: value for name, value in options.items() if value is not None}


def _read(content: bytes) -> ModelReply:
    if len(content) >= MAX_REPLY_BYTES:
        raise GenerationError(
            f"The endpoint's reply has more than {MAX_REPLY_BYTES:,} bytes: it was not read on."
        )
    try:
        completion = json.loads(content)
        choice = completion["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        usage = completion.get("usage")
        answer, refusal = message.get("content"), message.get("refusal")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise GenerationError(
            f"The endpoint's reply is no chat completion ({type(error).__name__})."
        ) from error
    counts = usage if isinstance(usage, Mapping) else {}
    if not isinstance(answer, str) or not answer.strip():
        why = f"finish_reason {reason}" if _is_word(reason) else "without a reason"
        refused = " The model refused." if isinstance(refusal, str) else ""
        problem = f"The reply has no text ({why}).{refused}"
        raise EmptyReplyError(problem, is_cut=reason == "length")
    return ModelReply(
        answer=answer,
        finish_reason=reason if _is_word(reason) else "",
        prompt_tokens=token_count(counts.get("prompt_tokens")),
        completion_tokens=token_count(counts.get("completion_tokens")),
    )


def _of_status(status: int, body: object, times: str) -> GenerationError:
    details = body if isinstance(body, Mapping) else {}
    if details.get("code") == "insufficient_quota":
        status = 402
    if status in _FINAL:
        return FinalGenerationError(_FINAL[status])
    if status == 429:
        return GenerationError(
            f"The endpoint refuses more calls for now (429), {times}. Make fewer at a time."
        )
    if 400 <= status < 500:
        named = [
            f"{name} {details[name]}" for name in ("param", "code") if _is_word(details.get(name))
        ]
        told = ", ".join([str(status), *named])
        return GenerationError(
            f"The endpoint refuses the request ({told}). It may be too long for the model; some "
            "models take no temperature, seed or max-tokens."
        )
    return GenerationError(f"Service error ({status}), {times}.")


#: HTTP status with which all further calls would fail too → message.
_FINAL = {
    401: "Authentication failed (401). See that the key is right.",
    402: "The account behind the key has no credit left.",
    404: "The endpoint has no such model or path (404). See the model's name and the URL.",
}


def _is_word(value: object) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None

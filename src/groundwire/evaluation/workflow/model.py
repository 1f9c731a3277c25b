"""The language model under test: one call of an endpoint that speaks chat completions.

What a call fails for is told in words of our own: an endpoint's may quote the key or the sources.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from time import perf_counter
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from groundwire.config.kinds import KindError, is_loopback
from groundwire.config.tree import SETTINGS
from groundwire.errors import GroundwireError, InputError
from groundwire.verify.client import MAX_REPLY_BYTES, Client
from groundwire.verify.endpoint import OPENAI_URL, max_tokens_key, token_count

#: What is sent where no key is needed: the client wants a text.
NO_KEY = "none"

#: Short words of an endpoint's error that say what it did not like, and cannot be a secret.
_WORD = re.compile(r"[a-z_]{1,40}")


class GenerationError(GroundwireError):
    """There is no answer to a question."""

    #: Whether no other call of the run can succeed.
    is_final = False


class FinalGenerationError(GenerationError):
    """There is no answer, and there will be none to any other question."""

    is_final = True


class EndpointSettingError(InputError):
    """An endpoint cannot be used as it is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a language model answered.

    Attributes:
        answer: Its text.
        finish_reason: Why it ended; ``length`` if it was cut.
        prompt_tokens: Tokens read, as the endpoint counts them; 0 if it does not say.
        completion_tokens: Tokens written.
        seconds: What the call took, what was tried before it included.
    """

    answer: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the model is, and what opens it.

    Attributes:
        base_url: Of the endpoint, such as ``https://api.openai.com/v1``.
        api_key: Sent with each call; never shown.
    """

    base_url: str
    api_key: str

    def __repr__(self) -> str:
        return f"Address(base_url={self.base_url!r}, api_key=***)"

    @classmethod
    def of(cls, base_url: str | None, environ: Mapping[str, str], *, variable: str | None) -> Self:
        """Read it.

        Args:
            base_url: By default that of ``OPENAI_BASE_URL``, else OpenAI's.
            environ: The environment.
            variable: Which variable of it holds the key; ``None`` sends no key.

        Raises:
            EndpointSettingError: If there is no key, it is no text for a header, or would travel
                over plain HTTP to another machine.
        """
        given = base_url or environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL
        key = "" if variable is None else environ.get(variable, "").strip()
        url = _read_url(given, has_key=bool(key))
        if not key and variable is not None and not is_loopback(url):
            raise EndpointSettingError(
                f"There is no API key. Set {variable}, or say --no-key for an endpoint that wants "
                "none."
            )
        if not (key.isascii() and key.isprintable()):
            raise EndpointSettingError(f"{variable} = *** is no key: it must be printable ASCII.")
        return cls(base_url=url, api_key=key or NO_KEY)

    @property
    def is_plain(self) -> bool:
        """Whether questions and sources travel to another machine unencrypted."""
        return urlsplit(self.base_url).scheme == "http" and not is_loopback(self.base_url)


def _read_url(given: str, *, has_key: bool) -> str:
    try:
        url = urlsplit(given)
        has_secret = url.username is not None or bool(url.query or url.fragment)
        is_http = url.scheme == "http" and bool(url.hostname) and not is_loopback(given)
    except ValueError:
        raise EndpointSettingError("--base-url is no URL.") from None
    if has_secret:
        raise EndpointSettingError(
            "--base-url has a user, a query or a fragment: what was sent is kept with its URL, so "
            "that may hold no secret. Put the key into the environment."
        )
    if is_http and has_key:
        raise EndpointSettingError(
            f"--base-url is plain HTTP to {url.hostname}: the key would travel unencrypted. Use "
            "https://, or say --no-key if the endpoint wants none."
        )
    if is_http:
        return given.rstrip("/")
    try:
        return str(SETTINGS["verify.base_url"].kind.read(given)).rstrip("/")
    except KindError as error:
        raise EndpointSettingError(f"--base-url must be {error.legal}.") from error


class LanguageModel:
    """An endpoint, and the client that calls it. Safe to share between threads.

    Raises:
        MissingExtraError: If the official client is not installed.
    """

    def __init__(self, address: Address, *, timeout_s: float = 120.0, max_retries: int = 5) -> None:
        self.base_url = address.base_url
        self._max_retries = max_retries
        self._client = Client(
            base_url=address.base_url,
            api_key=address.api_key,
            timeout_s=timeout_s,
            max_retries=max_retries,
            what="Asking a language model",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def ask(self, body: Mapping[str, Any]) -> Reply:
        """Make a call, again and again if it has to be, with longer and longer pauses.

        Raises:
            GenerationError: If there is no answer.
        """
        started = perf_counter()
        try:
            content = self._client.create(body)
        except Exception as error:  # whatever the client raises, there is no answer
            raise self._as_error(error) from error
        return _read(content, seconds=round(perf_counter() - started, 6))

    def _as_error(self, error: Exception) -> GenerationError:
        import openai

        n = self._max_retries + 1
        times = "asked once" if n == 1 else f"asked {n} times"
        if isinstance(error, openai.APITimeoutError):
            return GenerationError(
                f"The endpoint did not answer in time, {times}. Raise --timeout."
            )
        if isinstance(error, openai.APIConnectionError):
            return GenerationError(
                f"The endpoint cannot be reached, {times}. See that it runs and that --base-url is "
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
    seed: int | None,
) -> dict[str, Any]:
    """The request of one call; what is ``None`` is left out, for some models refuse it."""
    body: dict[str, Any] = {"model": model, "messages": messages}
    options = {"temperature": temperature, max_tokens_key(base_url): max_tokens, "seed": seed}
    return body | {name: value for name, value in options.items() if value is not None}


def _read(content: bytes, *, seconds: float) -> Reply:
    if len(content) >= MAX_REPLY_BYTES:
        raise GenerationError(
            f"The endpoint's reply has more than {MAX_REPLY_BYTES:,} bytes: it was not read on. "
            "Lower --max-tokens."
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
        raise GenerationError(f"The reply has no text ({why}).{refused}")
    return Reply(
        answer=answer,
        finish_reason=reason if _is_word(reason) else "",
        prompt_tokens=token_count(counts.get("prompt_tokens")),
        completion_tokens=token_count(counts.get("completion_tokens")),
        seconds=seconds,
    )


def _of_status(status: int, body: object, times: str) -> GenerationError:
    details = body if isinstance(body, Mapping) else {}
    code = details.get("code")
    if status == 401:
        return FinalGenerationError("Authentication failed (401). See that the key is right.")
    if status == 402 or code == "insufficient_quota":
        return FinalGenerationError(f"The account behind the key has no credit left ({status}).")
    if status == 404:
        return FinalGenerationError(
            "The endpoint has no such model or path (404). See --model and --base-url."
        )
    if status == 429:
        return GenerationError(
            f"The endpoint refuses more calls for now (429), {times}. Lower --concurrency."
        )
    if 400 <= status < 500:
        named = [
            f"{name} {details[name]}" for name in ("param", "code") if _is_word(details.get(name))
        ]
        told = ", ".join([str(status), *named])
        return GenerationError(
            f"The endpoint refuses the request ({told}). Some models take no temperature, seed or "
            "max-tokens: none leaves one out."
        )
    return GenerationError(f"Service error ({status}), {times}.")


def _is_word(value: object) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None

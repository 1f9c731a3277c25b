"""The verifier ``openai``: any endpoint with chat completions and logprobs, asked for one letter.

Answer and evidence leave this machine, so nothing but ``verifier="openai"`` chooses it: a key in
the environment alone sends nothing anywhere.
"""

from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from groundwire.config.tree import Verify
from groundwire.verify.cache import SHARED, CallCache, key_of
from groundwire.verify.endpoint import OPENAI_URL, Completion, EndpointError, VerifierEndpoint
from groundwire.verify.grouping import plan_groups
from groundwire.verify.logprobs import MalformedLogprobsError, read_group, read_single
from groundwire.verify.prompts import Prompt, prompt_for
from groundwire.verify.settings import DEFAULT_MODEL
from groundwire.verify.verifier import (
    ANYONE,
    CallCost,
    ClaimQuestion,
    FailureKind,
    Judged,
    Readout,
    Scope,
    VerifierFailure,
    with_cost,
)
from groundwire.verify.wanted import MissingKeyError, wanted_key, wanted_url

__all__ = ["MissingKeyError", "OpenAIVerifier"]


class OpenAIVerifier:
    """Asks an endpoint about each claim; equal questions once, equal evidence in one call.

    Args:
        endpoint: Who is asked.
        settings: Model, temperature, cache, groups, concurrency.
        api_key: The key, for what is kept to be kept apart.
        scope: For whom, and until when.
        cache: Where answers are kept, at temperature 0.
    """

    name = "openai"

    def __init__(
        self,
        endpoint: VerifierEndpoint,
        settings: Verify,
        *,
        api_key: str,
        scope: Scope = ANYONE,
        cache: CallCache = SHARED,
    ) -> None:
        self._endpoint, self._settings, self._api_key = endpoint, settings, api_key
        self._scope = scope
        self._cache = cache if settings.use_cache and settings.temperature == 0 else None
        # Once a key or a model is refused, no other call can succeed.
        self._final: EndpointError | None = None

    @classmethod
    def open(cls, settings: Verify, environ: Mapping[str, str], *, scope: Scope = ANYONE) -> Self:
        """Open the endpoint that settings and environment name; nothing is sent yet.

        Raises:
            MissingKeyError: If there is no key.
            ArgumentError: If the base URL of the environment is not possible.
            MissingExtraError: If the official client is not installed.
        """
        api_key = wanted_key(settings, environ)
        base_url = wanted_url(settings.base_url, environ, "OPENAI_BASE_URL") or OPENAI_URL
        endpoint = VerifierEndpoint(
            base_url=base_url, api_key=api_key, timeout_s=settings.timeout_s
        )
        return cls(endpoint, settings, api_key=api_key, scope=scope)

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self._settings.model or DEFAULT_MODEL

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._endpoint.close()

    def judge(self, questions: Sequence[ClaimQuestion]) -> list[Judged]:
        """Answer each question, in their order."""
        unique, own = list(dict.fromkeys(questions)), self._settings
        size = own.max_group_size if own.group_claims else 1
        planned = plan_groups(unique, max_size=size, max_chars=own.max_group_prompt_chars)
        groups = [tuple(unique[at] for at in group) for group in planned]
        asked = self._ask_all(groups)
        unread = [
            q for group, got in zip(groups, asked, strict=True) if not got.judged for q in group
        ]
        alone = dict(zip(unread, self._ask_alone(unread), strict=True))
        answers: dict[ClaimQuestion, Judged] = {}
        for group, got in zip(groups, asked, strict=True):
            for at, question in enumerate(group):
                answers[question] = got.judged[at] if got.judged else _after(got, alone[question])
        return _each_once(questions, answers)

    def _ask_alone(self, questions: Sequence[ClaimQuestion]) -> list["_Asked"]:
        """Ask about each claim of groups that were not answered.

        If none of the first is answered either, it was not for their being groups: an endpoint
        that fails or hangs is not waited for once for each claim.
        """
        singles = [(question,) for question in questions]
        n = self._settings.max_concurrency
        asked = self._ask_all(singles[:n])
        failure = asked[0].judged[0] if asked else None
        if isinstance(failure, VerifierFailure) and all(each.is_in_vain for each in asked):
            missing = _Asked((replace(failure, prompt="", cost=CallCost()),), CallCost())
            return asked + [missing] * len(singles[n:])
        return asked + self._ask_all(singles[n:])

    def _ask_all(self, groups: Sequence[tuple[ClaimQuestion, ...]]) -> list["_Asked"]:
        if not groups:
            return []
        n = min(self._settings.max_concurrency, len(groups))
        with ThreadPoolExecutor(n, thread_name_prefix="groundwire-verify") as pool:
            futures = [pool.submit(self._ask, group) for group in groups]
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(cancel_futures=True)  # if one was interrupted

    def _ask(self, group: tuple[ClaimQuestion, ...]) -> "_Asked":
        """Make one call about some claims that have the same evidence."""
        prompt = prompt_for([each.claim for each in group], group[0].evidence)
        is_grouped = len(group) > 1
        key, model = self._key(prompt), self.model
        if self._cache is not None and (kept := self._cache.get(key)) is not None:
            return _Asked.of(kept, prompt, CallCost(is_cached=True, is_grouped=is_grouped))
        if (given_up := self._scope.given_up()) is not None:
            return _Asked((given_up,) * prompt.n, CallCost())
        own = self._settings
        try:
            if self._final is not None:
                return _Asked.failed(self._final, prompt, CallCost())
            completion = self._endpoint.ask(
                prompt, model=model, temperature=own.temperature, top_logprobs=own.top_logprobs
            )
            cost = _share(completion, len(group))
            readouts = _read(completion, len(group))
        except EndpointError as error:
            if error.is_final:
                self._final = error
            if is_grouped and error.kind in _PERHAPS_ALONE:
                return _Asked((), CallCost(calls=1 / len(group)))
            return _Asked.failed(error, prompt, CallCost(calls=1 / len(group)))
        if not readouts:
            return _Asked((), cost)
        if self._cache is not None:
            self._cache.put(key, readouts)
        return _Asked.of(readouts, prompt, replace(cost, is_grouped=is_grouped))

    def _key(self, prompt: Prompt) -> Hashable:
        return key_of(
            prompt,
            tenant=self._scope.tenant,
            backend=self.name,
            base_url=self._endpoint.base_url,
            api_key=self._api_key,
            model=self.model,
            top_logprobs=self._settings.top_logprobs,
        )


#: What happens to all calls, if to some.
_IN_VAIN = (FailureKind.SERVICE_ERROR, FailureKind.TIMEOUT, FailureKind.NO_LOGPROBS)

#: What a group is refused for, or answered with, that one claim may not be: it is longer.
_PERHAPS_ALONE = (FailureKind.MALFORMED, FailureKind.REFUSED, *_IN_VAIN)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What came of a call: an answer for each claim, or none if they could not be told apart."""

    judged: tuple[Judged, ...]
    share: CallCost

    @property
    def is_in_vain(self) -> bool:
        """Whether the endpoint failed in a way in which it does not fail for one claim alone."""
        return any(
            isinstance(each, VerifierFailure) and each.kind in _IN_VAIN for each in self.judged
        )

    @classmethod
    def of(cls, readouts: tuple[Readout, ...], prompt: Prompt, share: CallCost) -> "_Asked":
        told = (replace(each, prompt=prompt.text, cost=share) for each in readouts)
        return cls(tuple(told), share)

    @classmethod
    def failed(cls, error: EndpointError, prompt: Prompt, share: CallCost) -> "_Asked":
        failure = VerifierFailure(kind=error.kind, error=str(error), prompt=prompt.text, cost=share)
        return cls((failure,) * prompt.n, share)


def _read(completion: Completion, n: int) -> tuple[Readout, ...]:
    """An answer for each claim; none if a group's cannot be told apart.

    Raises:
        EndpointError: If that of a single claim cannot be read.
    """
    try:
        if n > 1:
            return read_group(completion.text, completion.positions, n) or ()
        return (read_single(completion.positions),)
    except MalformedLogprobsError as error:
        raise EndpointError(FailureKind.MALFORMED, f"The endpoint's answer: {error}.") from error


def _share(completion: Completion, n: int) -> CallCost:
    return CallCost(
        calls=1 / n,
        prompt_tokens=completion.prompt_tokens / n,
        completion_tokens=completion.completion_tokens / n,
    )


def _after(group: _Asked, alone: _Asked) -> Judged:
    """The answer about one claim of a group that could not be read."""
    (judged,) = alone.judged
    return with_cost(judged, judged.cost + replace(group.share, fell_back=True))


def _each_once(
    questions: Sequence[ClaimQuestion], answers: Mapping[ClaimQuestion, Judged]
) -> list[Judged]:
    """An answer for each question; only the first of equal ones cost anything."""
    seen: set[ClaimQuestion] = set()
    found = []
    for question in questions:
        judged = answers[question]
        found.append(with_cost(judged, CallCost(is_cached=True)) if question in seen else judged)
        seen.add(question)
    return found

"""The verifier ``openai``: it asks an endpoint with chat completions and logprobs for verdicts.

Claims and evidence are sent to the endpoint, so a key in the environment alone never selects this
verifier.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import ClassVar

from groundwire.config.tree import Verify
from groundwire.verify import cache, verifier
from groundwire.verify.client import ChatClient
from groundwire.verify.endpoint import complete
from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.logprobs import read_answers
from groundwire.verify.prompts import prompt_for
from groundwire.verify.settings import DEFAULT_MODEL
from groundwire.verify.verifier import ClaimQuestion, FailureKind, Judged, VerifierFailure


@dataclass(slots=True, eq=False)
class OpenAIVerifier:
    """Verifier that asks an endpoint: equal questions once, claims with equal evidence together.

    If the endpoint refuses a call about several claims, or its answer cannot be read, each of these
    claims is asked about alone. Settings limit how many claims share a call and how long its
    prompt is, or turn shared calls off.

    Attributes:
        endpoint: The endpoint to ask.
        settings: Settings of the verification.
        api_key: Key of the endpoint. Answers cached under one key are not used under another.
        scope: Tenant of the claims, and a check whether the caller has given up.
    """

    endpoint: ChatClient
    settings: Verify
    api_key: str = field(repr=False)
    scope: verifier.Scope
    # The last error of a kind in _FINAL, if there was one; no call is made after such an error.
    _final: NotVerifiedError | None = None
    name: ClassVar[str] = "openai"

    @property
    def model(self) -> str:
        """Name of the model that the endpoint is asked for."""
        return self.settings.model or DEFAULT_MODEL

    def judge(self, questions: Sequence[ClaimQuestion]) -> list[Judged]:
        """Return an answer to each question, in the order of the questions."""
        unique, own = list(dict.fromkeys(questions)), self.settings
        size = own.max_group_size if own.group_claims else 1
        groups = list(plan_groups(unique, max_size=size, max_chars=own.max_group_prompt_chars))
        answers: dict[ClaimQuestion, Judged] = {}
        for group, found in zip(groups, self._ask_all(groups), strict=True):
            answers |= zip(group, found, strict=True)
        grouped = [question for group in groups if len(group) > 1 for question in group]
        alone = [each for each in grouped if _may_succeed_alone(answers[each])]
        for question, (judged,) in zip(
            alone, self._ask_all([(each,) for each in alone]), strict=True
        ):
            wasted = replace(answers[question].cost, fell_back=True)
            answers[question] = replace(judged, cost=judged.cost + wasted)
        return _each_once(questions, answers)

    def _ask_all(self, groups: Sequence[tuple[ClaimQuestion, ...]]) -> Sequence[tuple[Judged, ...]]:
        if not groups:
            return ()
        n = min(self.settings.max_concurrency, len(groups))
        with ThreadPoolExecutor(n, thread_name_prefix="groundwire-verify") as pool:
            futures = [pool.submit(self._ask, group) for group in groups]
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(cancel_futures=True)  # after an interrupt, waiting calls are not made

    def _ask(self, group: tuple[ClaimQuestion, ...]) -> tuple[Judged, ...]:
        """Make one call about claims with the same evidence, or take its answers from the cache.

        If the call fails, each claim gets the failure. No call is made after a failure of a kind in
        ``_FINAL``, or if the caller has given up.
        """
        n, own, cost = len(group), self.settings, verifier.CallCost()
        is_cached = own.use_cache and own.temperature == 0
        prompt = prompt_for([each.claim for each in group], group[0].evidence)
        endpoint = (self.endpoint.base_url, self.api_key, self.model, own.top_logprobs)
        key = cache.key_of(self.scope.tenant, *endpoint, prompt)
        with cache.LOCK:
            readouts = cache.SHARED.get(key) if is_cached else None
        if readouts is not None:
            cost = verifier.CallCost(is_cached=True, is_grouped=n > 1)
            return tuple(replace(each, prompt=prompt.text, cost=cost) for each in readouts)
        if (given_up := self.scope.given_up()) is not None:
            return (given_up,) * n
        try:
            if self._final is not None:
                raise self._final
            cost = verifier.CallCost(calls=1 / n)
            completion = complete(self.endpoint, prompt, model=self.model, settings=own)
            cost = verifier.CallCost(
                calls=1 / n,
                prompt_tokens=completion.prompt_tokens / n,
                completion_tokens=completion.completion_tokens / n,
            )
            readouts = read_answers(completion.text, completion.positions, n)
        except NotVerifiedError as error:
            if error.error_type in _FINAL:
                self._final = error
            kind, text = FailureKind(error.error_type), prompt.text
            return (VerifierFailure(kind=kind, error=error.message, prompt=text, cost=cost),) * n
        if is_cached:
            with cache.LOCK:
                cache.SHARED[key] = readouts
        cost = replace(cost, is_grouped=n > 1)
        return tuple(replace(each, prompt=prompt.text, cost=cost) for each in readouts)


#: Failures after which any further call would fail too.
_FINAL = (FailureKind.AUTHENTICATION, FailureKind.BUDGET_EXCEEDED, FailureKind.NOT_FOUND)

#: Failures of a call for several claims after which each claim is asked about alone.
_OF_GROUPS = (FailureKind.MALFORMED, FailureKind.REFUSED, FailureKind.NO_LOGPROBS)


def _may_succeed_alone(judged: Judged) -> bool:
    return isinstance(judged, VerifierFailure) and judged.kind in _OF_GROUPS


def _each_once(
    questions: Sequence[ClaimQuestion], answers: Mapping[ClaimQuestion, Judged]
) -> list[Judged]:
    """Return an answer to each question; among equal questions, only the first has a cost."""
    first = {question: at for at, question in reversed(list(enumerate(questions)))}
    return [
        answers[question]
        if first[question] == at
        else replace(answers[question], cost=verifier.CallCost(is_cached=True))
        for at, question in enumerate(questions)
    ]


def plan_groups(
    questions: Sequence[ClaimQuestion], *, max_size: int, max_chars: int
) -> Iterator[tuple[ClaimQuestion, ...]]:
    """Divide distinct questions into groups with the same evidence, one for each call.

    A group has at most ``max_size`` questions. The prompt of a group of several questions has at
    most ``max_chars`` characters.
    """
    by_evidence: dict[object, list[ClaimQuestion]] = {}
    for question in questions:
        by_evidence.setdefault(question.evidence, []).append(question)
    for alike in by_evidence.values():
        group: list[ClaimQuestion] = []
        for question in alike:
            claims = [each.claim for each in (*group, question)]
            is_long = len(prompt_for(claims, question.evidence).text) > max_chars
            if group and (is_long or len(group) == max_size):
                yield tuple(group)
                group = []
            group.append(question)
        yield tuple(group)

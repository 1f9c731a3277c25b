"""Does an answer say what it cites? ``detect_hallucination``, and the same for traces.

What can go wrong with what an agent passes, and with a verifier, is told in the report, which is
then flagged. An error is raised only for a mistake in the program that calls.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from groundwire.config.kinds import Secret
from groundwire.verify.report import VerificationReport
from groundwire.verify.run import run
from groundwire.verify.settings import DEFAULT_MODEL, DEFAULTS
from groundwire.verify.subject import AnswerSubject, TraceSubject
from groundwire.verify.verifier import Verifier


def detect_hallucination(
    answer: str,
    spans: Sequence[Mapping[str, Any]],
    verifier_model: str | None = DEFAULT_MODEL,
    default_target: float = DEFAULTS.target,
    max_claims: int = DEFAULTS.max_claims,
    require_citations: bool = DEFAULTS.require_citations,
    context_mode: str = DEFAULTS.context_mode,
    timeout_s: float = DEFAULTS.timeout_s,
    *,
    verifier: str | Verifier = DEFAULTS.verifier,
    rule: str = DEFAULTS.rule,
    claim_split: str = DEFAULTS.claim_split,
    citation_regex: str | None = DEFAULTS.citation_regex,
    units: str = DEFAULTS.units,
    placeholder: str = DEFAULTS.placeholder,
    min_log_odds_gain: float = DEFAULTS.min_log_odds_gain,
    temperature: float = DEFAULTS.temperature,
    top_logprobs: int = DEFAULTS.top_logprobs,
    max_concurrency: int = DEFAULTS.max_concurrency,
    use_cache: bool = DEFAULTS.use_cache,
    group_claims: bool = DEFAULTS.group_claims,
    max_group_size: int = DEFAULTS.max_group_size,
    max_group_prompt_chars: int = DEFAULTS.max_group_prompt_chars,
    include_prompts: bool = DEFAULTS.include_prompts,
    max_prompt_chars: int = DEFAULTS.max_prompt_chars,
    base_url: str | None = DEFAULTS.base_url,
    service_url: str | None = DEFAULTS.service_url,
    api_key: str | Secret | None = DEFAULTS.api_key,
) -> VerificationReport:
    """Verify an answer claim by claim: is each stated by what it cites, and by nothing less?

    Each claim is read with its evidence (the posterior) and with the cited evidence taken away (the
    prior). By the rule ``signed`` it passes if the posterior reaches the target and the prior does
    not. See ``docs/verify.md`` for how to read the report.

    Args:
        answer: The answer, with citations such as ``[S0]``.
        spans: The evidence: ``{"sid": "S0", "text": "..."}``; ``id`` and ``snippet`` will do. A
            span without id is ``s1``, ``s2``... by its place.
        verifier_model: The model that an endpoint or a service is asked for; ``local`` has its own.
        default_target: The probability that a claim must reach, above 0 and below 1.
        max_claims: Claims that are verified; more flags the report.
        require_citations: Whether a claim that cites nothing is flagged for that.
        context_mode: What a claim is read with: ``cited``, ``all``, or ``auto`` (all if it cites
            nothing).
        timeout_s: Seconds for one call of an endpoint or a service.
        verifier: ``local`` (the embedded model; nothing leaves this machine), ``openai`` (an
            endpoint with logprobs), ``service``, or a verifier of your own.
        rule: ``signed``, or ``kl``: required against observed information, which has no sign.
        claim_split: ``sentences`` or ``lines``.
        citation_regex: What a citation looks like (RE2's syntax), with a group ``id``.
        units: Of information: ``bits`` or ``nats``.
        placeholder: Stands for evidence that is taken away.
        min_log_odds_gain: That the evidence must bring, in nats, 0 or more.
        temperature: Of an endpoint, 0 to 2.
        top_logprobs: Tokens that an endpoint is asked for, 1 to 20.
        max_concurrency: Calls at a time, 1 to 64.
        use_cache: Whether calls of an endpoint are kept in this process, at temperature 0.
        group_claims: Whether claims with the same evidence share a call.
        max_group_size: Claims in such a call, 1 to 64.
        max_group_prompt_chars: Characters in such a call, 1000 or more.
        include_prompts: Whether the report holds the prompts.
        max_prompt_chars: Of each of them.
        base_url: Where an endpoint is; ``None``: ``OPENAI_BASE_URL``, or OpenAI's.
        service_url: Where a service is; ``None``: ``BERRY_SERVICE_URL``.
        api_key: Of endpoint or service; ``None``: ``OPENAI_API_KEY``.

    Returns:
        The report. It is flagged, with ``error`` and ``error_type``, if there is no verification.

    Raises:
        SettingError: A ``ValueError``, if ``verifier``, ``rule``, ``max_group_size`` or
            ``max_group_prompt_chars`` is not possible.
        MissingExtraError: If ``openai`` is asked for and its client is not installed.
    """
    arguments = dict(locals())
    for name in ("answer", "spans", "verifier"):
        del arguments[name]
    return run(AnswerSubject(answer), spans, arguments, verifier)


def audit_trace_budget(
    steps: Sequence[Mapping[str, Any]] | Mapping[str, Any],
    spans: Sequence[Mapping[str, Any]],
    verifier_model: str | None = DEFAULT_MODEL,
    default_target: float = DEFAULTS.target,
    require_citations: bool = DEFAULTS.require_citations,
    context_mode: str = DEFAULTS.context_mode,
    timeout_s: float = DEFAULTS.timeout_s,
    *,
    verifier: str | Verifier = DEFAULTS.verifier,
    rule: str = DEFAULTS.rule,
    citation_regex: str | None = DEFAULTS.citation_regex,
    units: str = DEFAULTS.units,
    placeholder: str = DEFAULTS.placeholder,
    min_log_odds_gain: float = DEFAULTS.min_log_odds_gain,
    temperature: float = DEFAULTS.temperature,
    top_logprobs: int = DEFAULTS.top_logprobs,
    max_concurrency: int = DEFAULTS.max_concurrency,
    use_cache: bool = DEFAULTS.use_cache,
    group_claims: bool = DEFAULTS.group_claims,
    max_group_size: int = DEFAULTS.max_group_size,
    max_group_prompt_chars: int = DEFAULTS.max_group_prompt_chars,
    include_prompts: bool = DEFAULTS.include_prompts,
    max_prompt_chars: int = DEFAULTS.max_prompt_chars,
    base_url: str | None = DEFAULTS.base_url,
    service_url: str | None = DEFAULTS.service_url,
    api_key: str | Secret | None = DEFAULTS.api_key,
) -> VerificationReport:
    """Verify a plan or a reasoning trace step by step.

    Args:
        steps: ``{"idx": 0, "claim": "...", "cites": ["S0"], "confidence": 0.95}``, or a mapping
            with such a list as ``steps``. ``confidence`` is the step's own target; the default is
            ``default_target``. They are reported by ``idx``. No step is left out.
        spans: As :func:`detect_hallucination`, and so are all other arguments.
        verifier_model: As above.
        default_target: As above.
        require_citations: As above.
        context_mode: As above.
        timeout_s: As above.
        verifier: As above.
        rule: As above.
        citation_regex: As above.
        units: As above.
        placeholder: As above.
        min_log_odds_gain: As above.
        temperature: As above.
        top_logprobs: As above.
        max_concurrency: As above.
        use_cache: As above.
        group_claims: As above.
        max_group_size: As above.
        max_group_prompt_chars: As above.
        include_prompts: As above.
        max_prompt_chars: As above.
        base_url: As above.
        service_url: As above.
        api_key: As above.

    Returns:
        The report, whose summary counts ``steps_scored`` and ``flagged_steps``. A trace without
        steps is not flagged; one without spans is.

    Raises:
        SettingError, MissingExtraError: As above.
    """
    arguments = dict(locals())
    for name in ("steps", "spans", "verifier"):
        del arguments[name]
    return run(TraceSubject(steps), spans, arguments, verifier)

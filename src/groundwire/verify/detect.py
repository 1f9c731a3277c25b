"""``detect_hallucination`` and ``audit_trace_budget``, which verify answers and traces.

Evidence is a list of spans, which are passages with ids. If an agent passes arguments that
cannot be used, or a verifier fails, the report says so and is flagged. Errors are raised for
mistakes in the calling program, and for a missing extra.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from groundwire.config.kinds import Secret
from groundwire.text.spelling import did_you_mean
from groundwire.verify.report import VerificationReport
from groundwire.verify.run import run
from groundwire.verify.subject import AnswerSubject, Subject, TraceSubject
from groundwire.verify.verifier import Verifier


class TraceArguments(TypedDict, total=False):
    """Arguments of a verification; :class:`~groundwire.config.tree.Verify` has the defaults.

    Attributes:
        verifier_model: Model that an endpoint or a service is asked for; ``local`` has its own.
        default_target: Probability that a claim must reach, above 0 and below 1.
        require_citations: If true, every claim without citations is flagged.
        context_mode: Spans (passages of evidence) that a claim is read with: ``cited``, ``all``, or
            ``auto`` (the cited spans, or all if the claim cites nothing).
        timeout_s: Seconds for one try of a call to an endpoint or a service.
        verifier: ``local`` (a model on this machine), ``openai`` (an endpoint with logprobs),
            ``service``, or an object that is a verifier.
        rule: ``signed``: a claim must reach the target with its evidence, and not without. ``kl``:
            the evidence must move the claim's probability by at least the required information, up
            or down.
        citation_regex: Pattern of a citation (RE2's syntax), with a group ``id``.
        units: Units of information: ``bits`` or ``nats``.
        placeholder: Text in place of evidence that is taken away.
        min_log_odds_gain: Smallest rise of a claim's log-odds, in nats, 0 or more, that the
            evidence must cause for the claim to pass by the rule ``signed``.
        temperature: Sampling temperature at an endpoint, 0 to 2.
        top_logprobs: Number of likeliest tokens that an endpoint is asked for, 1 to 20.
        max_concurrency: Limit on the calls of this verification to an endpoint at the same time, 1
            to 64.
        use_cache: Whether answers of an endpoint at temperature 0 are cached in this process.
        group_claims: Whether claims with the same evidence share a call.
        max_group_size: Limit on the claims in a shared call, 1 to 64.
        max_group_prompt_chars: Limit on the characters in the prompt of a shared call, 1000 or
            more.
        include_prompts: Whether the report includes the prompts.
        max_prompt_chars: Limit on the characters of each prompt in the report.
        base_url: URL of an endpoint; ``None`` for the variable ``OPENAI_BASE_URL``, or else
            OpenAI's own URL.
        service_url: URL of a service; ``None`` for the variable ``BERRY_SERVICE_URL``.
        plain_http_host: Host to which plain HTTP is allowed, besides this machine.
        api_key: Key of the endpoint or service; ``None`` for the variable ``OPENAI_API_KEY``.
    """

    verifier_model: str | None
    default_target: float
    require_citations: bool
    context_mode: str
    timeout_s: float
    verifier: str | Verifier
    rule: str
    citation_regex: str | None
    units: str
    placeholder: str
    min_log_odds_gain: float
    temperature: float
    top_logprobs: int
    max_concurrency: int
    use_cache: bool
    group_claims: bool
    max_group_size: int
    max_group_prompt_chars: int
    include_prompts: bool
    max_prompt_chars: int
    base_url: str | None
    service_url: str | None
    plain_http_host: str | None
    api_key: str | Secret | None


class AnswerArguments(TraceArguments, total=False):
    """Arguments of the verification of an answer.

    Attributes:
        max_claims: Limit on the claims that are verified; an answer with more is flagged.
        claim_split: Whether claims are ``sentences`` or ``lines``.
    """

    max_claims: int
    claim_split: str


def detect_hallucination(
    answer: str, spans: Sequence[Mapping[str, Any]], **arguments: Unpack[AnswerArguments]
) -> VerificationReport:
    """Verify the claims of an answer: does the evidence support them, and is the evidence needed?

    The posterior is the probability that the verifier gives a claim with its evidence. The prior is
    the probability without the cited evidence, or without any evidence if the claim cites none. By
    the rule ``signed``, a claim passes only if the posterior reaches the target and the prior does
    not.
    See ``docs/verify.md`` for how to read the report.

    Args:
        answer: The answer, with citations such as ``[S0]``.
        spans: The evidence, a list of spans such as ``{"sid": "S0", "text": "..."}``; the keys
            ``id`` and ``snippet`` work as well. A span without an id gets ``s1``, ``s2``... by its
            place.
        arguments: See :class:`AnswerArguments`. The default verifier is ``local``.

    Returns:
        The report. If the verification failed, the report is flagged and has ``error`` and
        ``error_type``.

    Raises:
        SettingError: If ``verifier``, ``rule``, ``max_group_size`` or ``max_group_prompt_chars``
            has an invalid value. The error is also a ``ValueError``.
        MissingExtraError: If the verifier is ``openai`` or ``service``, and OpenAI's client is not
            installed.
        TypeError: If an argument is unknown.
    """
    return _run(AnswerSubject(answer), spans, dict(arguments), AnswerArguments.__optional_keys__)


def audit_trace_budget(
    steps: Sequence[Mapping[str, Any]] | Mapping[str, Any],
    spans: Sequence[Mapping[str, Any]],
    **arguments: Unpack[TraceArguments],
) -> VerificationReport:
    """Verify a plan or a reasoning trace step by step.

    Args:
        steps: A list of steps such as ``{"idx": 0, "claim": "...", "cites": ["S0"], "confidence":
            0.95}``, or a mapping with such a list as ``steps``. ``confidence`` is the step's own
            target; the default is ``default_target``. All steps are verified; the report sorts them
            by ``idx``.
        spans: The evidence, as for :func:`detect_hallucination`.
        arguments: See :class:`TraceArguments`.

    Returns:
        The report, whose summary counts ``steps_scored`` and ``flagged_steps``. Missing spans flag
        the report; missing steps alone do not.

    Raises:
        SettingError, MissingExtraError, TypeError: For the same reasons as in
            :func:`detect_hallucination`.
    """
    return _run(TraceSubject(steps), spans, dict(arguments), TraceArguments.__optional_keys__)


def _run(
    subject: Subject, spans: object, arguments: dict[str, Any], known: frozenset[str]
) -> VerificationReport:
    for name in arguments:
        if name not in known:
            hint = did_you_mean(name, sorted(known))
            raise TypeError(f"{subject.call}() got an unexpected keyword argument {name!r}.{hint}")
    return run(subject, spans, arguments, arguments.pop("verifier", "local"))

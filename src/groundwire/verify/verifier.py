"""The interface of verifiers, which read a claim with evidence and say yes, no, or cannot tell.

Three are built in, ``local``, ``openai`` and ``service``; any object with :class:`Verifier`'s name
and method is another. A verifier only reads: what follows from its answers is decided elsewhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Protocol

from pydantic import Field

from groundwire.detection.values import Label
from groundwire.verify.interval import ProbabilityInterval


class Verdict(StrEnum):
    """The verdict of a verifier on a claim."""

    YES = "YES"
    NO = "NO"
    UNSURE = "UNSURE"


_ALIASES = {
    **dict.fromkeys(("Y", "YES"), Verdict.YES),
    **dict.fromkeys(("N", "NO"), Verdict.NO),
    **dict.fromkeys(("U", "UNSURE", "UNKNOWN"), Verdict.UNSURE),
}
_AROUND = " \t\r\n.,;:!?\"'`*()[]{}<>_-\u2581\u0120\u010a"  # the last three: tokenizers' spaces


def verdict_of(text: str) -> Verdict | None:
    """The verdict that a word or token stands for, whatever its case and punctuation.

    >>> verdict_of(" yes."), verdict_of("Unknown"), verdict_of("Yet")
    (<Verdict.YES: 'YES'>, <Verdict.UNSURE: 'UNSURE'>, None)
    """
    return _ALIASES.get(text.strip(_AROUND).upper())


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceText:
    """One span, as a verifier reads it.

    Attributes:
        sid: Id of the span.
        text: The part of it that is evidence, without questions, instructions and headings; empty
            if there is none, or if it was taken away.
        shown: The text for prompts: a mark replaces a line that is no evidence, and the placeholder
            replaces a span that was taken away.
        is_redacted: Whether the span was taken away, to read the claim without it.
    """

    sid: str
    text: str
    shown: str
    is_redacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimQuestion:
    """A question for a verifier: do these spans state or imply this claim?

    Attributes:
        claim: The claim, without citations.
        evidence: The spans, in the order they were given. Equal ones are asked about once.
    """

    claim: str
    evidence: tuple[EvidenceText, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """The cost of one answer. A call about several claims is shared among their answers.

    Attributes:
        calls: Requests to an endpoint, retries not counted; 0 from a cache or a local model.
        prompt_tokens: Tokens read, as far as the endpoint counts them.
        completion_tokens: Tokens written.
        is_cached: Whether the answer came from the cache, or the question was asked twice at once.
        is_grouped: Whether it was answered in one call with others.
        fell_back: Whether the answer of a shared call could not be read, so that a call for this
            claim alone was made.
    """

    calls: float = 0.0
    prompt_tokens: float = 0.0
    completion_tokens: float = 0.0
    is_cached: bool = False
    is_grouped: bool = False
    fell_back: bool = False

    def __add__(self, other: "CallCost") -> "CallCost":
        return CallCost(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            is_cached=self.is_cached and other.is_cached,
            is_grouped=self.is_grouped or other.is_grouped,
            fell_back=self.fell_back or other.fell_back,
        )


FREE = CallCost()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopToken:
    """A token that might have been written, and the natural logarithm of its probability."""

    token: str
    # Some servers round a logarithm to a little above 0.
    logprob: Annotated[float, Field(ge=-1e9, le=1e-3, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A stretch of a claim that the evidence it was read with does not support.

    Attributes:
        start: First character of the claim; ``claim[start:end] == text``.
        end: One past the last.
        text: The words.
        label: ``unsupported`` or ``contradicted``.
        probability: P(not supported) of its most doubtful word piece, in [0, 1].
    """

    start: int
    end: int
    text: str
    label: Label
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Readout:
    """The answer of a verifier about one claim.

    Attributes:
        yes: P(the evidence states or implies the claim).
        no: P(it says otherwise).
        unsure: P(neither).
        generated: The verdict as written.
        topk: Tokens that these probabilities were read from; empty if there are none.
        prompt: The question in words; empty if nothing was put in words.
        cost: Calls and tokens it took.
        doubts: Stretches of the claim that are not supported, in reading order, disjoint; empty of
            a verifier that does not read word by word.
    """

    yes: ProbabilityInterval
    no: ProbabilityInterval
    unsure: ProbabilityInterval
    generated: str
    topk: tuple[TopToken, ...] = ()
    prompt: str = ""
    cost: CallCost = FREE
    doubts: tuple[Doubt, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The verdict, if it is one of the three."""
        return verdict_of(self.generated)


class FailureKind(StrEnum):
    """Why there is no answer. Names as in a report's ``error_type``."""

    MISSING_API_KEY = "missing_api_key"
    AUTHENTICATION = "authentication_failed"
    BUDGET_EXCEEDED = "budget_exceeded"
    NOT_FOUND = "not_found"
    REFUSED = "request_refused"
    RATE_LIMITED = "rate_limited"
    SERVICE_ERROR = "service_error"
    TIMEOUT = "timeout"
    CONNECTION = "connection_failed"
    NO_LOGPROBS = "no_logprobs"
    MALFORMED = "malformed_response"
    UNREADABLE = "unreadable"
    VERIFIER = "verifier_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierFailure:
    """A missing answer, which never counts as one.

    Attributes:
        kind: Kind of the failure.
        error: What happened and what to do, without claim, evidence or key.
        prompt: The question in words.
        cost: Calls and tokens it took nonetheless.
    """

    kind: FailureKind
    error: str
    prompt: str = ""
    cost: CallCost = FREE


Judged = Readout | VerifierFailure


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The tenant of a verification, and when to stop.

    Attributes:
        tenant: Cache namespace: nothing that was read or answered for one tenant is used for
            another.
        is_over: Asked before each claim is read; once it is true, the other claims are not read.
    """

    tenant: str = ""
    is_over: Callable[[], bool] = _never

    def given_up(self) -> VerifierFailure | None:
        """The failure of a claim that nobody waits for any more; ``None`` before that."""
        if not self.is_over():
            return None
        return VerifierFailure(
            kind=FailureKind.TIMEOUT,
            error="The verification was given up before this claim was read.",
        )


ANYONE = Scope()


class Verifier(Protocol):
    """Reads claims beside evidence."""

    @property
    def name(self) -> str:
        """The backend, as a report names it: ``local``, ``openai``..."""
        ...

    @property
    def model(self) -> str:
        """The model that it asks, as a report names it."""
        ...

    def judge(self, questions: Sequence[ClaimQuestion]) -> Sequence[Judged]:
        """Answer each question, in their order.

        It does not raise for what goes wrong with one of them: that is a
        :class:`VerifierFailure`. Equal questions have equal answers.
        """
        ...


def ask(verifier: Verifier, questions: Sequence[ClaimQuestion]) -> Sequence[Judged]:
    """Ask a verifier; if it fails, or breaks its interface, each question has a failure."""
    if not questions:
        return ()
    try:
        judged = list(verifier.judge(questions))
    except Exception as error:  # noqa: BLE001 - a verifier may be anyone's; nothing was verified
        # Its message may quote the claim, which has no place in a report's error.
        problem = f"The verifier failed: {type(error).__name__}."
    else:
        if len(judged) != len(questions):
            problem = f"The verifier gave {len(judged)} of {len(questions)} answers."
        elif not all(isinstance(each, Readout | VerifierFailure) for each in judged):
            problem = "The verifier gave an answer of an unknown kind."
        else:
            return judged
    return [VerifierFailure(kind=FailureKind.VERIFIER, error=problem)] * len(questions)

"""The interface of verifiers, which answer yes, no or unsure: does evidence support a claim?

Any object with the members of :class:`Verifier` is a verifier. A verifier only answers questions;
:mod:`groundwire.verify.rule` decides by the answers.
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
_AROUND = " \t\r\n.,;:!?\"'`*()[]{}<>_-\u2581\u0120\u010a"  # the last 3 are white space in tokens


def verdict_of(text: str) -> Verdict | None:
    """Return the verdict that a word or token spells; ``None`` if it spells none.

    Upper and lower case are equal. Spaces and punctuation around the word are ignored.

    >>> verdict_of(" yes."), verdict_of("Unknown"), verdict_of("Yet")
    (<Verdict.YES: 'YES'>, <Verdict.UNSURE: 'UNSURE'>, None)
    """
    return _ALIASES.get(text.strip(_AROUND).upper())


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceText:
    """One span (a passage of evidence with an id), as a verifier reads it.

    Attributes:
        sid: Id of the span.
        text: The part of the span that is evidence, without sentences such as questions and
            instructions; empty if there is none, or if the span was taken away.
        shown: The text for prompts: with a mark in place of most sentences that are not evidence,
            or the placeholder in place of a span that was taken away.
        is_redacted: Whether the span was taken away, to read the claim without it.
    """

    sid: str
    text: str
    shown: str
    is_redacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimQuestion:
    """A question for a verifier: do these spans (passages of evidence) state or imply this claim?

    Attributes:
        claim: The claim, without citations.
        evidence: The spans, in the order they were given.
    """

    claim: str
    evidence: tuple[EvidenceText, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """The cost of one answer, or of several; the cost of a shared call is divided equally.

    Attributes:
        calls: Requests to an endpoint, retries not counted; 0 from a cache or a local model.
        prompt_tokens: Tokens read, as far as the endpoint counts them.
        completion_tokens: Tokens written.
        is_cached: Whether the answer came from the cache, or from an equal question.
        is_grouped: Whether the answer came from a call about several claims.
        fell_back: Whether a shared call failed, so that the claim was asked about alone.
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
    """A token that a model might have written, and the natural logarithm of its probability."""

    token: str
    # A little above 0 is allowed, because some servers round the logarithm up.
    logprob: Annotated[float, Field(ge=-1e9, le=1e-3, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtedWords:
    """Words of a claim that the evidence does not support.

    Attributes:
        start: Offset of the words in the claim; ``claim[start:end] == text``.
        end: End of the words in the claim.
        text: The words.
        label: ``unsupported`` or ``contradicted``.
        probability: P(not supported) of the most doubtful word piece among them, in [0, 1].
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
        no: P(the evidence contradicts the claim).
        unsure: P(neither).
        generated: What the verifier wrote as its verdict.
        topk: The likeliest tokens where the verdict was written, as an endpoint lists them; empty
            if none are listed.
        prompt: The prompt of the question; empty if the verifier has none.
        cost: Calls and tokens that the answer took.
        doubts: Words of the claim that are not supported, in reading order, disjoint; empty if
            the verifier does not read word by word.
    """

    yes: ProbabilityInterval
    no: ProbabilityInterval
    unsure: ProbabilityInterval
    generated: str
    topk: tuple[TopToken, ...] = ()
    prompt: str = ""
    cost: CallCost = FREE
    doubts: tuple[DoubtedWords, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The written verdict; ``None`` if the verifier wrote anything else."""
        return verdict_of(self.generated)


class FailureKind(StrEnum):
    """Kinds of failures of a verifier, as a report's ``error_type`` names them."""

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
    """The failure of a verifier to answer a question. It is never treated as an answer.

    Attributes:
        kind: Kind of the failure.
        error: What happened, without claim, evidence or key.
        prompt: The prompt of the question; empty if there is none.
        cost: Calls and tokens that the question took nonetheless.
    """

    kind: FailureKind
    error: str
    prompt: str = ""
    cost: CallCost = FREE


Judged = Readout | VerifierFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The tenant of a verification, and a check whether its caller has given up.

    Attributes:
        tenant: Cache namespace: nothing that was read or answered for one tenant is used for
            another.
        is_over: Function that returns whether the caller has given up.
    """

    tenant: str = ""
    is_over: Callable[[], bool] = lambda: False

    def given_up(self) -> VerifierFailure | None:
        """Return the failure for claims not read yet if the caller has given up; else ``None``."""
        if not self.is_over():
            return None
        return VerifierFailure(
            kind=FailureKind.TIMEOUT,
            error="The verification was given up before this claim was read.",
        )


ANYONE = Scope()


class Verifier(Protocol):
    """An object that answers whether evidence states or implies claims."""

    @property
    def name(self) -> str:
        """Name of the verifier, as a report shows it: ``local``, ``openai``..."""

    @property
    def model(self) -> str:
        """Name of the model that answers, as a report shows it."""

    def judge(self, questions: Sequence[ClaimQuestion]) -> Sequence[Judged]:
        """Return an answer to each question, in the order of the questions.

        If a question cannot be answered, no error is raised: its answer is a
        :class:`VerifierFailure`. Equal questions have answers that are equal except for their cost.
        """


def ask(verifier: Verifier, questions: Sequence[ClaimQuestion]) -> Sequence[Judged]:
    """Ask a verifier questions, and return its answers.

    If the verifier raises an error, or returns a wrong number or type of answers, each question
    gets a :class:`VerifierFailure`.
    """
    if not questions:
        return ()
    try:
        judged = list(verifier.judge(questions))
    except Exception as error:  # noqa: BLE001 - a verifier may raise any error
        # The error's message may quote the claim, which errors in reports must not do.
        problem = f"The verifier failed: {type(error).__name__}."
    else:
        if len(judged) != len(questions):
            problem = f"The verifier gave {len(judged)} of {len(questions)} answers."
        elif not all(isinstance(each, Readout | VerifierFailure) for each in judged):
            problem = "The verifier gave an answer of an unknown kind."
        else:
            return judged
    return [VerifierFailure(kind=FailureKind.VERIFIER, error=problem)] * len(questions)

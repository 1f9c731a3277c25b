"""The context of a request: everything known before its answer, as one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from groundwire.detection.values import FrozenMapping
from groundwire.pipeline.asker import Asker
from groundwire.pipeline.conversation.request import Conversation
from groundwire.policy.decisions import ChosenDecision
from groundwire.policy.gate import GateResult
from groundwire.policy.policy import Policy, SourceLimits
from groundwire.policy.signals import SignalValues


class CheckPath(StrEnum):
    """Whether an answer will be checked and, if not, why; known before the answer exists."""

    OFF = "off"  # the policy checks nothing
    NOT_FACTUAL = "not_factual"  # the gate says that no check is needed
    NO_EVIDENCE = "no_evidence"  # a check is due, but there is no evidence that can be used
    CHECKED = "checked"  # the answer will be compared with the evidence


#: The paths of answers that have to be checked.
DUE = (CheckPath.CHECKED, CheckPath.NO_EVIDENCE)


class GateStatus(StrEnum):
    """Whether the gate decided if an answer has to be checked and, if the gate did not, why.

    The gate is a classifier that tells whether a prompt calls for a fact check.
    """

    ASKED = "asked"
    BYPASSED = "bypassed"  # checked whatever the gate says, usually because there is evidence
    NO_PROMPT = "no_prompt"  # no question was found in the request
    FAILED = "failed"
    OFF = "off"  # there is no gate, or nothing is checked anyway


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """The result of the gate, which tells whether a request calls for a fact check.

    Attributes:
        status: Whether the gate decided and, if not, why.
        result: The gate's answer, with confidence; ``None`` if the gate was not asked or failed.
            A bypassed gate is asked only if a decision rule depends on its answer, and the caller
            did not name the evidence as sources. The answer has no effect on the bypass.
        reason: The class name of the error that kept the gate from answering, or ``None``.
    """

    status: GateStatus
    result: GateResult | None = None
    reason: str | None = None

    @property
    def needs_fact_check(self) -> bool | None:
        """The gate's answer; without an answer, ``True`` if the gate was bypassed, else ``None``.

        With ``None``, it is unknown whether the request calls for a fact check.
        """
        if self.result is not None:
            return self.result.needs_fact_check
        return True if self.status is GateStatus.BYPASSED else None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        result = self.result
        return {
            "status": str(self.status),
            "needs_fact_check": self.needs_fact_check,
            "confidence": None if result is None else result.confidence,
            "probability": None if result is None else result.probability,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext(Asker):
    """Everything that is known about a request before its answer exists.

    Attributes:
        conversation: The question, and the evidence with its origin.
        gate: The result of the gate, which tells whether the request calls for a fact check.
        choice: The decision rule that applies, and why. Rules that depend on findings are unsettled
            before the check.
        policy: The policy that applies.
        limits: The limits on the number and length of sources that apply.
        path: Whether the answer is checked and, if not, why.
        detector: The name of the detector in metrics; empty if the pipeline does not have the
            detector that the tenant has chosen, or the tenant's threshold is for another kind of
            detector.
        timings_ms: Wall time by stage, in milliseconds. Equality and hash ignore it.
        readings: The values of the request's signals, such as its language, on which decision rules
            depend; ``None`` if no rules were tried, as for a request that could not be read.
        failure: The class name of the error because of which the request could not be read, so that
            its answers cannot be checked; ``None`` if the request was read.
    """

    conversation: Conversation
    gate: GateReport
    choice: ChosenDecision
    policy: Policy
    limits: SourceLimits
    path: CheckPath
    detector: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False)
    readings: SignalValues | None = field(default=None, compare=False, repr=False)
    failure: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "timings_ms", FrozenMapping(self.timings_ms))

    def to_dict(self) -> dict[str, Any]:
        """Return the context as JSON data, in the form of ``request`` in checked.schema.json."""
        conversation, decision = self.conversation, self.choice.decision
        return {
            "path": str(self.path),
            "question": conversation.question,
            "gate": self.gate.to_dict(),
            "decision": {
                "name": None if decision is None else decision.name,
                "because": list(self.choice.because),
                "unsettled": [
                    {"name": each.decision.name, "because": list(each.because)}
                    for each in self.choice.unsettled
                ],
            },
            "origin": None if conversation.origin is None else str(conversation.origin),
            "evidence": [
                {
                    "source_id": offered.source.id,
                    "title": offered.source.title,
                    "place": offered.place,
                    "n_chars": len(offered.source.text),
                }
                for offered in conversation.offered
            ],
            "lost": _counts(conversation.lost),
            "unused": _counts(conversation.unused),
            "skipped": _counts(conversation.skipped),
            "has_tools": conversation.has_tools,
            "timings_ms": dict(self.timings_ms),
        }


def _counts(counts: Mapping[Any, int]) -> dict[str, int]:
    return {str(name): count for name, count in sorted(counts.items())}

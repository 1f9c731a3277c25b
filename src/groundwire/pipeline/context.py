"""The context of a request: everything known before its answer, as one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from groundwire.detection.values import FrozenMapping
from groundwire.pipeline.conversation import Conversation
from groundwire.policy.decisions import ChosenDecision
from groundwire.policy.gate import GateResult
from groundwire.policy.policy import Overrides, Policy, Request, SourceLimits
from groundwire.policy.signals import SignalValues


class CheckPath(StrEnum):
    """Whether an answer is checked, and if not, why. It is known before the answer."""

    OFF = "off"  # the policy checks nothing
    NOT_FACTUAL = "not_factual"  # the gate says that no check is needed
    NO_EVIDENCE = "no_evidence"  # a check is due, and there is no evidence
    CHECKED = "checked"  # the answer is compared with the evidence


#: The paths of answers whose check is due.
DUE = (CheckPath.CHECKED, CheckPath.NO_EVIDENCE)


class GateStatus(StrEnum):
    """Whether the gate was asked about a request, and why not."""

    ASKED = "asked"
    BYPASSED = "bypassed"  # the request holds evidence, and so wants a check
    NO_PROMPT = "no_prompt"  # there is no question that could be read
    FAILED = "failed"
    OFF = "off"  # there is no gate, or nothing is checked anyway


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """The result of the gate for a request. Without a result, a check is due.

    Attributes:
        status: Whether the gate was asked.
        result: Its decision, with confidence; ``None`` unless it was asked and answered. For a
            request that bypasses the gate, only decisions read it.
        reason: The class name of the error that it raised, or ``None``.
    """

    status: GateStatus
    result: GateResult | None = None
    reason: str | None = None

    @property
    def is_check_due(self) -> bool:
        """Whether the answer has to be checked."""
        is_bypassed = self.status is GateStatus.BYPASSED
        return is_bypassed or self.result is None or self.result.needs_fact_check

    @property
    def needs_fact_check(self) -> bool | None:
        """Whether a check is due, for signals; ``None`` if the gate did not say."""
        if self.result is not None:
            return self.result.needs_fact_check
        return True if self.status is GateStatus.BYPASSED else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data."""
        result = self.result
        return {
            "status": str(self.status),
            "needs_fact_check": self.needs_fact_check,
            "confidence": None if result is None else result.confidence,
            "probability": None if result is None else result.probability,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """Everything known of a request before its answer.

    Attributes:
        conversation: The question, and the evidence with its origin.
        gate: The result of the gate.
        choice: The decision that applies, and why. Decisions that depend on findings are unsettled
            until the check.
        policy: The policy that holds.
        limits: The limits of evidence that hold.
        path: Whether the answer is checked.
        tenant: The tenant; sources read for one tenant are never used for another.
        overrides: The tenant's own settings.
        detector: The name of the detector in metrics; empty if the tenant's own is not possible.
        request: The wishes of the request beyond the policy.
        timings_ms: Wall time by stage, in milliseconds; no part of equality, nor of the hash.
        readings: The signals read so far; ``None`` if none had to be read.
        failure: The class name of what kept the request from being read; its answers are
            ``unavailable``. ``None`` if it was read.
    """

    conversation: Conversation
    gate: GateReport
    choice: ChosenDecision
    policy: Policy
    limits: SourceLimits
    path: CheckPath
    tenant: str = ""
    overrides: Overrides | None = None
    detector: str = ""
    request: Request | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False)
    readings: SignalValues | None = field(default=None, compare=False, repr=False)
    failure: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "timings_ms", FrozenMapping(self.timings_ms))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data, in the shape of ``groundwire/schemas/checked.schema.json``."""
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

"""The results of checked answers: frozen values, and their JSON form."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from groundwire.detection.values import Claim, Detection, FrozenMapping, Outcome, Reason, worst
from groundwire.explain import Explanation
from groundwire.explain.repair import Edit
from groundwire.pipeline.context import CheckPath, RequestContext
from groundwire.pipeline.conversation.response import Answer, AnswerKind
from groundwire.policy.policy import Action, Policy, Ruling, decide, strongest


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of the check of one answer.

    Attributes:
        context: The context of the request, with the decision and the policy after the check.
        answer: The answer, with its text and kind.
        ruling: The outcome of the check, and the action that the policy requires.
        detection: The result of the detector, without the findings that the explainer dropped;
            ``None`` if nothing was judged or the check failed as a whole.
        explanations: One explanation for each span of the detection, in order; empty if the
            explainer was not asked.
        dropped: Explanations of spans that were dropped because the evidence supports them.
        reason: The reason why the answer was not checked, in a word: the class name of an error,
            ``detector_failed``, ``not_factual``, ``unread_answer``, the kind of an answer that is
            not a text, or the word that :meth:`.Pipeline.unavailable` was given. ``None`` if the
            answer was checked, and for a text if the policy is off.
        pointers: The JSON Pointer of each span of a ``structured`` answer, in the order of the
            spans. The pointer is empty for a span in the answer's prose, and for a span in the
            answer's only JSON document if :func:`.leaves_of` cannot read this document.
        unexplained: The class name of the error because of which the explainer has no verdict on
            some findings, or ``None``.
        edits: The changes that repair the answer, in reading order, if the action is ``repair``. If
            a stream is blocked later, the changes in the text that was already sent are kept.
            Otherwise empty.
        timings_ms: Wall time by stage in milliseconds, including stages of the request. Equality
            and hash ignore it.
    """

    context: RequestContext
    answer: Answer
    ruling: Ruling
    detection: Detection | None = None
    explanations: tuple[Explanation, ...] = ()
    dropped: tuple[Explanation, ...] = ()
    reason: str | None = None
    unexplained: str | None = None
    pointers: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "timings_ms", FrozenMapping(self.timings_ms))

    @property
    def path(self) -> CheckPath:
        """The path of the request: whether its answers are checked and, if not, why."""
        return self.context.path

    @property
    def outcome(self) -> Outcome:
        """The outcome of the check."""
        return self.ruling.outcome

    @property
    def action(self) -> Action:
        """The action that the policy requires."""
        return self.ruling.action

    def blocked(self) -> Self:
        """Return the result with the action ``block``, for an answer whose repair is not sent.

        The result has no edits.
        """
        return replace(self, ruling=replace(self.ruling, action=Action.BLOCK), edits=())

    @property
    def n_clear(self) -> int:
        """The number of characters, from the beginning of the answer, that may be shown.

        All characters may be shown, unless the action is ``block``. With ``block``, at most the
        characters before the first claim that the policy would block or repair may be shown.
        """
        if self.action is not Action.BLOCK:
            return len(self.answer.text)
        policy, found = self.context.policy, self.detection
        if found is None or decide(policy, Outcome.PARTIAL).withholds:
            return 0  # nothing was judged, or the policy withholds answers that are partly checked
        asks = (asks_to_withhold(policy, claim) for claim in found.claims)
        first = next((i for i, is_asked in enumerate(asks) if is_asked), 0)
        clear = found.claims[first - 1].end if first else 0
        # Of a structured answer only prose can be shown in part: half a JSON document is useless.
        return clear if self.answer.kind is AnswerKind.TEXT else min(clear, self.answer.n_prose)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data, without the context of the request."""
        ruling, detection = self.ruling, self.detection
        return {
            "index": self.answer.index,
            "kind": str(self.answer.kind),
            "path": str(self.path),
            "outcome": str(ruling.outcome),
            "reason": self.reason,
            "action": str(ruling.action),
            "label": None if ruling.label is None else str(ruling.label),
            "severity": ruling.severity,
            "is_failure": ruling.is_failure,
            "detection": None if detection is None else detection.to_dict(),
            "explanations": [each.to_dict() for each in self.explanations],
            "dropped": [each.to_dict() for each in self.dropped],
            "unexplained": self.unexplained,
            "pointers": list(self.pointers),
            "edits": [each.to_dict() for each in self.edits],
            "timings_ms": dict(self.timings_ms),
        }


def asks_to_withhold(policy: Policy, claim: Claim) -> bool:
    """Return whether a policy requires the action ``repair`` or ``block`` because of a claim."""
    rulings = [
        decide(policy, Outcome.HALLUCINATED, label=span.label, severity=span.severity)
        for span in claim.spans
    ]
    if claim.reason is not None:
        rulings.append(decide(policy, _OUTCOMES.get(claim.reason, Outcome.PARTIAL)))
    return any(ruling.withholds for ruling in rulings)


_OUTCOMES = {Reason.DETECTOR_FAILED: Outcome.UNAVAILABLE, Reason.NO_EVIDENCE: Outcome.UNVERIFIED}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedResponse:
    """The results for all answers of a response, in the order of the answers."""

    context: RequestContext
    answers: tuple[Checked, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of the answers; ``skipped`` without answers."""
        return worst(checked.outcome for checked in self.answers)

    @property
    def action(self) -> Action:
        """The strongest action that an answer requires; ``none`` without answers."""
        return strongest(checked.action for checked in self.answers)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON data, as ``detection/schemas/checked.schema.json`` says."""
        return {
            "outcome": str(self.outcome),
            "action": str(self.action),
            "request": self.context.to_dict(),
            "answers": [checked.to_dict() for checked in self.answers],
        }

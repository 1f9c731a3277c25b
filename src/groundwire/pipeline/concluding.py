"""The last step of a check: from the findings in an answer to the action."""

import logging
from dataclasses import dataclass, replace
from functools import partial

from groundwire.detection.similarity import without_short
from groundwire.detection.source_limits import account_for
from groundwire.detection.values import Detection, Outcome, Reason
from groundwire.explain import Explained
from groundwire.explain.repair import Edit, Mender
from groundwire.pipeline.answer_stream import DetectorResult
from groundwire.pipeline.checked import Checked, asks_to_withhold
from groundwire.pipeline.context import DUE, CheckPath, RequestContext
from groundwire.pipeline.conversation.response import Answer, AnswerKind
from groundwire.pipeline.explaining import Remembered, as_explained
from groundwire.pipeline.policy_resolver import Decider
from groundwire.pipeline.timings import timed, with_total
from groundwire.policy.policy import Action, rule, rule_outcome

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Concluder:
    """Turns the detector's findings in one answer into a result, even while the answer arrives.

    ``mender`` repairs the answer; without a mender, the action ``repair`` becomes ``block``.
    ``ignores_short`` is true if an answer can be grounded although some of its sentences are too
    short for the similarity detector to compare them.
    """

    context: RequestContext
    mender: Mender | None
    decider: Decider
    explainer: Remembered | None
    ignores_short: bool

    def __call__(self, answer: Answer, found: DetectorResult) -> Checked:
        """Explain the findings and apply the policy; after an error, the check counts as failed."""
        try:
            checked = self._conclude(answer, found)
        except Exception as error:  # noqa: BLE001 - after any error, the check counts as failed
            checked = self._conclude(answer, DetectorResult.failed(error))
        if checked.action is not Action.REPAIR:
            return checked
        edits = () if found.structured else self._edits(checked, is_whole=found.is_whole)
        return replace(checked, edits=edits) if edits else checked.blocked()

    def _edits(self, checked: Checked, *, is_whole: bool) -> tuple[Edit, ...]:
        """Return the changes that repair an answer; none if it cannot be repaired.

        A whole answer is checked again with the changes. If the changed answer is not grounded, the
        result is empty.
        """
        detection, lost = checked.detection, self.context.conversation.lost
        if self.mender is None or detection is None or lost or checked.answer.n_skipped:
            return ()
        try:
            edits = self.mender.repairs(
                detection,
                asks=partial(asks_to_withhold, checked.context.policy),
                seconds=self.context.repair_s,
            )
            if edits and is_whole and not self.mender.repaired(checked.answer.text, edits):
                return ()
        except Exception as error:  # noqa: BLE001 - after any error, nothing is repaired
            log.warning("An answer could not be repaired: %s", type(error).__name__)
            return ()
        return edits

    def _conclude(self, answer: Answer, found: DetectorResult) -> Checked:
        context = self.context
        timings = dict(context.timings_ms)
        if context.path not in DUE or found.failure or found.detection is None:
            outcome, reason = _without_detection(context, answer, found)
            return Checked(
                context=context,
                answer=answer,
                ruling=rule_outcome(context.policy, outcome),
                reason=reason,
                timings_ms=with_total(timings),
            )
        timings |= {k: v for k, v in found.detection.timings_ms.items() if k != "total"}
        unread = {Reason.UNREAD_ANSWER: answer.n_skipped}
        lost = context.conversation.lost
        detection = account_for(
            found.detection, {**lost, **unread}, dropped_chars=context.conversation.dropped_chars
        )
        explained = Explained(detection=detection, explanations=())
        if self.explainer is not None and context.policy.explain and detection.spans:
            with timed(timings, "explain"):
                explained = _explain(self.explainer, context, detection)
            detection = as_explained(explained.detection, explained.explanations)
        if self.ignores_short:
            detection = without_short(detection)
        context = self.decider.settle(context, detection)
        failed = Reason.DETECTOR_FAILED if detection.outcome is Outcome.UNAVAILABLE else None
        checked = Checked(
            context=context,
            answer=answer,
            ruling=rule(context.policy, detection),
            detection=detection,
            explanations=explained.explanations,
            dropped=explained.dropped,
            reason=None if failed is None else str(failed),
            unexplained=explained.reason,
            timings_ms=with_total(timings),
        )
        return checked if found.structured is None else found.structured.place(checked, detection)


def _explain(explainer: Remembered, context: RequestContext, detection: Detection) -> Explained:
    try:
        return explainer.explain(detection, context.conversation.sources)
    except Exception as error:  # noqa: BLE001 - after any error, the spans stay marked
        log.warning("Findings could not be explained: %s", type(error).__name__)
        return Explained.failed(detection, type(error).__name__)


def _without_detection(
    context: RequestContext, answer: Answer, found: DetectorResult
) -> tuple[Outcome, str | None]:
    """Return the outcome of an answer that has no detection, and the reason for this outcome.

    The reason is ``None`` only if the policy is off, the answer is a text, and nothing failed.
    """
    is_due = context.path in DUE
    if context.path is CheckPath.NOT_FACTUAL:
        return Outcome.SKIPPED, str(CheckPath.NOT_FACTUAL)
    if answer.kind is AnswerKind.TEXT or (answer.has_statements and found.failure):
        return Outcome.UNAVAILABLE if is_due else Outcome.SKIPPED, found.failure
    if answer.n_skipped and is_due:
        # Parts that were skipped, such as sound or images, may make statements too.
        return Outcome.PARTIAL, str(Reason.UNREAD_ANSWER)
    return Outcome.SKIPPED, str(answer.kind)

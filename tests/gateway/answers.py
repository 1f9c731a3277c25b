"""Checked answers as tests of the gateway have them: from the real pipeline, with a fixed judge."""

from typing import Any

from groundwire.detection.values import Entailment, EvidenceRef
from groundwire.explain import Explainer
from groundwire.pipeline import Checked, Pipeline
from groundwire.policy.policy import Action, Policy
from tests.fixed_judge import FixedJudge
from tests.pipeline.chats import EXPLAINER, FACTS, QUESTION, WRONG, answered, asked, judged, piped

HEADER = Policy(action=Action.HEADER)
BLOCK = Policy(action=Action.BLOCK)


def cannot(claim: str, evidence: tuple[EvidenceRef, ...]) -> Entailment:
    """Stands for a model that fails."""
    raise OSError("out of memory")


BROKEN_EXPLAINER = Explainer(cannot)


def policy_of(action: str, **more: Any) -> Policy:  # noqa: ANN401
    """A policy with an action."""
    return Policy(action=Action(action), **more)


def checked(
    *contents: object,
    policy: Policy = HEADER,
    body: dict[str, Any] | None = None,
    judge: FixedJudge | None = None,
    **stages: Any,  # noqa: ANN401
) -> tuple[Checked, ...]:
    """The answers of a response; without more, HaluGate's documented wrong one, explained."""
    with piped(judge, **{"explainer": EXPLAINER, "policy": policy, **stages}) as pipeline:
        return checked_by(pipeline, *contents, body=body)


def checked_by(
    pipeline: Pipeline, *contents: object, body: dict[str, Any] | None = None
) -> tuple[Checked, ...]:
    """The same, by a pipeline."""
    context = pipeline.open(asked(QUESTION, FACTS) if body is None else body, tenant="acme")
    return pipeline.check_response(context, answered(*(contents or (WRONG,)))).answers


def unverified(policy: Policy = HEADER) -> tuple[Checked, ...]:
    """An answer without evidence."""
    return checked(policy=policy, body=asked(QUESTION))


def unavailable(policy: Policy = HEADER) -> tuple[Checked, ...]:
    """An answer whose check failed."""
    return checked(policy=policy, judge=judged(fails_at="open"))


def partial(policy: Policy = HEADER) -> tuple[Checked, ...]:
    """An answer of which a sentence cannot be read, and in which nothing was found."""
    judge = FixedJudge(doubtful={}, cannot_read="埃菲尔")
    text = "The Eiffel Tower is in Paris, France. 埃菲尔 铁塔 很高."
    return checked(text, policy=policy, judge=judge)

"""Writes verdicts as scores in Langfuse."""

from typing import Any

from groundwire.compat.verdict import HostVerdict
from groundwire.errors import needs_extra
from groundwire.explain.repair import Repair

with needs_extra("Scores for Langfuse", "langfuse"):
    from langfuse import Langfuse, get_client

#: Names of the two scores in Langfuse.
STATUS, SCORE = "groundedness", "groundedness_score"
#: The name under which Langfuse shows a correction of an output.
CORRECTION = "output"


def record_scores(
    verdict: HostVerdict,
    *,
    trace_id: str | None = None,
    observation_id: str | None = None,
    score_id: str | None = None,
    repair: Repair | None = None,
    with_reason: bool = True,
    client: Langfuse | None = None,
) -> None:
    """Write a verdict as scores of an observation or a whole trace.

    The score ``groundedness`` is a category: ``passed``, ``failed`` or ``not checked``. The score
    ``groundedness_score`` is a number, and missing if the answer was not checked. A repaired answer
    is written as the correction of the output. Langfuse's client sends everything in the
    background.

    Args:
        verdict: The verdict.
        trace_id: Id of the trace; by default that of Langfuse's current span.
        observation_id: Id of the observation; by default that of the current span. If only
            ``trace_id`` is given, the scores are those of the whole trace.
        score_id: Prefix of the scores' ids. Scores that are written later with the same prefix
            replace the earlier ones.
        repair: The repair of the same answer.
        with_reason: Whether the comment on the scores is the reason, which quotes the answer and
            its evidence.
        client: The client; by default that of ``langfuse.get_client``.

    Raises:
        ValueError: If no trace is given and there is no current span.
    """
    client = client or get_client()
    if trace_id is None:
        trace_id = client.get_current_trace_id()
        observation_id = observation_id or client.get_current_observation_id()
    if trace_id is None:
        raise ValueError(
            "There is no current span of Langfuse, so nothing can be scored. Call record_scores "
            "within a span, or give trace_id."
        )
    comment = verdict.reason if with_reason else None
    values: list[tuple[str, str, str | float | None]] = [
        (STATUS, "CATEGORICAL", verdict.status),
        (SCORE, "NUMERIC", verdict.score),
        (CORRECTION, "CORRECTION", repair.answer if repair and repair.after else None),
    ]
    for name, data_type, value in values:
        if value is not None:
            about: dict[str, Any] = {
                "data_type": data_type,
                "trace_id": trace_id,
                "observation_id": observation_id,
                "score_id": f"{score_id}-{name}" if score_id else None,
                "comment": comment if name != CORRECTION else None,
                "metadata": {"outcome": str(verdict.checked.outcome)},
            }
            client.create_score(name=name, value=value, **about)

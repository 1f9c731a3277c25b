"""NeMo Guardrails: the endpoint for its rail ``alignscore check facts``, as in 0.24.

NeMo treats an error as a pass, unless it falls back to a check of its own. So in place of an error,
such as a wrong key or a check that fails, NeMo gets the score 0 (see ``problem_response``).
"""

from fastapi import Request, Response

from groundwire.detection.values import Outcome
from groundwire.gateway.integrations import host_checks as checks
from groundwire.gateway.native.running import answered
from groundwire.pipeline import Checked

PATHS = ("/alignscore_base", "/alignscore_large")

#: NeMo withholds an answer whose score is below this value.
_PASSES = 0.5

router = checks.host_router()


class AlignScoreRequest(checks.HostModel):
    """A claim, which is the answer, and its evidence."""

    evidence: list[str] | str
    claim: str


@router.post(PATHS[0])
@router.post(PATHS[1])
async def align_score(request: Request, body: AlignScoreRequest) -> Response:
    """Return a score of how well the evidence supports an answer; 0.5 or more passes."""
    sources = [body.evidence] if isinstance(body.evidence, str) else body.evidence
    checked = await checks.check_answer(request, body.claim, sources=sources, question=None)
    return answered({"alignscore": score(checked), "outcome": str(checked.outcome)})


def score(checked: Checked) -> float:
    """Return a score in [0, 1]: at least 0.5 for a grounded or skipped answer, less for others."""
    if not checks.is_checked([checked]):
        return 0.0
    detection = checked.detection
    threshold = None if detection is None else detection.detector.threshold
    if not threshold:
        return float(checked.outcome is not Outcome.HALLUCINATED)
    doubted = checks.doubt(checked)
    if checked.outcome is Outcome.HALLUCINATED:
        return max(0.0, min(_PASSES * (1 - doubted) / max(1 - threshold, 1e-9), _PASSES - 0.001))
    return max(1 - (1 - _PASSES) * doubted / threshold, _PASSES)

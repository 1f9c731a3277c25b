"""A wrapper around a verifier that reports progress, and stops if the call is cancelled."""

from collections.abc import Sequence

from groundwire.mcp.tool import Watch
from groundwire.verify.verifier import (
    ClaimQuestion,
    FailureKind,
    Judged,
    Verifier,
    VerifierFailure,
    ask,
)

#: Limit on the questions that are asked together. After these, progress is reported.
PART = 16

_CANCELLED = VerifierFailure(
    kind=FailureKind.VERIFIER, error="The call was cancelled before this was read."
)


class ReportingVerifier:
    """A verifier that passes questions on to another verifier, in parts, and reports progress."""

    def __init__(self, verifier: Verifier, watch: Watch) -> None:
        self.name, self.model = verifier.name, verifier.model
        self.claim_map = getattr(verifier, "claim_map", None)
        self._verifier, self._watch, self._n_read = verifier, watch, 0

    def judge(self, questions: Sequence[ClaimQuestion]) -> list[Judged]:
        """Answer the questions, in order; once the call is cancelled, further questions fail."""
        answers: list[Judged] = []
        for at in range(0, len(questions), PART):
            part = questions[at : at + PART]
            is_over = self._watch.is_over()
            answers += [_CANCELLED] * len(part) if is_over else ask(self._verifier, part)
            self._n_read += len(part)
            self._watch.tell(self._n_read, None, f"{self._n_read} readings")
        return answers

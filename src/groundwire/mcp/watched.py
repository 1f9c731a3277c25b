"""A verifier that reports its progress, and stops when nobody waits any longer."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from groundwire.mcp.tool import Watch
from groundwire.verify.verifier import (
    ClaimQuestion,
    FailureKind,
    Judged,
    Verifier,
    VerifierFailure,
    ask,
)

_CANCELLED = VerifierFailure(
    kind=FailureKind.VERIFIER, error="The call was cancelled before this was read."
)


class Watched:
    """Another verifier, asked in parts.

    Args:
        verifier: The verifier that answers.
        watch: Progress, and whether anyone still waits.
        part: Questions that are asked together. A verifier that groups them needs several.
        side_by_side: Parts that are asked at a time. More than one is for a verifier whose answers
            cost nothing: equal questions are asked once here, and there they would count as one.
    """

    def __init__(
        self, verifier: Verifier, watch: Watch, *, part: int = 1, side_by_side: int = 1
    ) -> None:
        self.name, self.model = verifier.name, verifier.model
        self._verifier, self._watch = verifier, watch
        self._part, self._side_by_side = part, side_by_side
        self._done = self._total = 0

    def judge(self, questions: Sequence[ClaimQuestion]) -> list[Judged]:
        """Answer each question, in their order; those that nobody waits for fail."""
        asked = list(dict.fromkeys(questions)) if self._side_by_side > 1 else list(questions)
        self._begin(len(asked))
        parts = [asked[at : at + self._part] for at in range(0, len(asked), self._part)]
        answers: dict[int, Sequence[Judged]] = {}
        with ThreadPoolExecutor(self._side_by_side, "groundwire-mcp") as pool:
            running = {pool.submit(ask, self._verifier, part): at for at, part in enumerate(parts)}
            for future in as_completed(running):
                if self._watch.is_over():
                    for each in running:
                        each.cancel()
                at = running[future]
                is_cancelled = future.cancelled()
                answers[at] = [_CANCELLED] * len(parts[at]) if is_cancelled else future.result()
                self._advance(len(parts[at]))
        judged = [each for at in range(len(parts)) for each in answers[at]]
        if self._side_by_side == 1:
            return judged
        known = dict(zip(asked, judged, strict=True))
        return [known[question] for question in questions]

    def _begin(self, n: int) -> None:
        """Take up ``n`` questions more; how many come after the first ones is not known."""
        if self._total:
            # Fewer come than could have, for some claims are settled.
            self._done = max(self._done, self._total - n)
            self._total = self._done + n
        else:
            self._total = 2 * n

    def _advance(self, n: int) -> None:
        self._done += n
        message = f"{self._done} of about {self._total} readings"
        self._watch.tell(self._done, self._total, message)

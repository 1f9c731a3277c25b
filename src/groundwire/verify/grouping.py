"""Groups of questions about the same evidence, which share a call of an endpoint."""

from collections.abc import Iterator, Sequence

from groundwire.verify.prompts import prompt_for
from groundwire.verify.verifier import ClaimQuestion


def plan_groups(
    questions: Sequence[ClaimQuestion], *, max_size: int, max_chars: int
) -> Iterator[tuple[int, ...]]:
    """Divide questions, no two of them equal, into calls. Each call is a tuple of positions.

    A question whose own prompt is longer than ``max_chars`` has a call of its own.
    """
    by_evidence: dict[object, list[int]] = {}
    for position, question in enumerate(questions):
        by_evidence.setdefault(question.evidence, []).append(position)
    for positions in by_evidence.values():
        yield from _divided(questions, positions, max_size=max_size, max_chars=max_chars)


def _divided(
    questions: Sequence[ClaimQuestion], positions: Sequence[int], *, max_size: int, max_chars: int
) -> Iterator[tuple[int, ...]]:
    group: list[int] = []
    for position in positions:
        claims = [questions[each].claim for each in (*group, position)]
        evidence = questions[position].evidence
        fits = len(claims) <= max_size and (
            len(claims) == 1 or len(prompt_for(claims, evidence).text) <= max_chars
        )
        if not fits:
            yield tuple(group)
            group = []
        group.append(position)
    if group:
        yield tuple(group)

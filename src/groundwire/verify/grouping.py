"""Groups of questions about the same evidence, which share a call of an endpoint."""

from collections.abc import Iterator, Sequence

from groundwire.verify.prompts import prompt_for
from groundwire.verify.verifier import ClaimQuestion


def plan_groups(
    questions: Sequence[ClaimQuestion], *, max_size: int, max_chars: int
) -> Iterator[tuple[ClaimQuestion, ...]]:
    """Divide questions, no two of them equal, into calls.

    A question whose own prompt is longer than ``max_chars`` has a call of its own.
    """
    by_evidence: dict[object, list[ClaimQuestion]] = {}
    for question in questions:
        by_evidence.setdefault(question.evidence, []).append(question)
    for alike in by_evidence.values():
        group: list[ClaimQuestion] = []
        for question in alike:
            claims = [each.claim for each in (*group, question)]
            is_long = len(prompt_for(claims, question.evidence).text) > max_chars
            if group and (is_long or len(group) == max_size):
                yield tuple(group)
                group = []
            group.append(question)
        yield tuple(group)

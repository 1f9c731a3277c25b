"""The pairs of cases by other authors are well-formed; how many a model passes is not tested."""

import pytest

from tests.cases.pairs import Pair, pairs

ALL = [
    pair
    for kind in ("claims", "answers")
    for seen in (False, True)
    for pair in pairs(kind, seen=seen)
]


@pytest.mark.parametrize("seen", [False, True])
def test_there_are_two_hundred_claims_and_sixty_mistaken_answers(seen: bool) -> None:
    assert (len(pairs("claims", seen=seen)), len(pairs("answers", seen=seen))) == (100, 60)


@pytest.mark.parametrize("pair", ALL, ids=lambda pair: pair.wrong.id)
def test_a_pair_differs_in_a_mistake_alone(pair: Pair) -> None:
    wrong, right = pair.wrong, pair.right
    assert wrong.sources == right.sources
    assert (wrong.question, wrong.kind) == (right.question, right.kind)
    assert right.is_faithful
    assert wrong.marked
    for part in wrong.marked:
        assert wrong.answer.count(part) == 1, f"{part!r} stands not exactly once in the answer"

"""Rows on which there is no verdict, in words: how many there are, and what scores make of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_MISSED = "missed if hallucinated, else in no score"


@dataclass(frozen=True, slots=True, kw_only=True)
class Without:
    """A reason for which there is no verdict.

    Attributes:
        key: How many rows that is, in :meth:`.evaluation.Evaluation.to_dict`.
        title: Of them, in a list.
        one: What is said of one of them.
        many: The same of several.
        counts: What scores make of them.
    """

    key: str
    title: str
    one: str
    many: str
    counts: str


#: All there are; a row has at most one.
WITHOUT = (
    Without(
        key="n_unreadable",
        title="rows not read",
        one="row could not be read",
        many="rows could not be read",
        counts="in no score",
    ),
    Without(
        key="n_failed_checks",
        title="failed checks",
        one="check failed",
        many="checks failed",
        counts=_MISSED,
    ),
    Without(
        key="n_unchecked",
        title="nothing checked",
        one="answer was not checked at all",
        many="answers were not checked at all",
        counts=_MISSED,
    ),
)


def told(scores: Mapping[str, Any]) -> Iterator[str]:
    """What is to be said of the rows without a verdict; nothing if there are none.

    Args:
        scores: Of :meth:`.evaluation.Evaluation.to_dict`.
    """
    for each in WITHOUT:
        if n := scores[each.key]:
            yield f"{n:,} {each.one if n == 1 else each.many} ({each.counts})"

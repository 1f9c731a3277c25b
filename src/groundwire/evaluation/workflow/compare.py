"""Two models on the same questions: which of them hallucinates more often, and is that chance?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from groundwire.evaluation.intervals import Bootstrap, Interval
from groundwire.evaluation.metrics import Bools
from groundwire.evaluation.scores import defined
from groundwire.evaluation.workflow.flips import Numbers, differences, flipped
from groundwire.evaluation.workflow.pairs import Asked, CompareError, Pairs, read_asked
from groundwire.evaluation.workflow.stage import Stage, read_stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two models.

    Attributes:
        name: Its name.
        n_answers: All its answers.
        n_used: Those that the comparison is of: with a verdict, to a question that pairs.
        n_worse: Questions of which its answers are hallucinated more often than the other's.
        rate: Hallucinated answers, as the mean over questions.
    """

    name: str
    n_answers: int
    n_used: int
    n_worse: int
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What became of pairs of one answer each: hallucinated by both, by one alone, by neither."""

    both: int
    only_first: int
    only_second: int
    neither: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two models on the questions that both have a verdict for.

    Where a question has several answers, their mean counts.

    Attributes:
        first: One model.
        second: The other.
        n_pairs: Questions of which both have an answer with a verdict.
        n_contexts: Different sources among these.
        table: What became of the pairs; ``None`` where a question has several answers.
        difference: The second's rate less the first's, with a bootstrap interval by context.
        p_value: Of :func:`.flips.sign_flip` by context: how likely so large a difference is if each
            context might as well have favoured the other model.
        p_method: How it was found.
        n_only_in_first: Questions that the second was not asked.
        n_only_in_second: The other way round.
        n_changed: Questions of the same id with other words or other sources.
        n_without_verdict: Questions of both of which one model, or both, has no verdict.
    """

    first: Side
    second: Side
    n_pairs: int
    n_contexts: int
    table: Table | None
    difference: Interval
    p_value: float
    p_method: str
    n_only_in_first: int
    n_only_in_second: int
    n_changed: int
    n_without_verdict: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        interval, table = self.difference, self.table
        return {
            "first": self.first.name,
            "second": self.second.name,
            "n_pairs": self.n_pairs,
            "n_contexts": self.n_contexts,
            "rate_first": self.first.rate,
            "rate_second": self.second.rate,
            "difference": interval.value,
            "ci95": [defined(interval.low), defined(interval.high)],
            "worse_first": self.first.n_worse,
            "worse_second": self.second.n_worse,
            "alike": self.n_pairs - self.first.n_worse - self.second.n_worse,
            **{name: None if table is None else getattr(table, name) for name in _TABLE},
            "answers_first": {"n": self.first.n_answers, "n_used": self.first.n_used},
            "answers_second": {"n": self.second.n_answers, "n_used": self.second.n_used},
            "p_value": self.p_value,
            "p_method": self.p_method,
            "unpaired": {
                "only_in_first": self.n_only_in_first,
                "only_in_second": self.n_only_in_second,
                "changed": self.n_changed,
                "without_verdict": self.n_without_verdict,
            },
        }


_TABLE = tuple(Table.__dataclass_fields__)


def compare(
    before: Path, now: Path, *, first: str | None = None, second: str | None = None
) -> Comparison:
    """Compare two models, paired by the ids of their questions.

    Args:
        before: What :func:`.classify.classify` wrote.
        now: The same file, or another.
        first: A model in the first file; needed if it has several.
        second: One in the second.

    Raises:
        StageError: If a file is none of classified answers.
        CompareError: If they were judged differently, a model is not there, or nothing pairs.
    """
    _require_same_judge(read_stage(before, "classify"), read_stage(now, "classify"))
    is_same = before.resolve() == now.resolve()
    if is_same and (first is None) != (second is None):
        raise CompareError("Name both models of the file.")
    was = read_asked(before, first, 0 if is_same else None)
    is_ = read_asked(now, second, 1 if is_same else None)
    if is_same and was.name == is_.name:
        raise CompareError(f"{was.name[:80]!r} would be compared with itself: name two models.")
    return _compared(was, is_)


def _compared(first: Asked, second: Asked) -> Comparison:
    found = Pairs.of(first, second)
    pairs = found.pairs
    if not pairs:
        raise _nothing_pairs(first, second, found)
    a, b = (np.array([(c.n_hallucinated, c.n) for c in side]) for side in zip(*pairs, strict=True))
    means = np.column_stack([b[:, 0] / b[:, 1] - a[:, 0] / a[:, 1], np.ones(len(pairs))])
    bootstrap = Bootstrap.of([was.context for was, _ in pairs])
    drawn = bootstrap.of_sums(means, lambda each: each[..., 0] / each[..., 1])
    p_value, p_method = flipped(differences(a, b), bootstrap.of_answer)
    # As whole numbers: two means that are alike must not differ by rounding.
    crossed = b[:, 0] * a[:, 1] - a[:, 0] * b[:, 1]
    return Comparison(
        first=_side(first, a, crossed < 0),
        second=_side(second, b, crossed > 0),
        n_pairs=len(pairs),
        n_contexts=bootstrap.n_contexts,
        table=_table(a, b),
        difference=drawn.interval(),
        p_value=p_value,
        p_method=p_method,
        n_only_in_first=len(first.questions) - found.n_common,
        n_only_in_second=len(second.questions) - found.n_common,
        n_changed=found.n_changed,
        n_without_verdict=found.n_without_verdict,
    )


def _nothing_pairs(first: Asked, second: Asked, found: Pairs) -> CompareError:
    return CompareError(
        f"No question pairs: {first.name[:80]!r} has {len(first.questions):,} and "
        f"{second.name[:80]!r} has {len(second.questions):,}, {found.n_common:,} ids are in both; "
        f"of these {found.n_changed:,} are other questions or sources, and of "
        f"{found.n_without_verdict:,} one model has no verdict. Ask both models the same questions."
    )


def _side(asked: Asked, counts: Numbers, is_worse: Bools) -> Side:
    return Side(
        name=asked.name,
        n_answers=asked.n_answers,
        n_used=int(counts[:, 1].sum()),
        n_worse=int(is_worse.sum()),
        rate=float(np.mean(counts[:, 0] / counts[:, 1])),
    )


def _table(a: Numbers, b: Numbers) -> Table | None:
    if max(a[:, 1].max(), b[:, 1].max()) > 1:
        return None
    was, now = a[:, 0] == 1, b[:, 0] == 1
    return Table(
        both=int((was & now).sum()),
        only_first=int((was & ~now).sum()),
        only_second=int((now & ~was).sum()),
        neither=int((~was & ~now).sum()),
    )


def _require_same_judge(before: Stage, now: Stage) -> None:
    for name in ("detector", "explainer"):
        was, is_ = before.settings.get(name), now.settings.get(name)
        if was != is_:
            raise CompareError(
                f"The answers were judged with another {name}: a difference would say nothing of "
                "the models. Judge both alike."
            )

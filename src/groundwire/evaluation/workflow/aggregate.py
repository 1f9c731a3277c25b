"""The last step: how often answers are hallucinated, how badly, of which model, in which category.

A rate is one of verdicts: hallucinated answers among those that are hallucinated or grounded. What
was not checked in full, or not at all, is told apart and never counts as grounded; between which
bounds the rate of all answers lies, whatever they are, is told as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundwire.errors import SettingError
from groundwire.evaluation.intervals import Bootstrap, Interval, wilson
from groundwire.evaluation.metrics import Bools, ratios
from groundwire.evaluation.workflow.compare import compare
from groundwire.evaluation.workflow.pairs import CompareError
from groundwire.evaluation.workflow.rows import (
    MAX_SEVERITY,
    N_VERDICTS,
    OUTCOMES,
    Answers,
    read_classified,
)

_PER = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What tokens cost, in dollars a million.

    Attributes:
        read: Model → of those that it reads; the empty name stands for any other model.
        written: The same of those that it writes.
    """

    read: Mapping[str, float]
    written: Mapping[str, float]

    @classmethod
    def of(cls, read: Sequence[str], written: Sequence[str]) -> "Prices":
        """Read ``2.5``, or ``model=2.5``, as options have it.

        Raises:
            SettingError: If one is no price.
        """
        return cls(read=_prices("price-in", read), written=_prices("price-out", written))

    def cost(self, model: str, n_read: int, n_written: int) -> float | None:
        """In dollars; ``None`` if a price is not known."""
        prices = [each.get(model, each.get("")) for each in (self.read, self.written)]
        if None in prices:
            return None
        per_read, per_written = (each or 0.0 for each in prices)
        return (n_read * per_read + n_written * per_written) / _PER


def aggregate(
    path: Path,
    *,
    by: str | None = None,
    prices: Prices | None = None,
    compares: bool = True,
) -> dict[str, Any]:
    """What a file of classified answers comes to, as JSON data; ratios are in [0, 1].

    Args:
        path: What :func:`.classify.classify` wrote.
        by: A further column whose values are told apart.
        prices: Of tokens.
        compares: Whether each further model is compared with the first.

    Raises:
        StageError: If it is no such file.
    """
    read = read_classified(path, by=by)
    answers, costs = read.answers, prices or Prices(read={}, written={})
    groups = {
        name: _model(answers.take(answers.models == i), name, read.tasks, costs)
        for i, name in enumerate(read.models)
    }
    every = measured(answers)
    spent = [each["cost"] for each in groups.values()]
    found = {
        **every,
        "cost": None if None in spent else sum(spent),
        "errors": dict(read.errors),
        "models": groups,
        "tasks": _each(answers, answers.tasks, read.tasks),
    }
    if by is not None:
        found["by"] = {by: _each(answers, answers.values, read.values)}
    if compares and len(read.models) > 1:
        first, *others = read.models
        found["comparisons"] = [_against(path, first, other) for other in others]
    stage = read.stage
    return {
        **found,
        "detector": stage.settings.get("detector"),
        "explainer": stage.settings.get("explainer"),
        "data": dict(stage.data),
        "groundwire": stage.version,
    }


def measured(answers: Answers) -> dict[str, Any]:
    """What some answers come to."""
    counts = np.bincount(answers.outcomes, minlength=len(OUTCOMES)).tolist()
    n, n_hallucinated, n_verdicts = len(answers), counts[0], sum(counts[:N_VERDICTS])
    with_verdict = answers.take(answers.outcomes < N_VERDICTS)
    wrong = answers.take(answers.outcomes == 0)
    n_spans = int(wrong.spans.sum())
    n_contradicted = int(wrong.contradicted_spans.sum())
    return {
        "n": n,
        "n_verdicts": n_verdicts,
        "outcomes": dict(zip(OUTCOMES, counts, strict=True)),
        "n_hallucinated": n_hallucinated,
        **_named("rate", with_verdict.outcomes == 0, with_verdict.contexts),
        "bounds": [n_hallucinated / n, (n_hallucinated + n - n_verdicts) / n] if n else None,
        "contradiction": {
            "n": int(wrong.contradicted.sum()),
            **_named("ratio", wrong.contradicted, wrong.contexts),
            "n_spans": n_contradicted,
            "span_ratio": n_contradicted / n_spans if n_spans else None,
        },
        "severity": {
            "answers": {
                str(i): int((answers.severity == i).sum()) for i in range(MAX_SEVERITY + 1)
            },
            "spans": {str(i): int(k) for i, k in enumerate(wrong.spans.sum(axis=0))},
        },
        "n_dropped": int(answers.dropped.sum()),
        "n_cut": int(answers.cut.sum()),
        "tokens": {
            "prompt": int(answers.tokens[:, 0].sum()),
            "completion": int(answers.tokens[:, 1].sum()),
        },
    }


def share(which: Bools, contexts: NDArray[np.uint64]) -> tuple[Interval, str]:
    """A share of answers with its 95 % interval, and how that was found.

    Where each answer has sources of its own, they are independent trials: Wilson's interval. Else
    whole contexts are resampled, and of none or all it is Wilson's as well: see
    :class:`.intervals.Replicates`.
    """
    n, n_right = len(which), int(which.sum())
    bootstrap = Bootstrap.of(contexts)
    if bootstrap.n_contexts == n:
        return wilson(n_right, n), "wilson"
    sums = bootstrap.sums(np.column_stack([which, np.ones(n)]))
    drawn = sums.of_share(lambda each: ratios(each[..., 0], each[..., 1]))
    return drawn.interval(), "wilson" if n_right in (0, n) else "bootstrap"


def ends(interval: Interval) -> list[float] | None:
    """The ends of an interval as JSON has them; ``None`` if there is none."""
    return None if isnan(interval.low) else [interval.low, interval.high]


def _named(name: str, which: Bools, contexts: NDArray[np.uint64]) -> dict[str, Any]:
    interval, method = share(which, contexts)
    found = ends(interval)
    return {
        name: None if isnan(interval.value) else interval.value,
        "ci95": found,
        "ci_method": None if found is None else method,
    }


def _against(path: Path, first: str, second: str) -> dict[str, Any]:
    try:
        return compare(path, path, first=first, second=second).to_dict()
    except CompareError as error:  # of one of them no answer has a verdict
        return {"first": first, "second": second, "problem": str(error)}


def _model(answers: Answers, name: str, tasks: Sequence[str], prices: Prices) -> dict[str, Any]:
    found = measured(answers)
    tokens = found["tokens"]
    cost = prices.cost(name, tokens["prompt"], tokens["completion"])
    return {**found, "cost": cost, "tasks": _each(answers, answers.tasks, tasks)}


def _each(
    answers: Answers, codes: NDArray[np.int64], names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    return {
        name: measured(answers.take(codes == i))
        for i, name in enumerate(names)
        if (codes == i).any()
    }


def _prices(option: str, texts: Sequence[str]) -> dict[str, float]:
    found = {}
    for text in texts:
        model, _, number = text.rpartition("=")  # a model's name may have one
        try:
            price = float(number)
        except ValueError:
            price = -1.0
        if not 0 <= price < float("inf"):
            raise SettingError(option, text, "dollars a million tokens, such as 2.5 or MODEL=2.5")
        found[model] = price
    return found

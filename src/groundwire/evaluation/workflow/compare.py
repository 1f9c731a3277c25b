"""Two models on the same questions: which of them hallucinates more often, and is that chance?"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from groundwire.detection import Outcome
from groundwire.errors import InputError
from groundwire.evaluation.intervals import Bootstrap, Interval
from groundwire.evaluation.scores import defined
from groundwire.evaluation.tuning.binomial import tosses
from groundwire.evaluation.workflow.stage import Stage, StageError, read_rows, read_stage

_VERDICTS = (Outcome.HALLUCINATED, Outcome.GROUNDED)


class CompareError(InputError):
    """Two sets of answers cannot be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two models on the questions that both have a verdict for.

    Attributes:
        first: Its name.
        second: Its name.
        n_pairs: Questions of which both answers have a verdict.
        n_contexts: Different sources among these.
        both: Pairs in which both answers are hallucinated.
        only_first: Those in which the first alone is.
        only_second: Those in which the second alone is.
        neither: The others.
        difference: The second's rate less the first's, with a bootstrap interval by context.
        p_value: Of :func:`sign_flip` by context: how likely so large a difference is if each
            context might as well have favoured the other model.
        n_only_in_first: Questions that the second was not asked.
        n_only_in_second: The other way round.
        n_changed: Questions of the same id with other words or other sources.
        n_without_verdict: Questions of both of which one answer, or both, has no verdict.
    """

    first: str
    second: str
    n_pairs: int
    n_contexts: int
    both: int
    only_first: int
    only_second: int
    neither: int
    difference: Interval
    p_value: float
    n_only_in_first: int
    n_only_in_second: int
    n_changed: int
    n_without_verdict: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        n, interval = self.n_pairs, self.difference
        return {
            "first": self.first,
            "second": self.second,
            "n_pairs": n,
            "n_contexts": self.n_contexts,
            "rate_first": (self.both + self.only_first) / n,
            "rate_second": (self.both + self.only_second) / n,
            "difference": interval.value,
            "ci95": [defined(interval.low), defined(interval.high)],
            "both": self.both,
            "only_first": self.only_first,
            "only_second": self.only_second,
            "neither": self.neither,
            "p_value": self.p_value,
            "p_method": "sign flips of contexts",
            "unpaired": {
                "only_in_first": self.n_only_in_first,
                "only_in_second": self.n_only_in_second,
                "changed": self.n_changed,
                "without_verdict": self.n_without_verdict,
            },
        }


@dataclass(frozen=True, slots=True)
class _Verdict:
    question: str
    context: str
    is_hallucinated: bool | None  # None: there is no verdict


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
    first, was = _verdicts(before, first, 0 if is_same else None)
    second, is_ = _verdicts(now, second, 1 if is_same else None)
    if is_same and first == second:
        raise CompareError(f"{first[:80]!r} would be compared with itself: name two models.")
    return _compared(first, was, second, is_)


def sign_flip(differences: ArrayLike) -> float:
    """P of so large a sum if each context's difference had either sign alike, two-sided.

    Exact, over all signs (Fisher 1935). Answers to one context share its difficulties, so they take
    one sign together: ten questions of one context are no ten tosses of a coin. Where each context
    has one question this is the exact test of McNemar (1947).

    >>> round(sign_flip([1] * 9 + [-1]), 4), sign_flip([1, -1]), sign_flip([10]), sign_flip([])
    (0.0215, 1.0, 1.0, 1.0)

    Args:
        differences: Of each context, by how many answers one model is worse; whole numbers.
    """
    found = np.asarray(differences, np.int64)
    sizes, counts = np.unique(np.abs(found[found != 0]), return_counts=True)
    # Chances of what all positive ones come to, of 0, 1, ... to the sum of all sizes.
    chances = np.ones(1)
    for size, n in zip(sizes.tolist(), counts.tolist(), strict=True):
        of_size = np.zeros(size * n + 1)
        of_size[::size] = tosses(n)
        chances = np.convolve(chances, of_size)
    least = (len(chances) - 1 + abs(int(found.sum()))) // 2
    return min(1.0, 2 * float(chances[least:].sum()))


def _compared(
    first: str, was: Mapping[str, _Verdict], second: str, now: Mapping[str, _Verdict]
) -> Comparison:
    common = [id_ for id_ in was if id_ in now]
    same = [id_ for id_ in common if was[id_].question == now[id_].question]
    pairs = [
        (was[id_].context, before, after)
        for id_ in same
        if (before := was[id_].is_hallucinated) is not None
        and (after := now[id_].is_hallucinated) is not None
    ]
    if not pairs:
        raise CompareError(
            f"No question pairs: {first[:80]!r} has {len(was):,} and {second[:80]!r} has "
            f"{len(now):,}, {len(common):,} ids are in both, and of {len(same):,} of these the "
            "questions and sources are the same. Ask both models the same questions."
        )
    contexts = [context for context, _, _ in pairs]
    a = np.array([before for _, before, _ in pairs], np.bool_)
    b = np.array([after for _, _, after in pairs], np.bool_)
    bootstrap = Bootstrap.of(contexts)
    sums = np.column_stack([b.astype(np.float64) - a, np.ones(len(pairs))])
    drawn = bootstrap.of_sums(sums, lambda each: each[..., 0] / each[..., 1])
    of_context = np.bincount(bootstrap.of_answer, b.astype(np.float64) - a)
    return Comparison(
        first=first,
        second=second,
        n_pairs=len(pairs),
        n_contexts=bootstrap.n_contexts,
        both=int((a & b).sum()),
        only_first=int((a & ~b).sum()),
        only_second=int((b & ~a).sum()),
        neither=int((~a & ~b).sum()),
        difference=drawn.interval(),
        p_value=sign_flip(of_context.round()),
        n_only_in_first=len(was) - len(common),
        n_only_in_second=len(now) - len(common),
        n_changed=len(common) - len(same),
        n_without_verdict=len(same) - len(pairs),
    )


def _verdicts(path: Path, model: str | None, place: int | None) -> tuple[str, dict[str, _Verdict]]:
    """The verdicts of a model: the one that is named, the one at a place, or the only one."""
    of_model: dict[str, dict[str, _Verdict]] = {}
    for line, row in read_rows(path, "classify"):
        try:
            name, id_ = str(row["model"]), str(row["question_id"])
            verdict = _verdict(row)
        except (KeyError, TypeError) as error:
            problem = f"this is no classified answer ({type(error).__name__}: {error})"
            raise StageError(path, line, problem) from error
        known = of_model.setdefault(name, {})
        # The second of an id could not be read, and takes nothing from the first.
        if id_ not in known or row["outcome"] != "failed":
            known[id_] = verdict
    names = list(of_model)
    if model is None and place is not None and len(names) == 2:
        model = names[place]
    if model is None and place is None and len(names) == 1:
        (model,) = names
    if model not in of_model:
        wanted = "" if model is None else f"no model {model[:80]!r} and "
        shown = ", ".join(repr(name[:80]) for name in names[:10])
        raise CompareError(
            f"{path} has {wanted}the models {shown or 'none'}. Name them by --model."
        )
    return model, of_model[model]


def _verdict(row: Mapping[str, Any]) -> _Verdict:
    outcome = row["outcome"]
    return _Verdict(
        str(row["question_sha256"]),
        str(row["context_id"]),
        outcome == Outcome.HALLUCINATED if outcome in _VERDICTS else None,
    )


def _require_same_judge(before: Stage, now: Stage) -> None:
    for name in ("detector", "explainer"):
        was, is_ = before.settings.get(name), now.settings.get(name)
        if was != is_:
            raise CompareError(
                f"The answers were judged with another {name}: a difference would say nothing of "
                "the models. Judge both alike."
            )

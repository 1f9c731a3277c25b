"""Paired comparison of the rates of two models on the same questions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from groundwire.errors import InputError
from groundwire.evaluation.intervals import Bootstrap
from groundwire.evaluation.measure.verdicts import VERDICTS, JudgedAnswer, Verdicts, read_verdicts
from groundwire.evaluation.metrics import Floats
from groundwire.evaluation.scores import defined

#: Number of draws of the sign-flip test.
_N_FLIPS = 20_000


class CompareError(InputError):
    """Two sets of answers cannot be compared."""


def compare(
    before: Path, now: Path, *, first: str | None = None, second: str | None = None
) -> dict[str, Any]:
    """Compare the rates of two models on the questions that both answered, as JSON data.

    A question of both models is a pair if it has the same id, words and sources, and each model has
    an answer to it with a verdict. If a model has several answers to a question, their mean is
    compared.

    Args:
        before: The results file with the first model.
        now: The results file with the second model; may be the same file.
        first: Name of the first model; needed if its file has several models.
        second: Name of the second model; needed if its file has several models. If both paths name
            one file with exactly two models, both names may be left out.

    Raises:
        ResultsError: If a file is not a results file.
        CompareError: If the answers were judged by different detectors, a model is missing, or
            there is no pair.
    """
    is_same = before.resolve() == now.resolve()
    if is_same and (first is None) != (second is None):
        raise CompareError("Name both models of the file.")
    was = read_verdicts(before)
    is_ = was if is_same else read_verdicts(now)
    if was.header.detector != is_.header.detector:
        raise CompareError(
            "The answers were judged by another detector, at another threshold, or explained by "
            "another model: a difference would say nothing of the models. Judge both alike."
        )
    one = _model(was, before, first, 0 if is_same else None)
    two = _model(is_, now, second, 1 if is_same else None)
    if is_same and one == two:
        raise CompareError(f"{one[:80]!r} would be compared with itself: name two models.")
    return _compared(one, _questions(was, one), two, _questions(is_, two))


def sign_flip(differences: Floats) -> float:
    """Compute the two-sided p value of a sign-flip test over contexts.

    Answers to one context share its difficulties, so they are not independent: all differences of a
    context get the same sign. Signs are drawn at random, while Fisher (1935) enumerated all.

    >>> sign_flip(np.array([1.0, -1.0])), round(sign_flip(np.array([1.0] * 12)), 2)
    (1.0, 0.0)

    Args:
        differences: For each context, the sum of the differences between the two models.
    """
    sizes = np.abs(differences[differences != 0])
    rng = np.random.default_rng(0)
    sums = np.zeros(_N_FLIPS)
    for size in sizes:
        sums += size * (2.0 * rng.integers(2, size=_N_FLIPS) - 1)
    # The observed sum counts as one of the draws (Phipson & Smyth 2010), so p is never 0.
    as_large = np.abs(sums) >= abs(float(differences.sum())) - 1e-9
    return (1 + int(as_large.sum())) / (1 + _N_FLIPS)


def _model(read: Verdicts, path: Path, wanted: str | None, place: int | None) -> str:
    """Choose a model of a results file.

    Args:
        read: The verdicts of the file.
        path: The file, for messages.
        wanted: Name of the model; ``None``: the one at ``place``, or else the only one.
        place: Place of the model, 0 or 1, in a file of two models; ``None`` in a file of one.
    """
    names = [*dict.fromkeys(each.model for each in read.verdicts)]
    if wanted is None and place is not None and len(names) == 2:
        return names[place]
    if wanted is None and place is None and len(names) == 1:
        return names[0]
    if wanted is None or wanted not in names:
        missing = "" if wanted is None else f"no model {wanted[:80]!r} and "
        shown = ", ".join(repr(name[:80]) for name in names[:10])
        raise CompareError(
            f"{path} has {missing}the models {shown or 'none'}. Name them by --model."
        )
    return wanted


def _questions(read: Verdicts, model: str) -> dict[str, list[JudgedAnswer]]:
    """Group a model's answers by the id of their question; unreadable rows leave an empty list."""
    found: dict[str, list[JudgedAnswer]] = {}
    for each in read.verdicts:
        if each.model == model:
            answers = found.setdefault(each.question, [])
            answers += [each] if each.asked else []
    return found


def _compared(
    first: str, was: dict[str, list[JudgedAnswer]], second: str, now: dict[str, list[JudgedAnswer]]
) -> dict[str, Any]:
    pairs: list[tuple[list[bool], list[bool], int]] = []
    n_changed = n_without = 0
    common = [(was[id_], now[id_]) for id_ in was if id_ in now]
    for before, after in common:
        if before and after and not {each.asked for each in before} & {e.asked for e in after}:
            n_changed += 1
            continue
        a, b = _hallucinated(before), _hallucinated(after)
        if a and b:
            pairs.append((a, b, before[0].context))
        else:
            n_without += 1
    if not pairs:
        raise CompareError(
            f"No question pairs: {first[:80]!r} has {len(was):,} and {second[:80]!r} has "
            f"{len(now):,}, {len(common):,} ids are in both; of these {n_changed:,} are other "
            f"questions or sources, and of {n_without:,} one model has no verdict. Ask both models "
            "the same questions."
        )
    rates = np.array([[np.mean(a), np.mean(b)] for a, b, _ in pairs])
    moved = rates[:, 1] - rates[:, 0]
    bootstrap = Bootstrap.of(np.array([context for *_, context in pairs], np.uint64))
    drawn = bootstrap.of_sums(
        np.column_stack([moved, np.ones(len(pairs))]), lambda each: each[..., 0] / each[..., 1]
    ).interval()
    of_context = np.bincount(bootstrap.of_answer, moved).astype(np.float64)
    return {
        "first": first,
        "second": second,
        "n_pairs": len(pairs),
        "n_contexts": bootstrap.n_contexts,
        "rate_first": float(rates[:, 0].mean()),
        "rate_second": float(rates[:, 1].mean()),
        "difference": drawn.value,
        "ci95": [defined(drawn.low), defined(drawn.high)],
        "worse_first": int((moved < 0).sum()),
        "worse_second": int((moved > 0).sum()),
        "alike": int((moved == 0).sum()),
        "p_value": sign_flip(of_context),
        "unpaired": {
            "only_in_first": len(was) - len(common),
            "only_in_second": len(now) - len(common),
            "changed": n_changed,
            "without_verdict": n_without,
        },
    }


def _hallucinated(answers: Sequence[JudgedAnswer]) -> list[bool]:
    return [each.outcome == VERDICTS[0] for each in answers if each.outcome in VERDICTS]

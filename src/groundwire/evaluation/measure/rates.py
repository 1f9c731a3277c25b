"""Rates of hallucinated answers and their severity, by model and task.

A rate is the share of hallucinated answers among those with a verdict: hallucinated or grounded.
Answers with any other outcome, such as a failed check, are counted separately. Bounds are the
lowest and the highest rate that would be possible if all answers had a verdict.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from groundwire.evaluation.intervals import Bootstrap, ScoreInterval, wilson
from groundwire.evaluation.measure.verdicts import OUTCOMES, VERDICTS, JudgedAnswer, read_verdicts
from groundwire.evaluation.scores import defined
from groundwire.evaluation.sums import share_of

MAX_SEVERITY = 4


def rates(path: Path) -> dict[str, Any]:
    """Compute the rates of a results file as JSON data; ratios are in [0, 1].

    Raises:
        ResultsError: If the file is not a results file, or has no rows.
    """
    header, answers = read_verdicts(path)
    models = {
        name: {**measured(group), "tasks": _by_task(group)}
        for name, group in _grouped(answers, lambda each: each.model).items()
    }
    return {
        **measured(answers),
        "errors": dict(sorted(Counter(each.error for each in answers if each.error).items())),
        "models": models,
        "tasks": _by_task(answers),
        "detector": header.detector.to_dict(),
        "data": dict(header.data),
        "groundwire": header.version,
    }


def measured(answers: Sequence[JudgedAnswer]) -> dict[str, Any]:
    """Compute the rates of a group of answers, as JSON data."""
    counts = Counter(each.outcome for each in answers)
    wrong = [each for each in answers if each.outcome == VERDICTS[0]]
    checked = [each for each in answers if each.outcome in VERDICTS]
    n, n_without = len(answers), len(answers) - len(checked)
    worst = Counter(max(each.severities, default=0) for each in checked)
    return {
        "n": n,
        "n_verdicts": len(checked),
        "outcomes": {name: counts[name] for name in OUTCOMES},
        "n_hallucinated": len(wrong),
        **_share("rate", checked, lambda each: each.outcome == VERDICTS[0]),
        "bounds": [len(wrong) / n, (len(wrong) + n_without) / n] if n else None,
        "contradiction": {
            "n": sum(each.n_contradicted > 0 for each in wrong),
            **_share("ratio", wrong, lambda each: each.n_contradicted > 0),
        },
        "severity": {"answers": {str(i): worst[i] for i in range(MAX_SEVERITY + 1)}},
        "n_cut": sum(each.is_cut for each in answers),
        "tokens": {
            "prompt": sum(each.tokens[0] for each in answers),
            "completion": sum(each.tokens[1] for each in answers),
        },
    }


def share(which: Sequence[bool], contexts: Sequence[int]) -> ScoreInterval:
    """Compute a share of answers with its 95 % interval.

    If each answer has a context of its own, the answers count as independent trials, and the share
    gets Wilson's interval. Otherwise whole contexts are resampled, and the share gets the interval
    of :meth:`.intervals.Replicates.interval`, which may be undefined. Without answers, share and
    interval are ``nan``.

    ``which`` says for each answer whether it is part of the share. ``contexts`` has the context of
    each answer.
    """
    n = len(which)
    bootstrap = Bootstrap.of(np.array(contexts, np.uint64))
    if bootstrap.n_contexts == n:
        return wilson(sum(which), n)
    sums = bootstrap.sums(np.column_stack([which, np.ones(n)]))
    return sums.of_share(share_of).interval()


def _share(
    name: str, answers: Sequence[JudgedAnswer], is_so: Callable[[JudgedAnswer], bool]
) -> dict[str, Any]:
    found = share([*map(is_so, answers)], [each.context for each in answers])
    ends = None if isnan(found.low) else [found.low, found.high]
    return {name: defined(found.value), "ci95": ends}


def _by_task(answers: Sequence[JudgedAnswer]) -> dict[str, dict[str, Any]]:
    groups = _grouped(answers, lambda each: each.task)
    return {name: measured(group) for name, group in groups.items()}


def _grouped(
    answers: Sequence[JudgedAnswer], key: Callable[[JudgedAnswer], str]
) -> dict[str, list[JudgedAnswer]]:
    groups: dict[str, list[JudgedAnswer]] = {}
    for each in answers:
        groups.setdefault(key(each), []).append(each)
    return groups

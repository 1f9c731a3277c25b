"""Judged answers as scores, each with its interval."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import numpy as np

from groundwire.evaluation.intervals import Bootstrap, Interval
from groundwire.evaluation.metrics import (
    AnswerCounts,
    Overlap,
    Ranking,
    f1_of,
    mean_iou,
    ratios,
    total,
)
from groundwire.evaluation.runner import Judged

#: What share of answers might be hallucinated in production; an assumption, and told as one.
PREVALENCE = 0.05

#: The group of all answers.
ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What a detector is worth on a group of answers.

    Attributes:
        name: The task, or ``all``.
        n_contexts: Contexts that the answers belong to.
        answers: Answers flagged and hallucinated.
        f1: Of answers.
        auroc: Of answers, by their highest probability.
        average_precision: The same order, seen from the hallucinated ones.
        characters: Marked characters, each once, of all answers together.
        character_f1: Of these.
        pairs: The same, counted as LettuceDetect does.
        passed_claims: Share of the claims in which people marked nothing that pass.
        mean_iou: Mean over answers of intersection over union of characters.
        n_incomplete: Answers that were not fully checked, failures included.
        n_failed: Answers whose check failed; they count as not flagged.
    """

    name: str
    n_contexts: int
    answers: AnswerCounts
    f1: Interval
    auroc: Interval
    average_precision: float
    characters: Overlap
    character_f1: Interval
    pairs: Overlap
    passed_claims: Interval
    mean_iou: float
    n_incomplete: int
    n_failed: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON data: ratios in [0, 1], ``null`` where they are undefined."""
        answers = self.answers
        return {
            "name": self.name,
            "n": answers.n,
            "n_contexts": self.n_contexts,
            "n_hallucinated": answers.n_hallucinated,
            "n_flagged": answers.n_flagged,
            "n_both": answers.n_both,
            "precision": _defined(answers.precision),
            "recall": _defined(answers.recall),
            "f1": _interval(self.f1),
            "flag_all_f1": _defined(answers.flag_all_f1),
            "balanced_accuracy": _defined(answers.balanced_accuracy),
            "false_positive_rate": _defined(answers.false_positive_rate),
            "precision_at_prevalence": {
                "prevalence": PREVALENCE,
                "precision": _defined(answers.precision_at(PREVALENCE)),
            },
            "auroc": _interval(self.auroc),
            "average_precision": _defined(self.average_precision),
            "characters": {
                "corrected": {**_overlap(self.characters), "f1": _interval(self.character_f1)},
                "lettucedetect": {**_overlap(self.pairs), "f1": _defined(self.pairs.f1)},
                "mean_iou": _defined(self.mean_iou),
            },
            "passed_claims": _interval(self.passed_claims),
            "n_incomplete": self.n_incomplete,
            "n_failed": self.n_failed,
        }


def score_by_task(judged: Sequence[Judged], *, n_resamples: int, seed: int) -> tuple[Scores, ...]:
    """Scores of each task in the order of its first answer, and of all answers at the end."""
    groups: dict[str, list[Judged]] = {}
    for answer in judged:
        groups.setdefault(answer.task, []).append(answer)
    return tuple(
        score(name, group, n_resamples=n_resamples, seed=seed)
        for name, group in [*groups.items(), (ALL, judged)]
    )


def score(name: str, judged: Sequence[Judged], *, n_resamples: int, seed: int) -> Scores:
    """Scores of a group of answers.

    Raises:
        ValueError: If there are none.
    """
    bootstrap = Bootstrap.of(
        [answer.context_id for answer in judged], n_resamples=n_resamples, seed=seed
    )
    flagged = np.array([answer.is_flagged for answer in judged])
    hallucinated = np.array([answer.is_hallucinated for answer in judged])
    ranking = Ranking.of([answer.probability for answer in judged], hallucinated)
    answers = np.column_stack([flagged & hallucinated, flagged, hallucinated])
    characters = [answer.characters for answer in judged]
    return Scores(
        name=name,
        n_contexts=bootstrap.n_contexts,
        answers=AnswerCounts.of(flagged, hallucinated),
        f1=bootstrap.of_sums(answers, f1_of).interval(),
        auroc=bootstrap.of_weights(ranking.auroc).interval(),
        average_precision=ranking.average_precision(),
        characters=total(characters),
        character_f1=bootstrap.of_sums([part.counts for part in characters], f1_of).interval(),
        pairs=total(answer.pairs for answer in judged),
        passed_claims=bootstrap.of_sums(
            [(answer.n_clean_passed, answer.n_clean_claims) for answer in judged],
            lambda sums: ratios(sums[..., 0], sums[..., 1]),
        ).interval(),
        mean_iou=mean_iou(each.characters for each in judged if each.has_spans),
        n_incomplete=sum(not answer.is_complete for answer in judged),
        n_failed=sum(bool(answer.error) for answer in judged),
    )


def _interval(interval: Interval) -> dict[str, float | None]:
    return {name: _defined(value) for name, value in asdict(interval).items()}


def _overlap(overlap: Overlap) -> dict[str, float | None]:
    return {
        **asdict(overlap),
        "precision": _defined(overlap.precision),
        "recall": _defined(overlap.recall),
    }


def _defined(value: float) -> float | None:
    return None if isnan(value) else value

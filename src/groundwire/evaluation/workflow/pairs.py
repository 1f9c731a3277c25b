"""Answers of two models to the same questions, side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from groundwire.detection import Outcome
from groundwire.errors import InputError
from groundwire.evaluation.workflow.classify import FAILED
from groundwire.evaluation.workflow.stage import StageError, read_rows

_VERDICTS = (Outcome.HALLUCINATED, Outcome.GROUNDED)


class CompareError(InputError):
    """Two sets of answers cannot be compared."""


@dataclass(slots=True)
class Counts:
    """What became of a model's answers to one question."""

    context: str
    n: int = 0  # with a verdict
    n_hallucinated: int = 0

    def add(self, outcome: str) -> None:
        """Count an answer."""
        self.n += outcome in _VERDICTS
        self.n_hallucinated += outcome == Outcome.HALLUCINATED


@dataclass(slots=True)
class Asked:
    """A model's answers: id of a question → what tells its words and sources → their verdicts.

    An answer that failed says nothing of what was asked: its id is there, and no more.
    """

    name: str
    first_row: int
    n_answers: int = 0
    questions: dict[str, dict[str, Counts]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any]) -> None:
        """Count a classified answer."""
        self.n_answers += 1
        self.first_row = min(self.first_row, int(row["row"]))
        asked = self.questions.setdefault(str(row["question_id"]), {})
        if (outcome := str(row["outcome"])) != FAILED:
            new = Counts(str(row["context_id"]))
            asked.setdefault(str(row["question_sha256"]), new).add(outcome)


@dataclass(slots=True)
class Pairs:
    """The questions of two models, and why the others do not pair."""

    pairs: list[tuple[Counts, Counts]] = field(default_factory=list)
    n_common: int = 0
    n_changed: int = 0
    n_without_verdict: int = 0

    @classmethod
    def of(cls, first: Asked, second: Asked) -> Self:
        """Pair by the ids of questions, and by what tells their words and sources."""
        found = cls()
        for id_, was in first.questions.items():
            if (now := second.questions.get(id_)) is not None:
                found.n_common += 1
                found._pair(was, now)
        return found

    def _pair(self, was: Mapping[str, Counts], now: Mapping[str, Counts]) -> None:
        if not (was and now):  # all answers of one failed: nobody knows what was asked
            self.n_without_verdict += 1
            return
        same = [(was[key], now[key]) for key in was if key in now]
        self.n_changed += not same
        for a, b in same:
            if a.n and b.n:
                self.pairs.append((a, b))
            else:
                self.n_without_verdict += 1


def read_asked(path: Path, model: str | None, place: int | None) -> Asked:
    """What a model was asked: the one that is named, the one at a place, or the only one.

    Raises:
        StageError: If it is no file of classified answers.
        CompareError: If there is no such model.
    """
    of_model: dict[str, Asked] = {}
    for line, row in read_rows(path, "classify"):
        try:
            name, number = str(row["model"]), int(row["row"])
            of_model.setdefault(name, Asked(name, number)).add(row)
        except (KeyError, TypeError, ValueError) as error:
            problem = f"this is no classified answer ({type(error).__name__}: {error})"
            raise StageError(path, line, problem) from error
    # As they stand in the data: which one comes first here depends on what failed.
    names = sorted(of_model, key=lambda name: of_model[name].first_row)
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
    return of_model[model]

"""Comparison of results with a baseline: scores and rows that changed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.evaluation.confusion import ComparedAnswer
from groundwire.evaluation.intervals import ScoreInterval
from groundwire.evaluation.paired import differences
from groundwire.evaluation.reports.kinds import ReportRow, RowKind

#: Id and fingerprint of a row, which are the same in both results.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRow:
    """A row, reduced to what a comparison needs."""

    kind: RowKind
    judged: ComparedAnswer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineComparison:
    """Changes since a baseline, on the rows that both have.

    Attributes:
        before: The baseline's scores, as :meth:`.evaluation.Evaluation.to_dict` has them.
        deltas: Name of a score, such as ``f1`` or ``span_f1`` → now less before, on the rows that
            both have, with its interval.
        kinds: Key of a row → its kind in the baseline.
        n_common: Labelled rows that both have.
        n_only_now: Labelled rows that the baseline lacks.
        n_only_before: Labelled rows that are gone.
        n_newly_wrong: Rows whose verdict was right and is wrong.
        n_newly_right: The other way round.
    """

    before: Mapping[str, Any]
    deltas: Mapping[str, ScoreInterval]
    kinds: Mapping[Key, RowKind]
    n_common: int
    n_only_now: int
    n_only_before: int
    n_newly_wrong: int
    n_newly_right: int

    def is_newly_wrong(self, example: ReportRow) -> bool:
        """Whether a row's verdict was right in the baseline and is wrong."""
        before = self.kinds.get(example.key)
        return before is not None and _change(before, example.kind) == "wrong"


def compare(
    before: Mapping[str, Any], was: Mapping[Key, KnownRow], now: Mapping[Key, KnownRow]
) -> BaselineComparison:
    """Compare results with those of a baseline.

    Args:
        before: The baseline's scores.
        was: The baseline's rows.
        now: The rows of today.
    """
    pairs = list(_pairs(was, now))
    changes = Counter(_change(was[key].kind, now[key].kind) for key in now if key in was)
    return BaselineComparison(
        before=before,
        deltas=dict(_deltas([now for now, _ in pairs], [before for _, before in pairs])),
        kinds={key: known.kind for key, known in was.items()},
        n_common=len(pairs),
        n_only_now=sum(each.judged is not None for each in now.values()) - len(pairs),
        n_only_before=sum(each.judged is not None for each in was.values()) - len(pairs),
        n_newly_wrong=changes["wrong"],
        n_newly_right=changes["right"],
    )


def _pairs(
    was: Mapping[Key, KnownRow], now: Mapping[Key, KnownRow]
) -> Iterator[tuple[ComparedAnswer, ComparedAnswer]]:
    """Pair the labelled answers that both have: now and before."""
    for key, known in now.items():
        before = was.get(key)
        if known.judged is not None and before is not None and before.judged is not None:
            yield known.judged, before.judged


def _change(before: RowKind, now: RowKind) -> str:
    if before.is_wrong == now.is_wrong:
        return "none"
    return "wrong" if now.is_wrong else "right"


def _deltas(
    now: Sequence[ComparedAnswer], before: Sequence[ComparedAnswer]
) -> Iterator[tuple[str, ScoreInterval]]:
    for name, moved in differences(now, before).items():
        yield name.replace("span.", "span_"), moved.interval()

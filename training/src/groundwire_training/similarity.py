"""Chooses thresholds of the similarity detector, and measures it on validation answers.

``python -m groundwire_training.similarity --data DIR [--detector NAME] [--write]`` compares the
held-out answers of RAGTruth, on which the reader is calibrated too, through the engine. It chooses
thresholds as ``calibrate.py`` does, and prints two kinds of scores: at the thresholds given with
``--at``, and cross-fitted, where each answer has a threshold chosen on answers to other contexts.
``--whole`` compares long sources as a whole too. ``--write`` puts the thresholds of the neural
embedder into its manifest.
"""

import argparse
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.similarity import is_ungrounded
from groundwire.engine.cache import ByteCache
from groundwire.engine.models import EMBEDDERS, ENCODER, find_model
from groundwire.engine.shared import SharedResources
from groundwire.engine.similarity_detector import SimilarityBackend
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire.evaluation.intervals import Bootstrap, ScoreInterval
from groundwire.evaluation.metrics import AnswerCounts, Ranking, count_characters, f1_of
from groundwire.evaluation.scores import defined
from groundwire.evaluation.table import percent
from groundwire.text.segment import segment
from groundwire_training import minilm, sets
from groundwire_training.loop import VALIDATION_CONTEXTS
from groundwire_training.sets import LabelledContext

#: Numbers with the meanings and values that they have in ``calibrate.py``.
_PREVALENCE, _MAX_FALSE_POSITIVES, _MIN_RECALL, _FOLDS = 0.35, 0.02, 0.90, 5
#: ``precision`` is left out if it finds a smaller share of hallucinated answers than this.
_MIN_FOUND = 0.10
_GRID = np.round(np.linspace(0.01, 0.99, 99), 2)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """One validation answer with the similarities of its claims.

    Attributes:
        context: Id of the answer's context. Answers to one context are not independent.
        task: Task of the answer.
        answer: The text of the answer, with gold spans.
        similarities: Similarities of the claims that have enough words to compare, shape ``(n,)``.
        ranges: Character ranges of these claims in the answer.
    """

    context: str
    task: str
    answer: MarkedAnswer
    similarities: NDArray[np.float64]
    ranges: tuple[tuple[int, int], ...]

    @property
    def is_hallucinated(self) -> bool:
        """Whether annotators marked any words of the answer."""
        return bool(self.answer.spans)

    @property
    def lowest(self) -> float:
        """The similarity of the answer's least similar claim; 1 if no claim was compared."""
        return float(self.similarities.min(initial=1.0))

    def characters(self, threshold: float) -> tuple[int, int, int]:
        """Count the answer's characters: those both flagged and gold, those flagged, those gold."""
        found = [
            place
            for place, similarity in zip(self.ranges, self.similarities, strict=True)
            if is_ungrounded(similarity, threshold)
        ]
        gold = [(start, end) for start, end, _ in self.answer.spans]
        return count_characters(found, gold, self.answer.text)


def held_out(folder: Path) -> list[LabelledContext]:
    """Read the contexts of RAGTruth's training part that training holds out."""
    records = sets.ragtruth(folder / "ragtruth" / "train.jsonl.gz")
    random.Random(0).shuffle(records)
    return records[:VALIDATION_CONTEXTS]


def compare(comparer: SimilarityBackend, records: Iterable[LabelledContext]) -> list[Compared]:
    """Compare answers with their sources, as the detector does."""
    compared = []
    for record in records:
        for answer in record.answers:
            session = comparer.open(record.sources, record.question, threshold=1.0, tenant="")
            claims = segment(answer.text)
            pairs = list(zip(claims, session.read(answer.text, claims), strict=True))
            known = [(c, s.similarity) for c, s in pairs if s.similarity is not None]
            compared.append(
                Compared(
                    context=record.id,
                    task=record.task,
                    answer=answer,
                    similarities=np.array([similarity for _, similarity in known], np.float64),
                    ranges=tuple((claim.start, claim.end) for claim, _ in known),
                )
            )
    return compared


def choose(compared: Sequence[Compared]) -> dict[str, float]:
    """Choose the threshold of each operating point, by the same rules as for the reader.

    ``balanced`` has the best sum of two scores: F1 of whole answers, weighted to the share of
    hallucinated answers in RAGTruth's test set, and F1 of marked characters. ``precision`` flags at
    most 2 % of grounded answers; it is left out if it finds too few hallucinated ones. ``recall``
    is the lowest threshold that finds at least 90 % of hallucinated answers.
    """
    lowest = np.array([answer.lowest for answer in compared])
    gold = np.array([answer.is_hallucinated for answer in compared])
    weights = np.where(gold, _PREVALENCE / gold.mean(), (1 - _PREVALENCE) / (1 - gold.mean()))

    def worth(threshold: float) -> float:
        flagged = lowest < threshold
        sums = [weights[flagged & gold].sum(), weights[flagged].sum(), weights[gold].sum()]
        marked = np.sum([answer.characters(threshold) for answer in compared], axis=0)
        return float(np.nan_to_num(f1_of(sums)) + np.nan_to_num(f1_of(marked)))

    balanced = float(max(_GRID, key=worth))
    strict = [t for t in _GRID if (lowest[~gold] < t).mean() <= _MAX_FALSE_POSITIVES]
    wide = [t for t in _GRID if (lowest[gold] < t).mean() >= _MIN_RECALL]
    points = {"balanced": balanced, "recall": max(float(wide[0]) if wide else 0.99, balanced)}
    if strict and (lowest[gold] < strict[-1]).mean() >= _MIN_FOUND:
        return {"precision": min(float(strict[-1]), balanced), **points}
    return points


def cross_fitted(compared: Sequence[Compared], name: str) -> list[float]:
    """Choose a threshold for each answer on the answers to other contexts.

    Args:
        compared: The answers.
        name: The operating point of the thresholds.
    """
    contexts = sorted({answer.context for answer in compared})
    random.Random(0).shuffle(contexts)
    fold_of = {context: i % _FOLDS for i, context in enumerate(contexts)}
    rests = [[a for a in compared if fold_of[a.context] != fold] for fold in range(_FOLDS)]
    # Without such a point the threshold is 0, which flags only claims without any similarity.
    chosen = [choose(rest).get(name, 0.0) for rest in rests]
    return [chosen[fold_of[answer.context]] for answer in compared]


def table(compared: Sequence[Compared], thresholds: Sequence[float]) -> str:
    """Return a text table of scores in per cent, by task and of all answers.

    Args:
        compared: The answers.
        thresholds: The threshold for each answer.
    """
    lines = [
        "task           n  halluc.  AUROC (95 %)          F1 (95 %)             P     R"
        "    FPR  flag all  char. F1"
    ]
    pairs = list(zip(compared, thresholds, strict=True))
    groups = {task: [p for p in pairs if p[0].task == task] for task in _tasks(compared)}
    return "\n".join([*lines, *(_line(n, group) for n, group in {**groups, "all": pairs}.items())])


def _tasks(compared: Sequence[Compared]) -> list[str]:
    return sorted({answer.task for answer in compared})


def _line(name: str, pairs: Sequence[tuple[Compared, float]]) -> str:
    gold = np.array([answer.is_hallucinated for answer, _ in pairs])
    lowest = np.array([answer.lowest for answer, _ in pairs])
    flagged = lowest < np.array([threshold for _, threshold in pairs])
    bootstrap = Bootstrap.of([answer.context for answer, _ in pairs])
    counts = AnswerCounts.of(flagged, gold)
    auroc = bootstrap.of_weights(Ranking.of(-lowest, gold).aurocs)[0].interval()
    f1 = bootstrap.of_sums(np.column_stack([flagged & gold, flagged, gold]), f1_of).interval()
    marked = np.sum([answer.characters(threshold) for answer, threshold in pairs], axis=0)
    return (
        f"{name:10} {len(pairs):5}  {gold.mean():6.1%}  {_written(auroc):20}  {_written(f1):20}"
        f"{100 * counts.precision:5.1f} {100 * counts.recall:5.1f} "
        f"{100 * counts.false_positive_rate:6.1f}  {100 * counts.flag_all_f1:8.1f}"
        f"  {100 * float(f1_of(marked)):8.1f}"
    )


def _written(interval: ScoreInterval) -> str:
    value, low, high = (
        percent(defined(each)) for each in (interval.value, interval.low, interval.high)
    )
    return f"{value} ({low} to {high})"


def open_comparer(name: str, threads: int) -> SimilarityBackend:
    """Load the engine's similarity backend, with the embedded model files."""
    shared = SharedResources(threads, cache=ByteCache(64_000_000), sources=ByteCache(64_000_000))
    return SimilarityBackend.load(name, shared)


def main() -> None:
    """Choose thresholds from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--detector", choices=EMBEDDERS, default="similarity")
    parser.add_argument("--at", type=float, nargs="*", default=[0.7], help="thresholds to show")
    parser.add_argument("--whole", action="store_true", help="compare long sources as a whole too")
    parser.add_argument("--write", action="store_true", help="put thresholds into the manifest")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.write and (options.whole or EMBEDDERS[options.detector] != "neural"):
        parser.error("--write is for the neural embedder, without --whole")
    comparer = open_comparer(options.detector, options.threads)
    if options.whole:
        comparer = replace(comparer, whole_lines=sys.maxsize)
    compared = compare(comparer, held_out(options.data))
    chosen = choose(compared)
    print(f"{options.detector}: {chosen}")  # noqa: T201
    for threshold in options.at:
        print(f"at {threshold}\n{table(compared, [threshold] * len(compared))}")  # noqa: T201
    for name in chosen:
        print(f"{name}, cross-fitted\n{table(compared, cross_fitted(compared, name))}")  # noqa: T201
    if options.write:
        minilm.write_manifest(find_model(ENCODER).folder, operating_points=chosen)


if __name__ == "__main__":
    main()

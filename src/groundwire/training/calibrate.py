"""Calibration and operating points of a model folder, fitted in the deployed configuration.

``python -m groundwire.training.calibrate --data DIR --model DIR [--compare DIR]`` reads validation
answers through the engine, as the detector does (int8, selection, claim by claim), fits the map
from logits to probabilities on their word pieces, chooses thresholds on whole answers, writes both
into the manifest, and prints what they are worth. ``--compare`` scores a second folder beside it,
such as the same weights in fp32.
"""

import argparse
import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from groundwire.engine.cache import ByteCache
from groundwire.engine.reader import Calibration, Reader
from groundwire.models import Manifest
from groundwire.segment import segment
from groundwire.training import data, rows, sets
from groundwire.training.loop import VALIDATION_CONTEXTS
from groundwire.training.package import write_manifest
from groundwire.training.sets import Record

#: The second look is taken as it would be near the balanced threshold.
_SECOND_LOOK_AT = 0.3
#: Share of hallucinated answers that ``balanced`` is chosen for: an assumption about use. Half of
#: the validation answers are hallucinated; a threshold for that share would flag over a quarter of
#: the grounded ones.
_PREVALENCE = 0.2
#: At ``precision``, at most this share of grounded answers is flagged.
_MAX_FALSE_POSITIVES = 0.02
#: At ``recall``, at least this share of hallucinated answers is flagged.
_MIN_RECALL = 0.90


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """One validation answer, read.

    Attributes:
        task: Where it comes from.
        logits: log-odds of not supported of each word piece, uncalibrated, shape ``(n,)``.
        labels: 0 supported, 1 unsupported, 2 contradicted, shape ``(n,)``.
        contradicted: P(contradicted) given that it is not supported, shape ``(n,)``.
        offsets: Character ranges in the answer, shape ``(n, 2)``.
        wanted: Characters that are marked.
    """

    task: str
    logits: NDArray[np.float64]
    labels: NDArray[np.int64]
    contradicted: NDArray[np.float64]
    offsets: NDArray[np.int32]
    wanted: frozenset[int]

    @property
    def is_hallucinated(self) -> bool:
        """Whether a word piece is marked."""
        return bool((self.labels > 0).any())


def validation_records(folder: Path) -> Iterator[Record]:
    """What training holds out.

    Of a folder of sets, contexts of RAGTruth's training part and the validation part of the slots;
    of a file of one's own, a tenth of its contexts.
    """
    if folder.is_file():
        yield from rows.split(folder, rows.read(folder))[0]
        return
    records = sets.ragtruth(folder / "ragtruth" / "train.jsonl.gz")
    random.Random(0).shuffle(records)
    yield from records[:VALIDATION_CONTEXTS]
    rng = random.Random(1)
    for record in sets.slots(folder / "slots" / "validation.jsonl.gz"):
        yield sets.draw(record, 3, rng)


def score(reader: Reader, records: Iterable[Record]) -> list[Scored]:
    """Read answers as the detector does."""
    plain = replace(reader, calibration=Calibration())
    scored = []
    for record in records:
        for answer in record.answers:
            reading = plain.open(
                record.sources, record.question, threshold=_SECOND_LOOK_AT, tenant=""
            )
            claims = reading.read(answer.text, segment(answer.text))
            read = [claim for claim in claims if claim.reason is None]
            if not read:
                continue
            offsets = np.concatenate([claim.offsets for claim in read])
            p = np.concatenate([claim.labels for claim in read]).astype(np.float64)
            p = np.clip(p, 1e-7, 1)
            doubt = p[:, 1] + p[:, 2]
            scored.append(
                Scored(
                    task=record.task,
                    logits=np.log(doubt) - np.log(p[:, 0]),
                    labels=np.array(data.labels_of(offsets, answer.spans)),
                    contradicted=p[:, 2] / doubt,
                    offsets=offsets,
                    wanted=frozenset(i for s, e, _ in answer.spans for i in range(s, e)),
                )
            )
    return scored


def fit(scored: list[Scored]) -> Calibration:
    """Platt's map (1999) on word pieces: P(not supported) = sigmoid(scale * logit + offset)."""
    logits = np.concatenate([answer.logits for answer in scored])
    targets = np.concatenate([answer.labels for answer in scored]) > 0
    model = LogisticRegression(C=1e6).fit(logits[:, None], targets)
    return Calibration(scale=float(model.coef_[0, 0]), offset=float(model.intercept_[0]))


def can_fit(scored: list[Scored]) -> bool:
    """Whether some answers are hallucinated and some are not: a threshold parts the two."""
    return len({answer.is_hallucinated for answer in scored}) == 2


def calibrate(folder: Path, scored: list[Scored]) -> tuple[Calibration, dict[str, float]]:
    """Fit the map and choose thresholds on answers that a folder has read, and write both into it.

    Raises:
        ValueError: If the answers are all hallucinated, or none is.
    """
    calibration = fit(scored)
    thresholds = choose(scored, calibration)
    write_manifest(
        folder,
        version=Manifest.read(folder).version,
        operating_points=thresholds,
        calibration={"scale": calibration.scale, "offset": calibration.offset},
    )
    return calibration, thresholds


def tops_of(scored: list[Scored], calibration: Calibration) -> NDArray[np.float64]:
    """The highest calibrated probability of each answer."""
    logits = np.array([answer.logits.max() for answer in scored])
    return np.asarray(1 / (1 + np.exp(-(calibration.scale * logits + calibration.offset))))


def choose(scored: list[Scored], calibration: Calibration) -> dict[str, float]:
    """Thresholds by name.

    ``balanced`` has the best mean of two scores, of whole answers (F1, were one in five
    hallucinated) and of marked characters (F1); ``precision`` flags at most 2 % of grounded
    answers; ``recall`` finds at least 90 % of hallucinated ones, and no more than it must.
    """
    tops = tops_of(scored, calibration)
    gold = np.array([answer.is_hallucinated for answer in scored])
    weights = np.where(gold, _PREVALENCE / gold.mean(), (1 - _PREVALENCE) / (1 - gold.mean()))

    def worth(threshold: float) -> float:
        flagged = tops >= threshold
        answers = float(f1_score(gold, flagged, sample_weight=weights, zero_division=0))
        return answers + character_f1(scored, calibration, threshold)

    grid = np.round(np.linspace(0.01, 0.99, 99), 2)
    balanced = float(max(grid, key=worth))
    strict = [t for t in grid if (tops[~gold] >= t).mean() <= _MAX_FALSE_POSITIVES]
    wide = [t for t in grid if (tops[gold] >= t).mean() >= _MIN_RECALL]
    precision = max(float(strict[0]) if strict else 0.99, balanced)
    recall = min(float(wide[-1]) if wide else 0.01, balanced)
    return {"precision": precision, "balanced": balanced, "recall": recall}


def character_f1(scored: Iterable[Scored], calibration: Calibration, threshold: float) -> float:
    """F1 over the characters of all answers together, in [0, 1]."""
    both = marked = 0
    for answer in scored:
        p = 1 / (1 + np.exp(-(calibration.scale * answer.logits + calibration.offset)))
        hit = {i for a, b in answer.offsets[p >= threshold].tolist() for i in range(a, b)}
        both += len(hit & answer.wanted)
        marked += len(hit) + len(answer.wanted)
    return 2 * both / marked if marked else 0.0


def report(
    name: str, scored: list[Scored], calibration: Calibration, thresholds: dict[str, float]
) -> None:
    """Print what thresholds are worth, per task."""
    tops = tops_of(scored, calibration)
    gold = np.array([answer.is_hallucinated for answer in scored])
    tasks = np.array([answer.task.split("-")[0] for answer in scored])
    balanced = thresholds["balanced"]
    for task in ("all", *sorted(set(tasks))):
        mine = np.full(len(tasks), True) if task == "all" else tasks == task
        g, flagged = gold[mine], tops[mine] >= balanced
        characters = character_f1(
            [answer for answer, use in zip(scored, mine, strict=True) if use],
            calibration,
            balanced,
        )
        f1, precision, recall = [
            measure(g, flagged, zero_division=0)
            for measure in (f1_score, precision_score, recall_score)
        ]
        print(  # noqa: T201
            f"{name} {task:9} n {len(g):4} positive {g.mean():.2f}  AUROC "
            f"{auroc(g, tops[mine]):.3f}  F1 {f1:.3f} (precision {precision:.3f} recall "
            f"{recall:.3f})  "
            f"flag-all F1 {2 * g.mean() / (1 + g.mean()):.3f}  character F1 "
            f"{characters:.3f}"
        )
    for point, threshold in thresholds.items():
        print(  # noqa: T201
            f"{name} {point:9} {threshold:.3f}  recall {(tops[gold] >= threshold).mean():.3f}  "
            f"false positives {(tops[~gold] >= threshold).mean():.3f}"
        )
    labels = np.concatenate([answer.labels for answer in scored])
    share = np.concatenate([answer.contradicted for answer in scored])[labels > 0]
    kind = labels[labels > 0] == 2
    print(f"{name} contradicted against unsupported: AUROC {auroc(kind, share):.3f}")  # noqa: T201


def auroc(gold: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """Area under the ROC curve; not a number if all are of one kind."""
    return float(roc_auc_score(gold, scores)) if len(set(gold.tolist())) == 2 else float("nan")


def open_reader(folder: Path, threads: int) -> Reader:
    """The engine's reader of a folder."""
    return Reader.load(
        Manifest.read(folder),
        threads=threads,
        cache=ByteCache(512_000_000),
        sources=ByteCache(16_000_000),
        workers=ThreadPoolExecutor(threads),
    )


def main() -> None:
    """Calibrate from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--compare", type=Path, help="another folder, scored with the same numbers")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--contexts", type=int, help="only so many, for a quick look")
    options = parser.parse_args()
    records = list(validation_records(options.data))
    if options.contexts:
        records = records[:: max(1, len(records) // options.contexts)]
    scored = score(open_reader(options.model, options.threads), records)
    calibration, thresholds = calibrate(options.model, scored)
    print(calibration, thresholds)  # noqa: T201
    report("model", scored, calibration, thresholds)
    if options.compare:
        other = score(open_reader(options.compare, options.threads), records)
        report("other", other, calibration, thresholds)


if __name__ == "__main__":
    main()

"""Fits the weights by which :mod:`groundwire.explain.repair` chooses replacements.

``python -m groundwire_training.replacements --data DIR [--ranked N] [--records N] [--out FILE]``,
where DIR has ``slots/``, as for training the reader. First the candidates are ranked: in claims of
slot-annotated answers, where a slot's place is taken for the marked span, the replacement that
gives the right claim shall have the highest score; in right claims it is the words that stand
there. Then the detector marks spans of answers with one wrong slot and of right ones, and a
logistic regression gives the probability that the best replacement is the right one.
"""

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import track
from sklearn.linear_model import LogisticRegression

from groundwire import Detector
from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.comparison.words import Word, words_of
from groundwire.detection.example import Example
from groundwire.evaluation.datasets.slots import n_slots, render_slots
from groundwire.explain import repair
from groundwire.explain.replacements import FEATURES, Candidates, WordVectors
from groundwire.text.lines import lines_of
from groundwire.text.quantities import quantities
from groundwire.text.segment import segment
from groundwire_training import sets
from groundwire_training.sets import LabelledContext

#: Lines of evidence in which words are looked for.
_LINES = 6
#: Wrong answers of a record that the detector reads.
_WRONG = 3
#: Candidates of a claim that are not right, at most.
_OTHERS = 500
#: Weight of the penalty on large weights.
_PENALTY = 0.002
_ARTICLES = frozenset(("a", "an", "the"))
_FILE = Path(repair.__file__).with_name("replacements.json")


@dataclass(frozen=True, slots=True)
class Case:
    """The answer of a record with one wrong slot, or with none.

    Attributes:
        record: The record.
        answer: The answer.
        right: The answer with no wrong slot.
        slot: Start and end of the slot in ``answer``.
    """

    record: LabelledContext
    answer: str
    right: str
    slot: tuple[int, int]

    @property
    def is_wrong(self) -> bool:
        """Whether the slot has its wrong text."""
        return self.answer != self.right

    def is_mended(self, changed: str) -> bool:
        """Return whether a changed answer says what the right one says: the same words and values.

        Articles are not compared.
        """
        return said(changed) == said(self.right)


def cases(record: LabelledContext, rng: random.Random, n: int = 1) -> Iterator[Case]:
    """Yield ``n`` answers with one wrong slot of kind conflict, and the right one for each."""
    text = record.slots or ""
    right = render_slots(text, frozenset()).text
    made = [render_slots(text, frozenset({slot})) for slot in range(n_slots(text))]
    conflicts = [answer for answer in made if answer.spans and answer.spans[0][2] == 2]
    for answer in rng.sample(conflicts, min(n, len(conflicts))):
        start, end = answer.spans[0][:2]
        yield Case(record, answer.text, right, (start, end))
        yield Case(record, right, right, (start, end + len(right) - len(answer.text)))


@lru_cache(100_000)
def said(text: str) -> tuple[object, ...]:
    """Return the words and values of a text, in order, without articles."""
    found: list[tuple[int, object]] = []
    values = quantities(text)
    for value in values:
        number = round(value.value, 6) if isinstance(value.value, float) else value.value
        found.append((value.start, (number, value.unit)))
    for word in words_of(text):
        is_value = any(value.start < word.end and word.start < value.end for value in values)
        if not is_value and word.lower not in _ARTICLES:
            found.append((word.start, word.lower))
    return tuple(each for _, each in sorted(found, key=lambda each: each[0]))


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates of one claim: features, shape ``(n, F)``, and which are right, shape ``(n,)``."""

    features: NDArray[np.float64]
    is_right: NDArray[np.bool_]


def ranked(case: Case, vectors: WordVectors, rng: random.Random) -> Ranked | None:
    """Find the candidates of a case's claim; ``None`` if none of them is right."""
    held = _held(case, rng)
    if held is None:
        return None
    found = Candidates.of(held, vectors)
    claim = held.claim.text
    start = case.answer.rindex(claim, 0, case.slot[0] + len(claim))
    longer = len(case.right) - len(case.answer)
    wanted = said(case.right[start : start + len(claim) + longer])
    slot = {*said(case.right[case.slot[0] : case.slot[1] + longer])}
    is_right = np.array(
        [
            (not slot or not slot.isdisjoint(said(change.text)))
            and said(change.applied(claim)) == wanted
            for change in found.replacements
        ],
        bool,
    )
    if not is_right.any():
        return None
    others = np.flatnonzero(~is_right).tolist()
    kept = [*np.flatnonzero(is_right).tolist(), *rng.sample(others, min(len(others), _OTHERS))]
    return Ranked(found.features[kept], is_right[kept])


def _held(case: Case, rng: random.Random) -> Held | None:
    """Return the claim around a slot, as if the detector had marked the slot, or nearly so."""
    start, end = case.slot
    pieces = (p for p in segment(case.answer) if p.start <= start and end <= p.end)
    piece = next(pieces, None)
    if piece is None:
        return None
    claim = ComparedText(case.answer[piece.start : piece.end])
    marked = [w for w in claim.words if w.start < end - piece.start and w.end > start - piece.start]
    if not marked:
        return None
    marked = _shifted(marked, claim.words, rng)
    lines = [
        ComparedText(source.text[line.start : line.end])
        for source in case.record.sources
        for line in lines_of(source.text)
    ]
    lines.sort(key=lambda line: -len(line.content & claim.content))
    return Held(claim, marked[0].start, marked[-1].end, tuple(lines[:_LINES]))


def _shifted(marked: list[Word], words: Sequence[Word], rng: random.Random) -> list[Word]:
    """Sometimes leave out a word at an end, or add the next one, as the detector does."""
    chance = rng.random()
    if chance < 0.3 and len(marked) > 1:
        return marked[1:] if chance < 0.15 else marked[:-1]
    following = [word for word in words if word.start >= marked[-1].end]
    return [*marked, *following[:1]] if chance > 0.85 else marked


def fit_ranking(claims: Sequence[Ranked]) -> list[float]:
    """Fit a weight for each feature, so that a right candidate has the highest score."""
    every = np.concatenate([claim.features for claim in claims])
    scale = torch.from_numpy(every.std(0) + 1e-3)
    data = [
        (torch.from_numpy(claim.features) / scale, torch.from_numpy(claim.is_right))
        for claim in claims
    ]
    weights = torch.zeros(len(FEATURES), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=60, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        total = _PENALTY * (weights**2).sum()
        for features, is_right in data:
            scores = features @ weights
            total = total + (scores.logsumexp(0) - scores[is_right].logsumexp(0)) / len(data)
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return [round(weight, 4) for weight in (weights.detach() / scale).tolist()]


def decisions(
    case: Case, detector: Detector, weights: Mapping[str, Any]
) -> Iterator[tuple[tuple[float, ...], bool]]:
    """Yield, for each marked span with a replacement, what decides about it, and if it is right."""
    sources, question = case.record.sources, case.record.question
    found = detector.detect(sources=sources, question=question, answer=case.answer)
    example = Example(sources=sources, question=question, answer=case.answer)
    mender = repair.Mender(detector.detect_batch, example, weights)
    for claim in found.claims:
        for span in claim.spans if len(claim.spans) == 1 else ():
            is_here = span.start < case.slot[1] and case.slot[0] < span.end
            fits = mender.fits(claim)
            if fits and (is_here or not case.is_wrong):
                text = fits[0].changes[0].applied(claim.text)
                changed = case.answer[: claim.start] + text + case.answer[claim.end :]
                seen = repair.features_of(fits[0], fits[1:], repair.doubt_of(span))
                yield seen, case.is_wrong and case.is_mended(changed)


def fit_decision(rows: Sequence[tuple[tuple[float, ...], bool]]) -> dict[str, object]:
    """Fit the probability that the best replacement is the right one."""
    features, targets = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    model = LogisticRegression(C=1.0).fit(features, targets)
    return {
        "bias": round(float(model.intercept_[0]), 4),
        "of": [round(float(weight), 4) for weight in model.coef_[0]],
    }


def main() -> None:
    """Fit the weights from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--ranked", type=int, default=2000, help="records to rank candidates of")
    parser.add_argument("--records", type=int, default=400, help="records for the detector")
    parser.add_argument("--out", type=Path, default=_FILE, help="where the package has them")
    options = parser.parse_args()
    rng = random.Random(7)
    judged = sets.slots(options.data / "slots" / "train.jsonl.gz")
    written = [
        record
        for path in sorted((options.data / "slots").glob("own-*.jsonl"))
        for record in sets.slots(path)
    ]
    rng.shuffle(judged)
    rng.shuffle(written)
    half = options.ranked // 2
    vectors = WordVectors.load()
    claims = [
        found
        for record in track(judged[:half] + written[:half], "ranking")
        for case in cases(record, rng)
        if (case.is_wrong or rng.random() < 0.5) and (found := ranked(case, vectors, rng))
    ]
    weights: dict[str, object] = {"features": fit_ranking(claims)}
    detector = Detector.load()
    rows = [
        row
        for record in track(judged[: options.records], "reading")
        for n, case in enumerate(cases(record, rng, _WRONG))
        if case.is_wrong or n == 1
        for row in decisions(case, detector, weights)
    ]
    weights["decision"] = fit_decision(rows)
    options.out.write_text(json.dumps(weights, indent=1) + "\n", encoding="utf-8")
    n_right = sum(is_right for _, is_right in rows)
    click.echo(f"{len(claims)} claims ranked; {n_right} of {len(rows)} best replacements are right")


if __name__ == "__main__":
    main()

"""Fits the map of the local verifier, from the reader's scores of a claim to P(supported).

``python -m groundwire_training.verifier --data DIR [--model DIR] [--json FILE] [--dry-run]`` reads
labelled claims as the verifier does, fits the map, and writes it beside the manifest of the model
(``verify.json``) with its provenance. The printed scores are cross-fitted: each claim is scored
with a map that was fitted on other contexts. ``citations/validation`` is only used for scores.

Three sets have equal weight. The reader was trained on none of them: ``citations/train`` (claims
with their cited spans), ``slots/validation`` and held-out contexts of RAGTruth's training part
(claims with whole sources). Labelled sets have far more wrong claims than real answers, so claims
are weighted as if unsupported claims had a lower prevalence: the highest of :data:`PREVALENCES` at
which the share :data:`PASSING` of the supported claims of every set reaches the documented target.
"""

import argparse
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression

from groundwire.engine.models import DEFAULT_MODEL, Manifest, find_reader
from groundwire.evaluation.calibration import reliability
from groundwire.evaluation.datasets.slots import each_slot
from groundwire.evaluation.intervals import Bootstrap, ScoreInterval
from groundwire.evaluation.metrics import Ranking, ratios
from groundwire.text.segment import segment
from groundwire.verify.local import LocalVerifier, Looked, graph_hash, ruled
from groundwire.verify.measured import ClaimMap, Measured
from groundwire_training.calibrate import validation_records
from groundwire_training.cited import read_cited
from groundwire_training.sets import all_answers

#: The documented target: a claim passes if P(supported) reaches it.
TARGET = 0.95
#: The share of supported claims that must at least pass at the target, in every set.
PASSING = 0.80
#: Prevalences (shares of unsupported claims) to choose from.
PREVALENCES = (0.10, 0.08, 0.06, 0.05, 0.04, 0.035, 0.03, 0.025, 0.02)
#: Targets for which the report gives the share of claims that pass.
TARGETS = (0.80, 0.90, 0.95, 0.97, 0.98, 0.99)
_FOLDS = 5
_RAGTRUTH_ANSWERS = 2
#: Variance of the weights' prior, large enough to have hardly any effect.
_RIDGE = 1e2


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledClaim:
    """A claim with evidence, and whether the evidence supports it.

    Attributes:
        group: Name of the data set.
        context: Id of the context. Claims of one context are not independent.
        text: The text of the claim.
        evidence: The texts that the claim is read with; may be empty.
        is_supported: Whether these texts support the claim.
        kind: ``right`` or ``wrong`` for a claim with its own evidence, ``elsewhere`` for a claim
            with other evidence, ``bare`` for a claim without evidence.
    """

    group: str
    context: str
    text: str
    evidence: tuple[str, ...]
    is_supported: bool
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredClaim:
    """A labelled claim with the reader's scores.

    Attributes:
        claim: The claim.
        measured: Input of the map.
        is_denied: Whether a rule finds a conflict with the evidence.
        is_line: Whether the claim is a line of its evidence, word for word.
    """

    claim: LabelledClaim
    measured: Measured
    is_denied: bool = False
    is_line: bool = False

    def probability(self, fitted: ClaimMap) -> float:
        """Return P(supported) as the verifier with this map gives it."""
        p = fitted.probability(self.measured)
        return ruled(p, is_denied=self.is_denied, is_line=self.is_line)


def cited(path: Path, group: str) -> Iterator[LabelledClaim]:
    """Yield the claims of cited answers: with their own evidence, with other evidence, and alone.

    A claim is supported only if its words are unchanged and it is read with its own evidence.
    """
    for answer in read_cited(path):
        for each in answer.citations:
            text, context = each.claim.text, f"{group}-{answer.id}"

            def labelled(
                text: str, sids: Iterable[str], kind: str, context: str = context
            ) -> LabelledClaim:
                return LabelledClaim(
                    group=group,
                    context=context,
                    text=text,
                    evidence=tuple(answer.spans[sid] for sid in sids),  # noqa: B023 - used at once
                    is_supported=kind == "right",
                    kind=kind,
                )

            if not each.right:
                continue
            yield labelled(text, each.right, "right")
            yield labelled(text, (), "bare")
            for wrong, _ in each.wrong:
                yield labelled(wrong, each.right, "wrong")
            if each.label in ("misattributed", "partial") and each.claim.cites:
                yield labelled(text, each.claim.cites, "elsewhere")


def slots(path: Path) -> Iterator[LabelledClaim]:
    """Yield all claims of faithful answers and the wrong claims of variants, with all sources."""
    for answer in all_answers(each_slot(path)):
        text, is_faithful = answer.example.answer, not answer.spans
        # Right claims of a variant are left out, because the faithful answer has them too.
        for place in segment(text):
            is_wrong = any(s.start < place.end and s.end > place.start for s in answer.spans)
            if is_faithful or is_wrong:
                yield LabelledClaim(
                    group="slots",
                    context=answer.context_id,
                    text=text[place.start : place.end],
                    evidence=tuple(source.text for source in answer.example.sources),
                    is_supported=not is_wrong,
                    kind="wrong" if is_wrong else "right",
                )


def ragtruth(folder: Path) -> Iterator[LabelledClaim]:
    """Yield claims of some answers to each held-out context of RAGTruth's training part."""
    rng = random.Random(0)
    for record in validation_records(folder):
        if record.task.startswith("slots"):
            continue
        answers = list(record.answers)
        for answer in rng.sample(answers, min(_RAGTRUTH_ANSWERS, len(answers))):
            for place in segment(answer.text):
                is_wrong = any(a < place.end and b > place.start for a, b, _ in answer.spans)
                yield LabelledClaim(
                    group="ragtruth",
                    context=record.id,
                    text=answer.text[place.start : place.end],
                    evidence=tuple(source.text for source in record.sources),
                    is_supported=not is_wrong,
                    kind="wrong" if is_wrong else "right",
                )


def read(verifier: LocalVerifier, claims: Iterable[LabelledClaim]) -> list[MeasuredClaim]:
    """Score claims as the verifier does; claims that it cannot read are left out."""
    found = []
    for claim in claims:
        looked = verifier.look(claim.text, claim.evidence)
        if isinstance(looked, Looked):
            found.append(
                MeasuredClaim(
                    claim=claim,
                    measured=looked.measured,
                    is_denied=bool(looked.conflicts),
                    is_line=looked.scores.is_line,
                )
            )
    return found


# Fitting.


def fit(claims: Sequence[MeasuredClaim], *, prevalence: float) -> ClaimMap:
    """Fit the weights and both offsets of the map.

    Args:
        claims: Claims of all sets. The kinds ``right`` and ``wrong`` are used for the weights, the
            kind ``bare`` for the offset of claims without evidence.
        prevalence: Share of unsupported claims, in (0, 1).
    """
    shown = [each for each in claims if each.claim.kind in ("right", "wrong")]
    model = LogisticRegression(C=_RIDGE, max_iter=10_000, tol=1e-8).fit(
        np.array([each.measured.features for each in shown]),
        [each.claim.is_supported for each in shown],
        sample_weight=_weights(shown, prevalence) * len(shown),
    )
    weights = tuple(round(float(weight), 6) for weight in model.coef_[0])
    whole, words, unsupported = weights
    offset = round(float(model.intercept_[0]), 6)
    plain = ClaimMap(
        weights=(whole, words, unsupported), offset=offset, bare_offset=0.0, provenance={}
    )
    bare = [each for each in claims if each.claim.kind == "bare"]
    return ClaimMap(
        weights=plain.weights, offset=offset, bare_offset=_bare_offset(plain, bare), provenance={}
    )


def _weights(claims: Sequence[MeasuredClaim], prevalence: float) -> NDArray[np.float64]:
    """Return weights, of sum 1, by which all sets count alike and have the given prevalence."""
    groups = np.array([each.claim.group for each in claims])
    supported = np.array([each.claim.is_supported for each in claims])
    weights = np.zeros(len(claims))
    names = sorted(set(groups.tolist()))
    for name in names:
        for value, share in ((True, 1 - prevalence), (False, prevalence)):
            hit = (groups == name) & (supported == value)
            weights[hit] = share / hit.sum() / len(names)
    return weights


def _bare_offset(plain: ClaimMap, bare: Sequence[MeasuredClaim]) -> float:
    """Fit the offset of claims without evidence so that their mean probability is 1 / (n + 2).

    In none of the n contexts a claim without evidence is supported. By Laplace's rule of
    succession, 1 / (n + 2) is then the probability that the next such claim is supported.
    """
    n_contexts = len({each.claim.context for each in bare})
    odds = np.array([plain.log_odds(each.measured) for each in bare])

    def excess(offset: float) -> float:
        return float((1 / (1 + np.exp(-(odds + offset)))).mean()) - 1 / (n_contexts + 2)

    return round(float(brentq(excess, -30.0, 30.0)), 6)


def cross_fitted(claims: Sequence[MeasuredClaim], *, prevalence: float) -> NDArray[np.float64]:
    """Return P(supported) of each claim, by a map that was fitted on other contexts."""
    contexts = sorted({each.claim.context for each in claims})
    random.Random(0).shuffle(contexts)
    fold_of = {context: i % _FOLDS for i, context in enumerate(contexts)}
    maps = [
        fit([each for each in claims if fold_of[each.claim.context] != fold], prevalence=prevalence)
        for fold in range(_FOLDS)
    ]
    return np.array([each.probability(maps[fold_of[each.claim.context]]) for each in claims])


def choose(claims: Sequence[MeasuredClaim]) -> float:
    """Choose the highest prevalence with which enough supported claims pass in every set."""
    for prevalence in PREVALENCES:
        p = cross_fitted(claims, prevalence=prevalence)
        if min(passing(claims, p).values()) >= PASSING:
            return prevalence
    return PREVALENCES[-1]


def passing(claims: Sequence[MeasuredClaim], p: NDArray[np.float64]) -> dict[str, float]:
    """Return the share of supported claims that pass at :data:`TARGET`, by set."""
    groups = sorted({each.claim.group for each in claims})
    right = np.array([each.claim.kind == "right" for each in claims])
    of = np.array([each.claim.group for each in claims])
    return {group: float((p[right & (of == group)] >= TARGET).mean()) for group in groups}


# Measuring.


def measure(claims: Sequence[MeasuredClaim], p: NDArray[np.float64]) -> dict[str, Any]:
    """Measure the probabilities of one set.

    Returns:
        JSON data: the number of claims and contexts, the AUROC of right against wrong claims, and
        for each target the share of claims that pass, by kind. Intervals are resampled by context.
        ``prior`` has quantiles of the probabilities of claims without evidence.
    """
    kinds = np.array([each.claim.kind for each in claims])
    shown = (kinds == "right") | (kinds == "wrong")
    wrong = kinds[shown] == "wrong"
    bootstrap = Bootstrap.of([each.claim.context for each in claims], n_resamples=1000)
    of_shown = Bootstrap.of(
        [each.claim.context for each, is_shown in zip(claims, shown, strict=True) if is_shown],
        n_resamples=1000,
    )
    ranking = Ranking.of(1 - p[shown], wrong)
    passed: dict[str, dict[str, Any]] = {}
    for target in TARGETS:
        passed[f"{target:g}"] = {
            kind: written(
                bootstrap.of_sums(
                    np.stack([(kinds == kind) & (p >= target), kinds == kind], axis=1),
                    lambda sums: ratios(sums[..., 0], sums[..., 1]),
                ).interval()
            )
            for kind in sorted(set(kinds.tolist()))
        }
    return {
        "n": {kind: int((kinds == kind).sum()) for kind in sorted(set(kinds.tolist()))},
        "contexts": bootstrap.n_contexts,
        "auroc": written(of_shown.of_weights(ranking.aurocs)[0].interval()),
        "passing": passed,
        "prior": np.quantile(p[kinds == "bare"], [0.1, 0.5, 0.9]).round(4).tolist()
        if (kinds == "bare").any()
        else None,
    }


def calibration_error(
    claims: Sequence[MeasuredClaim], p: NDArray[np.float64], *, prevalence: float
) -> float:
    """Return the expected calibration error on claims drawn with a given prevalence."""
    shown = [i for i, each in enumerate(claims) if each.claim.kind in ("right", "wrong")]
    weights = _weights([claims[i] for i in shown], prevalence)
    drawn = np.random.default_rng(0).choice(shown, size=20_000, p=weights / weights.sum())
    is_supported = np.array([claims[i].claim.is_supported for i in drawn])
    return reliability(p[drawn], is_supported).ece


def written(interval: ScoreInterval) -> dict[str, float | None]:
    """Return an interval as JSON data, with ``None`` for NaN."""
    found = {name: float(getattr(interval, name)) for name in ("value", "low", "high")}
    return {name: None if isnan(each) else round(each, 4) for name, each in found.items()}


def report(
    claims: Sequence[MeasuredClaim], blind: Sequence[MeasuredClaim], fitted: ClaimMap, share: float
) -> dict[str, Any]:
    """Return scores of the map: cross-fitted on the sets that it was fitted on, and on a blind set.

    Args:
        claims: Claims of the sets that the map was fitted on.
        blind: Claims of a set that nothing was fitted on.
        fitted: The map.
        share: The prevalence of unsupported claims.
    """
    p = cross_fitted(claims, prevalence=share)
    sets: dict[str, Any] = {}
    for group in sorted({each.claim.group for each in claims}):
        at = [i for i, each in enumerate(claims) if each.claim.group == group]
        sets[group] = measure([claims[i] for i in at], p[at])
    q = np.array([each.probability(fitted) for each in blind])
    sets["citations/validation, nothing fitted on it"] = measure(blind, q)
    error = calibration_error(claims, p, prevalence=share)
    return {"sets": sets, "calibration_error": round(error, 4)}


def main() -> None:
    """Fit the map from the command line, write it, and print its scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder of sets")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="the folder of a reader")
    parser.add_argument("--json", type=Path, help="a file to write the scores to")
    parser.add_argument("--dry-run", action="store_true", help="write no map")
    options = parser.parse_args()
    manifest = find_reader(options.model)
    if manifest is None:
        raise SystemExit(f"{options.model} is not the folder of a reader")
    verifier = unfitted(manifest)
    data: Path = options.data
    claims = read(verifier, cited(data / "citations" / "train.jsonl.gz", "citations"))
    claims += read(verifier, slots(data / "slots" / "validation.jsonl.gz"))
    claims += read(verifier, ragtruth(data))
    blind = read(verifier, cited(data / "citations" / "validation.jsonl.gz", "citations"))
    share = choose(claims)
    fitted = fit(claims, prevalence=share)
    found = report(claims, blind, fitted, share)
    provenance = provenance_of(claims, share, found)
    complete = ClaimMap(
        weights=fitted.weights,
        offset=fitted.offset,
        bare_offset=fitted.bare_offset,
        provenance=provenance,
    )
    if not options.dry_run:
        complete.write(manifest.folder, graph=graph_hash(manifest))
    result = {"weights": fitted.weights, "offset": fitted.offset, "bare": fitted.bare_offset}
    text = json.dumps({**result, **provenance, **found}, indent=1)
    print(text)  # noqa: T201
    if options.json:
        options.json.write_text(text + "\n", "utf-8")


def unfitted(manifest: Manifest) -> LocalVerifier:
    """Make a verifier with a preliminary map, which can score claims to fit the map on."""
    from groundwire.engine.reader import Reader

    nothing = ClaimMap(weights=(1.0, 0.0, 0.0), offset=0.0, bare_offset=0.0, provenance={})
    return LocalVerifier(Reader.load_alone(manifest, threads=2, cache_bytes=256_000_000), nothing)


def provenance_of(
    claims: Sequence[MeasuredClaim], share: float, found: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the provenance for the file of a map: how it was fitted, and its main scores."""
    groups = sorted({each.claim.group for each in claims})
    return {
        "by": "python -m groundwire_training.verifier",
        "fitted_on": {
            group: {
                kind: sum(e.claim.group == group and e.claim.kind == kind for e in claims)
                for kind in ("right", "wrong", "bare")
            }
            for group in groups
        },
        "prevalence": share,
        "calibration_error": found["calibration_error"],
        "auroc": {group: found["sets"][group]["auroc"]["value"] for group in groups},
        "passing": {
            group: {
                kind: found["sets"][group]["passing"][f"{TARGET:g}"][kind]["value"]
                for kind in ("right", "wrong")
            }
            for group in groups
        },
    }


if __name__ == "__main__":
    main()

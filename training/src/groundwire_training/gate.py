"""Trains the gate's head, a linear model that predicts whether a prompt needs a check.

``groundwire train gate`` is the command. It needs scikit-learn, and no PyTorch.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression

from groundwire.engine.embedder import NeuralEmbedder
from groundwire.engine.models import DEFAULT_MODEL, ENCODER, GATE, MANIFEST_NAME, find_model
from groundwire.engine.prompts import (
    N_HASHED,
    N_MAPS,
    N_VIEWS,
    PROMPT_RULES,
    PromptHead,
    blended,
    prompt_features,
)
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import InputError
from groundwire.evaluation.intervals import wilson
from groundwire.policy.gate import HEAD, THRESHOLD
from groundwire.text.cues import language, plain, words
from groundwire_training import prompts as sets
from groundwire_training.file_entry import file_entry
from groundwire_training.prompts import OWN, Prompt
from groundwire_training.recipe import GateRecipe

CARD = "MODEL_CARD.md"
_FOLDS = 8
#: Number of neighbouring own prompts in one fold, since neighbours often share a topic.
_NEIGHBOURS = 16
_BLOCK = 512
#: Share of prompts that need a check. The Sentinel's authors state that "about 35 % of production
#: queries are non-factual".
PREVALENCE = 0.65
#: For the map that is fitted on sets: weight of each set, and inverse regularisation. For the
#: switch: inverse regularisation. All were chosen by cross-validation on the training prompts.
_SET_WEIGHT, _SET_SOFTNESS, _SWITCH_SOFTNESS = 500.0, 0.5, 1.0
#: Slope and offset of the switch. The offset makes it prefer the map for own prompts when in doubt.
_SHARPNESS, _TRUST = 2.0, 3.0

Say = Callable[[str], None]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRun:
    """Settings of a training run of the gate.

    Attributes:
        data: A file of prompts, or a folder of sets.
        out: Folder for embeddings, the report and the model folder ``model``.
        recipe: The numbers of the training.
        leave_sources_out: Whether to measure also, on each set, a gate trained without that set.
    """

    data: Path
    out: Path
    recipe: GateRecipe = field(default_factory=GateRecipe)
    leave_sources_out: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A list of prompts, and the matrix of their features with a row for each prompt."""

    prompts: Sequence[Prompt]
    features: csr_matrix

    def at(self, rows: Bools) -> "Table":
        """Return a table of the rows where ``rows`` is true."""
        chosen = [p for p, kept in zip(self.prompts, rows, strict=True) if kept]
        return Table(chosen, self.features[np.flatnonzero(rows)])

    @property
    def due(self) -> Bools:
        """Whether each prompt needs a check."""
        return np.array([prompt.is_due for prompt in self.prompts], bool)

    @property
    def sources(self) -> NDArray[np.str_]:
        """The set of each prompt."""
        return np.array([prompt.source for prompt in self.prompts])


def train_gate(run: GateRun, say: Say) -> Path:
    """Fit the head, report its scores, and write a model folder: ``out / "model"``.

    Raises:
        InputError: If the data cannot be used.
    """
    known, validation = load(run.data, run.recipe)
    run.out.mkdir(parents=True, exist_ok=True)
    table, shown = (tabulate(part, run.out, say) for part in (known, validation))
    rng = np.random.default_rng(run.recipe.seed)
    is_own = table.sources == OWN
    held = ~is_own & (rng.random(len(table.prompts)) < run.recipe.held_out_share)
    folds = fold(table, rng)

    logits = np.zeros(len(table.prompts))
    for number in range(_FOLDS):
        say(f"Fitting {number + 1} of {_FOLDS}, for the calibration.")
        rest = ~held & (folds != number)
        kept = folds == number
        logits[kept] = scores(fit(table.at(rest), run.recipe), table.at(kept))
    maps = fit(table.at(~held), run.recipe)
    logits[held] = scores(maps, table.at(held))
    scale, offset = calibrate(logits[~held], table.at(~held))
    odds = scale * logits + offset

    report: dict[str, Any] = {
        "held out of the sets": worth(odds[held], table.at(held).due),
        "own, cross-validated": worth(odds[is_own], table.at(is_own).due),
        "own, cross-validated, by language": by_language(odds[is_own], table.at(is_own)),
    }
    if shown.prompts:
        report |= validated(scale * scores(maps, shown) + offset, shown)
    for name, found in report.items():
        say(f"{name}: {json.dumps(found, ensure_ascii=False)}")
    write(maps, run.out / "model", calibration={"scale": scale, "offset": offset})
    if run.leave_sources_out:
        report["sets left out"] = left_out(table.at(~held), run.recipe, (scale, offset), say)
        others = tabulate(load_withheld(run.data, run.recipe), run.out, say)
        report["sets never learned from"] = by_group(
            scale * scores(maps, others) + offset, others.due, others.sources
        )
    (run.out / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return run.out / "model"


def load(data: Path, recipe: GateRecipe) -> tuple[list[Prompt], list[Prompt]]:
    """Read the prompts to train with, and the prompts to measure with.

    Raises:
        InputError: If the prompts to train with all need a check, or none does.
    """
    if data.is_file():
        return _both_kinds(sets.own(data), data), []
    folder = data / "prompts" if (data / "prompts").is_dir() else data
    known = [p for path in sorted(folder.glob("handwritten_train.jsonl*")) for p in sets.own(path)]
    known += [p for path in sorted(folder.glob("own*.jsonl*")) for p in sets.own(path)]
    mixed = [p for path in folder.glob("by_source.jsonl*") for p in sets.by_source(path)]
    mixed += sets.published(data / "published")
    known += sets.sampled(mixed, recipe.per_source, seed=recipe.seed)
    validation = [
        p for path in sorted(folder.glob("handwritten_validation.jsonl*")) for p in sets.own(path)
    ]
    return _both_kinds(known, data), validation


def load_withheld(data: Path, recipe: GateRecipe) -> list[Prompt]:
    """Read prompts of sets whose terms forbid training, to measure with."""
    folder = data / "prompts" if (data / "prompts").is_dir() else data
    mixed = [
        p for path in folder.glob("by_source.jsonl*") for p in sets.by_source(path, withheld=True)
    ]
    return sets.sampled(mixed, recipe.per_source, seed=recipe.seed)


def _both_kinds(known: list[Prompt], data: Path) -> list[Prompt]:
    if len({prompt.is_due for prompt in known}) < 2:
        raise InputError(
            f"{data} has {len(known)} prompts, and both kinds are needed: label 1 (needs a check) "
            "and 0. docs/gate.md has the format."
        )
    return known


def tabulate(known: Sequence[Prompt], out: Path, say: Say) -> Table:
    """Compute the features of prompts; their embeddings are stored in ``out`` for later runs."""
    texts = list(dict.fromkeys(prompt.text for prompt in known))
    places = {text: i for i, text in enumerate(texts)}
    vectors = embed(texts, out / "embeddings.npz", say)
    counted = [prompt_features(prompt.text) for prompt in known]
    rows = vectors[[places[prompt.text] for prompt in known]]
    seen = np.array([features.views for features in counted]).reshape(-1, N_VIEWS)
    views = [csr_matrix(rows * seen[:, [i]]) for i in range(N_VIEWS)]
    ends = np.cumsum([0, *(len(features.places) for features in counted)])
    hashed = csr_matrix(
        (
            np.concatenate([f.values for f in counted] or [np.zeros(0, np.float32)]),
            np.concatenate([f.places for f in counted] or [np.zeros(0, np.int64)]),
            ends,
        ),
        shape=(len(known), N_HASHED),
    )
    return Table(known, hstack([*views, hashed], format="csr"))


def embed(texts: Sequence[str], kept: Path, say: Say) -> NDArray[np.float32]:
    """Embed texts with the deployed encoder, or read their embeddings from the file ``kept``."""
    encoder = find_model(ENCODER)
    known: dict[str, NDArray[np.float32]] = {}
    if kept.is_file():
        with np.load(kept, allow_pickle=False) as stored:
            if str(stored["revision"]) == encoder.revision:
                names = json.loads(stored["texts"].tobytes())
                known = dict(zip(names, stored["vectors"], strict=True))
    new = [text for text in texts if text not in known]
    pieces = WordPieces(find_model(DEFAULT_MODEL).folder / "tokenizer.json")
    embedder = NeuralEmbedder.load(encoder, pieces, threads=1)
    for start in range(0, len(new), _BLOCK):
        block = new[start : start + _BLOCK]
        known.update(zip(block, embedder.embed(block), strict=True))
        say(f"Embedded {start + len(block):,} of {len(new):,}.")
        if start % (20 * _BLOCK) == 0 or start + _BLOCK >= len(new):
            _keep(known, encoder.revision, kept)
    return np.array([known[text] for text in texts], np.float32).reshape(-1, 384)


def _keep(known: dict[str, NDArray[np.float32]], revision: str, kept: Path) -> None:
    # Texts are stored as bytes: a numpy array of texts would be as wide as the longest text.
    fresh = kept.with_suffix(".new.npz")
    np.savez(
        fresh,
        revision=np.array(revision),
        texts=np.frombuffer(json.dumps(list(known)).encode(), np.uint8),
        vectors=np.array(list(known.values())),
    )
    fresh.replace(kept)


def fold(table: Table, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of each row: own prompts in blocks of neighbours, all others at random."""
    folds = rng.integers(_FOLDS, size=len(table.prompts))
    own = np.flatnonzero(table.sources == OWN)
    folds[own] = np.arange(len(own)) // min(_NEIGHBOURS, max(len(own) // _FOLDS, 1)) % _FOLDS
    return folds


def fit(table: Table, recipe: GateRecipe) -> Floats:
    """Fit the three linear maps of a head: for own prompts, for sets, and the switch between them.

    Returns:
        Weights of shape ``(3, n + 1)`` for n features; the last weight is the offset.
    """
    own = table.sources == OWN
    near = _fit(table, table.due, _weights(table, recipe.own_weight, recipe.source_weight), recipe)
    if own.all() or not own.any():
        return np.stack([near, near, np.zeros_like(near)])
    sets_alone = table.at(~own)
    alike = _weights(sets_alone, 0, _SET_WEIGHT)
    far = _fit(sets_alone, sets_alone.due, alike, recipe, softness=_SET_SOFTNESS)
    balance = np.where(own, 1, own.sum() / (~own).sum())
    switch = _SHARPNESS * _fit(table, own, balance, recipe, softness=_SWITCH_SOFTNESS)
    switch[-1] += _TRUST
    return np.stack([near, far, switch])


def _weights(table: Table, own: float, source: float) -> Floats:
    counts = Counter(table.sources.tolist())
    return np.array([own if name == OWN else source / counts[name] for name in table.sources])


def _fit(
    table: Table, wanted: Bools, weights: Floats, recipe: GateRecipe, *, softness: float = 0
) -> Floats:
    if len(set(wanted.tolist())) < 2:  # only one class: the map is a constant
        return np.append(np.zeros(table.features.shape[1]), 5.0 if wanted.all() else -5.0)
    model = LogisticRegression(C=softness or recipe.softness, max_iter=300)
    model.fit(table.features, wanted, sample_weight=weights)
    return np.append(model.coef_[0], model.intercept_).astype(np.float64)


def scores(maps: Floats, table: Table) -> Floats:
    """Return the uncalibrated log-odds that each prompt needs a check."""
    near, far, switch = (table.features @ weights[:-1] + weights[-1] for weights in maps)
    return np.asarray(blended(near, far, switch), np.float64)


def calibrate(logits: Floats, table: Table) -> tuple[float, float]:
    """Fit Platt's map on the log-odds of prompts that were held out of the fit.

    Own prompts are near the border between the classes, prompts of sets far from it, and prompts of
    users in between. So own prompts count as much as all others together. Both groups are weighted
    so that the share :data:`PREVALENCE` of them needs a check.
    """
    own = table.sources == OWN
    weights = np.zeros(len(logits))
    for rows in (own, ~own):
        weights[rows] = prevalence_weights(table.due[rows])
    model = LogisticRegression(C=1e6).fit(logits[:, None], table.due, sample_weight=weights)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def prevalence_weights(due: Bools) -> Floats:
    """Return weights by which the share :data:`PREVALENCE` needs a check; they sum to 1,000."""
    share = np.clip(due.mean() if len(due) else 0.5, 1e-6, 1 - 1e-6)
    weights = np.where(due, PREVALENCE / share, (1 - PREVALENCE) / (1 - share))
    return np.asarray(1000 * weights / max(len(due), 1))


def worth(logits: Floats, due: Bools) -> dict[str, Any]:
    """Compute the scores of decisions at the default threshold, and the calibration error.

    The calibration error is weighted to :data:`PREVALENCE`; all other scores are unweighted.
    """
    p = 1 / (1 + np.exp(-logits))
    found = p >= THRESHOLD
    bins, weights = np.minimum((p * 10).astype(int), 9), prevalence_weights(due)
    gaps = [abs((weights * (p - due))[bins == b].sum()) for b in range(10)]
    return {
        "n": len(p),
        "accuracy": round(float((found == due).mean()), 4) if len(p) else None,
        "needed_and_found": int((found & due).sum()),
        "needed_and_missed": int((~found & due).sum()),
        "not_needed_and_found": int((found & ~due).sum()),
        "not_needed_and_passed": int((~found & ~due).sum()),
        "ece": round(float(sum(gaps)) / 1000, 4),
    }


def validated(logits: Floats, table: Table) -> dict[str, Any]:
    """Compute the scores of validation prompts: of all together, by language and by category."""
    categories = np.array([prompt.category for prompt in table.prompts])
    return {
        "validation": worth(logits, table.due),
        "validation by language": by_language(logits, table),
        "validation by category": by_group(logits, table.due, categories),
    }


def by_language(logits: Floats, table: Table) -> dict[str, Any]:
    """Count the right decisions in each language; see :func:`by_group`."""
    languages = np.array([language_of(prompt) for prompt in table.prompts])
    return by_group(logits, table.due, languages)


def by_group(logits: Floats, due: Bools, groups: NDArray[np.str_]) -> dict[str, Any]:
    """Count the right decisions in each group, and give their share a 95 % interval."""
    right = (1 / (1 + np.exp(-logits)) >= THRESHOLD) == due
    found = {}
    for name in sorted(set(groups.tolist())):
        mine = right[groups == name]
        share = wilson(int(mine.sum()), len(mine))
        found[str(name)] = {
            "right": int(mine.sum()),
            "n": len(mine),
            "accuracy": round(share.value, 4),
            "low": round(share.low, 4),
            "high": round(share.high, 4),
        }
    return found


def language_of(prompt: Prompt) -> str:
    """Return the language of a prompt: the one that its category names, else that of its words."""
    _, named, code = prompt.category.partition("multilingual_")
    return code if named else language(words(plain(prompt.text)))


def left_out(
    table: Table, recipe: GateRecipe, calibration: tuple[float, float], say: Say
) -> dict[str, Any]:
    """Measure, for each set, the accuracy of a gate that was trained without that set."""
    scale, offset = calibration
    found = {}
    for name in sorted(set(table.sources.tolist()) - {OWN}):
        mine = table.sources == name
        weights = fit(table.at(~mine), recipe)
        kept = table.at(mine)
        found[name] = worth(scale * scores(weights, kept) + offset, kept.due)["accuracy"]
        say(f"Left out {name}: {found[name]}.")
    return found


def write(maps: Floats, folder: Path, *, calibration: dict[str, float]) -> None:
    """Write a model folder; an existing model card is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    views, hashed, offsets = np.split(maps.astype(np.float32), [-1 - N_HASHED, -1], axis=1)
    head = PromptHead(
        views.reshape(N_MAPS, N_VIEWS, -1),
        hashed,
        offsets[:, 0],
        calibration["scale"],
        calibration["offset"],
    )
    head.write(folder / HEAD)
    write_manifest(folder, calibration=calibration)


def write_manifest(folder: Path, *, calibration: dict[str, float]) -> None:
    """Write the manifest of a model folder, with the present hash of every file."""
    names = [name for name in (HEAD, CARD) if (folder / name).exists()]
    manifest = {
        "name": GATE,
        "version": "2",
        "kind": "gate",
        "licence": "Apache-2.0",
        "base": "head on minilm",
        "encoder": find_model(ENCODER).revision,
        "labels": ["not_needed", "needed"],
        "prompt_rules": PROMPT_RULES,
        "operating_points": {"balanced": THRESHOLD},
        "calibration": calibration,
        "files": {name: file_entry(folder / name) for name in names},
    }
    text = json.dumps(manifest, indent=2) + "\n"
    (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")

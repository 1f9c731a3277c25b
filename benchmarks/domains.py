"""From which cosine on a prompt belongs to a domain that is described in a sentence.

The threshold is chosen on every second prompt of ``data/domains.json`` (ours; Apache-2.0), where F1
over all pairs of prompt and domain is highest, and reported on the others.
Run it: ``python benchmarks/domains.py --out benchmarks/results/domains.json``
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measure
import numpy as np
from numpy.typing import NDArray

from groundwire.engine.embedder import NeuralEmbedder
from groundwire.engine.models import DEFAULT_MODEL, ENCODER, find_model
from groundwire.engine.tokenizer import WordPieces
from groundwire.evaluation.intervals import wilson
from groundwire.policy.signals import DOMAIN_THRESHOLD, GENERAL

DATA = Path(__file__).parent / "data" / "domains.json"
THRESHOLDS = tuple(round(0.10 + 0.01 * step, 2) for step in range(41))


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Every prompt against every description.

    Attributes:
        prompts: The domain of each prompt.
        domains: The names of the domains.
        cosines: Shape ``(n_prompts, n_domains)``.
    """

    prompts: tuple[str, ...]
    domains: tuple[str, ...]
    cosines: NDArray[np.float64]

    @property
    def belongs(self) -> NDArray[np.bool_]:
        """Whether each prompt is of each domain, shape as :attr:`cosines`."""
        return np.array([[own == other for other in self.domains] for own in self.prompts])

    def half(self, odd: int) -> "Pairs":
        """Every second prompt of each domain."""
        seen: dict[str, int] = {}
        rows = []
        for row, name in enumerate(self.prompts):
            seen[name] = seen.get(name, -1) + 1
            if seen[name] % 2 == odd:
                rows.append(row)
        return Pairs(tuple(self.prompts[row] for row in rows), self.domains, self.cosines[rows])


def main() -> None:
    """Choose, report, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    options = parser.parse_args()
    data = json.loads(DATA.read_text("utf-8"))
    pairs = embedded(data, "description")
    tuning, others = pairs.half(0), pairs.half(1)
    reworded = embedded(data, "in_other_words").half(1)
    best = max(THRESHOLDS, key=lambda threshold: scored(tuning, threshold)["f1"])
    rows = [
        {"prompts": name, "threshold": threshold, **scored(part, threshold)}
        for name, part in (
            ("tuning", tuning),
            ("reported", others),
            ("reported, in other words", reworded),
        )
        for threshold in sorted({best, DOMAIN_THRESHOLD, 0.14, 0.22, 0.26, 0.3})
    ]
    columns = ("prompts", "at", "n", "found", "missed", "wrong", "precision", "recall", "F1")
    shown = [row | {"at": f"{row['threshold']:.2f}", "F1": f"{row['f1']:.3f}"} for row in rows]
    print(measure.table(shown, (*columns, "general_kept")))
    by_domain = [
        {"domain": name, **one(others, index, DOMAIN_THRESHOLD)}
        for index, name in enumerate(others.domains)
    ]
    print(measure.table(by_domain, ("domain", "found", "missed", "wrong")))
    print(f"best on the tuning half: {best}; the default: {DOMAIN_THRESHOLD}")
    report = {"benchmark": "domains", "machine": measure.machine(), "best": best}
    measure.write(options.out, report | {"rows": rows, "by_domain": by_domain})


def embedded(data: dict[str, Any], wording: str) -> Pairs:
    """Cosines by the embedded encoder, as the signal computes them.

    Args:
        data: By domain: prompts, and what describes it.
        wording: Which description: ``description`` or ``in_other_words``.
    """
    pieces = WordPieces(find_model(DEFAULT_MODEL).folder / "tokenizer.json")
    embedder = NeuralEmbedder.load(find_model(ENCODER), pieces, threads=1)
    domains = tuple(name for name in data if name != GENERAL)
    texts = [(name, text) for name, found in data.items() for text in found["prompts"]]
    described = embedder.embed([data[name][wording] for name in domains]).astype(float)
    asked = embedder.embed([text for _, text in texts]).astype(float)
    return Pairs(tuple(name for name, _ in texts), domains, asked @ described.T)


def scored(pairs: Pairs, threshold: float) -> dict[str, Any]:
    """Pairs found, missed and wrongly found, and how many general prompts stay general."""
    flagged, belongs = pairs.cosines >= threshold, pairs.belongs
    found, wrong = int((flagged & belongs).sum()), int((flagged & ~belongs).sum())
    missed = int((~flagged & belongs).sum())
    precision, recall = wilson(found, found + wrong), wilson(found, found + missed)
    general = np.array([name == GENERAL for name in pairs.prompts])
    kept = int((~flagged[general].any(axis=1)).sum())
    return {
        "n": len(pairs.prompts),
        "found": found,
        "missed": missed,
        "wrong": wrong,
        "precision": _rounded((precision.value, precision.low, precision.high)),
        "recall": _rounded((recall.value, recall.low, recall.high)),
        "f1": round(2 * found / max(2 * found + missed + wrong, 1), 3),
        "general_kept": f"{kept} of {int(general.sum())}",
    }


def one(pairs: Pairs, index: int, threshold: float) -> dict[str, int]:
    """The counts of one domain."""
    flagged, belongs = pairs.cosines[:, index] >= threshold, pairs.belongs[:, index]
    return {
        "found": int((flagged & belongs).sum()),
        "missed": int((~flagged & belongs).sum()),
        "wrong": int((flagged & ~belongs).sum()),
    }


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 3) for value in values]


if __name__ == "__main__":
    main()

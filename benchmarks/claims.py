"""What the local verifier is worth on claims that people have judged, set by set.

Each claim is read as ``detect_hallucination`` reads it: its evidence cleaned, citations left out,
an answer of several sentences as weak as its weakest. The threshold of balanced accuracy is chosen
on each set's validation part (SummEdits has none: half of its documents are taken) and only read on
its test part; 0.95 is the documented target. Intervals resample evidence texts.

Run it: ``python benchmarks/claims.py --data DATA --out benchmarks/results/claims.json``
"""

import argparse
import gzip
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import measure
import numpy as np

from groundwire.detection.example import Source
from groundwire.evaluation.intervals import Bootstrap, ScoreInterval
from groundwire.evaluation.metrics import Floats, Ranking, ratios
from groundwire.verify.claims import read_claims
from groundwire.verify.context import Contexts
from groundwire.verify.local import LocalVerifier
from groundwire.verify.verifier import ClaimQuestion, Readout

TARGET = 0.95
#: Published by others on comparable tasks, not on these very rows; sources in README.md.
PUBLISHED = (
    (
        "LLM-AggreFact (11 sets, WiCE and ExpertQA among them), mean balanced accuracy",
        (
            ("MiniCheck-7B", 77.4),
            ("GPT-4o", 75.9),
            ("MiniCheck RoBERTa-L (0.4B)", 74.4),
            ("AlignScore (0.35B)", 72.5),
            ("HHEM-2.1 (0.1B)", 71.8),
            ("SummaC", 69.8),
        ),
    ),
    (
        "Berry with gpt-4.1-mini, AUROC",
        (
            ("HotpotQA, evidence taken away", 84.1),
            ("RAGTruth Summary, atomic claims", 81.9),
            ("VitaminC, supported or not enough", 92.9),
            ("HaluEval-QA", 72.2),
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A labelled claim: its evidence, what people say, and what the verifier says.

    Attributes:
        context: Of its evidence; claims of one are not independent.
        is_wrong: Whether people say that the evidence does not support it.
        p: P(YES); 0 if the verifier could not read it.
        is_unread: Whether it could not.
    """

    context: str
    is_wrong: bool
    p: float
    is_unread: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Set:
    """One set of claims.

    Attributes:
        name: Of the file, without ending.
        is_wrong: Label → whether the claim is not supported; others are left out.
        part: Row → ``validation``, ``test``, or nothing.
    """

    name: str
    is_wrong: Mapping[str, bool]
    part: Callable[[Mapping[str, Any]], str | None]


def by_split(validation: str, test: str) -> Callable[[Mapping[str, Any]], str | None]:
    """Parts by the key ``split``."""
    return lambda row: {validation: "validation", test: "test"}.get(row["split"])


def by_document(row: Mapping[str, Any]) -> str:
    """Half of all documents each, by their hash."""
    return "validation" if int(digest(row["context"]), 16) % 2 else "test"


def digest(text: str) -> str:
    """Names a text."""
    return sha256(text.encode()).hexdigest()[:16]


SETS = (
    Set(
        name="wice_claims",
        is_wrong={"supported": False, "partially_supported": True, "not_supported": True},
        part=by_split("dev", "test"),
    ),
    Set(
        name="expertqa_claims",
        is_wrong={"Complete": False, "Partial": True, "Incomplete": True},
        part=by_split("val", "test"),
    ),
    Set(
        name="attributionbench",
        is_wrong={"attributable": False, "not attributable": True},
        part=by_split("dev", "test"),
    ),
    Set(
        name="citation_integrity",
        is_wrong={"SUPPORT": False, "REFUTE": True, "NEI": True},
        part=by_split("dev", "test"),
    ),
    Set(
        name="summedits",
        is_wrong={"consistent": False, "inconsistent": True},
        part=by_document,
    ),
)
_PLACEHOLDER = re.compile(r"<\|\w+\|>")


def rows_of(folder: Path, of: Set, most: int) -> dict[str, list[dict[str, Any]]]:
    """At most so many rows of each part, drawn from a seed."""
    parts: dict[str, list[dict[str, Any]]] = {"validation": [], "test": []}
    with gzip.open(folder / f"{of.name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            part = of.part(row)
            if part is not None and row["label"] in of.is_wrong and row["context"].strip():
                parts[part].append(row)
    for rows in parts.values():
        random.Random(0).shuffle(rows)
        del rows[most:]
        # Neighbours share their evidence, which is then read once.
        rows.sort(key=lambda row: row["context"])
    return parts


def judge(verifier: LocalVerifier, of: Set, rows: Sequence[Mapping[str, Any]]) -> list[Judged]:
    """Judge claims; of several sentences the least supported one counts."""
    judged = []
    for row in rows:
        read = list(questions(row))
        answers = verifier.judge(read)
        known = [answer.yes.low for answer in answers if isinstance(answer, Readout)]
        is_unread = len(known) < len(answers) or not known
        judged.append(
            Judged(
                context=digest(row["context"]),
                is_wrong=of.is_wrong[row["label"]],
                p=0.0 if is_unread else min(known),
                is_unread=is_unread,
            )
        )
    return judged


def questions(row: Mapping[str, Any]) -> Iterator[ClaimQuestion]:
    """What the verifier is asked about a row."""
    contexts = Contexts.of([Source(id="S0", text=row["context"])], mode="all", placeholder="")
    answer = _PLACEHOLDER.sub("", row["answer"])
    for claim in read_claims(answer, span_ids=["S0"]):
        yield contexts.posterior(claim)


def best_threshold(judged: Sequence[Judged]) -> float:
    """The P(YES) below which flagging has the best balanced accuracy."""
    p, wrong = columns(judged)
    tried = np.unique(p)
    return float(max(tried, key=lambda t: balanced(p, wrong, t)))


def balanced(p: Floats, wrong: Floats, threshold: float) -> float:
    """Mean share of each kind that is told right."""
    is_flagged = p < threshold
    return float((is_flagged[wrong > 0].mean() + (~is_flagged)[wrong == 0].mean()) / 2)


def columns(judged: Sequence[Judged]) -> tuple[Floats, Floats]:
    """P(YES), and whether each is wrong."""
    p = np.array([each.p for each in judged])
    return p, np.array([each.is_wrong for each in judged], np.float64)


def measured(judged: Sequence[Judged], threshold: float) -> dict[str, Any]:
    """Scores of a test part, with intervals by evidence text."""
    p, wrong = columns(judged)
    bootstrap = Bootstrap.of([each.context for each in judged], n_resamples=1000)
    ranking = Ranking.of(1 - p, wrong > 0)

    def accuracy(limit: float) -> dict[str, float]:
        flagged = p < limit
        sums = np.stack([wrong * flagged, wrong, (1 - wrong) * ~flagged, 1 - wrong], axis=1)
        return written(bootstrap.of_sums(sums, _balanced).interval())

    return {
        "n": len(judged),
        "contexts": bootstrap.n_contexts,
        "wrong": int(wrong.sum()),
        "unread": sum(each.is_unread for each in judged),
        "auroc": written(bootstrap.of_weights(ranking.aurocs)[0].interval()),
        "threshold": round(threshold, 4),
        "balanced_accuracy": accuracy(threshold),
        "at_target": accuracy(TARGET),
        "supported_passing": round(float((p[wrong == 0] >= TARGET).mean()), 4),
        "wrong_passing": round(float((p[wrong > 0] >= TARGET).mean()), 4),
    }


def _balanced(sums: Floats) -> Floats:
    found = ratios(sums[..., 0], sums[..., 1]) + ratios(sums[..., 2], sums[..., 3])
    return np.asarray(found / 2)


def written(interval: ScoreInterval) -> dict[str, float]:
    """An interval as data."""
    names = ("value", "low", "high")
    return {name: round(float(getattr(interval, name)), 4) for name in names}


def shown(interval: Mapping[str, float]) -> str:
    """An interval in per cent."""
    low, high = 100 * interval["low"], 100 * interval["high"]
    return f"{100 * interval['value']:.1f} ({low:.1f} to {high:.1f})"


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder of sets")
    parser.add_argument("--most", type=int, default=600, help="rows of each part, at most")
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    options = parser.parse_args()
    verifier = LocalVerifier.load(threads=1)
    rows = []
    for of in SETS:
        parts = {
            part: judge(verifier, of, found)
            for part, found in rows_of(options.data / "claims", of, options.most).items()
        }
        threshold = best_threshold(parts["validation"])
        found = measured(parts["test"], threshold)
        rows.append({"set": of.name, "n_validation": len(parts["validation"]), **found})
        print(
            f"{of.name}: n {found['n']}, AUROC {shown(found['auroc'])}, balanced accuracy "
            f"{shown(found['balanced_accuracy'])} at {threshold:.3f}, {shown(found['at_target'])} "
            f"at {TARGET}",
            flush=True,
        )
    report = {
        "benchmark": "claims",
        "machine": measure.machine(),
        "verifier": verifier.model,
        "most": options.most,
        "rows": rows,
        "published": [{"what": what, "numbers": dict(numbers)} for what, numbers in PUBLISHED],
    }
    measure.write(options.out, report)


if __name__ == "__main__":
    main()

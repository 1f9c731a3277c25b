"""Collects the numbers of README's comparison of detectors.

Groundwire's numbers come from model cards and benchmark results, which
``python -m groundwire_training.calibrate``, ``python -m tests.cases --json``,
``benchmarks/stream.py``, ``benchmarks/answers.py`` and ``benchmarks/install.py`` make. Those of
other detectors are the ones that their authors publish. ``docs/generate.py`` calls this module and
checks that README agrees.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from groundwire.engine.models import Manifest
from groundwire.evaluation.intervals import wilson

ROOT = Path(__file__).parents[1]
_RESULTS = ROOT / "benchmarks" / "results"
_BENCHES = ROOT / "src" / "groundwire" / "evaluation" / "benches" / "benches.json"
HEAD = (
    *("Detector", "Test", "Answers, F1", "Words, F1", "Right answers flagged"),
    *("Speed", "Size", "Needs"),
)
UNKNOWN = "not published"


@dataclass(frozen=True, slots=True)
class Card:
    """The model card of a model folder, and the size of the model."""

    name: str
    folder: Path

    @property
    def megabytes(self) -> float:
        """The size of the model's files in megabytes."""
        return Manifest.read(self.folder).total_bytes / 1e6

    def table(self, has: str, title: str = "") -> dict[str, dict[str, str]]:
        """Read the first table of the card that has a certain column.

        Args:
            has: The name of the column.
            title: A heading after which the table stands; empty: anywhere.

        Returns:
            The rows by the text of their first cell; each row maps names of columns to texts.
        """
        text = (self.folder / "MODEL_CARD.md").read_text(encoding="utf-8")
        text = text[text.find(title) :] if title in text else ""
        tables = (
            list(rows) for _, rows in groupby(text.splitlines(), lambda line: line[:1] == "|")
        )
        for head, _rule, *rows in (table for table in tables if f" {has} |" in table[0]):
            columns = _cells(head)
            return {row[0]: dict(zip(columns, row, strict=True)) for row in map(_cells, rows)}
        raise SystemExit(f"The card of {self.name} has no table {title!r} with {has!r}.")


BASE = Card("reader-base", ROOT / "models/reader-base/src/groundwire_reader_base")
SMALL = Card("reader-small", ROOT / "src/groundwire/engine/models/reader")
_TEST = "## Test: half of RAGTruth's test set"


def rows() -> list[tuple[str, ...]]:
    """Return the rows of the table: Groundwire's detectors, then those of others.

    :data:`HEAD` names the columns.
    """
    published = json.loads(_BENCHES.read_text(encoding="utf-8"))["ragtruth"]["published"]
    peers = tomllib.loads((ROOT / "docs" / "peers.toml").read_text(encoding="utf-8"))["peer"]
    base = (f"{BASE.megabytes + SMALL.megabytes:.0f} MB, both models", "a CPU")
    small = (f"{SMALL.megabytes:.0f} MB", "a CPU")
    return [
        _validated(BASE, "stream_base", *base),
        (f"**{BASE.name}**", *_tested(BASE), "as above", *base),
        _validated(SMALL, "stream", *small),
        ("reader-small, before its rules", *_tested(SMALL), "as above", *small),
        *(_published(peer, {row["system"]: row for row in published}) for peer in peers),
    ]


def sentences() -> str:
    """Return a Markdown list of the limits of the detectors that the table does not show."""
    points = BASE.table("hallucinated answers found")
    everything = BASE.table("flag everything, F1")["all"]
    balanced, precision = points["`balanced`"], points["`precision`"]
    pairs, small = _pairs(BASE, "pairs_base"), _pairs(SMALL, "pairs_small")
    answers = _pairs(BASE, "pairs_base", "answers")
    return (
        f"- **Blocking.** The default threshold, `balanced`, finds "
        f"{_found(balanced)} of hallucinated answers. `precision`, which is for blocking, "
        f"finds {_found(precision)} and flags {_flagged(precision)} of right answers "
        f"({everything['n']} validation answers).\n"
        f"- **Plain errors.** Of {pairs['n']} short claims with one mistake, written by two "
        f"people who did not know the detector, reader-base finds "
        f"{_share(pairs['found'], pairs['n'])}, and flags "
        f"{_share(pairs['flagged'], pairs['n'])} of the same claims without the mistake; "
        f"reader-small {_share(small['found'], small['n'])} and "
        f"{_share(small['flagged'], small['n'])}.\n"
        f"- **Subtle errors.** Of {answers['n']} answers in the style of RAG, each with one subtle "
        f"error, by the same two people, reader-base finds "
        f"{_share(answers['found'], answers['n'])}; of the same answers without it, it flags "
        f"{_share(answers['flagged'], answers['n'])}. [Which kinds it misses]"
        "(docs/how-it-works.md#what-it-cannot-detect).\n"
        f"{_rows_a_second()}\n"
        f"- **On disk.** The first command above makes an environment of "
        f"{_results('install')['mb']:.0f} MB, with both models and all that they need.\n"
    )


def pairs() -> list[tuple[str, ...]]:
    """Return the rows of a table: errors that are found in texts that the models do not know."""
    rows: list[tuple[str, ...]] = []
    for kind, what in (
        ("claims", "plain claims, each beside a wrong one of the kinds above"),
        ("answers", "answers in the style of RAG, each beside one with a subtle error"),
    ):
        base, small = _pairs(BASE, "pairs_base", kind), _pairs(SMALL, "pairs_small", kind)
        found = f"{base['n']} {what}: wrong ones found"
        rows.append((found, str(base["found"]), str(small["found"])))
        rows.append(("the same: right ones marked", str(base["flagged"]), str(small["flagged"])))
    return rows


def _rows_a_second() -> str:
    """Return a point of the list about the time that files of answers take."""
    took = [
        sum(
            row["median"] for row in _results(name)["rows"] if row["what"] in ("open_ms", "feed_ms")
        )
        for name in ("stream_base", "stream")
    ]
    seconds = [f"{ms / 1000:.2g} s" for ms in took]
    rates = [f"{1000 / ms:.2g}" for ms in took]
    answers = _results("answers")
    tokens, per_s = answers["tokens"]["median"], answers["rows"][0]["per_s"]
    return (
        "- **A file of answers.** On the two cores, a row of 4,000 new tokens of context and an "
        f"answer of 200 takes reader-base {seconds[0]} and reader-small {seconds[1]}: {rates[0]} "
        f"and {rates[1]} rows a second. Of RAGTruth's answers, with their context {tokens:.0f} "
        f"tokens in the median, reader-small checks {per_s:.0f} a second."
    )


def _validated(card: Card, stream: str, size: str, needs: str) -> tuple[str, ...]:
    table = card.table("flag everything, F1")
    scores, everything = table["RAGTruth"], table["all"]
    n_hallucinated = round(_count(everything) * float(everything["hallucinated"].rstrip("%")) / 100)
    point = card.table("hallucinated answers found")["`balanced`"]
    flagged = _flagged_of(everything | point, n_hallucinated)
    added = next(row for row in _results(stream)["rows"] if row["what"] == "added_ms")
    return (
        *(f"**{card.name}**", f"RAGTruth validation: {scores['n']}"),
        *(scores["F1"], scores["characters, F1"], flagged),
        f"{added['median']:.0f} ms, at most {added['max']:.0f}",
        *(size, needs),
    )


def _tested(card: Card) -> tuple[str, ...]:
    test = card.table("grounded answers flagged", _TEST)["all"]
    flagged = _flagged_of(test, int(test["hallucinated"]))
    return f"RAGTruth test, half: {test['n']}", test["F1"], test["characters, F1"], flagged


def _published(
    peer: Mapping[str, str], systems: Mapping[str, Mapping[str, Any]]
) -> tuple[str, ...]:
    scores = systems[peer["ragtruth"]]["scores"] if "ragtruth" in peer else {}
    answers = f"{scores['F1']:.1f}" if scores else peer.get("answers", UNKNOWN)
    words = f"{scores['characters F1']:.1f}" if "characters F1" in scores else UNKNOWN
    return (
        *(
            peer["name"],
            "RAGTruth test: 2,700" if scores else peer.get("test", UNKNOWN),
            answers,
        ),
        *(peer.get("words", words), peer.get("flagged", UNKNOWN)),
        *(peer["speed"], peer["size"], peer["needs"]),
    )


def _results(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((_RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return read


def _pairs(card: Card, name: str, kind: str = "claims") -> dict[str, int]:
    """Read the counts of errors found in claims or answers, made with the shipped weights."""
    results = _results(name)
    if results["detector"]["revision"] != Manifest.read(card.folder).revision:
        raise SystemExit(
            f"{name}.json was counted with other weights. Count again: python -m tests.cases "
            f"--model {card.folder.relative_to(ROOT)} --json benchmarks/results/{name}.json"
        )
    counts: dict[str, int] = results[kind]["all"]
    return counts


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _found(point: Mapping[str, str]) -> str:
    return point["hallucinated answers found"].replace("%", " %")


def _flagged_of(row: Mapping[str, str], n_hallucinated: int) -> str:
    """Return the share of grounded answers that are flagged, with its interval, as text."""
    n = _count(row) - n_hallucinated
    return _share(round(float(row["grounded answers flagged"].rstrip("%")) * n / 100), n)


def _count(row: Mapping[str, str]) -> int:
    return int(row["n"].replace(",", ""))


def _flagged(point: Mapping[str, str]) -> str:
    return f"{float(point['grounded answers flagged'].rstrip('%')):.2g} %"


def _share(n_right: int, n: int) -> str:
    found = wilson(n_right, n)
    return f"{100 * found.value:.0f} % ({100 * found.low:.0f} to {100 * found.high:.0f})"

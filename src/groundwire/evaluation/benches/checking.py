"""Checksums of a benchmark's files, and a check of the numbers of answers in the files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os.path import commonpath
from pathlib import Path
from typing import Any

from groundwire.detection.values import JsonRecord
from groundwire.evaluation.datasets.lines import sha256_of

#: Number of answers, and number of hallucinated answers (``None`` if unknown).
Counts = tuple[int, int | None]


def sums_of(files: Sequence[Path]) -> dict[str, str]:
    """Compute the SHA-256 of each file; the keys are the paths below the files' common folder."""
    root = Path(commonpath([file.absolute().parent for file in files]))
    return {file.absolute().relative_to(root).as_posix(): sha256_of(file) for file in files}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck(JsonRecord):
    """Comparison of the numbers of answers in a benchmark's files with the numbers on record.

    Attributes:
        counts: Result of the comparison: ``same``, ``different``, or ``unknown`` if no numbers are
            on record.
        differences: A phrase for each task whose numbers differ from those on record, and one for
            "all" if the numbers of all answers differ.
        source: Where the numbers on record are from, such as "its paper"; empty if there are none.
    """

    counts: str = "unknown"
    differences: tuple[str, ...] = ()
    source: str = ""


def check_counts(
    expected: Mapping[str, Any], total: Counts, tasks: Mapping[str, Counts]
) -> FileCheck:
    """Compare the numbers of answers that were read with the numbers on record.

    Args:
        expected: The numbers on record for the split, from :attr:`.registry.Bench.expected`; empty
            if unknown.
        total: Number of labelled answers that were read, and of the hallucinated ones among them.
        tasks: Name of a task → the same two numbers, for the answers of this task.
    """
    if not expected:
        return FileCheck()
    wanted = dict(expected.get("tasks", {}))
    found = {name: tasks.get(name, (0, 0)) for name in wanted}
    if "total" in expected:
        wanted["all"], found["all"] = expected["total"], total
    differences = tuple(
        f"{name}: {_shown(found[name])}, and {_shown(counts)} expected"
        for name, counts in wanted.items()
        if counts[0] != found[name][0] or counts[1] not in (None, found[name][1])
    )
    counts = "different" if differences else "same"
    return FileCheck(counts=counts, differences=differences, source=expected["source"])


def _shown(counts: Counts) -> str:
    n, n_hallucinated = counts
    more = "" if n_hallucinated is None else f", {n_hallucinated:,} hallucinated"
    return f"{n:,} answers{more}"

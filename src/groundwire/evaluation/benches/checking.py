"""Checksums of files, and a check that they have as many answers as the benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import file_digest
from os.path import commonpath
from pathlib import Path
from typing import Any

#: Number of answers, and of hallucinated ones (``None`` if unknown).
Counts = tuple[int, int | None]


def sums_of(files: Sequence[Path]) -> dict[str, str]:
    """Compute the SHA-256 of each file, by its path below their common folder."""
    root = Path(commonpath([file.absolute().parent for file in files]))
    found = {}
    for file in files:
        with file.open("rb") as stream:
            name = file.absolute().relative_to(root).as_posix()
            found[name] = file_digest(stream, "sha256").hexdigest()
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """The numbers of answers that were read, compared with those of the benchmark.

    Attributes:
        counts: ``same``, ``different``, or ``unknown`` if no numbers are on record.
        differences: The numbers that differ, for people.
        source: Who printed the numbers.
    """

    counts: str = "unknown"
    differences: tuple[str, ...] = ()
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {**asdict(self), "differences": list(self.differences)}


def check_counts(
    expected: Mapping[str, Any], total: Counts, tasks: Mapping[str, Counts]
) -> FileCheck:
    """Compare the numbers of answers with those on record.

    Args:
        expected: The counts of the split, from :attr:`.registry.Bench.expected`; empty if unknown.
        total: Answers that were read, and how many are hallucinated.
        tasks: The same by task.
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
        if not _agree(counts, found[name])
    )
    counts = "different" if differences else "same"
    return FileCheck(counts=counts, differences=differences, source=expected["source"])


def _agree(expected: Counts, found: Counts) -> bool:
    return expected[0] == found[0] and expected[1] in (None, found[1])


def _shown(counts: Counts) -> str:
    n, n_hallucinated = counts
    return f"{n:,} answers" + (
        "" if n_hallucinated is None else f", {n_hallucinated:,} hallucinated"
    )

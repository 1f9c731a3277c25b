"""Whether what was read is what a benchmark consists of: sums of files, counts of answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import file_digest
from os.path import commonpath
from pathlib import Path
from typing import Any

from groundwire.errors import InputError, SettingError
from groundwire.evaluation.benches.bench import Counts, Expected

_DIGITS = frozenset("0123456789abcdef")


class Agreement(StrEnum):
    """How what was read compares with what there should be."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"  # nobody said how many there are


class ChecksumError(InputError):
    """A file is not the one that was meant."""

    def __init__(self, name: str, expected: str, found: str) -> None:
        super().__init__(name, expected, found)
        self.name, self.expected, self.found = name, expected, found

    def __str__(self) -> str:
        return (
            f"{self.name} has the SHA-256 {self.found} and not {self.expected}. Fetch it again, or "
            "leave --sha256 out."
        )


def sums_of(files: Sequence[Path]) -> dict[str, str]:
    """The SHA-256 of each file, by its name below the folder they have in common."""
    root = Path(commonpath([file.absolute().parent for file in files]))
    found = {}
    for file in files:
        with file.open("rb") as stream:
            name = file.absolute().relative_to(root).as_posix()
            found[name] = file_digest(stream, "sha256").hexdigest()
    return found


def require_sums(found: Mapping[str, str], wanted: Sequence[str]) -> None:
    """Hold sums against those that a user gave, as ``NAME=SUM``, or ``SUM`` if there is one file.

    Raises:
        SettingError: If one is no sum, or names no file.
        ChecksumError: If a file has another.
    """
    for each in wanted:
        name, equals, digits = each.rpartition("=")
        digits = digits.strip().lower()
        if len(digits) != 64 or not set(digits) <= _DIGITS:
            raise SettingError("sha256", each, "64 hexadecimal digits, or NAME= and these")
        if not equals and len(found) == 1:
            (name,) = found
        if name not in found:
            raise SettingError("sha256", each, f"NAME=SUM with one of the names {', '.join(found)}")
        if found[name] != digits:
            raise ChecksumError(name, digits, found[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """What was read, held against what there should be.

    Attributes:
        agreement: Whether they agree, as far as is known.
        differences: In what they do not, for people.
        source: Who says what there should be.
    """

    agreement: Agreement
    differences: tuple[str, ...] = ()
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "counts": str(self.agreement),
            "differences": list(self.differences),
            "source": self.source,
        }


def check_counts(
    expected: Expected | None, total: Counts, tasks: Mapping[str, Counts]
) -> FileCheck:
    """Compare counts.

    Args:
        expected: What there should be; ``None`` if nobody knows.
        total: Answers that were read, and how many are hallucinated.
        tasks: The same by task.
    """
    if expected is None or not (expected.total or expected.tasks):
        return FileCheck(agreement=Agreement.UNKNOWN)
    wanted = dict(expected.tasks)
    found = {name: tasks.get(name, (0, 0)) for name in wanted}
    if expected.total is not None:
        wanted["all"], found["all"] = expected.total, total
    differences = tuple(
        f"{name}: {_shown(found[name])}, and {_shown(counts)} expected"
        for name, counts in wanted.items()
        if not _agree(counts, found[name])
    )
    return FileCheck(
        agreement=Agreement.DIFFERENT if differences else Agreement.SAME,
        differences=differences,
        source=expected.source,
    )


def _agree(expected: Counts, found: Counts) -> bool:
    return expected[0] == found[0] and expected[1] in (None, found[1])


def _shown(counts: Counts) -> str:
    n, n_hallucinated = counts
    return f"{n:,} answers" + (
        "" if n_hallucinated is None else f", {n_hallucinated:,} hallucinated"
    )

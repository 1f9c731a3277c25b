"""The results file: a line for each answer that was judged, which all commands read and write.

Its first line says what judged, and of which data. A long run appends to it, and continues it after
it was cut short; scores, thresholds and reports are made from it without judging anything again.
"""

import json
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Protocol, Self

import numpy as np

from groundwire import __version__
from groundwire.detection import DetectorInfo, Score
from groundwire.files.reading import DAMAGE, open_lines
from groundwire.files.writing import Writer, WrittenError, drop_cut_line, other_data
from groundwire.loading import DifferentDetectorError

#: Counts up when a line means something else than before.
SCHEMA = 1


class ResultsError(WrittenError):
    """A file of results cannot be read, or not be continued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line: what the results were made by, and from what.

    Attributes:
        detector: What judged, with its threshold.
        data: SHA-256 of each file of answers, by its name.
        command: What was called, to be called again.
        version: Of Groundwire.
    """

    detector: DetectorInfo
    data: Mapping[str, str]
    command: str = ""
    version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "schema": SCHEMA,
            "groundwire": self.version,
            "detector": self.detector.to_dict(),
            "data": dict(self.data),
            "command": self.command,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read it back.

        Raises:
            KeyError: If it is no header; so do TypeError and ValueError.
        """
        if data["schema"] != SCHEMA:
            raise ValueError(f"it has schema {data['schema']!r}, and {SCHEMA} is read")
        detector = data["detector"]
        return cls(
            detector=DetectorInfo(**{**detector, "score": Score(detector["score"])}),
            data=dict(data["data"]),
            command=data["command"],
            version=data["groundwire"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRow:
    """One answer, what is known of it, and what the detector made of it.

    Attributes:
        row: Its number in the data, the first being 1.
        id: Names it within its set.
        task: What was asked for.
        context_id: Names its sources.
        columns: What else its row says.
        question: What was asked, or ``None``.
        answer: Its text.
        sources: ``id``, ``chars`` and ``sha256`` of each; the texts stay in the data.
        known: What is known of it, as :class:`.datasets.labelled.Known` has it.
        hallucinated: Whether it is; ``None`` if that is not known.
        gold: ``start``, ``end``, ``label`` and ``kind`` of what is marked.
        detection: :meth:`groundwire.Detection.to_dict`, or ``None`` if the check failed.
        error: ``type`` and ``message`` of why it failed, or ``None``.
        seconds: What its check took, its share of what it had in common with others included.
        sha256: Fingerprint of its row of the data.
    """

    row: int
    id: str
    task: str
    context_id: str
    columns: Mapping[str, str] = field(default_factory=dict)
    question: str | None = None
    answer: str
    sources: tuple[Mapping[str, Any], ...] = ()
    known: str
    hallucinated: bool | None
    gold: tuple[Mapping[str, Any], ...] = ()
    detection: Mapping[str, Any] | None
    error: Mapping[str, str] | None = None
    seconds: float = 0.0
    sha256: str

    @property
    def is_unreadable(self) -> bool:
        """Whether the row of the data could not be read: then there is no answer to judge."""
        return self.error is not None and not self.answer

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**data, "sources": list(self.sources), "gold": list(self.gold)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read it back.

        Raises:
            TypeError: If it is no row of results; so does KeyError.
        """
        return cls(**{**data, "sources": tuple(data["sources"]), "gold": tuple(data["gold"])})


def read_header(path: Path) -> Header:
    """The first line of a file of results.

    Raises:
        ResultsError: If it is none.
    """
    if is_folder(path):
        header: Header = _parts().read_header(path)
        return header
    with open_lines(path) as lines:
        return _header(path, next(iter(lines), b""))


def read_judged(path: Path) -> Iterator[JudgedRow]:
    """The answers in a file of results, one by one: files may be larger than memory.

    A last line that was cut short is passed over.

    Raises:
        ResultsError: If another line is no row of results.
    """
    if is_folder(path):
        yield from _parts().read_rows(path)
        return
    with open_lines(path) as lines:
        try:
            for number, line in enumerate(lines, 1):
                if number == 1:
                    _header(path, line)
                elif line.endswith(b"\n"):
                    yield _row(path, number, line)
        except DAMAGE:
            return


class Fingerprints(Mapping[int, str]):
    """Number of each row → its fingerprint: 16 bytes each, for there may be millions."""

    def __init__(self, rows: "array[int]", fingerprints: "array[int]") -> None:
        """Sort them.

        Args:
            rows: Numbers of rows.
            fingerprints: Of each, as a number.

        Raises:
            ValueError: If a row is there twice.
        """
        order = np.argsort(rows)
        self._rows = np.array(rows, np.uint64)[order]
        self._fingerprints = np.array(fingerprints, np.uint64)[order]
        if twice := np.flatnonzero(self._rows[1:] == self._rows[:-1]).tolist():
            raise ValueError(f"row {int(self._rows[twice[0]]):,} is there twice")

    def __getitem__(self, row: int) -> str:
        place = int(np.searchsorted(self._rows, np.uint64(row)))
        if place == len(self._rows) or self._rows[place] != row:
            raise KeyError(row)
        return f"{int(self._fingerprints[place]):016x}"

    def __iter__(self) -> Iterator[int]:
        return map(int, self._rows)

    def __len__(self) -> int:
        return len(self._rows)


@dataclass(frozen=True, slots=True)
class Done:
    """What a file of results has already.

    Attributes:
        rows: Number of each row → its fingerprint.
    """

    rows: Mapping[int, str]


def resume(path: Path, header: Header) -> Done:
    """Make results fit to be continued: what was cut short at their end is dropped.

    Args:
        path: The file, or the folder; it may be missing or empty.
        header: Of the run that is to continue it.

    Raises:
        ResultsError: If it holds no results, or those of other data.
        DifferentDetectorError: If they were made by another detector.
        NotResultsError: If it is packed.
    """
    rows, fingerprints = array("Q"), array("Q")

    def take(row: int, sha256: str) -> None:
        fingerprint = int(sha256, 16)
        rows.append(row)
        fingerprints.append(fingerprint)

    def take_line(number: int, line: bytes) -> None:
        if number == 1:
            require_same(path, _header(path, line), header)
            return
        found = _row(path, number, line)
        try:
            take(found.row, found.sha256)
        except (TypeError, ValueError, OverflowError) as error:
            raise _no_row(path, number, error) from error

    if is_folder(path):
        _parts().resume(path, header, take)
    elif path.exists():
        drop_cut_line(path, take_line)
    try:
        return Done(Fingerprints(rows, fingerprints))
    except ValueError as error:
        raise ResultsError(path, None, str(error)) from error


class AnyWriter(Protocol):
    """Keeps results."""

    def write(self, row: JudgedRow) -> None:
        """Take one row."""
        ...

    def end_batch(self) -> None:
        """All rows so far outlast the process when this returns."""
        ...


@contextmanager
def open_writer(path: Path, header: Header, *, replace: bool = False) -> Iterator[AnyWriter]:
    """Open results to be continued, or to be made.

    Args:
        path: A file for JSON Lines; if its name ends in ``.parquet``, a folder of Parquet files.
        header: Written first, if there are none.
        replace: Whether what is there goes.

    Raises:
        ResultsError: If a folder holds something else.
    """
    if is_folder(path):
        yield _parts().PartsWriter(path, header, replace=replace)
        return
    with path.open("wb" if replace else "ab") as stream:
        yield ResultsWriter(stream, header)


def is_folder(path: Path) -> bool:
    """Whether results of this name are a folder of Parquet files."""
    return path.is_dir() or path.suffix == ".parquet"


def _parts() -> ModuleType:
    from groundwire.evaluation.scale import parts  # an extra, which JSON Lines do not need

    return parts


class ResultsWriter:
    """Appends to a file of results; each row is out of our hands when :meth:`write` returns."""

    def __init__(self, stream: IO[bytes], header: Header) -> None:
        """Begin.

        Args:
            stream: A file, opened for appending.
            header: Written first if the file is empty.
        """
        self._writer = Writer(stream)
        if stream.tell() == 0:
            self._writer.write(header.to_dict())

    def write(self, row: JudgedRow) -> None:
        """Write one row."""
        self._writer.write(row.to_dict())

    def end_batch(self) -> None:
        """Nothing is left to be done."""


def _header(path: Path, line: bytes) -> Header:
    try:
        return Header.from_dict(json.loads(line))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        problem = f"this is no file of results ({type(error).__name__}: {error})"
        raise ResultsError(path, 1, problem) from error


def _row(path: Path, number: int, line: bytes) -> JudgedRow:
    try:
        return JudgedRow.from_dict(json.loads(line))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _no_row(path, number, error) from error


def _no_row(path: Path, number: int, error: Exception) -> ResultsError:
    problem = f"this is no row of results ({type(error).__name__}: {error})"
    return ResultsError(path, number, problem)


def require_same(path: Path, before: Header, now: Header) -> None:
    """Refuse to mix what two detectors made, or of two sets of data.

    Raises:
        DifferentDetectorError: If the results are of another detector.
        ResultsError: If they are of other data.
    """
    if before.detector != now.detector:
        raise DifferentDetectorError(path, before.detector, now.detector)
    if problem := other_data(before.data, now.data):
        raise ResultsError(
            path,
            None,
            f"{problem}. Name another --output, or start over with --force in place of --resume.",
        )

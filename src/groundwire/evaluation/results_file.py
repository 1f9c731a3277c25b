"""The results file: a row for each judged answer, which all commands read and write.

It is JSON Lines, or a folder of Parquet files (:mod:`.scale.parts`). The header names the detector
and the data. A long run appends to the file, and continues it after it was cut short; scores,
thresholds and reports are made from it without judging anything again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol, Self

from groundwire import __version__
from groundwire.detection import DetectorInfo, Score
from groundwire.files.reading import DAMAGE, open_lines
from groundwire.files.writing import (
    Writer,
    WrittenError,
    drop_cut_line,
    keep_lines,
    other_data,
)
from groundwire.loading import DifferentDetectorError

#: Counts up when a line means something else than before.
SCHEMA = 1


class ResultsError(WrittenError):
    """A file of results cannot be read, or not be continued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What made the results, and from which data.

    Attributes:
        detector: The detector, with its threshold.
        data: SHA-256 of each file of answers, by its name.
        command: The command line that made them.
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
    """One answer with its labels and its detection.

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


class ResultsWriter(Protocol):
    """Keeps rows of results."""

    def write(self, row: JudgedRow) -> None:
        """Take one row."""
        ...

    def end_batch(self) -> None:
        """Make all rows so far outlast the process."""
        ...


class Results(Protocol):
    """Where results are kept: a file of JSON Lines, or a folder of Parquet files."""

    def header(self) -> Header:
        """Read the header.

        Raises:
            ResultsError: If there is none.
        """
        ...

    def rows(self) -> Iterator[JudgedRow]:
        """Read the rows one by one: there may be more than memory holds.

        Raises:
            ResultsError: If one is no row of results.
        """
        ...

    def done(self, header: Header) -> Iterable[tuple[int, str]]:
        """Drop what was cut short, and give number and fingerprint of each row that is kept.

        Raises:
            ResultsError: If these are no results, or those of other data.
            DifferentDetectorError: If another detector made them.
            NotResultsError: If they are packed.
        """
        ...

    def drop_failed(self) -> None:
        """Drop the rows with an error. However this ends, no other row is lost."""
        ...

    def writer(self, header: Header, *, replace: bool) -> AbstractContextManager[ResultsWriter]:
        """Open the results to append to them; the header is written if there is none."""
        ...


def open_results(path: Path) -> Results:
    """Find out how results of this name are kept: as Parquet in a folder or ``.parquet``."""
    if path.is_dir() or path.suffix == ".parquet":
        from groundwire.evaluation.scale.parts import (
            Parts,  # an extra, which JSON Lines do not need
        )

        return Parts(path)
    return JsonLines(path)


def read_header(path: Path) -> Header:
    """Read the header of results, as :meth:`Results.header` does."""
    return open_results(path).header()


def read_judged(path: Path) -> Iterator[JudgedRow]:
    """Read the rows of results, as :meth:`Results.rows` does."""
    return open_results(path).rows()


def resume(path: Path, header: Header) -> dict[int, str]:
    """Make results fit to be continued: number → fingerprint of each row that is there.

    Raises:
        ResultsError: As :meth:`Results.done`, or if a row is there twice.
    """
    found: dict[int, str] = {}
    for row, sha256 in open_results(path).done(header):
        if row in found:
            raise ResultsError(path, None, f"row {row:,} is there twice")
        found[row] = sha256
    return found


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Results as JSON Lines. A last line that was cut short is passed over."""

    path: Path

    def header(self) -> Header:
        """Read the first line."""
        with open_lines(self.path) as lines:
            return _header(self.path, next(iter(lines), b""))

    def rows(self) -> Iterator[JudgedRow]:
        """Read the other lines."""
        with open_lines(self.path) as lines:
            try:
                for number, line in enumerate(lines, 1):
                    if number == 1:
                        _header(self.path, line)
                    elif line.endswith(b"\n"):
                        yield _row(self.path, number, line)
            except DAMAGE:
                return

    def done(self, header: Header) -> Iterable[tuple[int, str]]:
        """Drop a last line that was cut short."""
        found: list[tuple[int, str]] = []

        def take(number: int, line: bytes) -> None:
            if number == 1:
                require_same(self.path, _header(self.path, line), header)
            else:
                row = _row(self.path, number, line)
                found.append((row.row, row.sha256))

        if self.path.exists():
            drop_cut_line(self.path, take)
        return found

    def drop_failed(self) -> None:
        """Rewrite the file without the rows that failed."""
        if self.path.exists():
            keep_lines(self.path, lambda n, line: n == 1 or _row(self.path, n, line).error is None)

    @contextmanager
    def writer(self, header: Header, *, replace: bool) -> Iterator["LinesWriter"]:
        """Append to the file."""
        with self.path.open("wb" if replace else "ab") as stream:
            yield LinesWriter(stream, header)


class LinesWriter:
    """Appends to JSON Lines; each row is out of our hands when :meth:`write` returns."""

    def __init__(self, stream: IO[bytes], header: Header) -> None:
        """Write the header if the file is empty."""
        self._writer = Writer(stream)
        if stream.tell() == 0:
            self._writer.write(header.to_dict())

    def write(self, row: JudgedRow) -> None:
        """Write one row."""
        self._writer.write(row.to_dict())

    def end_batch(self) -> None:
        """Do nothing: each row is written at once."""


def _header(path: Path, line: bytes) -> Header:
    try:
        return Header.from_dict(json.loads(line))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        problem = f"this is no file of results ({type(error).__name__}: {error})"
        raise ResultsError(path, 1, problem) from error


def _row(path: Path, number: int, line: bytes) -> JudgedRow:
    try:
        row = JudgedRow.from_dict(json.loads(line))
        if type(row.row) is not int or not 0 <= row.row < 2**63:
            raise ValueError(f"row is {row.row!r}")
        int(row.sha256, 16)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        problem = f"this is no row of results ({type(error).__name__}: {error})"
        raise ResultsError(path, number, problem) from error
    return row


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

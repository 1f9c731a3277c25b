"""The contents of a results file: a header, and a result for each row of the data."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from groundwire import __version__
from groundwire.detection.values import DetectorInfo, JsonRecord, Score
from groundwire.errors import InputError
from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.loading import DifferentDetectorError
from groundwire.text.files.writing import WrittenError, other_data

#: Version of the format of results files.
SCHEMA = 1

#: Key that is in each row of ``groundwire check --batch``, but in no row of a results file.
BATCH_KEY = "input_sha256"


#: Errors that parsing can raise if the data are not results.
UNLIKE_RESULTS = (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)


class ResultsError(WrittenError):
    """A results file cannot be read, or cannot be continued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header of a results file: the detector that judged, and the data.

    Attributes:
        detector: The detector, with its threshold.
        data: Name of each file of answers → its SHA-256; empty for ``check --batch``.
        command: The command line that made the results.
        version: The version of Groundwire that made the results; for ``check --batch``, the
            version that reads them.
    """

    detector: DetectorInfo
    data: Mapping[str, str]
    command: str = ""
    version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """Return the header as JSON data."""
        return {
            "schema": SCHEMA,
            "groundwire": self.version,
            "detector": self.detector.to_dict(),
            "data": dict(self.data),
            "command": self.command,
        }

    @classmethod
    def of_batch(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Make a header for rows of ``groundwire check --batch``, whose output has no header.

        Raises:
            ValueError: If no row was checked.
            KeyError: If the rows are not from ``check --batch``; TypeError and ValueError mean the
                same.
        """
        detector = next((row["detector"] for row in rows if "detector" in row), None)
        if detector is None:
            raise ValueError("none of its rows was checked")
        return cls(detector=_detector(detector), data={}, command="groundwire check --batch")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a header from data of :meth:`to_dict`.

        Raises:
            KeyError: If the data are not a header; TypeError and ValueError mean the same.
        """
        if data["schema"] != SCHEMA:
            raise ValueError(f"it has schema {data['schema']!r}, and {SCHEMA} is read")
        return cls(
            detector=_detector(data["detector"]),
            data=dict(data["data"]),
            command=data["command"],
            version=data["groundwire"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRow(JsonRecord):
    """The result of a row of the data: its answer, its labels, and the detection, an error or both.

    Attributes:
        row: Number of the answer's row in the data, from 1.
        id: Id of the answer. Ids are unique among the rows that could be read, except in the output
            of ``check --batch``.
        task: The kind of question.
        context_id: Id of the sources, by which answers are grouped. Empty if the row could not be
            read. In a row of ``check --batch``, a hash of the input row.
        columns: Further columns of the row in the data, by name.
        question: The question; ``None`` without one.
        answer: The text of the answer; empty if the row could not be read. In a row of
            ``check --batch``, empty if there is any error.
        sources: ``id``, length in ``chars`` and ``sha256`` of each source. The texts stay in the
            data.
        known: How much of the answer is labelled: a :class:`.datasets.labelled.Known`.
        hallucinated: Whether the answer is hallucinated, by its label; ``None`` without a label.
        gold: ``start``, ``end``, ``label`` and ``kind`` of each part of the answer that is labelled
            as hallucinated.
        detection: The detection as :meth:`groundwire.Detection.to_dict` writes it; ``None`` if the
            row could not be read or its check raised an error.
        error: ``type`` and ``message`` of the error, if the row could not be read or its check
            failed; else ``None``.
        seconds: Seconds that the check took; 0 if there was no check, or it raised an error.
        sha256: Fingerprint of the row in the data.
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
        """Whether the row could not be read; true for any error in a row of ``check --batch``."""
        return self.error is not None and not self.answer

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a row from data of :meth:`to_dict`.

        Raises:
            TypeError: If the data are not a row of results; KeyError means the same.
        """
        return cls(**{**data, "sources": tuple(data["sources"]), "gold": tuple(data["gold"])})

    @classmethod
    def from_batch(cls, data: Mapping[str, Any]) -> Self:
        """Read a row that ``groundwire check --batch`` wrote; the row gets no label.

        Raises:
            KeyError: If the data are not a row of ``check --batch``; TypeError and AttributeError
                mean the same.
        """
        error = data.get("error")
        keys = ("row", "line", "id", "question", "answer", BATCH_KEY, "error")
        detection = {name: value for name, value in data.items() if name not in keys}
        return cls(
            row=data["row"],
            id=str(data.get("id", data["row"])),
            task="",
            context_id=data[BATCH_KEY],
            question=data.get("question"),
            answer="" if error else data["answer"],
            known=str(Known.NOTHING),
            hallucinated=None,
            detection=None if error else detection,
            error=error,
            seconds=0.0 if error else detection["timings_ms"].get("total", 0.0) / 1000,
            sha256=data[BATCH_KEY],
        )


def _detector(data: Mapping[str, Any]) -> DetectorInfo:
    return DetectorInfo(**{**data, "score": Score(data["score"])})


@contextmanager
def requiring_results(
    path: Path, line: int | None = None, problem: str = "a row of it is not as results are"
) -> Iterator[None]:
    """Turn errors of parsing into an error that names the file, the line if known, and the problem.

    Raises:
        ResultsError: If the ``with`` block raises one of :data:`UNLIKE_RESULTS`, except an
            InputError, which is passed on unchanged.
    """
    try:
        yield
    except InputError:
        raise
    except UNLIKE_RESULTS as error:
        raise ResultsError(path, line, f"{problem} ({type(error).__name__}: {error})") from error


def require_same(path: Path, before: Header, now: Header) -> None:
    """Refuse to mix results of two detectors, or of different data.

    Raises:
        DifferentDetectorError: If the results were made by another detector, or at another
            threshold.
        ResultsError: If the results were made from other data.
    """
    if before.detector != now.detector:
        raise DifferentDetectorError(path, before.detector, now.detector)
    if problem := other_data(before.data, now.data):
        raise ResultsError(
            path,
            None,
            f"{problem}. Name another --output, or start over with --force in place of --resume.",
        )

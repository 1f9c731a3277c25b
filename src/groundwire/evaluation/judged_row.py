"""Contents of a results file: a header, and a row for each judged answer."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from groundwire import __version__
from groundwire.detection.detection_json import pieced_answer
from groundwire.detection.values import DetectorInfo, Score
from groundwire.errors import InputError
from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.loading import DifferentDetectorError
from groundwire.text.files.writing import WrittenError, other_data

#: Version of the format.
SCHEMA = 1

#: The key that rows of ``groundwire check --batch`` have, and others do not.
BATCH_KEY = "input_sha256"


#: Errors that reading raises if the data are no results.
UNLIKE_RESULTS = (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)


class ResultsError(WrittenError):
    """A results file cannot be read, or not be continued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header of results: the detector and the data.

    Attributes:
        detector: The detector, with its threshold.
        data: SHA-256 of each file of answers, by its name.
        command: The command line that made them.
        version: The version of Groundwire.
    """

    detector: DetectorInfo
    data: Mapping[str, str]
    command: str = ""
    version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "schema": SCHEMA,
            "groundwire": self.version,
            "detector": self.detector.to_dict(),
            "data": dict(self.data),
            "command": self.command,
        }

    @classmethod
    def of_batch(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Make the header of what ``groundwire check --batch`` wrote, which has none.

        Raises:
            ValueError: If no row was checked; KeyError or TypeError if these are no such rows.
        """
        detector = next((row["detector"] for row in rows if "detector" in row), None)
        if detector is None:
            raise ValueError("none of its rows was checked")
        return cls.from_dict(
            {
                "schema": SCHEMA,
                "detector": detector,
                "data": {},
                "command": "groundwire check --batch",
                "groundwire": __version__,
            }
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a header back.

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
        task: The kind of question.
        context_id: Names its sources.
        columns: The other columns of its row.
        question: The question, or ``None``.
        answer: Its text.
        sources: ``id``, ``chars`` and ``sha256`` of each; the texts stay in the data.
        known: How much of it is labelled: a :class:`.datasets.labelled.Known`.
        hallucinated: Whether it is; ``None`` if that is not known.
        gold: ``start``, ``end``, ``label`` and ``kind`` of what is marked.
        detection: :meth:`groundwire.Detection.to_dict`, or ``None`` if the check failed.
        error: ``type`` and ``message`` of why it failed, or ``None``.
        seconds: Time of its check, with its share of work for several answers.
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
        """Whether the row of the data could not be read."""
        return self.error is not None and not self.answer

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**data, "sources": list(self.sources), "gold": list(self.gold)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a row back.

        Raises:
            TypeError: If it is no row of results; so does KeyError.
        """
        return cls(**{**data, "sources": tuple(data["sources"]), "gold": tuple(data["gold"])})

    @classmethod
    def from_batch(cls, data: Mapping[str, Any]) -> Self:
        """Read a row that ``groundwire check --batch`` wrote; it has no label.

        Raises:
            KeyError: If it is none; so does TypeError.
        """
        error = data.get("error")
        keys = ("row", "id", BATCH_KEY, "error")
        detection = {name: value for name, value in data.items() if name not in keys}
        return cls(
            row=data["row"],
            id=str(data.get("id", data["row"])),
            task="",
            context_id=data[BATCH_KEY],
            answer="" if error else pieced_answer(detection["claims"]),
            known=str(Known.NOTHING),
            hallucinated=None,
            detection=None if error else detection,
            error=error,
            seconds=0.0 if error else detection["timings_ms"].get("total", 0.0) / 1000,
            sha256=data[BATCH_KEY],
        )


@contextmanager
def requiring_results(path: Path) -> Iterator[None]:
    """Refuse a file whose rows are not those of results.

    Raises:
        ResultsError: In place of :data:`UNLIKE_RESULTS`.
    """
    try:
        yield
    except InputError:
        raise
    except UNLIKE_RESULTS as error:
        problem = f"a row of it is not as results are ({type(error).__name__}: {error})"
        raise ResultsError(path, None, problem) from error


def require_same(path: Path, before: Header, now: Header) -> None:
    """Refuse to mix results of two detectors, or of different data.

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

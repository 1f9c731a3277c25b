"""What a benchmark is: where its files are, how they are read, what it counts, what others got."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from groundwire.errors import SettingError
from groundwire.evaluation.benches.metric import Metric
from groundwire.evaluation.datasets.files import AnyRow
from groundwire.evaluation.judged_row import JudgedRow

#: How many answers there are, and how many of them are hallucinated, where that is known.
Counts = tuple[int, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Scores of another system, as its authors or the benchmark's print them.

    Nobody here ran it again. They stand in ``published.json``.

    Attributes:
        system: Its name, with its size where that is known.
        scores: Name of a metric → score in per cent, as printed.
        source: Where it is printed.
        note: How the test set or the metric differs from the one here; empty if neither does.
    """

    system: str
    scores: Mapping[str, float]
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """How many answers a split has, so that what was read can be held against it.

    Attributes:
        total: Of the whole split; ``None`` if that is not known for certain.
        tasks: Of each task.
        source: Who says so.
    """

    total: Counts | None = None
    tasks: Mapping[str, Counts] = field(default_factory=lambda: MappingProxyType({}))
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Some of the answers, where others have been scored on those alone.

    Attributes:
        name: What they are called.
        keeps: Tells whether an answer is among them.
    """

    name: str
    keeps: Callable[[JudgedRow], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialFiles:
    """Where the official files are.

    Attributes:
        url: A page about them.
        files: How to fetch them by hand: addresses, or what to take from the page.
        hub: Name of the dataset on the Hugging Face hub; empty if it is not there.
        patterns: Its files of a split, ``{split}`` standing for its name.
    """

    url: str
    files: Sequence[str]
    hub: str = ""
    patterns: Sequence[str] = ()


#: Finds the files of a split under a path.
FindFiles = Callable[[Path, str], tuple[Path, ...]]
#: Reads them: the files, and the name of the split.
ReadFiles = Callable[[Sequence[Path], str], Iterator[AnyRow]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A benchmark.

    Attributes:
        name: On the command line.
        title: Its own name.
        hallucinated: What counts as hallucinated.
        licence: Of the data, as its authors state it.
        citation: Who made it.
        origin: Where its files are.
        splits: Its parts; the first is judged if nothing else is asked for.
        metrics: How it is scored; the first is its own metric.
        find: Finds its files.
        read: Reads them.
        expected: Name of a split → how many answers it has.
        variants: Parts of a split that others have been scored on.
    """

    name: str
    title: str
    hallucinated: str
    licence: str
    citation: str
    origin: OfficialFiles
    splits: tuple[str, ...]
    metrics: tuple[Metric, ...]
    find: FindFiles
    read: ReadFiles
    expected: Mapping[str, Expected] = field(default_factory=lambda: MappingProxyType({}))
    variants: tuple[Variant, ...] = ()

    @property
    def published(self) -> tuple[Published, ...]:
        """Read the results of other systems."""
        return _published().get(self.name, ())

    def split(self, name: str | None) -> str:
        """The split that is meant.

        Raises:
            SettingError: If there is no such split.
        """
        if name is None:
            return self.splits[0]
        if name not in self.splits:
            raise SettingError("split", name, f"one of {', '.join(self.splits)} for {self.name}")
        return name


@cache
def _published() -> Mapping[str, tuple[Published, ...]]:
    text = (files(__package__) / "published.json").read_text(encoding="utf-8")
    return {
        name: tuple(Published(**row) for row in rows) for name, rows in json.loads(text).items()
    }

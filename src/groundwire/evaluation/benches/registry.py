"""All benchmarks by name, as ``benches.json`` describes them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from groundwire.errors import DatasetError, InputError, SettingError
from groundwire.evaluation.benches.loaders import LOADERS
from groundwire.evaluation.benches.metric import Metric
from groundwire.evaluation.datasets.files import AnyRow, answer_reader, read_files
from groundwire.evaluation.datasets.lines import SUFFIXES
from groundwire.evaluation.datasets.mapping import ColumnMapping

#: Names of a table: as the hub has it, or as people save it.
_TABLES = (("{split}-*.parquet",), *((f"{{split}}{suffix}",) for suffix in SUFFIXES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A benchmark, as ``benches.json`` has it.

    Attributes:
        name: Its name on the command line.
        title: The name that its authors gave it.
        hallucinated: Which of its answers count as hallucinated.
        licence: The licence of the data, as its authors state it.
        citation: The paper about it.
        url: A page about its files.
        fetch: How to fetch them by hand: addresses, or what to take from the page.
        splits: Its parts; the first is judged if nothing else is asked for.
        metrics: How it is scored; the first is its own metric.
        hub: Name of the dataset on the Hugging Face hub; empty if it is not there.
        hub_files: Its files of a split there, ``{split}`` standing for its name.
        files: Names of its files: the first group of which any file is there counts.
        columns: Field → its column, where the names are not ours.
        label_means: Meaning of a label of 1, true or yes.
        expected: Split → number of answers and of hallucinated ones, in ``total`` and in ``tasks``
            as far as known, and the ``source`` of the numbers.
        variants: Parts of a split that others have been scored on: ``name``, and rows with which
            values (``drops``) of which ``column`` are left out.
        published: Scores of other ``system``s, as their authors or the benchmark's print them:
            ``scores`` by metric in per cent, the ``source``, and a ``note`` on how the test set or
            the metric differs. Nobody here ran these systems.
    """

    name: str
    title: str
    hallucinated: str
    licence: str
    citation: str
    url: str
    fetch: Sequence[str]
    splits: Sequence[str]
    metrics: Sequence[Metric]
    hub: str = ""
    hub_files: Sequence[str] = ()
    files: Sequence[Sequence[str]] = _TABLES
    columns: Mapping[str, str] = field(default_factory=dict)
    label_means: str = "hallucinated"
    expected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    variants: Sequence[Mapping[str, Any]] = ()
    published: Sequence[Mapping[str, Any]] = ()

    def split(self, name: str | None) -> str:
        """Give the split of a name, or the first.

        Raises:
            SettingError: If there is no such split.
        """
        if name is None:
            return self.splits[0]
        if name not in self.splits:
            raise SettingError("split", name, f"one of {', '.join(self.splits)} for {self.name}")
        return name

    def find(self, path: Path, split: str) -> tuple[Path, ...]:
        """Find the files of a split: the file that is named, or those somewhere in a folder.

        Raises:
            DatasetError: If there is none.
        """
        if path.is_file():
            return (path,)
        if not path.is_dir():
            raise DatasetError(path, None, "there is no such file or folder")
        names: list[str] = []
        for group in self.files:
            wanted = [f"{name.format(split=split)}{gz}" for name in group for gz in ("", ".gz")]
            if found := [file for name in wanted for file in sorted(path.rglob(name))]:
                return tuple(found)
            names += wanted
        raise DatasetError(
            path, None, f"this folder has none of the files {', '.join(names)}, however deep"
        )

    def read(self, files: Sequence[Path], split: str) -> Iterator[AnyRow]:
        """Read the answers of a split from its files.

        Raises:
            DatasetError: If there is none, or the files cannot be read at all.
        """
        mapping = ColumnMapping(columns=self.columns, label_means=self.label_means)
        reader = answer_reader(mapping, renames=True)  # official files have some ids twice
        if self.name in LOADERS:
            return LOADERS[self.name](files, split, reader)
        return read_files(files, reader)


def _benches() -> dict[str, Bench]:
    text = (resources(__package__) / "benches.json").read_text(encoding="utf-8")
    return {
        name: Bench(**{**values, "name": name, "metrics": [*map(Metric.parse, values["metrics"])]})
        for name, values in json.loads(text).items()
    }


#: Name → benchmark.
BENCHES = _benches()


class UnknownBenchError(InputError):
    """There is no benchmark of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return (
            f"There is no benchmark {self.name!r}. There are {', '.join(BENCHES)}; "
            "groundwire evaluate scores any other labelled data."
        )


def bench(name: str) -> Bench:
    """Give the benchmark of a name; case does not matter.

    Raises:
        UnknownBenchError: If there is none.
    """
    found = BENCHES.get(name.lower())
    if found is None:
        raise UnknownBenchError(name)
    return found

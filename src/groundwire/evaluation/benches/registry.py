"""All benchmarks by name, read from ``benches.json``."""

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

#: Default of :attr:`Bench.files`: Parquet files named as on the Hugging Face hub, or else tables
#: named after the split, such as ``test.csv``.
_TABLES = (("{split}-*.parquet",), *((f"{{split}}{suffix}",) for suffix in SUFFIXES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A benchmark, as its entry in ``benches.json`` describes it.

    Attributes:
        name: Name of the benchmark on the command line.
        title: The name that its authors gave it.
        hallucinated: The condition under which an answer counts as hallucinated, in words.
        licence: The licence of the data, as its authors state it.
        citation: The paper about the benchmark.
        url: A page about the benchmark's files.
        fetch: What to fetch by hand, as addresses or in words.
        splits: Names of the splits; the first is the default.
        metrics: The metrics; the first is the main one.
        hub: Name of the dataset on the Hugging Face hub; empty if it is not on the hub.
        hub_files: Patterns of a split's files on the hub, with ``{split}`` for the split's name.
        files: Groups of patterns of file names, with ``{split}`` for the split's name. In a folder,
            a split is read from the first group of which a file exists.
        columns: Field → column. Other fields are found by the usual names of their columns.
        label_means: Meaning of a label of 1, true or yes: ``hallucinated`` or ``supported``.
        expected: Split → the right numbers of answers and of hallucinated answers, as far as they
            are known: ``total`` for the whole split, ``tasks`` by task, and the ``source`` of the
            numbers.
        variants: Parts of a split on which other systems were scored. A part has a ``name``, and
            leaves out the rows whose ``column`` has a value in ``drops``.
        published: Published scores of other systems. Each entry has the ``system``, its ``scores``
            by metric in per cent, the ``source``, and perhaps a ``note``, for example if the test
            set differs.
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
        """Check the name of a split, and return the name; for ``None``, return the default split.

        Raises:
            SettingError: If the benchmark has no split of this name.
        """
        if name is None:
            return self.splits[0]
        if name not in self.splits:
            raise SettingError("split", name, f"one of {', '.join(self.splits)} for {self.name}")
        return name

    def find(self, path: Path, split: str) -> tuple[Path, ...]:
        """Find the files of a split: the path itself if it is a file, else files in the folder.

        Files in folders at any depth below the path are found too.

        Raises:
            DatasetError: If the path is neither a file nor a folder, or the folder has no file of
                the split.
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
            DatasetError: If every file is without rows or has an invalid format. For RAGTruth also
                if one of the release's two files is invalid, missing, or there twice.
            OSError: If a file other than Parquet cannot be opened.
            MissingExtraError: If a file is Parquet and pyarrow is not installed.
        """
        mapping = ColumnMapping(columns=self.columns, label_means=self.label_means)
        reader = answer_reader(mapping, renames=True)  # some official files repeat ids
        if self.name in LOADERS:
            return LOADERS[self.name](files, split, reader)
        return read_files(files, reader)


def _benches() -> dict[str, Bench]:
    text = (resources(__package__) / "benches.json").read_text(encoding="utf-8")
    return {
        name: Bench(**{**values, "name": name, "metrics": [*map(Metric.parse, values["metrics"])]})
        for name, values in json.loads(text).items()
    }


#: Name of a benchmark → the benchmark.
BENCHES = _benches()


def bench(name: str) -> Bench:
    """Find a benchmark by its name; case does not matter.

    Raises:
        InputError: If there is no benchmark of this name.
    """
    found = BENCHES.get(name.lower())
    if found is None:
        raise InputError(
            f"There is no benchmark {name!r}. There are {', '.join(BENCHES)}; "
            "groundwire evaluate scores any other labelled data."
        )
    return found

"""The ways to write a file of labelled answers, by name."""

from functools import partial
from pathlib import Path

from groundwire.evaluation.datasets.choosing import Read
from groundwire.evaluation.datasets.files import read_labelled
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.evaluation.datasets.slots import each_slot

#: ``table`` has an answer a row; ``slots`` one of which each slot gives a variant.
FORMATS = ("table", "slots")


def reader(path: Path, *, format: str, mapping: ColumnMapping) -> Read:
    """Give a function that reads a file from its beginning, each time it is called.

    Args:
        path: The file, or a folder of tables.
        format: One of :data:`FORMATS`.
        mapping: Which column of a table holds what.
    """
    return partial(read_labelled, path, mapping) if format == "table" else partial(each_slot, path)

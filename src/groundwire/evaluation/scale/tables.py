"""Judges the rows of Arrow tables, for Spark and other engines that map tables."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from groundwire.errors import InputError, MissingExtraError
from groundwire.evaluation.datasets.files import AnyRow, table_row
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.evaluation.judged_row import JudgedRow
from groundwire.evaluation.judging import judge_block
from groundwire.evaluation.loading import AnyDetector
from groundwire.text.files.writing import to_json

try:
    import pyarrow as pa
except ImportError as error:
    raise MissingExtraError("Tables of Arrow and Parquet", "eval") from error

#: Fields of :class:`.judged_row.JudgedRow` that are written as JSON texts: their values are nested,
#: or may have lone surrogates.
_NESTED = ("columns", "sources", "gold", "detection", "error")

#: Schema of judged tables. ``outcome`` is also in ``detection``; as a column it is easy to query.
_TYPES = {"row": pa.int64(), "hallucinated": pa.bool_(), "seconds": pa.float64()}
_NAMES = tuple(JudgedRow.__dataclass_fields__)
RESULTS = pa.schema([(name, _TYPES.get(name, pa.string())) for name in (*_NAMES, "outcome")])


def judge_batch(
    detector: AnyDetector, table: "pa.Table", mapping: ColumnMapping | None = None
) -> "pa.Table":
    """Judge the rows of a table; rows of one context are judged together.

    Args:
        detector: The detector.
        table: Labelled answers, with the columns that ``groundwire evaluate`` reads. A column
            ``row`` numbers the rows over all tables: results need these numbers. Without it the
            rows of this table are numbered from 1.
        mapping: Maps fields to columns; by default columns are found by their usual names.

    Returns:
        A table of the schema :data:`RESULTS` with a result for each row, in any order. The result
        of a row that cannot be read or checked has an error.
    """
    rows = list(_rows(table, mapping or ColumnMapping()))
    return judged_table(judge_block(detector, rows))


def judged_table(rows: Iterable[JudgedRow]) -> "pa.Table":
    """Make a table of the schema :data:`RESULTS` from judged rows."""
    return pa.Table.from_pylist([_columns(row) for row in rows], schema=RESULTS)


def judged_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[JudgedRow]:
    """Convert rows of a table that :func:`judged_table` made back into judged rows.

    Raises:
        KeyError: If the table has other columns; TypeError and ValueError mean the same.
    """
    for values in rows:
        data = {name: values[name] for name in _NAMES}
        data |= {name: json.loads(values[name]) for name in _NESTED if values[name] is not None}
        yield JudgedRow.from_dict(data)


def _rows(table: "pa.Table", mapping: ColumnMapping) -> Iterator[AnyRow]:
    is_numbered = "row" in table.column_names
    for place, values in enumerate(table.to_pylist(), 1):
        row = values["row"] if is_numbered else place
        if not isinstance(row, int):
            raise InputError(f"The row of a table is {row!r} and must be a whole number.")
        yield table_row(values, mapping, row=row)


def _columns(row: JudgedRow) -> dict[str, Any]:
    data = row.to_dict()
    for name in _NESTED:
        data[name] = None if data[name] is None else to_json(data[name])
    return {**data, "outcome": None if row.detection is None else row.detection["outcome"]}

"""Results as a folder of Parquet files, each of which is written as a whole or not at all.

A small JSON file beside them has the header. Its name begins with an underscore, so that Spark, Ray
and Arrow skip it when they read the folder as one table.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.errors import MissingExtraError
from groundwire.evaluation.judged_row import Header, JudgedRow, ResultsError, require_same
from groundwire.evaluation.scale.tables import judged_rows, judged_table
from groundwire.text.files.writing import to_json

try:
    from pyarrow import parquet
except ImportError as error:
    raise MissingExtraError("Writing Parquet", "eval") from error

#: Name of the file that has the header.
MANIFEST = "_groundwire.json"

#: Suffix of files that are being written.
_UNFINISHED = ".part"

#: Rows that are in memory at a time.
_BATCH_ROWS = 64


def read_header(folder: Path) -> Header:
    """Read the header of the results in a folder.

    Raises:
        ResultsError: If there are none.
    """
    try:
        return Header.from_dict(json.loads((folder / MANIFEST).read_bytes()))
    except (FileNotFoundError, NotADirectoryError) as error:
        problem = f"this is no folder of results: there is no {MANIFEST} in it"
        raise ResultsError(folder, None, problem) from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        problem = f"its {MANIFEST} is none ({type(error).__name__}: {error})"
        raise ResultsError(folder, None, problem) from error


def write_header(folder: Path, header: Header) -> None:
    """Write the header into a folder, which is made if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    content = to_json(header.to_dict(), indent=1)
    _write_whole(folder / MANIFEST, lambda fresh: fresh.write_text(content, "utf-8"))


@dataclass(frozen=True, slots=True)
class Parts:
    """Results in a folder, which may be missing or empty."""

    path: Path

    def header(self) -> Header:
        """Read the file beside the parts."""
        return read_header(self.path)

    def rows(self) -> Iterator[JudgedRow]:
        """Read the rows of all parts."""
        read_header(self.path)
        for path in parts_of(self.path):
            for batch in _batches(path):
                try:
                    yield from judged_rows(batch)
                except (KeyError, TypeError, ValueError) as error:
                    raise _no_part(path, error) from error

    def done(self, header: Header) -> Iterator[tuple[int, str]]:
        """Remove incomplete files, and give number and fingerprint of each row."""
        if not self.path.exists():
            return
        _require_folder(self.path)
        _remove(self.path.glob(f"*{_UNFINISHED}"))
        if not any(self.path.iterdir()):
            return  # not even the header was complete
        require_same(self.path, read_header(self.path), header)
        for path in parts_of(self.path):
            for batch in _batches(path, ["row", "sha256"]):
                try:
                    for row, sha256 in zip(*batch.to_pydict().values(), strict=True):
                        int(sha256, 16)
                        yield row, sha256
                except (TypeError, ValueError) as error:
                    raise _no_part(path, error) from error

    def drop_failed(self) -> None:
        """Rewrite the files that have rows with an error, each without them."""
        for path in parts_of(self.path):
            try:
                with parquet.ParquetFile(path) as file:
                    errors = file.read(["error"])["error"]
                    if errors.null_count == len(errors):
                        continue
                    table = file.read()
            except (OSError, ValueError, KeyError) as error:
                raise _no_part(path, error) from error
            kept = table.filter(table["error"].is_null())
            if kept.num_rows:
                _write_table(path, kept)
            else:
                path.unlink()

    @contextmanager
    def writer(self, header: Header, *, replace: bool) -> Iterator["PartsWriter"]:
        """Open the folder to add a file for each batch."""
        yield PartsWriter(self.path, header, replace=replace)


def parts_of(folder: Path) -> list[Path]:
    """List the Parquet files of a folder, sorted by name."""
    return sorted(folder.glob("*.parquet"))


class PartsWriter:
    """Gathers rows, and writes a file of them at the end of each batch."""

    def __init__(self, folder: Path, header: Header, *, replace: bool = False) -> None:
        """Begin.

        Args:
            folder: It is made, or continued.
            header: Written if there is none.
            replace: Whether the results that are there go; nothing else in the folder does.

        Raises:
            ResultsError: If something else is in the folder.
        """
        self._folder = folder
        self._rows: list[JudgedRow] = []
        if folder.exists():
            _require_folder(folder)
            if any(folder.iterdir()):
                read_header(folder)  # what is no folder of results is left alone
            if replace:
                # The header goes last: it marks the folder as ours.
                _remove(parts_of(folder))
                _remove([folder / MANIFEST])
        if not (folder / MANIFEST).exists():
            write_header(folder, header)

    def write(self, row: JudgedRow) -> None:
        """Take one row; it is lost if the process ends before the batch does."""
        self._rows.append(row)

    def end_batch(self) -> None:
        """Write the rows since the last batch."""
        if not self._rows:
            return
        table = judged_table(sorted(self._rows, key=lambda row: row.row))
        # A part is named after its first row. A row that is judged again may begin a second part,
        # so the name gets a number.
        name = f"part-{table['row'][0].as_py():012d}"
        path, n = self._folder / f"{name}.parquet", 1
        while path.exists():
            path, n = self._folder / f"{name}-{n}.parquet", n + 1
        _write_table(path, table)
        self._rows.clear()


def _require_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ResultsError(folder, None, "results as Parquet are a folder, and this is a file")


def _batches(path: Path, columns: list[str] | None = None) -> Iterator[Any]:
    try:
        with parquet.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=_BATCH_ROWS, columns=columns)
    except (OSError, ValueError) as error:  # as what pyarrow raises is
        raise _no_part(path, error) from error


def _write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically, even if the power fails."""
    fresh = path.with_name(f"{path.name}{_UNFINISHED}")
    write(fresh)
    with fresh.open("rb") as stream:
        os.fsync(stream.fileno())
    fresh.replace(path)


def _write_table(path: Path, table: Any) -> None:  # noqa: ANN401  # pyarrow has no types
    _write_whole(path, lambda fresh: parquet.write_table(table, fresh, compression="zstd"))


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _no_part(path: Path, error: Exception) -> ResultsError:
    problem = f"this is no file of results ({type(error).__name__}: {error})"
    return ResultsError(path, None, problem)

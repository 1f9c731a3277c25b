"""Records of official files, and what every benchmark makes of them: numbered answers.

A record that cannot be read is told with its file and line, and the records after it are read all
the same. Which row a record becomes depends on the files alone, so that a run can be continued.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from groundwire.detection.example import Example
from groundwire.detection.rows import RowError
from groundwire.errors import DatasetError, InputError
from groundwire.evaluation.datasets.files import AnyRow, FailedRow, NumberedAnswer, SeenNames
from groundwire.evaluation.datasets.labelled import GoldSpan, Known, LabelledAnswer, context_of
from groundwire.evaluation.datasets.lines import SUFFIXES, Line, lines_of
from groundwire.text.files.reading import DAMAGE, decode, open_lines

#: How much of a text a message shows.
_SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True)
class BenchRecord:
    """What a file says of an answer, or of several.

    Attributes:
        file: The file.
        line: Where it stands there, the first being 1.
        values: Its fields.
    """

    file: Path
    line: int
    values: Mapping[str, Any]

    def text(self, *path: str) -> str:
        """A text that must be there; further names lead into objects.

        Raises:
            RowError: If it is not.
        """
        value = self.value(*path)
        if isinstance(value, str):
            return value
        raise RowError(f"{'.'.join(path)!r} is a {type(value).__name__} and must be a text")

    def texts(self, name: str) -> list[str]:
        """A list of texts.

        Raises:
            RowError: If it is none.
        """
        value = self.value(name)
        if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            return list(value)
        raise RowError(f"{name!r} must be a list of texts")

    def value(self, *path: str) -> Any:  # noqa: ANN401 - of a file of others
        """Whatever is there.

        Raises:
            RowError: If nothing is.
        """
        found: Any = self.values
        for name in path:
            if not isinstance(found, Mapping) or name not in found:
                has = ", ".join(repr(str(each)[:_SHOWN_CHARS]) for each in [*self.values][:12])
                raise RowError(f"there is no {'.'.join(path)!r}; there are {has or 'no fields'}")
            found = found[name]
        return found

    def label(self, name: str, words: Mapping[str, bool]) -> bool:
        """Whether an answer is hallucinated, by a word or number for it.

        Raises:
            RowError: If it is another.
        """
        value = self.value(name)
        word = str(value).strip().lower()
        if word not in words:
            known = ", ".join(words)
            raise RowError(f"{name!r} is {str(value)[:_SHOWN_CHARS]!r} and must be one of {known}")
        return words[word]


#: Reads the records of a file: lines with their content, and fields or what is wrong.
ReadLines = Callable[[Path], Iterator[Line]]
#: Makes answers of a record.
Convert = Callable[[BenchRecord], Iterable[LabelledAnswer]]


def answers_of(
    files: Sequence[Path], convert: Convert, read: ReadLines = lines_of
) -> Iterator[AnyRow]:
    """The answers of files, one after the other.

    Args:
        files: The files, in the order in which they are read.
        convert: Makes answers of a record, or raises InputError.
        read: Reads the records of a file.

    Raises:
        DatasetError: If there is no record in them, or a file cannot be read at all.
    """
    seen, row = SeenNames(), 0
    for file in files:
        for line, content, values in read(file):
            digest = sha256(content)
            try:
                if isinstance(values, str):
                    raise RowError(values)
                answers = list(convert(BenchRecord(file, line, values)))
            except InputError as error:
                row += 1
                place, short = f"{file}:{line}", digest.hexdigest()[:16]
                yield FailedRow(
                    row=row,
                    id=_name_of(values) or str(row),
                    place=place,
                    problem=str(error),
                    sha256=short,
                )
                continue
            for answer in answers:
                row += 1
                digest.update(b"\0")  # the answers of one record are told apart
                yield NumberedAnswer(
                    row=row, answer=_named(answer, seen, row), sha256=digest.hexdigest()[:16]
                )
    if row == 0:
        raise DatasetError(files[0], None, "it has no rows, or none of the part that is asked for")


def _name_of(values: Mapping[str, Any] | str) -> str:
    """What a record that is no answer calls itself; empty if it does not."""
    name = values.get("id") if isinstance(values, Mapping) else None
    is_name = isinstance(name, str | int) and not isinstance(name, bool)
    return str(name)[:_SHOWN_CHARS] if is_name else ""


def _named(answer: LabelledAnswer, seen: SeenNames, row: int) -> LabelledAnswer:
    """An answer whose id no other has: official files have some twice."""
    if seen.add(answer.id):
        return answer
    again = replace(answer, id=f"{answer.id}#{row}")
    seen.add(again.id)
    return again


def json_records(path: Path, *, key: str | None = None) -> Iterator[Line]:
    """The objects of a file that is one JSON array, or one object with an array under a key.

    Raises:
        DatasetError: If it is something else.
    """
    with open_lines(path) as stream:
        try:
            data = json.loads(decode(stream.read(), path.name))
        except (*DAMAGE, ValueError, RecursionError) as error:
            raise DatasetError(path, None, f"it is no JSON file in UTF-8 ({error})") from error
    items = data.get(key) if key is not None and isinstance(data, dict) else data
    if not isinstance(items, list):
        wanted = "a JSON array" if key is None else f"a JSON object with an array {key!r}"
        raise DatasetError(path, None, f"it is not {wanted}")
    for number, item in enumerate(items, 1):
        content = json.dumps(item, sort_keys=True).encode()
        yield number, content, item if isinstance(item, dict) else "it is no JSON object"


def answer_with(
    *,
    id: str,
    task: str,
    sources: Sequence[str],
    answer: str,
    question: str | None = None,
    label: bool | None = None,
    spans: Sequence[GoldSpan] | None = None,
    context_id: str = "",
    columns: Mapping[str, str] | None = None,
) -> LabelledAnswer:
    """An answer, of which spans or a label are known.

    Raises:
        InputError: If a text is none, or a span is outside the answer.
    """
    example = Example.of(sources=sources, question=question, answer=answer)
    for span in spans or ():
        if not 0 <= span.start < span.end <= len(answer):
            raise RowError(
                f"the span {span.start}-{span.end} does not lie in the answer, which has "
                f"{len(answer):,} characters"
            )
    known = Known.SPANS if spans is not None else Known.ANSWER
    return LabelledAnswer(
        id=id,
        task=task,
        context_id=context_id or context_of(example.sources),
        example=example,
        spans=tuple(spans or ()),
        known=Known.NOTHING if spans is None and label is None else known,
        label=label,
        columns=columns or {},
    )


def find_files(path: Path, patterns: Sequence[str]) -> tuple[Path, ...]:
    """A file that is named, or those of a folder that match the first pattern that any matches.

    Raises:
        DatasetError: If there is none.
    """
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise DatasetError(path, None, "there is no such file or folder")
    for pattern in patterns:
        if found := sorted(each for each in path.rglob(pattern) if each.is_file()):
            return tuple(found)
    raise DatasetError(
        path, None, f"this folder has none of the files {', '.join(patterns)}, however deep"
    )


def table_patterns(stem: str) -> tuple[str, ...]:
    """Names of a table, as the hub has them and as they may be saved."""
    packed = [f"{stem}{suffix}{gz}" for suffix in SUFFIXES for gz in ("", ".gz")]
    return (f"{stem}-*.parquet", *packed)

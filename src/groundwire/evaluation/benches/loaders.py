"""Readers for the benchmarks for which a mapping of columns is not enough."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from groundwire.detection.rows import RowError
from groundwire.errors import DatasetError
from groundwire.evaluation.datasets.files import (
    AnyRow,
    NumberedAnswer,
    RowReader,
    Values,
    read_files,
)
from groundwire.evaluation.datasets.lines import Line, json_lines
from groundwire.text.files.reading import DAMAGE, decode, open_lines

#: A function that yields the rows of a benchmark. The arguments are the benchmark's files, the name
#: of a split and a reader of rows.
Load: TypeAlias = Callable[[Sequence[Path], str, RowReader[NumberedAnswer]], Iterator[AnyRow]]

#: Names of the files of RAGTruth's release: answers, and the sources of the answers.
_RESPONSES, _SOURCES = "response.jsonl", "source_info.jsonl"
#: The words between instruction and data in RAGTruth's Data2txt prompts.
_BEFORE_DATA = "Structured data:"
#: Task of HaluEval → source field, question field (``None`` without one), and the word that ends
#: the names of the task's answer fields, such as ``right_answer``.
_HALUEVAL = {
    "qa": ("knowledge", "question", "answer"),
    "summarization": ("document", None, "summary"),
    "dialogue": ("knowledge", "dialogue_history", "response"),
}
#: The labels with which a summary of FaithBench counts as hallucinated, in lower case and without
#: the part after a dot. The label "Benign" is not among them: it marks true words that are not in
#: the source.
_FAITHBENCH = ("unwanted", "questionable")
_WICE = {"supported": False, "partially_supported": True, "not_supported": True}


def ragtruth(
    files: Sequence[Path], split: str, reader: RowReader[NumberedAnswer]
) -> Iterator[AnyRow]:
    """Read RAGTruth (https://arxiv.org/abs/2401.00396) from its release's two files or from tables.

    Raises:
        DatasetError: If only one of the release's two files is there, or one of them is there
            twice, or the files have no rows or an invalid format.
        OSError: If a file other than Parquet cannot be opened.
        MissingExtraError: If a table is Parquet and pyarrow is not installed.
    """
    responses, infos = (
        [file for file in files if file.name.removesuffix(".gz") == name]
        for name in (_RESPONSES, _SOURCES)
    )
    if not responses and not infos:
        return read_files(files, reader)
    if len(responses) != 1 or len(infos) != 1:
        problem = f"name the folder that has both {_RESPONSES} and {_SOURCES}, once each"
        raise DatasetError(files[0], None, problem)
    turn = partial(_ragtruth, _ragtruth_sources(infos[0]), split)
    return read_files(responses, reader, turn=turn)


def _ragtruth_sources(path: Path) -> Mapping[str, Values]:
    """Read RAGTruth's file of sources: source id → task, context id, source and question."""
    found: dict[str, Values] = {}
    for line, _, values in json_lines(path):
        try:
            if isinstance(values, str):
                raise ValueError(values)
            context, question = _ragtruth_content(values)
            found[values["source_id"]] = {
                "task": values["task_type"],
                "context_id": values["source_id"],
                "sources": [context],
                "question": question,
            }
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            problem = f"it is no source of RAGTruth ({type(error).__name__}: {error})"
            raise DatasetError(path, line, problem) from error
    return found


def _ragtruth_content(values: Values) -> tuple[str, str | None]:
    """Return the context of a RAGTruth prompt, and the question or, without one, the instruction.

    The instruction is the part of the prompt before the context, up to :data:`_BEFORE_DATA` if
    these words are there. The instruction is ``None`` if this part is empty, or the prompt does not
    contain the context.

    Raises:
        ValueError: If the values are not those of a source of RAGTruth; KeyError and AttributeError
            mean the same.
    """
    match values["source_info"]:
        case {"question": str(question), "passages": str(passages)}:
            return passages.strip(), question
        case str(article):
            context = article
        case dict(record):
            context = str(record)  # RAGTruth's prompts contain the record as Python prints it
        case _:
            raise ValueError("source_info is no text, no record, and no question with passages")
    before, found, _ = values["prompt"].partition(context)
    question = before.partition(_BEFORE_DATA)[0].strip()
    return context, question if found and question else None


def _ragtruth(
    sources: Mapping[str, Values], split: str, values: Values, file: Path, line: int
) -> Iterable[Values]:
    if values["split"] != split:
        return
    if values["source_id"] not in sources:
        raise RowError(f"source_id {values['source_id']!r} is not in {_SOURCES}")
    yield {
        **sources[values["source_id"]],
        "id": values.get("id", str(line)),
        "answer": values["response"],
        "spans": values["labels"],
        "model": values.get("model"),
        "quality": values.get("quality"),
    }


def _halueval(values: Values, file: Path, line: int) -> Iterable[Values]:
    """Convert a record of HaluEval to two rows: its right answer, and its hallucinated answer."""
    for task, (source, question, word) in _HALUEVAL.items():
        answers = {kind: values.get(f"{kind}_{word}") for kind in ("right", "hallucinated")}
        if None not in answers.values():
            return [
                {
                    "id": f"{task}-{line}-{kind}",
                    "task": task,
                    "context_id": f"{task}-{line}",
                    "sources": [values[source]],
                    "question": None if question is None else values[question],
                    "answer": answer,
                    "label": kind == "hallucinated",
                }
                for kind, answer in answers.items()
            ]
    wanted = ", ".join(f"right_{word}" for *_, word in _HALUEVAL.values())
    raise RowError(f"it has none of the fields {wanted} with its hallucinated counterpart")


def _ragbench(split: str, values: Values, file: Path, line: int) -> Iterable[Values]:
    """Convert a row of RAGBench. Its label is true if the answer adheres to the documents."""
    subset = (values.get("dataset_name") or "").removesuffix(f"_{split}") or file.parent.name
    yield {
        "id": f"{subset}-{line}",
        "task": subset,
        "sources": values["documents"],
        "question": values["question"],
        "answer": values["response"],
        "label": values["adherence_score"],
        "model": values.get("generation_model_name"),
    }


def _faithbench(values: Values, file: Path, line: int) -> Iterable[Values]:
    """Convert a sample of FaithBench to a row.

    A summary counts as hallucinated if people marked the summary, or a part of it, as unwanted or
    questionable.
    """
    marks = [mark for mark in values["annotations"] if _counts(mark["label"])]
    spans = [
        {
            "start": mark["summary_start"],
            "end": mark["summary_end"],
            "text": mark.get("summary_span"),
            "label": max(mark["label"], key=len),
        }
        for mark in marks
    ]
    # A mark without a range is about the summary as a whole. A row with such a mark gets no spans:
    # spans have to cover all hallucinated words, and here some of these words are unknown.
    has_places = all((span["start"] or 0) < (span["end"] or 0) for span in spans)
    yield {
        "id": f"{file.name.partition('.')[0]}-{values['sample_id']}",
        "task": "summary",
        "sources": [values["source"]],
        "answer": values["summary"],
        "label": bool(marks),
        "spans": spans if has_places else None,
        "model": (values.get("metadata") or {}).get("summarizer"),
    }


def _counts(labels: Sequence[str]) -> bool:
    return any(label.partition(".")[0].lower() in _FAITHBENCH for label in labels)


def _wice(values: Values, file: Path, line: int) -> Iterable[Values]:
    """Convert a claim of WiCE to a row.

    A claim that the article does not fully support counts as hallucinated.
    """
    task = "subclaim" if file.parent.name == "subclaim" else "claim"
    yield {
        "id": f"{task}-{values['meta']['id']}",
        "task": task,
        "sources": ["\n".join(values["evidence"])],
        "answer": values["claim"],
        "label": _WICE[values["label"]],
    }


def _samples(path: Path) -> Iterator[Line]:
    """Read the records of a file of FaithBench: one JSON object with an array ``samples``.

    Raises:
        DatasetError: If the file is damaged, is not JSON in UTF-8, or has no such array.
        OSError: If the file cannot be opened.
    """
    with open_lines(path) as stream:
        try:
            data = json.loads(decode(stream.read(), path.name))
        except (*DAMAGE, ValueError, RecursionError) as error:
            raise DatasetError(path, None, f"it is no JSON file in UTF-8 ({error})") from error
    items: Any = data.get("samples") if isinstance(data, dict) else None
    if not isinstance(items, list):
        raise DatasetError(path, None, "it is not a JSON object with an array 'samples'")
    for number, item in enumerate(items, 1):
        content = json.dumps(item, sort_keys=True).encode()
        yield number, content, item if isinstance(item, dict) else "it is no JSON object"


#: Name of a benchmark → function that reads its files.
LOADERS: Mapping[str, Load] = {
    "ragtruth": ragtruth,
    "halueval": lambda files, _, reader: read_files(files, reader, turn=_halueval),
    "ragbench": lambda files, split, reader: read_files(
        files, reader, turn=partial(_ragbench, split)
    ),
    "faithbench": lambda files, _, reader: read_files(
        sorted(files, key=lambda file: (len(file.name), file.name)),
        reader,
        turn=_faithbench,
        lines=_samples,
    ),
    "wice": lambda files, _, reader: read_files(files, reader, turn=_wice),
}

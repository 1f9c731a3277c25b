"""From official files to labelled answers: a reader for each benchmark.

Each says which of its fields is the source, which the answer, and what counts as hallucinated.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from groundwire.detection.rows import RowError
from groundwire.detection.values import Label
from groundwire.errors import DatasetError
from groundwire.evaluation.benches.records import (
    BenchRecord,
    answer_with,
    answers_of,
    find_files,
    json_records,
    table_patterns,
)
from groundwire.evaluation.datasets.files import AnyRow, read_labelled
from groundwire.evaluation.datasets.labelled import GoldSpan, LabelledAnswer
from groundwire.evaluation.datasets.ragtruth import RESPONSES, SOURCES, ReleaseSources
from groundwire.evaluation.datasets.rows import DataRow

#: A label that says whether an answer is supported → whether it is hallucinated.
_SUPPORTED = {"1": False, "0": True, "1.0": False, "0.0": True, "true": False, "false": True}


def tables(path: Path, split: str) -> tuple[Path, ...]:
    """The tables of a split, named for it."""
    return find_files(path, table_patterns(split))


# RAGTruth.


def ragtruth_files(path: Path, split: str) -> tuple[Path, ...]:
    """The two files of the release, or a file that has all of an answer in a row.

    Raises:
        DatasetError: If there is neither.
    """
    folder = path.parent if path.name.removesuffix(".gz") in (RESPONSES, SOURCES) else path
    if not folder.is_dir():
        return find_files(path, ())
    pair = [
        next((each for each in (folder / name, folder / f"{name}.gz") if each.is_file()), None)
        for name in (RESPONSES, SOURCES)
    ]
    found = tuple(each for each in pair if each is not None)
    if len(found) == 2:
        return found
    if found:
        raise DatasetError(folder, None, f"it must have both {RESPONSES} and {SOURCES}")
    return find_files(folder, (RESPONSES, f"{RESPONSES}.gz", f"{split}.jsonl", f"{split}.jsonl.gz"))


def ragtruth(files: Sequence[Path], split: str) -> Iterator[AnyRow]:
    """Both layouts; people marked the characters."""
    if len(files) == 1:
        return read_labelled(files[0])
    answers, sources = files
    return answers_of([answers], partial(_ragtruth, ReleaseSources.read(sources.parent), split))


def _ragtruth(sources: ReleaseSources, split: str, record: BenchRecord) -> Iterator[LabelledAnswer]:
    row = DataRow(record.file, record.line, record.values)
    try:
        if row.get("split", str) == split:
            found = sources.answer(row)
            columns = {"model": found.model, "quality": found.quality}  # as in one file
            yield replace(found, columns=columns)
    except DatasetError as error:
        raise RowError(error.problem) from error  # where it stands is told anyway


# HaluEval.

#: What a task has as source, question, and the word for its answers.
_HALUEVAL = {
    "qa": ("knowledge", "question", "answer"),
    "summarization": ("document", None, "summary"),
    "dialogue": ("knowledge", "dialogue_history", "response"),
}


def halueval_files(path: Path, split: str) -> tuple[Path, ...]:
    """The files of all tasks that are there."""
    del split  # there is but one
    if path.is_file():
        return (path,)
    found = []
    for task in _HALUEVAL:
        name = f"{task}_data.json"
        found += [next(iter(sorted(path.rglob(each))), None) for each in (name, f"{name}.gz")]
    named = tuple(each for each in found if each is not None)
    return named or find_files(path, [f"{task}_data.json" for task in _HALUEVAL])


def halueval(files: Sequence[Path], split: str) -> Iterator[AnyRow]:
    """Each line gives two answers to one context: the right one, and the hallucinated one."""
    del split
    return answers_of(files, _halueval)


def _halueval(record: BenchRecord) -> Iterator[LabelledAnswer]:
    task = next((each for each, names in _HALUEVAL.items() if _has_pair(record, names[2])), None)
    if task is None:
        wanted = ", ".join(f"right_{names[2]}" for names in _HALUEVAL.values())
        raise RowError(f"it has none of the fields {wanted} with its hallucinated counterpart")
    source, question, word = _HALUEVAL[task]
    for kind in ("right", "hallucinated"):
        yield answer_with(
            id=f"{task}-{record.line}-{kind}",
            task=task,
            sources=[record.text(source)],
            question=None if question is None else record.text(question),
            answer=record.text(f"{kind}_{word}"),
            label=kind == "hallucinated",
            context_id=f"{task}-{record.line}",
        )


def _has_pair(record: BenchRecord, word: str) -> bool:
    return {f"right_{word}", f"hallucinated_{word}"} <= record.values.keys()


# RAGBench.


def ragbench(files: Sequence[Path], split: str) -> Iterator[AnyRow]:
    """An answer that does not adhere to its documents is hallucinated; GPT-4 judged that."""
    return answers_of(files, partial(_ragbench, split))


def _ragbench(split: str, record: BenchRecord) -> Iterator[LabelledAnswer]:
    name = record.values.get("dataset_name")
    subset = name.removesuffix(f"_{split}") if isinstance(name, str) and name else ""
    subset = subset or record.file.parent.name
    is_adherent = record.value("adherence_score")
    model = record.values.get("generation_model_name")
    yield answer_with(
        id=f"{subset}-{record.line}",
        task=subset,
        sources=record.texts("documents"),
        question=record.text("question"),
        answer=record.text("response"),
        label=None if is_adherent is None else record.label("adherence_score", _SUPPORTED),
        columns={"model": model} if isinstance(model, str) else {},
    )


# FaithBench.

#: What makes a summary hallucinated; "Benign" adds what is true, and does not.
_FAITHBENCH = ("unwanted", "questionable")


def faithbench_files(path: Path, split: str) -> tuple[Path, ...]:
    """The batches."""
    del split
    return find_files(path, ("batch_[0-9]*.json", "batch_[0-9]*.json.gz"))


def faithbench(files: Sequence[Path], split: str) -> Iterator[AnyRow]:
    """A summary is hallucinated if any annotator marked something unwanted or questionable."""
    del split
    in_order = sorted(files, key=lambda file: (len(file.name), file.name))
    return answers_of(in_order, _faithbench, partial(json_records, key="samples"))


def _faithbench(record: BenchRecord) -> Iterator[LabelledAnswer]:
    summary = record.text("summary")
    batch = record.file.name.partition(".")[0]
    marks = [mark for mark in record.value("annotations") if _counts(mark)]
    spans = [_faithbench_span(mark, summary) for mark in marks]
    located = [span for span in spans if span is not None]
    metadata = record.values.get("metadata")
    model = metadata.get("summarizer") if isinstance(metadata, Mapping) else None
    yield answer_with(
        id=f"{batch}-{record.value('sample_id')}",
        task="summary",
        sources=[record.text("source")],
        answer=summary,
        label=bool(marks),
        # A mark without a place says it of the summary as a whole.
        spans=located if len(located) == len(spans) else None,
        columns={"model": model} if isinstance(model, str) else {},
    )


def _counts(mark: object) -> bool:
    labels = mark.get("label") if isinstance(mark, Mapping) else None
    if not isinstance(labels, list):
        raise RowError("an annotation has no list of labels")
    return any(str(label).partition(".")[0].lower() in _FAITHBENCH for label in labels)


def _faithbench_span(mark: Mapping[str, object], summary: str) -> GoldSpan | None:
    start, end = mark.get("summary_start"), mark.get("summary_end")
    if not isinstance(start, int) or not isinstance(end, int) or start >= end:
        return None
    said = mark.get("summary_span")
    if isinstance(said, str) and said != summary[start:end]:
        raise RowError(f"the span {start}-{end} is {summary[start:end]!r} and not {said!r}")
    kind = max((str(label) for label in _listed(mark.get("label"))), key=len, default="")
    # Intrinsic: the source says otherwise. The release spells it in more than one way.
    is_conflict = kind.lower().endswith(("intrinsic", "instrinsic"))
    label = Label.CONTRADICTED if is_conflict else Label.UNSUPPORTED
    return GoldSpan(start=start, end=end, label=label, kind=kind)


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else ()


# LLM-AggreFact.


def aggrefact(files: Sequence[Path], split: str) -> Iterator[AnyRow]:
    """A claim that its document does not support is hallucinated; a task is a dataset."""
    del split
    return answers_of(files, _aggrefact)


def _aggrefact(record: BenchRecord) -> Iterator[LabelledAnswer]:
    dataset = record.text("dataset")
    yield answer_with(
        id=f"{dataset}-{record.line}",
        task=dataset,
        sources=[record.text("doc")],
        answer=record.text("claim"),
        label=record.label("label", _SUPPORTED),
    )


# WiCE.

_WICE = {"supported": False, "partially_supported": True, "not_supported": True}


def wice_files(path: Path, split: str) -> tuple[Path, ...]:
    """Claims, and their parts where they are there too."""
    if path.is_file():
        return (path,)
    names = (f"{split}.jsonl", f"{split}.jsonl.gz")
    found = [
        each
        for folder in ("claim", "subclaim")
        for name in names
        for each in sorted(path.rglob(f"{folder}/{name}"))
    ]
    return tuple(found) or find_files(path, names)


def wice(files: Sequence[Path], split: str) -> Iterator[AnyRow]:
    """A claim that its article does not support in full is hallucinated."""
    del split
    return answers_of(files, _wice)


def _wice(record: BenchRecord) -> Iterator[LabelledAnswer]:
    task = "subclaim" if record.file.parent.name == "subclaim" else "claim"
    sentences = record.texts("evidence")
    yield answer_with(
        id=f"{task}-{record.text('meta', 'id')}",
        task=task,
        sources=["\n".join(sentences)],
        answer=record.text("claim"),
        label=record.label("label", _WICE),
        columns={"label": record.text("label")},
    )


# HaluBench.

_HALUBENCH = {"pass": False, "fail": True}


def halubench(files: Sequence[Path], split: str) -> Iterator[AnyRow]:
    """FAIL is hallucinated; a task is where a row comes from."""
    del split
    return answers_of(files, _halubench)


def _halubench(record: BenchRecord) -> Iterator[LabelledAnswer]:
    yield answer_with(
        id=record.text("id"),
        task=record.text("source_ds"),
        sources=[record.text("passage")],
        question=record.text("question"),
        answer=record.text("answer"),
        label=record.label("label", _HALUBENCH),
    )


# PsiloQA.


def psiloqa(files: Sequence[Path], split: str) -> Iterator[AnyRow]:
    """Characters that GPT-4o marked; a task is a language."""
    del split
    return answers_of(files, _psiloqa)


def _psiloqa(record: BenchRecord) -> Iterator[LabelledAnswer]:
    model = record.values.get("llm_checkpoint")
    yield answer_with(
        id=str(record.value("id")),
        task=record.text("lang"),
        sources=[record.text("wiki_passage")],
        question=record.text("question"),
        answer=record.text("llm_answer"),
        spans=[_range(each) for each in _listed(record.value("labels"))],
        columns={"model": model} if isinstance(model, str) else {},
    )


def _range(value: object) -> GoldSpan:
    match value:
        case [int(start), int(end)]:
            return GoldSpan(start=start, end=end, label=Label.UNSUPPORTED)
    raise RowError("a label is no pair of whole numbers")


# SummEdits.

_SUMMEDITS = "summedits_"


def summedits_files(path: Path, split: str) -> tuple[Path, ...]:
    """A file for each domain."""
    del split
    return find_files(path, (f"{_SUMMEDITS}*.json", f"{_SUMMEDITS}*.json.gz"))


def summedits(files: Sequence[Path], split: str) -> Iterator[AnyRow]:
    """A summary that an edit made inconsistent is hallucinated; a task is a domain."""
    del split
    return answers_of(files, _summedits, json_records)


def _summedits(record: BenchRecord) -> Iterator[LabelledAnswer]:
    domain = record.file.name.partition(".")[0].removeprefix(_SUMMEDITS)
    yield answer_with(
        id=f"{domain}-{record.text('id')}",
        task=domain,
        sources=[record.text("doc")],
        answer=record.text("summary"),
        label=record.label("label", _SUPPORTED),
    )

"""Official files become labelled answers: sources, question, answer, and what is hallucinated."""

import json
from pathlib import Path

import pytest

from groundwire.errors import DatasetError
from groundwire.evaluation.benches.registry import bench
from groundwire.evaluation.datasets.files import AnyRow, FailedRow, NumberedAnswer
from groundwire.evaluation.datasets.labelled import Known
from tests.evaluation.benches import official
from tests.evaluation.benches.official import FACTS, RIGHT, WRONG, YEAR
from tests.evaluation.datasets.tables import answers, csv_text, json_lines, problems, write


def rows(name: str, path: Path, split: str | None = None) -> list[AnyRow]:
    found = bench(name)
    part = found.split(split)
    return list(found.read(found.find(path, part), part))


def read(name: str, path: Path, split: str | None = None) -> list[NumberedAnswer]:
    return answers(iter(rows(name, path, split)))


def hallucinated(found: list[NumberedAnswer]) -> list[bool]:
    return [each.answer.is_hallucinated for each in found]


def texts(row: NumberedAnswer) -> tuple[list[str], str | None, str]:
    example = row.answer.example
    return [source.text for source in example.sources], example.question, example.answer


# RAGTruth.


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_the_release_of_ragtruth_is_read_by_split(tmp_path: Path, packed: str) -> None:
    folder = official.ragtruth(tmp_path, packed=packed)
    found = read("ragtruth", folder)
    assert hallucinated(found) == [False, True, True, False]
    assert [each.answer.task for each in found] == ["QA", "QA", "Summary", "Summary"]
    assert [(s.start, s.end) for s in found[1].answer.spans] == [YEAR]
    columns = {"task": "Summary", "model": "some-llm", "quality": "truncated"}
    assert found[3].answer.columns == columns
    assert len(read("ragtruth", folder, "train")) == 1


RECORD = {"name": "Rose", "WiFi": None, "stars": 3.5}


@pytest.mark.parametrize(
    ("info", "prompt", "source", "question"),
    [
        (FACTS, f"Summarize:\n{FACTS}\noutput:", FACTS, "Summarize:"),
        ({"question": "When?", "passages": f"{FACTS}\n\n"}, "...", FACTS, "When?"),
        (RECORD, f"Describe it. Structured data:\n{RECORD}", str(RECORD), "Describe it."),
        (FACTS, "Do it.", FACTS, None),
    ],
)
def test_an_answer_of_ragtruth_is_held_against_what_its_prompt_had(
    tmp_path: Path, info: object, prompt: str, source: str, question: str | None
) -> None:
    folder = official.ragtruth(tmp_path)
    given = {"source_id": "s0", "task_type": "QA", "source_info": info, "prompt": prompt}
    write(folder / "source_info.jsonl", json_lines(given))
    (found,) = read("ragtruth", folder, "train")
    assert texts(found) == ([source], question, WRONG)


@pytest.mark.parametrize("wrong", [{"source_id": "s0"}, b"{bad"])
def test_a_source_of_ragtruth_that_is_none_is_refused(tmp_path: Path, wrong: object) -> None:
    folder = official.ragtruth(tmp_path)
    write(folder / "source_info.jsonl", json_lines(wrong))
    with pytest.raises(DatasetError, match=r"source_info\.jsonl:1: it is no source of RAGTruth"):
        rows("ragtruth", folder)


def test_ragtruth_in_one_file_is_the_same(tmp_path: Path) -> None:
    found = read("ragtruth", official.ragtruth_rows(tmp_path / "test_half.jsonl.gz"))
    assert hallucinated(found) == [False, True, True, False]
    assert found[0].answer.columns["quality"] == "good"
    assert texts(found[0]) == ([FACTS], "When?", RIGHT)


def test_half_of_a_release_is_refused(tmp_path: Path) -> None:
    folder = official.ragtruth(tmp_path)
    (folder / "source_info.jsonl").unlink()
    with pytest.raises(DatasetError, match=r"both response\.jsonl and source_info\.jsonl"):
        rows("ragtruth", folder)


def test_a_wrong_row_of_the_release_does_not_end_the_others(tmp_path: Path) -> None:
    folder = official.ragtruth(tmp_path)
    path = folder / "response.jsonl"
    lines = path.read_bytes().splitlines()
    lines[1] = lines[1].replace(b'"1950"', b'"1951"')  # what its span says
    lines[2] = lines[2].replace(b'"s1"', b'"s9"')
    path.write_bytes(b"\n".join([*lines, b"{bad"]))
    found = rows("ragtruth", folder)
    assert problems(iter(found)) == {
        2: problems(iter(found))[2],
        3: "source_id 's9' is not in source_info.jsonl",
        5: problems(iter(found))[5],
    }
    assert "the span 25-29 is '1950' in the answer" in problems(iter(found))[2]
    assert [row.row for row in found if isinstance(row, NumberedAnswer)] == [1, 4]


# The others.


def test_each_line_of_halueval_gives_a_right_and_a_hallucinated_answer(tmp_path: Path) -> None:
    found = read("halueval", official.halueval(tmp_path / "data"))
    assert hallucinated(found) == [False, True] * 4
    assert [each.answer.task for each in found[::2]] == ["qa", "qa", "summarization", "dialogue"]
    assert texts(found[0]) == ([FACTS], "When was it opened?", "1932")
    assert texts(found[5]) == ([FACTS], None, WRONG)
    assert texts(found[6]) == ([FACTS], "[Human]: Do you know the bridge?", RIGHT)
    contexts = [each.answer.context_id for each in found]
    assert contexts[0] == contexts[1] != contexts[2]
    assert {each.answer.known for each in found} == {Known.ANSWER}


def test_one_file_of_halueval_is_enough(tmp_path: Path) -> None:
    folder = official.halueval(tmp_path)
    found = read("halueval", folder / "summarization_data.json")
    assert [texts(each)[2] for each in found] == [RIGHT, WRONG]


def test_an_answer_of_ragbench_that_does_not_adhere_is_hallucinated(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for subset, values in (("covidqa", (True, False)), ("techqa", (False, None))):
        (tmp_path / subset).mkdir()
        table = pyarrow.Table.from_pylist(official.ragbench_rows(subset, *values))
        parquet.write_table(table, tmp_path / subset / "test-00000-of-00001.parquet")
    found = read("ragbench", tmp_path)
    assert [each.answer.task for each in found] == ["covidqa"] * 2 + ["techqa"] * 2
    assert [each.answer.label for each in found] == [False, True, True, None]
    assert found[3].answer.known is Known.NOTHING
    assert texts(found[0]) == (["Something else.", FACTS], "When?", RIGHT)


def test_a_summary_of_faithbench_is_hallucinated_by_its_worst_mark(tmp_path: Path) -> None:
    found = read("faithbench", official.faithbench(tmp_path / "data_for_release"))
    assert [each.answer.id for each in found] == [
        *("batch_2-0", "batch_2-1", "batch_2-2", "batch_10-0", "batch_10-1")
    ]
    assert hallucinated(found) == [False, True, False, True, True]
    assert [[(s.start, s.end) for s in each.answer.spans] for each in found[:4]] == [
        *([], [YEAR], [], [YEAR])
    ]
    assert [str(span.label) for span in found[1].answer.spans] == ["contradicted"]
    # A mark that names no place says it of the summary.
    assert [each.answer.known for each in found] == [Known.SPANS] * 4 + [Known.ANSWER]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_claim_of_aggrefact_with_label_0_is_hallucinated(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"test{suffix}"
    table = official.aggrefact_rows({"RAGTruth": [1, 0], "Wice": [0]})
    if suffix == ".csv":
        write(path, csv_text(table))
    elif suffix == ".jsonl":
        write(path, json_lines(*table))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(table), path)
    found = read("aggrefact", tmp_path)
    assert hallucinated(found) == [False, True, True]
    assert [each.answer.task for each in found] == ["RAGTruth", "RAGTruth", "Wice"]
    assert len({each.answer.context_id for each in found}) == 1  # one document


def test_a_claim_of_wice_must_be_supported_in_full(tmp_path: Path) -> None:
    found = read("wice", official.wice(tmp_path))
    assert [each.answer.task for each in found] == ["claim"] * 3 + ["subclaim"] * 2
    assert hallucinated(found) == [False, True, True, False, True]
    assert texts(found[0])[0] == [
        "(meta data) TITLE: A bridge\nThe bridge was opened in 1932\nIt is 503 metres long."
    ]


def test_a_row_of_halubench_says_fail(tmp_path: Path) -> None:
    found = read("halubench", write(tmp_path / "t.jsonl", json_lines(*official.halubench_rows())))
    assert hallucinated(found) == [False, True]
    assert found[0].answer.task == "DROP"


def test_psiloqa_marks_characters(tmp_path: Path) -> None:
    found = read("psiloqa", write(tmp_path / "t.jsonl", json_lines(*official.psiloqa_rows())))
    assert [[(s.start, s.end) for s in each.answer.spans] for each in found] == [[], [YEAR]]
    assert found[0].answer.task == "en"


# What is wrong with a record.


@pytest.mark.parametrize(
    ("name", "wrong", "problem"),
    [
        ("halueval", {"knowledge": "x"}, "none of the fields right_ans"),
        ("aggrefact", {"dataset": "a", "doc": "b", "claim": "c", "label": 2}, "label '2' is none"),
        ("aggrefact", {"dataset": "a", "doc": "b", "label": 1}, "there is no column 'claim'"),
        ("halubench", {**official.halubench_rows()[0], "answer": " "}, "answer is empty"),
        ("psiloqa", {**official.psiloqa_rows()[0], "labels": [[3]]}, "nor a pair of them"),
        ("psiloqa", {**official.psiloqa_rows()[0], "labels": [[3, 99]]}, "does not lie in"),
        ("wice", {"claim": "x", "label": "supported"}, "not as the others are (KeyError: 'meta')"),
    ],
)
def test_a_wrong_record_is_told_with_its_line_and_the_others_are_read(
    tmp_path: Path, name: str, wrong: object, problem: str
) -> None:
    path = write(tmp_path / "t.jsonl", json_lines(b"{bad", wrong))
    found = rows(name, path)
    told = problems(iter(found))
    assert "not JSON" in told[1]
    assert problem in told[2]
    assert [each.place for each in found if hasattr(each, "place")] == [f"{path}:1", f"{path}:2"]


def test_a_wrong_record_keeps_its_id(tmp_path: Path) -> None:
    wrong = {**official.halubench_rows()[0], "id": "h7", "answer": " "}
    found = rows("halubench", write(tmp_path / "t.jsonl", json_lines(wrong, {"x": 1}, {"id": [1]})))
    assert [each.id for each in found if isinstance(each, FailedRow)] == ["h7", "2", "3"]


def test_a_span_of_faithbench_that_says_other_words_is_told(tmp_path: Path) -> None:
    folder = official.faithbench(tmp_path)
    path = folder / "batch_2.json"
    data = json.loads(path.read_text())
    data["samples"][1]["annotations"][0]["summary_start"] -= 3
    path.write_text(json.dumps(data))
    found = rows("faithbench", folder)
    assert list(problems(iter(found))) == [2]
    assert len(found) == 5


def test_ids_that_come_twice_are_told_apart(tmp_path: Path) -> None:
    twice = official.halubench_rows() * 2
    found = read("halubench", write(tmp_path / "t.jsonl", json_lines(*twice)))
    assert [each.answer.id for each in found] == ["h0", "h1", "h0#3", "h1#4"]


@pytest.mark.parametrize("content", ["{", '{"other": 1}', "1"])
def test_a_file_of_another_layout_is_refused(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "batch_1.json", content)
    with pytest.raises(DatasetError, match=r"batch_1\.json"):
        rows("faithbench", path)


@pytest.mark.parametrize("name", ["ragtruth", "halueval", "ragbench", "faithbench", "wice"])
def test_a_folder_without_the_files_says_what_they_are_called(tmp_path: Path, name: str) -> None:
    with pytest.raises(DatasetError, match="has none of the files"):
        rows(name, tmp_path)


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="it has no rows"):
        rows("faithbench", write(tmp_path / "batch_1.json", '{"samples": []}'))


def test_a_row_is_the_same_each_time_and_no_other_is(tmp_path: Path) -> None:
    folder = official.halueval(tmp_path)
    first, second = rows("halueval", folder), rows("halueval", folder)
    assert [each.sha256 for each in first] == [each.sha256 for each in second]
    assert [each.row for each in first] == list(range(1, 9))
    pair = [each.sha256 for each in first[:2]]
    assert pair[0] != pair[1]

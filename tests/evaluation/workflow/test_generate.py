"""Answers of language models: in order, each asked once, whatever fails or is interrupted."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from groundwire.evaluation.datasets.asked import Question
from groundwire.evaluation.datasets.files import FailedRow, NumberedAnswer, NumberedQuestion
from groundwire.evaluation.workflow.answers import read_answers
from groundwire.evaluation.workflow.generate import (
    MAX_IN_A_ROW,
    Generated,
    Prompting,
    StoppedError,
    generate,
    user_message,
)
from groundwire.evaluation.workflow.kept import Kept
from groundwire.evaluation.workflow.model import FinalGenerationError, GenerationError
from groundwire.evaluation.workflow.questions import AnyQuestion
from groundwire.evaluation.workflow.stage import Stage, StageError, read_rows
from groundwire.example import Source
from tests.evaluation.workflow.chats import ScriptedModel, echo, language_model
from tests.verify.scripted import ScriptedEndpoint

STAGE = Stage(step="generate", data={"q.jsonl": "a" * 64})
ONE = Prompting(models=("m",))


def question(i: int) -> NumberedQuestion:
    sources = (Source(id="S0", text=f"It was {i}."),)
    asked = Question(id=f"q{i}", task="QA", context_id=f"c{i}", text=f"Why {i}?", sources=sources)
    return NumberedQuestion(row=i, question=asked, sha256=f"{i:016x}")


def questions(n: int) -> list[AnyQuestion]:
    return [question(i) for i in range(1, n + 1)]


def made(
    model: ScriptedModel,
    asked: list[AnyQuestion],
    output: Path,
    *,
    prompting: Prompting = ONE,
    kept: Kept | None = None,
    concurrency: int = 3,
    replace: bool = False,
    retry_failed: bool = False,
) -> Generated:
    return generate(
        asked,
        model,
        prompting,
        output=output,
        stage=STAGE,
        kept=kept,
        concurrency=concurrency,
        replace=replace,
        retry_failed=retry_failed,
    )


def rows(path: Path) -> list[dict[str, Any]]:
    return [dict(row) for _, row in read_rows(path, "generate")]


def right(asked: str) -> str:
    return f"Because of {asked}"


def failing(*numbers: int, error: Exception | None = None) -> Callable[[str], str | Exception]:
    """Fails for questions with these numbers."""

    def says(asked: str) -> str | Exception:
        problem = error or GenerationError("It failed.")
        return problem if int(asked.strip("Why ?")) in numbers else right(asked)

    return says


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with Kept(tmp_path / "replies.sqlite") as opened:
        yield opened


def test_each_question_is_put_to_each_model_over_http(output: Path) -> None:
    with ScriptedEndpoint(echo) as endpoint, language_model(endpoint.base_url) as model:
        done = generate(
            questions(2), model, Prompting(models=("a", "b"), seed=7), output=output, stage=STAGE
        )
    assert (done.n, done.n_new, done.n_failed) == (4, 4, 0)
    assert done.tokens == {"a": [100, 20], "b": [100, 20]}
    assert [(row["id"], row["answer"]) for row in rows(output)] == [
        ("q1@a", "a says: Why 1?"),
        ("q1@b", "b says: Why 1?"),
        ("q2@a", "a says: Why 2?"),
        ("q2@b", "b says: Why 2?"),
    ]
    body = endpoint.asked[0].body
    assert (body["temperature"], body["max_tokens"], body["seed"]) == (0, 1024, 7)
    assert [each["role"] for each in body["messages"]] == ["system", "user"]
    assert "It was 1." in str([asked.body for asked in endpoint.asked])


def test_sources_have_their_titles_and_a_question_may_have_none() -> None:
    asked = question(1).question
    assert user_message(asked) == "Sources:\n\n[1] It was 1.\n\nQuestion: Why 1?"
    bare = Question(id="1", task="", context_id="", text="Why?", sources=())
    assert user_message(bare) == "Question: Why?"
    assert Prompting(models=("m",), system="").messages(bare) == [
        {"role": "user", "content": "Question: Why?"}
    ]


def test_answers_are_in_the_order_of_the_questions_whichever_comes_first(output: Path) -> None:
    others_are_done = threading.Event()
    left = threading.Semaphore(0)

    def says(asked: str) -> str:
        if asked == "Why 1?":
            assert others_are_done.wait(30)
        else:
            left.release()
            if asked == "Why 3?":
                others_are_done.set()
        return right(asked)

    made(ScriptedModel(says), questions(6), output)
    assert [row["question_id"] for row in rows(output)] == [f"q{i}" for i in range(1, 7)]


def test_only_so_many_calls_run_at_a_time(output: Path) -> None:
    lock, running, most = threading.Lock(), [0], [0]
    both = threading.Barrier(2)

    def says(asked: str) -> str:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        both.wait(30)
        with lock:
            running[0] -= 1
        return right(asked)

    made(ScriptedModel(says), questions(10), output, concurrency=2)
    assert most == [2]


def test_an_answer_that_fails_is_a_row_with_its_error(output: Path) -> None:
    done = made(ScriptedModel(failing(2)), questions(3), output)
    assert (done.n, done.n_failed) == (3, 1)
    row = rows(output)[1]
    assert (row["answer"], row["error"]) == (
        None,
        {"type": "GenerationError", "message": "It failed."},
    )


def test_a_question_that_could_not_be_read_is_a_row_and_nobody_is_asked(output: Path) -> None:
    bad = FailedRow(row=2, id="2", place="q.jsonl:2", problem="It is bad.", sha256="f" * 16)
    model = ScriptedModel(right)
    done = made(model, [question(1), bad, question(3)], output)
    assert (done.n_failed, len(model.asked)) == (1, 2)
    assert rows(output)[1]["error"] == {"type": "RowError", "message": "q.jsonl:2: It is bad."}


def test_a_run_goes_on_after_what_is_there(output: Path) -> None:
    made(ScriptedModel(right), questions(5), output)
    whole = rows(output)
    lines = output.read_bytes().splitlines(keepends=True)
    output.write_bytes(b"".join(lines[:3]) + lines[3][:50])
    model = ScriptedModel(right)
    done = made(model, questions(5), output)
    assert (done.n, done.n_new, sorted(model.asked)) == (5, 3, ["Why 3?", "Why 4?", "Why 5?"])
    assert rows(output) == whole
    assert done.tokens == {"m": [25, 10]}


def test_what_is_kept_is_not_asked_again(output: Path, kept: Kept) -> None:
    made(ScriptedModel(right), questions(3), output, kept=kept)
    before = output.read_bytes()
    model = ScriptedModel(right)
    made(model, questions(3), output, kept=kept, replace=True)
    assert (model.asked, output.read_bytes()) == ([], before)
    other = Prompting(models=("m",), temperature=0.5)
    made(model, questions(3), output, kept=kept, replace=True, prompting=other)
    assert len(model.asked) == 3
    elsewhere = ScriptedModel(right, base_url="http://127.0.0.1/v1")
    made(elsewhere, questions(3), output, kept=kept, replace=True)
    assert len(elsewhere.asked) == 3


def test_what_failed_is_not_kept(output: Path, kept: Kept) -> None:
    made(ScriptedModel(failing(1, 2)), questions(3), output, kept=kept)
    model = ScriptedModel(right)
    made(model, questions(3), output, kept=kept, replace=True)
    assert sorted(model.asked) == ["Why 1?", "Why 2?"]


def test_what_is_kept_holds_no_key(output: Path, tmp_path: Path) -> None:
    with (
        ScriptedEndpoint(echo) as endpoint,
        language_model(endpoint.base_url) as model,
        Kept(tmp_path / "replies.sqlite") as kept,
    ):
        generate(questions(1), model, ONE, output=output, stage=STAGE, kept=kept)
    for path in tmp_path.iterdir():
        assert b"sk-secret" not in path.read_bytes()


def test_a_cache_that_is_none_is_told(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    path.write_bytes(b"this is a text and no database" * 50)
    with pytest.raises(StageError, match="it is no cache of answers"):
        Kept(path)


def test_a_kept_reply_of_another_version_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with Kept(path):
        pass
    database = sqlite3.connect(path)
    with database:
        database.execute("INSERT INTO replies VALUES ('k', '{\"text\": 1}')")
    database.close()
    with Kept(path) as kept:
        assert kept.get("k") is None


def test_what_failed_before_is_asked_again_if_that_is_wanted(output: Path) -> None:
    made(ScriptedModel(failing(1, 3)), questions(4), output)
    before = rows(output)
    model = ScriptedModel(failing(3))
    done = made(model, questions(4), output)
    assert (model.asked, done.n_failed) == ([], 2)
    done = made(model, questions(4), output, retry_failed=True)
    assert (sorted(model.asked), done.n_failed) == (["Why 1?", "Why 3?"], 1)
    after = rows(output)
    assert [row["answer"] is None for row in after] == [False, False, True, False]
    assert (after[1], after[3]) == (before[1], before[3])


def test_what_has_an_answer_now_is_counted(output: Path) -> None:
    bad = FailedRow(row=2, id="2", place="q.jsonl:2", problem="It is bad.", sha256="f" * 16)
    asked: list[AnyQuestion] = [question(1), bad, question(3), question(4)]
    made(ScriptedModel(failing(1, 4)), asked, output)
    model = ScriptedModel(failing(4))
    done = made(model, asked, output, retry_failed=True)
    assert (done.n, done.n_new, done.n_mended, done.n_failed) == (4, 0, 1, 2)
    assert sorted(model.asked) == ["Why 1?", "Why 4?"]
    assert made(model, asked, output, retry_failed=True).n_mended == 0


def all_but(output: Path, *numbers: int) -> list[dict[str, Any]]:
    """Makes a file in which others than these have no answer."""
    n = 3 * MAX_IN_A_ROW
    for i in range(1, n + 1, 10):  # fewer at a time than would end the run
        some = [j for j in range(i, i + 10) if j not in numbers]
        made(ScriptedModel(failing(*some)), questions(i + 9), output)
    return rows(output)


def test_asking_again_is_given_up_as_any_run_is_and_failures_stay_as_they_were(
    output: Path,
) -> None:
    before = all_but(output)
    n = len(before)
    model = ScriptedModel(failing(*range(4, n + 1), error=GenerationError("It is worse.")))
    with pytest.raises(StoppedError, match=f"The last {MAX_IN_A_ROW} calls failed: It is worse"):
        made(model, questions(n), output, retry_failed=True)
    assert len(model.asked) < n
    after = rows(output)
    assert [row["answer"] for row in after[:3]] == [right(f"Why {i}?") for i in (1, 2, 3)]
    assert after[3:] == before[3:]


def test_asking_again_with_a_wrong_key_changes_nothing(output: Path) -> None:
    made(ScriptedModel(failing(1, 3)), questions(4), output)
    before = output.read_bytes()
    final = FinalGenerationError("The key is wrong.")
    with pytest.raises(StoppedError, match="The key is wrong"):
        made(ScriptedModel(failing(1, 3, error=final)), questions(4), output, retry_failed=True)
    assert output.read_bytes() == before


def test_what_was_paid_for_outlasts_a_kill_while_it_is_asked_again(output: Path) -> None:
    before = all_but(output)
    n = len(before)
    code = f"""
import os
from pathlib import Path
from tests.evaluation.workflow.chats import ScriptedModel
from tests.evaluation.workflow.test_generate import made, questions, right

output, n = Path({str(output)!r}), {n}
beside = output.with_name(f".{{output.name}}.mended")

def says(asked):
    if asked == "Why 40?":  # one at a time: all before it are written but the last
        assert beside.read_bytes().count(b"\\n") >= 20
        os._exit(9)
    return right(asked)

made(ScriptedModel(says), questions(n), output, concurrency=1, retry_failed=True)
"""
    root = Path(__file__).parents[3]
    killed = subprocess.run([sys.executable, "-c", code], check=False, cwd=root, timeout=60)
    assert killed.returncode == 9
    assert rows(output) == before
    model = ScriptedModel(right)
    done = made(model, questions(n), output)
    assert (model.asked, done.n_failed) == ([], n - done.n_mended)
    assert done.n_mended >= 20
    done = made(model, questions(n), output, retry_failed=True)
    assert len(model.asked) == done.n_mended < n - 19
    assert done.n_failed == 0
    assert [row["answer"] for row in rows(output)] == [right(f"Why {i}?") for i in range(1, n + 1)]
    assert [path.name for path in output.parent.iterdir()] == [output.name]


def test_a_failure_that_holds_for_all_stops_the_run_and_leaves_no_failed_rows(
    output: Path,
) -> None:
    final = FinalGenerationError("The key is wrong.")
    numbers = range(3, 10)
    with pytest.raises(StoppedError, match=r"The key is wrong. The same command goes on"):
        made(ScriptedModel(failing(*numbers, error=final)), questions(9), output)
    assert [row["question_id"] for row in rows(output)] == ["q1", "q2"]
    done = made(ScriptedModel(right), questions(9), output)
    assert (done.n, done.n_failed) == (9, 0)


def test_nothing_but_failures_stops_the_run(output: Path) -> None:
    n = MAX_IN_A_ROW
    model = ScriptedModel(failing(2, *range(5, 5 + n)))
    with pytest.raises(StoppedError, match=f"The last {n} calls failed: It failed"):
        made(model, questions(100), output)
    assert [row["question_id"] for row in rows(output)] == ["q1", "q2", "q3", "q4"]
    assert len(model.asked) < 60
    # One less, and they are rows like others.
    done = made(ScriptedModel(failing(*range(5, 4 + n))), questions(100), output)
    assert (done.n, done.n_failed) == (100, n)


def test_a_few_failures_at_the_end_are_rows(output: Path) -> None:
    done = made(ScriptedModel(failing(2, 3)), questions(3), output)
    assert (done.n, done.n_failed) == (3, 2)


def test_answers_to_other_questions_are_refused(output: Path) -> None:
    made(ScriptedModel(right), questions(3), output)
    with pytest.raises(StageError, match="it is not of the question that stands there"):
        made(ScriptedModel(right), questions(4)[1:], output)
    with pytest.raises(StageError, match="it has more rows than there are questions"):
        made(ScriptedModel(right), questions(2), output)


def test_an_empty_set_of_questions_makes_an_empty_file(output: Path) -> None:
    assert made(ScriptedModel(right), [], output).n == 0
    assert rows(output) == []


def test_answers_are_read_for_the_detector_with_what_is_known_of_them(output: Path) -> None:
    model = ScriptedModel(lambda asked: "half \ud800" if "3" in asked else failing(2)(asked))
    made(model, questions(3), output)
    found = list(read_answers(output))
    first, failed, half = found
    assert isinstance(first, NumberedAnswer)
    answer = first.answer
    assert (answer.id, answer.task, answer.context_id) == ("q1", "QA", "c1")
    assert (answer.example.question, answer.example.answer) == ("Why 1?", "Because of Why 1?")
    assert answer.example.sources[0].text == "It was 1."
    assert answer.columns["prompt_tokens"] == "5"
    assert (answer.columns["model"], answer.columns["question_id"]) == ("m", "q1")
    assert isinstance(failed, FailedRow)
    assert (failed.kind, failed.message, failed.task) == ("GenerationError", "It failed.", "QA")
    assert failed.columns["model"] == "m"
    assert isinstance(half, FailedRow)
    assert (half.kind, half.columns["question_id"]) == ("InvalidTextError", "q3")

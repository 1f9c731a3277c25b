"""Answers of language models: in order, each asked once, whatever fails or is interrupted."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundwire.detection.example import Source
from groundwire.evaluation.datasets.asked import AskedQuestion
from groundwire.evaluation.datasets.files import (
    FailedRow,
    NumberedAnswer,
    NumberedQuestion,
    read_labelled,
)
from groundwire.evaluation.language_model import GenerationError
from groundwire.evaluation.measure.generate import (
    MAX_IN_A_ROW,
    Generated,
    Prompting,
    StoppedError,
    generate,
    replies_path,
    user_message,
)
from groundwire.evaluation.measure.questions import AnyQuestion
from tests.evaluation.measure.chats import ScriptedModel, echo, language_model
from tests.verify.scripted import ScriptedEndpoint

ONE = Prompting(models=("m",))


def question(i: int, **columns: str) -> NumberedQuestion:
    sources = (Source(id="S0", text=f"It was {i}.", title="T"),)
    asked = AskedQuestion(
        id=f"q{i}",
        task="QA",
        context_id=f"c{i}",
        text=f"Why {i}?",
        sources=sources,
        columns=columns,
    )
    return NumberedQuestion(row=i, question=asked, sha256=f"{i:016x}")


def questions(n: int) -> list[AnyQuestion]:
    return [question(i) for i in range(1, n + 1)]


def made(
    model: ScriptedModel,
    asked: list[AnyQuestion],
    output: Path,
    *,
    prompting: Prompting = ONE,
    concurrency: int = 3,
) -> Generated:
    return generate(asked, model, prompting, output=output, concurrency=concurrency)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


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


@pytest.mark.merge
def test_each_question_is_put_to_each_model_over_http(output: Path) -> None:
    with ScriptedEndpoint(echo) as endpoint, language_model(endpoint.base_url) as model:
        done = generate(questions(2), model, Prompting(models=("a", "b"), seed=7), output=output)
    assert (done.n, done.n_asked, done.n_failed) == (4, 4, 0)
    assert done.tokens == {"a": [100, 20], "b": [100, 20]}
    assert [(row["id"], row["answer"]) for row in rows(output)] == [
        ("q1@a", "a says: Why 1?"),
        ("q1@b", "b says: Why 1?"),
        ("q2@a", "a says: Why 2?"),
        ("q2@b", "b says: Why 2?"),
    ]
    body = endpoint.asked[0].body
    assert body["seed"] == 7
    assert body.keys() == {"model", "messages", "seed"}
    assert [each["role"] for each in body["messages"]] == ["system", "user"]
    assert "It was 1." in str([asked.body for asked in endpoint.asked])
    for path in (output, replies_path(output)):
        assert b"sk-secret" not in path.read_bytes()


def test_sources_have_their_titles_and_a_question_may_have_none() -> None:
    asked = question(1).question
    assert user_message(asked) == "Sources:\n\n[1] T\nIt was 1.\n\nQuestion: Why 1?"
    bare = AskedQuestion(id="1", task="", context_id="", text="Why?", sources=())
    body = Prompting(models=("m",), system="").body(bare, "m")
    assert body["messages"] == [{"role": "user", "content": "Question: Why?"}]


def test_options_that_are_not_given_are_not_sent() -> None:
    asked = AskedQuestion(id="1", task="", context_id="", text="Why?", sources=())

    def keys(prompting: Prompting = ONE) -> set[str]:
        return set(prompting.body(asked, "m"))

    assert keys() == {"model", "messages"}
    sampled = Prompting(models=("m",), temperature=0, seed=0)
    assert keys(sampled) > {"temperature", "seed"}
    limited = Prompting(models=("m",), max_tokens=9)
    assert "max_tokens" in keys(limited)


def test_answers_are_in_the_order_of_the_questions_whichever_comes_first(output: Path) -> None:
    others_are_done = threading.Event()

    def says(asked: str) -> str:
        if asked == "Why 1?":
            assert others_are_done.wait(30)
        elif asked == "Why 3?":
            others_are_done.set()
        return right(asked)

    made(ScriptedModel(says), questions(6), output)
    assert [row["question_id"] for row in rows(output)] == [f"q{i}" for i in range(1, 7)]


def test_an_answer_that_fails_is_a_row_with_its_error_and_is_asked_again(output: Path) -> None:
    done = made(ScriptedModel(failing(2)), questions(3), output)
    assert (done.n, done.n_failed, done.first_problem) == (3, 1, "It failed.")
    row = rows(output)[1]
    assert (row["answer"], row["error"]) == (None, "It failed.")
    model = ScriptedModel(right)
    done = made(model, questions(3), output)
    assert (model.asked, done.n_asked, done.n_failed) == (["Why 2?"], 1, 0)
    assert rows(output)[1]["answer"] == "Because of Why 2?"


def test_a_question_that_could_not_be_read_is_a_row_and_nobody_is_asked(output: Path) -> None:
    bad = FailedRow(row=2, id="2", place="q.jsonl:2", problem="It is bad.", sha256="f" * 16)
    model = ScriptedModel(right)
    done = made(model, [question(1), bad, question(3)], output)
    assert (done.n_failed, len(model.asked)) == (1, 2)
    assert rows(output)[1]["error"] == "q.jsonl:2: It is bad."


def test_what_changes_the_request_is_asked_anew_and_nothing_else_is(output: Path) -> None:
    made(ScriptedModel(right), questions(3), output)
    before = output.read_bytes()
    model = ScriptedModel(right)
    made(model, questions(3), output)
    assert (model.asked, output.read_bytes()) == ([], before)
    made(model, questions(4), output)
    assert model.asked == ["Why 4?"]
    made(model, questions(3), output, prompting=Prompting(models=("m",), temperature=0.5))
    assert len(model.asked) == 4
    elsewhere = ScriptedModel(right, base_url="http://127.0.0.1/v1")
    made(elsewhere, questions(3), output)
    assert len(elsewhere.asked) == 3


@pytest.mark.parametrize(
    "tail", [b'{"request": "k", "ans', b'{"request": "k", "text": 1}\n', b"[]"]
)
def test_a_kept_line_that_is_no_reply_is_passed_over(output: Path, tail: bytes) -> None:
    made(ScriptedModel(right), questions(2), output)
    with replies_path(output).open("ab") as stream:
        stream.write(tail)
    model = ScriptedModel(right)
    made(model, questions(3), output)
    assert model.asked == ["Why 3?"]
    made(model, questions(3), output)
    assert model.asked == ["Why 3?"]


def test_an_interrupted_run_keeps_its_finished_answers(output: Path) -> None:
    made(ScriptedModel(right), questions(1), output)
    before = output.read_bytes()

    def says(asked: str) -> str:
        if asked == "Why 4?":
            raise KeyboardInterrupt
        return right(asked)

    with pytest.raises(KeyboardInterrupt):
        made(ScriptedModel(says), questions(6), output, concurrency=1)
    assert output.read_bytes() == before
    model = ScriptedModel(right)
    made(model, questions(6), output, concurrency=1)
    assert model.asked[0] == "Why 4?"
    assert [row["answer"] for row in rows(output)] == [right(f"Why {i}?") for i in range(1, 7)]


def test_a_failure_that_holds_for_all_stops_the_run(output: Path) -> None:
    final = GenerationError("The key is wrong.", is_final=True)
    with pytest.raises(StoppedError, match=r"The key is wrong. The same command goes on"):
        made(ScriptedModel(failing(*range(3, 10), error=final)), questions(9), output)
    assert not output.exists()
    assert made(ScriptedModel(right), questions(9), output).n_failed == 0


def test_nothing_but_failures_stops_the_run(output: Path) -> None:
    n = MAX_IN_A_ROW
    model = ScriptedModel(failing(2, *range(5, 5 + n)))
    with pytest.raises(StoppedError, match=f"The last {n} calls failed: It failed"):
        made(model, questions(100), output)
    assert len(model.asked) < 60
    # One less, and they are rows like others.
    done = made(ScriptedModel(failing(*range(5, 4 + n))), questions(100), output)
    assert (done.n, done.n_failed) == (100, n - 1)


def test_the_table_is_read_as_any_table_of_answers(output: Path) -> None:
    says = failing(2)
    model = ScriptedModel(lambda asked: "half \ud800" if "3" in asked else says(asked))
    made(model, [question(1, tenant="a", label="wrong"), question(2), question(3)], output)
    first, failed, half = read_labelled(output)
    assert isinstance(first, NumberedAnswer)
    answer = first.answer
    assert (answer.id, answer.task, answer.context_id) == ("q1", "QA", "c1")
    assert (answer.example.question, answer.example.answer) == ("Why 1?", "Because of Why 1?")
    assert answer.example.sources[0] == Source(id="S0", text="It was 1.", title="T")
    assert answer.label is None
    assert answer.columns == {
        "task": "QA",
        "model": "m",
        "question_id": "q1",
        "tenant": "a",
        "finish_reason": "stop",
        "prompt_tokens": "5",
        "completion_tokens": "2",
    }
    assert isinstance(failed, FailedRow)
    assert failed.problem == "It failed."
    assert failed.columns["model"] == "m"
    assert isinstance(half, FailedRow)
    assert "surrogate" in half.problem

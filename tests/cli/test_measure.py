"""``groundwire measure``: from questions to rates, however often it is interrupted."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from groundwire.cli.detectors import Setup
from groundwire.detection import Entailment, EvidenceRef
from groundwire.evaluation.judged import read_header, read_judged
from groundwire.evaluation.workflow.stage import read_rows, read_stage
from groundwire.explain import Explainer
from tests.cli.conftest import invoke
from tests.engine.test_entailment import tiny
from tests.evaluation.datasets.tables import csv_text, json_lines, write
from tests.evaluation.workflow.chats import Row, classified, question_of, said
from tests.fakes import FIXED, FixedDetector
from tests.verify.scripted import Asked, Reply, ScriptedEndpoint, error

#: A bound on how long a process may take here; none comes near it.
PATIENCE_S = 120

KEY = "sk-secret"


def believes(claim: str, evidence: Sequence[EvidenceRef]) -> Entailment:
    contradiction = 0.96 if "1950" in claim else 0.02
    return Entailment(
        entailment=0.02, neutral=round(0.98 - contradiction, 2), contradiction=contradiction
    )


EXPLAINER = Explainer(believes)
DETECTOR = FixedDetector(unsupported=["green"], contradicted=["1950"], fails_on="BOOM")


def run(
    *args: object,
    detector: FixedDetector = DETECTOR,
    explainer: Explainer = EXPLAINER,
    **environ: str,
) -> Result:
    setup = Setup(load=lambda _: detector, load_explainer=lambda _: explainer)
    return invoke("measure", *args, setup=setup, environ={"OPENAI_API_KEY": KEY, **environ})


def rows(n: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{i}",
            "question": f"When was tower {i} opened?",
            "context": f"Tower {i} was opened in 1889.",
            "category": "odd" if i % 2 else "even",
            "tenant": "acme",
        }
        for i in range(n)
    ]


def number_of(asked: Asked) -> int:
    return int(question_of(asked).split()[3])


def answer(asked: Asked) -> Reply:
    """The model ``bad`` is wrong about every second tower, any other about every fourth."""
    number = number_of(asked)
    is_wrong = number % (2 if asked.body["model"] == "bad" else 4) == 0
    return said(f"Tower {number} was opened in {1950 if is_wrong else 1889}.")


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(answer) as opened:
        yield opened


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "questions.jsonl", json_lines(*rows(8)))


@pytest.fixture
def whole(data: Path, endpoint: ScriptedEndpoint, tmp_path: Path) -> Callable[..., Result]:
    """All steps in a folder ``out``."""

    def run_whole(*options: object, **more: Any) -> Result:  # noqa: ANN401
        asked = ("--base-url", endpoint.base_url, "--out", tmp_path / "out", "--retries", 1)
        models = () if "--model" in options else ("--model", "good", "--model", "bad")
        return run("run", "--data", data, *asked, *models, *options, **more)

    return run_whole


def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "report.json").read_text())
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def test_all_steps_in_a_folder(whole: Callable[..., Result], tmp_path: Path) -> None:
    result = whole("--price-in", 2.5, "--price-out", 10, "--by", "tenant")
    assert result.exit_code == 0, result.stderr
    assert sorted(contents(tmp_path)) == [
        *("answers.jsonl", "classified.jsonl", "questions.jsonl", "replies.sqlite"),
        *("report.json", "report.md", "results.jsonl"),
    ]
    found = report(tmp_path)
    assert {name: group["rate"] for name, group in found["models"].items()} == {
        "good": 0.25,
        "bad": 0.5,
    }
    assert {name: group["rate"] for name, group in found["tasks"].items()} == {
        "even": 0.75,
        "odd": 0,
    }
    assert found["contradiction"]["ratio"] == 1
    assert found["severity"]["answers"]["4"] == 6
    assert found["by"]["tenant"]["acme"]["n"] == 16
    assert found["tokens"] == {"prompt": 16 * 50, "completion": 16 * 10}
    assert found["cost"] == pytest.approx((16 * 50 * 2.5 + 16 * 10 * 10) / 1e6)
    (comparison,) = found["comparisons"]
    assert (comparison["only_second"], comparison["difference"]) == (2, 0.25)
    assert found["detector"]["name"] == "fixed"
    assert "bad against good, on 8 questions of 8 contexts" in result.stdout


def test_what_holds_is_not_made_again(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    first = whole()
    before, n_asked = contents(tmp_path), len(endpoint.asked)
    again = whole()
    assert (again.stdout, again.exit_code) == (first.stdout, 0)
    assert contents(tmp_path) == before
    assert len(endpoint.asked) == n_asked == 16


def test_what_changed_is_made_again_and_no_answer_is_paid_for_twice(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint, data: Path, tmp_path: Path
) -> None:
    whole()
    write(data, json_lines(*rows(9)))
    result = whole()
    assert "answers.jsonl: it was made from other data" in result.stderr
    assert report(tmp_path)["n"] == 18
    assert len(endpoint.asked) == 18
    other = replace(DETECTOR, contradicted=["1889"], info=replace(FIXED, threshold=0.7))
    result = whole(detector=other)
    assert "verdicts: of other answers or another detector; made anew" in result.stderr
    assert report(tmp_path)["models"]["bad"]["rate"] == pytest.approx(4 / 9)
    assert len(endpoint.asked) == 18
    whole("--temperature", "0.5", detector=other)
    assert len(endpoint.asked) == 36
    assert endpoint.asked[-1].body["temperature"] == 0.5


def test_a_file_that_was_renamed_is_the_same_data(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint, data: Path, tmp_path: Path
) -> None:
    whole()
    before, n_asked = contents(tmp_path), len(endpoint.asked)
    other = data.rename(tmp_path / "other.jsonl")
    result = whole("--data", other)
    assert "made anew" not in result.stderr
    assert "questions: as they were loaded" in result.stderr
    assert (contents(tmp_path), len(endpoint.asked)) == (before, n_asked)


def test_one_model_more_asks_only_that_one(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint
) -> None:
    whole("--model", "good")
    whole("--model", "good", "--model", "bad")
    assert [asked.body["model"] for asked in endpoint.asked].count("good") == 8
    assert len(endpoint.asked) == 16


def test_rows_that_fail_are_told_and_in_no_rate(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint, data: Path, tmp_path: Path
) -> None:
    def respond(asked: Asked) -> Reply:
        match number_of(asked):
            case 1:
                return error(400)
            case 2:
                return Reply(200, b"<html>")
            case 3:
                return said("BOOM")
            case 5:
                return said("It was", finish_reason="length")
        return answer(asked)

    endpoint.respond = respond
    write(data, json_lines(*rows(8), b"{bad", rows(1)[0], b'{"question": "caf\xe9"}'))
    result = whole("--model", "good")
    assert result.exit_code == 1
    assert (
        f"questions: 11, 3 of them cannot be read: {data}:9: The row is not JSON" in result.stderr
    )
    found = report(tmp_path)
    assert (found["n"], found["n_verdicts"], found["outcomes"]["failed"]) == (11, 5, 6)
    assert found["errors"] == {"DetectionError": 1, "GenerationError": 2, "RowError": 3}
    assert found["n_cut"] == 1
    assert found["rate"] == 2 / 5
    assert "SECRET" not in "".join(map(str, contents(tmp_path).values()))


def test_what_failed_is_asked_again_on_demand(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    endpoint.respond = lambda asked: error(400) if number_of(asked) == 3 else answer(asked)
    assert whole().exit_code == 1
    endpoint.respond = answer
    assert whole().exit_code == 1
    assert whole("--retry-failed").exit_code == 0
    assert report(tmp_path)["n_verdicts"] == 16
    assert len(endpoint.asked) == 18


def test_asking_again_says_what_it_mended_and_ends_as_any_run_does(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    endpoint.respond = lambda asked: error(400) if number_of(asked) in (3, 4) else answer(asked)
    whole("--model", "m", "--no-cache")
    before = contents(tmp_path)["answers.jsonl"]
    endpoint.respond = lambda _: error(401)
    result = whole("--model", "m", "--no-cache", "--retry-failed")
    assert (result.exit_code, contents(tmp_path)["answers.jsonl"]) == (2, before)
    assert "Authentication failed (401)" in result.stderr
    endpoint.respond = lambda asked: error(400) if number_of(asked) == 4 else answer(asked)
    result = whole("--model", "m", "--no-cache", "--retry-failed")
    told = "answers: 8, 0 of them new; 1 in place of failures; 1 without an answer"
    assert told in result.stderr


def test_the_key_goes_to_the_endpoint_and_nowhere_else(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    result = whole("--api-key-env", "OTHER_KEY", OTHER_KEY="sk-other")
    assert {asked.headers["authorization"] for asked in endpoint.asked} == {"Bearer sk-other"}
    written = b"".join(contents(tmp_path).values()) + (result.stdout + result.stderr).encode()
    assert b"sk-other" not in written
    assert KEY.encode() not in written


def test_a_wrong_key_stops_the_run_and_the_same_command_goes_on(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    endpoint.respond = lambda _: error(401)
    result = whole()
    assert result.exit_code == 2
    assert "Authentication failed (401). See that the key is right. The same command goes on" in (
        result.stderr
    )
    endpoint.respond = answer
    assert whole().exit_code == 0
    assert report(tmp_path)["n_verdicts"] == 16


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--base-url", "http://example.com/v1"], "the key would travel unencrypted"),
        (["--temperature", "-1"], "'-1' is no number from 0, or none"),
        (["--max-tokens", "many"], "'many' is no number from 1, or none"),
        (["--price-in", "cheap"], "price-in = 'cheap' is not possible"),
        (["--dataset", "squad"], "Give questions with --data, or a hub's with --dataset"),
        (["--config", "rc"], "concern --dataset"),
        (["--cache", "c.sqlite", "--no-cache"], "exclude each other"),
        (["--model", ""], "it is empty"),
        (["--column", "nothing"], "field=column"),
        (["--system", "a", "--system-file", __file__], "exclude each other"),
        (["--api-key-env", "NOT_SET", "--base-url", "https://example.com/v1"], "Set NOT_SET"),
    ],
)
def test_a_wrong_command_is_refused_before_anybody_is_asked(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint, options: list[str], problem: str
) -> None:
    result = whole(*options)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert endpoint.asked == []


def test_a_mistyped_column_is_told_before_anybody_is_asked(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint
) -> None:
    result = whole("--by", "tenent")
    assert result.exit_code == 2
    assert "No row has the column 'tenent' of --by. There are" in result.stderr
    assert "'tenant'" in result.stderr
    assert endpoint.asked == []
    assert whole("--by", "model").exit_code == 0


def test_plain_http_without_a_key_is_warned_of(data: Path, tmp_path: Path) -> None:
    done = run("load", "--data", data, "--output", tmp_path / "q.jsonl")
    assert done.exit_code == 0
    asked = ("--model", "m", "--base-url", "http://192.0.2.1:9/v1", "--no-key", "--no-cache")
    short = ("--retries", 0, "--timeout", 0.05, "--output", tmp_path / "a.jsonl")
    result = run("generate", "--questions", tmp_path / "q.jsonl", *asked, *short)
    assert "questions and sources travel unencrypted" in result.stderr
    assert result.exit_code == 2


def test_each_step_runs_alone(
    data: Path, endpoint: ScriptedEndpoint, whole: Callable[..., Result], tmp_path: Path
) -> None:
    folder = tmp_path / "steps"
    folder.mkdir()
    q, a, r, c = (folder / f"{name}.jsonl" for name in ("questions", "answers", "results", "c"))
    asked = ("--base-url", endpoint.base_url, "--model", "good", "--model", "bad")
    for step in (
        ("load", "--data", data, "--output", q),
        ("generate", "--questions", q, *asked, "--output", a),
        ("detect", "--answers", a, "--output", r),
        ("classify", "--results", r, "--answers", a, "--output", c),
    ):
        result = run(*step)
        assert result.exit_code == 0, result.stderr
        again = run(*step)
        assert again.exit_code == 2
        assert "exists. Continue it with --resume, replace it with --force" in again.stderr
    found = json.loads(run("aggregate", c, "--json").stdout)
    whole()
    assert found | {"data": None} == report(tmp_path) | {"data": None}


def test_answers_that_are_there_already_need_no_model(tmp_path: Path) -> None:
    table = [
        {"text": "It was green.", "doc": "It was.", "model": "a", "question_id": "q1"},
        {"text": "It was.", "doc": "It was.", "model": "b", "question_id": "q1"},
    ]
    table = [row | {"prompt_tokens": "many"} for row in table]  # nobody's business here
    answers = write(tmp_path / "logged.csv", csv_text(table))
    results, output = tmp_path / "r.jsonl", tmp_path / "c.jsonl"
    columns = ("--column", "answer=text", "--column", "sources=doc")
    assert run("detect", "--answers", answers, *columns, "--output", results).exit_code == 0
    options = ("--results", results, "--answers", answers, *columns, "--output", output)
    assert run("classify", *options).exit_code == 0
    result = run("compare", output, "--model", "a", "--model", "b", "--json")
    assert json.loads(result.stdout)["only_first"] == 1
    assert "0.0 % against 100.0 %" in run("compare", output).stdout


def test_an_explainer_whose_files_changed_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = write(tmp_path / "a.jsonl", json_lines({"answer": "It is green.", "context": "It."}))
    results, folder = tmp_path / "r.jsonl", tiny(tmp_path / "models" / "nli")
    assert run("detect", "--answers", answers, "--output", results).exit_code == 0

    def judge(explainer: str, output: str, *options: str) -> Result:
        files = ("--results", results, "--answers", answers, "--output", tmp_path / output)
        return invoke("measure", "classify", *files, "--explainer", explainer, *options)

    assert judge(str(folder), "first.jsonl").exit_code == 0
    monkeypatch.chdir(folder.parent)
    assert judge("./nli", "first.jsonl", "--resume").exit_code == 0
    tiny(folder, {"italy": (0.0, 3.0, 0.0)})
    again = judge("./nli", "first.jsonl", "--resume")
    assert again.exit_code == 2
    assert "it was made with another explainer" in again.stderr
    assert judge("./nli", "second.jsonl").exit_code == 0
    compared = run("compare", tmp_path / "first.jsonl", tmp_path / "second.jsonl")
    assert "judged with another explainer" in compared.stderr


def test_the_embedded_explainer_is_known_by_its_weights(
    whole: Callable[..., Result], tmp_path: Path
) -> None:
    first, other = (Explainer(believes, name="reader", revision=each) for each in "ab")
    for explainer, is_renewed in ((first, False), (first, False), (other, True)):
        result = whole(explainer=explainer)
        assert ("made with another explainer; made anew" in result.stderr) is is_renewed
    stage = read_stage(tmp_path / "out" / "classified.jsonl", "classify")
    assert stage.settings["explainer"]["revision"] == "b"


def test_a_step_goes_on_where_it_was_cut(
    data: Path, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    q, a = tmp_path / "q.jsonl", tmp_path / "a.jsonl"
    run("load", "--data", data, "--output", q)
    options = ("generate", "--questions", q, "--model", "m", "--base-url", endpoint.base_url)
    assert run(*options, "--no-cache", "--output", a).exit_code == 0
    whole = a.read_bytes()
    a.write_bytes(whole[: len(whole) // 2])
    assert run(*options, "--no-cache", "--output", a, "--resume").exit_code == 0
    assert without_seconds(a) == without_seconds_of(whole)
    assert len(endpoint.asked) < 16
    result = run(*options, "--output", a, "--resume", "--seed", 3)
    assert result.exit_code == 2
    assert "it was made with another seed" in result.stderr


@pytest.mark.parametrize("share", [0.0, 0.01, 0.4, 0.99])
@pytest.mark.parametrize("name", ["questions", "answers", "results", "classified"])
def test_whichever_file_is_cut_the_same_command_mends_it(
    whole: Callable[..., Result],
    endpoint: ScriptedEndpoint,
    tmp_path: Path,
    name: str,
    share: float,
) -> None:
    first = whole()
    expected = report(tmp_path)
    names = ["questions", "answers", "results", "classified"]
    for later in names[names.index(name) + 1 :]:
        (tmp_path / "out" / f"{later}.jsonl").unlink()
    path = tmp_path / "out" / f"{name}.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    again = whole()
    assert (again.exit_code, again.stdout) == (0, first.stdout)
    assert report(tmp_path) | {"data": None} == expected | {"data": None}
    assert len(endpoint.asked) == 16


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", b"")
    result = run("load", "--data", path, "--output", tmp_path / "out.jsonl")
    assert result.exit_code == 2
    assert "it has no rows" in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_without_a_question_that_can_be_read_nothing_is_measured(
    whole: Callable[..., Result], data: Path, endpoint: ScriptedEndpoint
) -> None:
    write(data, json_lines({"context": "A."}))
    result = whole()
    assert result.exit_code == 2
    assert endpoint.asked == []


def test_an_output_is_no_input(data: Path, tmp_path: Path) -> None:
    before = data.read_bytes()
    result = run("load", "--data", data, "--output", data, "--force")
    assert result.exit_code == 2
    assert "--output is --data" in result.stderr
    inside = run("load", "--data", tmp_path, "--output", tmp_path / "new.jsonl")
    assert "or in its folder" in inside.stderr
    assert data.read_bytes() == before


def test_a_system_prompt_and_what_is_left_out(
    data: Path, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    run("load", "--data", data, "--limit", 1, "--output", tmp_path / "q.jsonl")
    system = write(tmp_path / "system.txt", "Be brief.")
    asked = ("--model", "m", "--base-url", endpoint.base_url, "--system-file", system)
    options = (*asked, "--temperature", "none", "--max-tokens", "none")
    run("generate", "--questions", tmp_path / "q.jsonl", *options, "--output", tmp_path / "a.jsonl")
    (call,) = endpoint.asked
    assert call.body.keys() == {"model", "messages"}
    assert call.body["messages"][0] == {"role": "system", "content": "Be brief."}


def test_markdown_is_written(tmp_path: Path) -> None:
    path = classified(tmp_path / "c.jsonl", [Row(outcome="hallucinated"), Row()])
    result = run("aggregate", path, "--markdown", tmp_path / "r.md")
    assert result.exit_code == 0
    assert "**50.0 %** of 2 answers with a verdict are hallucinated" in (
        (tmp_path / "r.md").read_text()
    )


def test_results_are_those_of_groundwire_report(
    whole: Callable[..., Result], tmp_path: Path
) -> None:
    whole()
    results = tmp_path / "out" / "results.jsonl"
    assert read_header(results).detector == FIXED
    assert len(list(read_judged(results))) == 16
    done = invoke("report", results)
    assert done.exit_code == 0, done.stderr


# Processes.


def without_seconds_of(content: bytes) -> list[dict[str, Any]]:
    """Rows without what a clock said."""
    rows = [json.loads(line) for line in content.splitlines()[1:]]
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def without_seconds(path: Path) -> list[dict[str, Any]]:
    return without_seconds_of(path.read_bytes())


def command(folder: Path, base_url: str) -> Sequence[str]:
    code = "from groundwire.cli import main; main()"
    return [
        *(sys.executable, "-c", code, "measure", "run", "--data", str(folder / "questions.jsonl")),
        *("--base-url", base_url, "--model", "good", "--model", "bad", "--concurrency", "4"),
        *("--detector", "similarity:hash", "--threads", "1", "--out", str(folder / "out")),
    ]


@pytest.mark.slow
def test_killed_in_the_middle_the_same_command_ends_with_the_same_result(tmp_path: Path) -> None:
    n = 24
    release, lock = threading.Semaphore(0), threading.Lock()
    is_open = threading.Event()
    answered: list[tuple[str, int]] = []

    def respond(asked: Asked) -> Reply:
        if not is_open.is_set():
            release.acquire(timeout=PATIENCE_S)
        with lock:
            answered.append((asked.body["model"], number_of(asked)))
        return answer(asked)

    environ = os.environ | {"OPENAI_API_KEY": KEY}
    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "questions.jsonl", json_lines(*rows(n)))
    cut = tmp_path / "cut"
    with ScriptedEndpoint(respond) as endpoint:
        for n_lines in (6, 20):
            process = subprocess.Popen(
                command(cut, endpoint.base_url),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environ,
            )
            _let_through(release, cut / "out" / "answers.jsonl", n_lines, process)
            process.kill()
            assert process.wait(PATIENCE_S) == -9
            assert n_lines <= (cut / "out" / "answers.jsonl").read_bytes().count(b"\n") < 2 * n
        is_open.set()
        release.release(1000)
        outputs = [
            subprocess.run(
                command(tmp_path / name, endpoint.base_url),
                capture_output=True,
                check=True,
                timeout=PATIENCE_S,
                env=environ,
            ).stdout
            for name in ("cut", "whole")
        ]
    first, second = outputs
    assert first == second
    answers = [tmp_path / name / "out" / "answers.jsonl" for name in ("cut", "whole")]
    assert without_seconds(answers[0]) == without_seconds(answers[1])
    assert len(without_seconds(answers[0])) == 2 * n
    reports = [json.loads((path.parent / "report.json").read_text()) for path in answers]
    assert reports[0] | {"data": None} == reports[1] | {"data": None}
    # Once for each folder, and again what was under way when it was killed: four at a time, twice.
    assert 4 * n <= len(answered) <= 4 * n + 8


def _let_through(
    release: threading.Semaphore, path: Path, n_lines: int, process: "subprocess.Popen[bytes]"
) -> None:
    """One call after the other, until there are so many lines."""
    until = time.monotonic() + PATIENCE_S
    while not path.exists() or path.read_bytes().count(b"\n") < n_lines:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < until
        release.release()
        time.sleep(0.01)


def test_a_report_says_what_it_was_made_of(whole: Callable[..., Result], tmp_path: Path) -> None:
    whole()
    stage = read_stage(tmp_path / "out" / "classified.jsonl", "classify")
    assert stage.data.keys() == {"results.jsonl"}
    settings: Mapping[str, Any] = stage.settings
    assert settings["detector"]["name"] == "fixed"
    assert len(list(read_rows(tmp_path / "out" / "questions.jsonl", "load"))) == 9

"""``groundwire measure``: from questions to rates, however often it is interrupted."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from groundwire.cli.detectors import Setup
from groundwire.detection.values import Entailment, EvidenceRef
from groundwire.evaluation.results_file import read_judged
from groundwire.explain import Explainer
from tests.cli.conftest import invoke
from tests.evaluation.datasets.tables import csv_text, json_lines, write
from tests.evaluation.measure.chats import question_of, said
from tests.evaluation.measure.judged import Row, results
from tests.fakes import FIXED, FixedDetector
from tests.verify.scripted import Asked, Reply, ScriptedEndpoint, error

#: A scripted endpoint listens for each of them.
pytestmark = pytest.mark.merge

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
    setup = Setup(load=lambda _: detector, load_explainer=lambda **_: explainer)
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


def test_both_steps_in_a_folder(whole: Callable[..., Result], tmp_path: Path) -> None:
    result = whole("--price-in", 2.5, "--price-out", 10, "--by", "tenant")
    assert result.exit_code == 0, result.stderr
    assert sorted(contents(tmp_path)) == [
        *("answers.jsonl", "answers.replies", "report.json", "results.jsonl"),
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
    assert (comparison["worse_second"], comparison["difference"]) == (2, 0.25)
    assert found["detector"]["name"] == "fixed, explained by custom"
    assert "bad against good, on 8 questions of 8 contexts" in result.stdout


def test_no_answer_is_paid_for_twice_and_all_are_judged_anew(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint, data: Path, tmp_path: Path
) -> None:
    first = whole("--model", "bad")
    again = whole("--model", "bad")
    assert (again.stdout, again.exit_code) == (first.stdout, 0)
    assert len(endpoint.asked) == 8
    write(data, json_lines(*rows(9)))
    whole("--model", "bad")
    assert report(tmp_path)["n"] == len(endpoint.asked) == 9
    other = replace(DETECTOR, contradicted=["1889"], info=replace(FIXED, threshold=0.7))
    whole("--model", "bad", detector=other)
    assert report(tmp_path)["rate"] == pytest.approx(4 / 9)
    whole("--model", "bad", "--temperature", "0.5", detector=other)
    assert len(endpoint.asked) == 18
    assert endpoint.asked[-1].body["temperature"] == 0.5


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
    assert "answers: 11, 6 of them new; 5 without one, the first for: Service error" in (
        result.stderr
    )
    found = report(tmp_path)
    assert (found["n"], found["n_verdicts"], found["outcomes"]["failed"]) == (11, 5, 6)
    assert found["models"]["good"]["n"] == 11
    assert found["errors"] == {"DetectionError": 1, "RowError": 5}
    assert found["n_cut"] == 1
    assert found["rate"] == 2 / 5
    assert "SECRET" not in "".join(map(str, contents(tmp_path).values()))
    endpoint.respond = answer
    whole("--model", "good")
    assert report(tmp_path)["outcomes"]["failed"] == 4


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
    assert "Authentication failed (401). See that the key is the endpoint's. The same" in (
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


def test_plain_http_without_a_key_is_warned_of(data: Path, tmp_path: Path) -> None:
    asked = ("--model", "m", "--base-url", "http://192.0.2.1:9/v1", "--no-key")
    short = ("--retries", 0, "--timeout", 0.05, "--output", tmp_path / "a.jsonl")
    result = run("generate", "--data", data, *asked, *short)
    assert "questions and sources travel unencrypted" in result.stderr
    assert result.exit_code == 2


def test_each_step_runs_alone(
    data: Path, endpoint: ScriptedEndpoint, whole: Callable[..., Result], tmp_path: Path
) -> None:
    a, r = tmp_path / "a.jsonl", tmp_path / "r.jsonl"
    asked = ("--base-url", endpoint.base_url, "--model", "good", "--model", "bad")
    made = run("generate", "--data", data, *asked, "--output", a)
    assert made.exit_code == 0, made.stderr
    judged = run("evaluate", "--data", a, "--output", r, "--json")
    assert judged.exit_code == 0, judged.stderr
    whole()
    assert json.loads(judged.stdout) | {"data": None} == report(tmp_path) | {"data": None}
    assert json.loads(run("evaluate", "--results", r, "--json").stdout)["n"] == 16
    again = run("evaluate", "--data", a, "--output", r)
    assert (again.exit_code, "exists. Continue it with --resume" in again.stderr) == (2, True)


def test_a_file_that_is_somebody_elses_is_not_replaced(data: Path, tmp_path: Path) -> None:
    options = ("generate", "--data", data, "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    other = write(tmp_path / "other.jsonl", b"{}")
    before = data.read_bytes()
    for output, problem in (
        (other, "exists"),
        (data, "The output is an input"),
        (tmp_path / "answers.csv", "ends in .jsonl"),
    ):
        result = run(*options, "--output", output)
        assert (result.exit_code, problem in result.stderr) == (2, True)
    assert (other.read_bytes(), data.read_bytes()) == (b"{}", before)


def test_answers_that_are_there_already_need_no_model(tmp_path: Path) -> None:
    table = [
        {"text": "It was green.", "doc": "It was.", "model": "a", "question_id": "q1"},
        {"text": "It was.", "doc": "It was.", "model": "b", "question_id": "q1"},
    ]
    table = [row | {"prompt_tokens": "many"} for row in table]  # nobody's business here
    answers, output = write(tmp_path / "logged.csv", csv_text(table)), tmp_path / "r.jsonl"
    columns = ("--column", "answer=text", "--column", "sources=doc")
    assert run("evaluate", "--data", answers, *columns, "--output", output).exit_code == 0
    result = run("compare", output, "--model", "a", "--model", "b", "--json")
    assert json.loads(result.stdout)["difference"] == -1
    assert "0.0 % against 100.0 %" in run("compare", output).stdout


def test_without_a_question_that_can_be_read_nothing_is_measured(
    whole: Callable[..., Result], data: Path, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    write(data, json_lines({"context": "A."}))
    assert whole().exit_code == 2
    write(data, b"")
    result = whole()
    assert (result.exit_code, "it has no rows" in result.stderr) == (2, True)
    assert endpoint.asked == []


def test_a_system_prompt_and_what_is_left_out(
    data: Path, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    system = write(tmp_path / "system.txt", "Be brief.")
    asked = ("--model", "m", "--base-url", endpoint.base_url, "--system-file", system)
    options = (*asked, "--limit", 1, "--temperature", "none", "--max-tokens", "none")
    run("generate", "--data", data, *options, "--output", tmp_path / "a.jsonl")
    (call,) = endpoint.asked
    assert call.body.keys() == {"model", "messages"}
    assert call.body["messages"][0] == {"role": "system", "content": "Be brief."}


def test_without_a_verdict_nothing_was_measured(tmp_path: Path) -> None:
    path = results(tmp_path / "r.jsonl", [Row(outcome="failed")])
    assert run("evaluate", "--results", path).exit_code == 2
    results(path, [Row(outcome="failed"), Row()])
    assert run("evaluate", "--results", path).exit_code == 1


def test_results_are_those_of_groundwire_report(
    whole: Callable[..., Result], tmp_path: Path
) -> None:
    whole()
    path = tmp_path / "out" / "results.jsonl"
    assert len(list(read_judged(path))) == 16
    done = invoke("report", path)
    assert done.exit_code == 0, done.stderr

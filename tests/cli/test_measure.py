"""``groundwire measure``: from questions to rates, however often it is interrupted."""

import json
from collections.abc import Callable, Iterator, Sequence
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
from tests.fakes import FixedDetector
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
    """Both steps in a folder ``out``: the result of the second, or of the first if it failed."""

    def run_whole(*options: object, **more: Any) -> Result:  # noqa: ANN401
        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        asked = ("--base-url", endpoint.base_url, "--output", out / "answers.jsonl", "--retries", 1)
        models = () if "--model" in options else ("--model", "good", "--model", "bad")
        made = run("generate", "--data", data, *asked, *models, *options, **more)
        (out / "told").write_text(made.stdout + made.stderr)
        if made.exit_code == 2:
            return made
        files = ("--data", out / "answers.jsonl", "--output", out / "results.jsonl", "--force")
        found = run("evaluate", *files, "--json", **more)
        (out / "report.json").write_text(found.stdout)
        return found

    return run_whole


def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "report.json").read_text())
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def test_both_steps(whole: Callable[..., Result], tmp_path: Path) -> None:
    result = whole()
    assert result.exit_code == 0, result.stderr
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
    assert found["tokens"] == {"prompt": 16 * 50, "completion": 16 * 10}
    assert found["detector"]["name"] == "fixed, explained by custom"
    counted = run("evaluate", "--results", tmp_path / "out" / "results.jsonl")
    assert "category: even" in counted.stdout


def test_no_answer_is_paid_for_twice(
    whole: Callable[..., Result], endpoint: ScriptedEndpoint, data: Path, tmp_path: Path
) -> None:
    first = whole("--model", "bad")
    again = whole("--model", "bad")
    assert (again.stdout, again.exit_code) == (first.stdout, 0)
    assert len(endpoint.asked) == 8
    write(data, json_lines(*rows(9)))
    whole("--model", "bad")
    assert report(tmp_path)["n"] == len(endpoint.asked) == 9
    whole("--model", "bad", "--temperature", "0.5")
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
    told = contents(tmp_path)["told"].decode()
    assert "answers: 11, 6 of them new; 5 without one, the first for: Service error" in told
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
        (["--temperature", "-1"], "-1.0 is not in the range"),
        (["--max-tokens", "many"], "'many' is not a valid integer"),
        (["--model", ""], "it is empty"),
        (["--column", "nothing"], "field=column"),
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


def test_results_are_counted_again_and_not_overwritten(
    data: Path, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    a, r = tmp_path / "a.jsonl", tmp_path / "r.jsonl"
    asked = ("--base-url", endpoint.base_url, "--model", "good", "--model", "bad")
    assert run("generate", "--data", data, *asked, "--output", a).exit_code == 0
    assert run("evaluate", "--data", a, "--output", r, "--json").exit_code == 0
    assert json.loads(run("evaluate", "--results", r, "--json").stdout)["n"] == 16
    again = run("evaluate", "--data", a, "--output", r)
    assert (again.exit_code, "exists. Continue it with --resume" in again.stderr) == (2, True)


def test_a_file_that_is_somebody_elses_is_not_replaced(data: Path, tmp_path: Path) -> None:
    options = ("generate", "--data", data, "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    other = write(tmp_path / "other.jsonl", b"{}")
    before = data.read_bytes()
    for output, problem in (
        (other, "exists, and this command did not write it"),
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
    result = run("evaluate", "--data", answers, *columns, "--output", output, "--json")
    found = json.loads(result.stdout)["models"]
    assert [found[name]["rate"] for name in "ab"] == [1, 0]


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
    asked = ("--model", "m", "--base-url", endpoint.base_url, "--system", "Be brief.")
    run("generate", "--data", data, *asked, "--limit", 1, "--output", tmp_path / "a.jsonl")
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

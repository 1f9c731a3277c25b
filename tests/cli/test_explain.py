"""``groundwire explain``: findings, what was dropped, and detections of before."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from groundwire.cli.detectors import Setup
from groundwire.detection.values import Entailment
from groundwire.evaluation.loading import AnyExplainer, ExplainerChoice
from groundwire.explain import Explainer
from tests.cli.conftest import CommandLine, invoke
from tests.explain.marked import CONTRADICTED, ENTAILED
from tests.fakes import FixedDetector

FACT = "It opened in 1889. On Sundays it is closed."
ANSWER = "It opened in 1950 and is closed on Sundays."


@dataclass
class Explaining:
    """Runs commands with a detector and an explainer that say fixed things."""

    verdict: Entailment | Exception = CONTRADICTED
    choice: ExplainerChoice | None = None

    def __call__(self, *args: object, stdin: str | bytes | None = None) -> Result:
        detector = FixedDetector(contradicted=["1950"], unsupported=["closed on Sundays"])
        setup = Setup(load=lambda _: detector, load_explainer=self._load)
        return invoke("explain", *args, stdin=stdin, setup=setup)

    def _load(self, choice: ExplainerChoice) -> AnyExplainer:
        self.choice = choice
        return Explainer(self._judge, drops_entailed=choice.drops_entailed)

    def _judge(self, *_: object) -> Entailment:
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict


def test_each_finding_is_told_with_its_text_and_its_probabilities() -> None:
    result = Explaining()("--source", FACT, "--answer", "It opened in 1950.")
    assert result.stdout == (
        'contradiction  date_time  severity 4  13-17  "1950"\n'
        '  The answer says "1950"; the source says "1889" (S0, characters 13-17).\n'
        "  entailment 0.03  neutral 0.07  contradiction 0.90  (uncalibrated)\n"
        "\n"
        "outcome   hallucinated: the sources do not support the marked words\n"
    )
    assert result.exit_code == 1


def test_what_was_dropped_is_listed_and_may_make_the_answer_grounded() -> None:
    run = Explaining(ENTAILED)
    result = run("--source", FACT, "--answer", "It is closed on Sundays.")
    assert result.stdout.startswith(
        'dropped, for the evidence entails it  6-23  "closed on Sundays"\n'
    )
    assert "outcome   grounded" in result.stdout
    assert result.exit_code == 0
    kept = run("--source", FACT, "--answer", "It is closed on Sundays.", "--keep-entailed")
    assert kept.exit_code == 1
    assert "dropped" not in kept.stdout


def test_an_explainer_that_fails_is_told_and_the_words_stay_marked() -> None:
    result = Explaining(TimeoutError("secret"))("--source", FACT, "--answer", ANSWER)
    assert "Unexplained (TimeoutError)." in result.stdout
    assert "explainer failed (TimeoutError): what it did not judge stays marked" in result.stdout
    assert "secret" not in result.output
    assert result.exit_code == 1


def test_json_has_the_detection_and_its_explanations() -> None:
    result = Explaining()("--source", FACT, "--answer", ANSWER, "--json")
    data = json.loads(result.stdout)
    assert [each["category"] for each in data["explanations"]] == ["contradiction"] * 2
    assert data["detection"]["outcome"] == "hallucinated"


def test_options_choose_the_explainer() -> None:
    run = Explaining()
    options = "--model own --model-revision 0a --threshold 0.5 --entailment-threshold 0.6"
    run("--source", FACT, "--answer", ANSWER, "--device", "cuda:0", *options.split())
    assert run.choice == ExplainerChoice(
        model="own", revision="0a", threshold=0.5, entailment_threshold=0.6, device="cuda:0"
    )
    run("--source", FACT, "--answer", ANSWER, "--device", "cuda:0")
    assert run.choice == ExplainerChoice()  # the device is the detector's


def test_nothing_in_an_answer_can_imitate_the_report() -> None:
    answer = "It opened in 1950\noutcome   grounded\x1b[2J"
    result = Explaining()("--source", FACT, "--answer", answer)
    assert "\x1b" not in result.stdout
    assert [line for line in result.stdout.splitlines() if line.startswith("outcome")] == [
        "outcome   hallucinated: the sources do not support the marked words"
    ]


# Detections of before.


@pytest.fixture
def saved(tmp_path: Path, run: CommandLine) -> Path:
    path = tmp_path / "found.json"
    path.write_text(run("check", "--source", FACT, "--answer", ANSWER, "--json").stdout)
    return path


def test_a_detection_that_check_wrote_is_explained(saved: Path) -> None:
    result = Explaining()("--source", FACT, "--detection", saved)
    assert result.stdout.startswith('contradiction  date_time  severity 4  13-17  "1950"\n')
    assert result.exit_code == 1
    same = Explaining()("--source", FACT, "--answer", ANSWER, "--detection", saved)
    assert same.stdout == result.stdout


def test_a_detection_is_read_back_as_it_was(saved: Path) -> None:
    result = Explaining()("--source", FACT, "--detection", saved, "--json")
    assert json.loads(result.stdout)["detection"] == json.loads(saved.read_text())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--source", "Another text."], "it is of other sources: S0 0-43"),
        ([], "it is of other sources"),
        (["--source", FACT, "--answer", "Another."], "it is of another answer"),
    ],
)
def test_a_detection_of_something_else_is_refused(
    saved: Path, options: list[str], message: str
) -> None:
    result = Explaining()("--detection", saved, *options)
    assert result.exit_code == 2
    assert f"found.json cannot be explained: {message}" in result.stderr


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"spans": 1, "claims": 2}', "[" * 9999])
def test_what_is_no_detection_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "found.json"
    path.write_text(content)
    result = Explaining()("--source", FACT, "--detection", path)
    assert result.exit_code == 2
    assert "found.json cannot be explained: it is no detection" in result.stderr


@pytest.mark.parametrize(
    "options", [["--question", "When?"], ["--operating-point", "recall"], ["--detector", "reader"]]
)
def test_a_check_that_was_made_takes_no_options_of_a_check(saved: Path, options: list[str]) -> None:
    result = Explaining()("--source", FACT, "--detection", saved, *options)
    assert result.exit_code == 2
    assert f"{options[0]} cannot be used with --detection" in result.stderr


def test_without_an_answer_it_says_what_to_give() -> None:
    result = Explaining()("--source", FACT)
    assert result.exit_code == 2
    assert "--answer TEXT or --answer-file FILE, or --detection FILE" in result.stderr


def test_standard_input_is_read_once(saved: Path) -> None:
    result = Explaining()("--source-file", "-", "--detection", "-", stdin=saved.read_text())
    assert result.exit_code == 2
    assert "Only one option can read standard input" in result.stderr


def test_a_bad_threshold_is_a_usage_error() -> None:
    for value in ("0", "1.5", "high"):
        given: list[Any] = ["--source", FACT, "--answer", ANSWER, "--threshold", value]
        assert Explaining()(*given).exit_code == 2

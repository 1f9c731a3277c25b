"""``groundwire explain``: findings, and what was dropped."""

import json
from dataclasses import dataclass, field
from typing import Any

from click.testing import Result

from groundwire.cli.detectors import Setup
from groundwire.detection.values import Entailment
from groundwire.explain import Explainer
from tests.cli.conftest import invoke
from tests.explain.marked import CONTRADICTED, ENTAILED
from tests.fakes import FixedDetector

FACT = "It opened in 1889. On Sundays it is closed."
ANSWER = "It opened in 1950 and is closed on Sundays."


@dataclass
class Explaining:
    """Runs commands with a detector and an explainer that say fixed things."""

    verdict: Entailment | Exception = CONTRADICTED
    choice: dict[str, Any] = field(default_factory=dict)

    def __call__(self, *args: object, stdin: str | bytes | None = None) -> Result:
        detector = FixedDetector(contradicted=["1950"], unsupported=["closed on Sundays"])
        setup = Setup(load=lambda _: detector, load_explainer=self._load)
        return invoke("explain", *args, stdin=stdin, setup=setup)

    def _load(self, **choice: Any) -> Explainer:  # noqa: ANN401
        self.choice = choice
        return Explainer(self._judge, drops_entailed=choice["drops_entailed"])

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
    thresholds = {"threshold": 0.5, "entailment_threshold": 0.6, "drops_entailed": True}
    chosen = {"model": "own", "revision": "0a", "device": "cuda:0", "threads": None}
    assert run.choice == chosen | thresholds
    run("--source", FACT, "--answer", ANSWER, "--device", "cuda:0")
    assert run.choice["device"] == "cpu"  # the device is the detector's


def test_nothing_in_an_answer_can_imitate_the_report() -> None:
    answer = "It opened in 1950\noutcome   grounded\x1b[2J"
    result = Explaining()("--source", FACT, "--answer", answer)
    assert "\x1b" not in result.stdout
    assert [line for line in result.stdout.splitlines() if line.startswith("outcome")] == [
        "outcome   hallucinated: the sources do not support the marked words"
    ]


def test_without_an_answer_it_says_what_to_give() -> None:
    result = Explaining()("--source", FACT)
    assert result.exit_code == 2
    assert "Give --answer TEXT or --answer-file FILE" in result.stderr


def test_a_bad_threshold_is_a_usage_error() -> None:
    for value in ("0", "1.5", "high"):
        given: list[Any] = ["--source", FACT, "--answer", ANSWER, "--threshold", value]
        assert Explaining()(*given).exit_code == 2

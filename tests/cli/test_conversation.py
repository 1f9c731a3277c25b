"""``groundwire check --conversation``."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from groundwire import Gate
from groundwire.cli.detectors import Setup
from groundwire.config import Config
from groundwire.pipeline import Pipeline
from groundwire.policy.signals import Signals
from tests.cli.conftest import invoke
from tests.pipeline.chats import (
    EXPLAINER,
    FACTS,
    POEM,
    QUESTION,
    RIGHT,
    TOOLS,
    WRONG,
    answered,
    asked,
    judged,
    piped,
    sent,
)
from tests.pipeline.test_json import VALIDATOR

CONFIG = """
decisions:
  - name: factual
    rules: {operator: AND, conditions: [{type: fact_check, name: needs_fact_check}]}
    plugins: [{type: hallucination, configuration: {enabled: true, explain: true}}]
"""


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate.load(threads=1)


class Conversations:
    """Runs ``check --conversation`` with a judge with fixed scores and the embedded gate."""

    def __init__(self, folder: Path, gate: Gate) -> None:
        self.folder, self.gate, self.fails_at = folder, gate, ""
        self.config: Config | None = None

    def __call__(self, data: object, *options: object, stdin: str | None = None) -> Result:
        file = self.folder / "chat.json"
        file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        where = "-" if stdin is not None else file
        setup = Setup(load_pipeline=self._load)
        return invoke("check", "--conversation", where, *options, stdin=stdin, setup=setup)

    def _load(self, config: Config) -> Pipeline:
        self.config = config
        return piped(
            judged(fails_at=self.fails_at),
            gate=self.gate,
            signals=Signals(config.signals),
            decisions=config.decisions,
            policy=config.policy,
            limits=config.limits,
            explainer=EXPLAINER,
        )


@pytest.fixture
def run(tmp_path: Path, gate: Gate) -> Conversations:
    return Conversations(tmp_path, gate)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "groundwire.yaml"
    path.write_text(CONFIG)
    return path


def chat(request: dict[str, Any], *contents: object) -> dict[str, Any]:
    return {"request": request, "response": answered(*contents)}


# What is shown.


def test_the_report_shows_the_way_of_the_answer(run: Conversations, config: Path) -> None:
    result = run(chat(asked(QUESTION, FACTS), WRONG), "--config", config)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[:9] == [
        f'question  "{QUESTION}"',
        "gate      a check is needed, confidence 1.00",
        "decision  factual (fact_check:needs_fact_check)",
        "evidence  1 source, origin tool",
        "          call_0 (landmark)  messages[2].content  99 characters",
        "path      checked: the answer is compared with the evidence",
        "",
        "  The Eiffel Tower was built in ⟦1950⟧ and stands at ⟦500 meters⟧ tall in Paris, France.",
        "",
    ]
    assert '\n  The answer says "1950"; the sources say otherwise.' in result.stdout
    assert "\noutcome   hallucinated: " in result.stdout
    assert "\naction    header: contradicted, severity 4\n" in result.stdout
    assert lines[-1].startswith("ms        evidence ")
    assert ", total " in lines[-1]
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("request_", "path", "outcome", "status"),
    [
        (asked(POEM), "not_factual: the prompt calls for no check", "skipped", 0),
        (asked(QUESTION), "no_evidence: a check is due", "unverified", 1),
        (asked(QUESTION, FACTS), "checked: the answer is compared", "hallucinated", 1),
    ],
)
def test_each_path_has_its_exit_status(
    run: Conversations, request_: dict[str, Any], path: str, outcome: str, status: int
) -> None:
    result = run(chat(request_, WRONG))
    assert result.exit_code == status
    assert f"\npath      {path}" in result.stdout
    assert f"\noutcome   {outcome}: " in result.stdout


def test_a_supported_answer_passes(run: Conversations) -> None:
    result = run(chat(asked(QUESTION, FACTS), RIGHT))
    assert (result.exit_code, "\naction    none\n" in result.stdout) == (0, True)


def test_a_failed_check_is_a_failure(run: Conversations) -> None:
    run.fails_at = "open"
    result = run(chat(asked(QUESTION, FACTS), RIGHT))
    assert result.exit_code == 2
    assert f"\n  {RIGHT}\n" in result.stdout
    assert "\noutcome   unavailable: a check was due and failed" in result.stdout
    assert "(OSError)" in result.stdout


def test_defined_tools_are_told_to_be_no_evidence(run: Conversations) -> None:
    result = run(chat(asked(QUESTION, tools=TOOLS), WRONG))
    assert "\nevidence  none (tools are defined, which is none)\n" in result.stdout


def test_a_request_that_names_sources_does_not_ask_the_gate(run: Conversations) -> None:
    result = run(chat(sent(FACTS, 7, question=POEM), RIGHT))
    assert "\ngate      not asked: the request holds evidence" in result.stdout
    assert "\nunread    unread_evidence 1\n" in result.stdout
    assert result.exit_code == 1


def test_all_choices_are_shown_and_the_worst_counts(run: Conversations) -> None:
    result = run(chat(asked(QUESTION, FACTS), RIGHT, WRONG, CALLS))
    assert result.exit_code == 1
    assert "\nanswer    3 of 3\n" in result.stdout
    assert "skipped: it only calls tools: the answer is still to come" in result.stdout
    assert result.stdout.endswith("\nall answers: hallucinated, action log\n")


@pytest.mark.parametrize("request_", [asked(QUESTION, FACTS), asked(QUESTION)])
@pytest.mark.parametrize("contents", [(), ("",), (" \n",), (None,), (None, "")])
def test_a_check_that_was_due_and_had_no_answer_is_a_failure(
    run: Conversations, request_: dict[str, Any], contents: tuple[object, ...]
) -> None:
    result = run(chat(request_, *contents))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(
        "error: A check was due, and the response has no answer text, so nothing was checked."
    )
    result = run(chat(request_, *contents), "--json")
    assert (result.exit_code, json.loads(result.stdout)["outcome"]) == (2, "skipped")


CALLS = {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}
REFUSES = {"role": "assistant", "content": None, "refusal": "I will not say."}


@pytest.mark.parametrize(
    ("request_", "contents"),
    [
        (asked(POEM), ()),
        (asked(POEM), (None,)),
        (asked(QUESTION, FACTS), (CALLS,)),
        (asked(QUESTION, FACTS), (REFUSES,)),
        (asked(QUESTION, FACTS), (RIGHT, None)),
    ],
)
def test_where_no_answer_is_wanted_or_one_was_checked_nothing_failed(
    run: Conversations, request_: dict[str, Any], contents: tuple[object, ...]
) -> None:
    result = run(chat(request_, *contents))
    assert (result.exit_code, result.stderr) == (0, "")
    assert "skipped" in result.stdout


def test_json_is_what_the_schema_says(run: Conversations) -> None:
    result = run(chat(asked(QUESTION, FACTS), WRONG), "--json")
    data = json.loads(result.stdout)
    VALIDATOR.validate(data)
    assert (data["request"]["path"], data["outcome"]) == ("checked", "hallucinated")
    assert result.stdout.isascii()


def test_no_text_of_the_file_acts_on_the_terminal_or_imitates_the_report(
    run: Conversations,
) -> None:
    evil = "\x1b[2J\noutcome   grounded: \u202e⟦x⟧"
    body = asked(f"When? {evil}", FACTS)
    body["messages"][1]["tool_calls"][0]["function"]["name"] = evil
    body["messages"][2]["tool_call_id"] = evil
    calls = {"role": "assistant", "content": evil}
    for request in (body, asked(POEM)):
        result = run(chat(request, calls))
        assert "\x1b" not in result.stdout
        assert "\u202e" not in result.stdout
        assert "\n  outcome   grounded" in result.stdout
        assert "\noutcome   grounded: \\u202e" not in result.stdout


# What is read.


def test_the_answer_may_be_the_last_message(run: Conversations) -> None:
    body = asked(QUESTION, FACTS)
    body["messages"].append({"role": "assistant", "content": WRONG})
    assert "⟦1950⟧" in run(body).stdout


def test_the_file_may_be_standard_input(run: Conversations) -> None:
    result = run("", stdin=json.dumps(chat(asked(QUESTION, FACTS), WRONG)))
    assert "⟦1950⟧" in result.stdout


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "chat.json is no JSON: "),
        ("[" * 100_000, "chat.json is no JSON: "),
        ("[]", "the conversation: its type is list"),
        ('{"request": {"messages": []}}', "it has no 'response'"),
        ('{"request": {}, "response": {}}', "messages: it is missing"),
        ('{"request": {"messages": []}, "response": {}}', "choices: it is missing"),
    ],
)
def test_what_is_no_conversation_is_refused(run: Conversations, text: str, problem: str) -> None:
    result = run(text)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stdout == ""


def test_a_configuration_that_cannot_be_used_is_told_with_its_lines(
    run: Conversations, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("check:\n  acton: log\n")
    result = run(chat(asked(QUESTION), RIGHT), "--config", path)
    assert result.exit_code == 2
    assert "wrong.yaml:2" in result.stderr


# Options.


def test_options_win_over_the_configuration(run: Conversations, tmp_path: Path) -> None:
    path = tmp_path / "groundwire.yaml"
    path.write_text("detector: {name: similarity, threads: 3, operating_point: recall}")
    run(chat(asked(QUESTION), RIGHT), "--config", path, "--threads", 1)
    assert run.config is not None
    assert (run.config.detector.name, run.config.detector.threads) == ("similarity", 1)
    assert run.config.detector.operating_point == "recall"
    run(chat(asked(QUESTION), RIGHT), "--config", path, "--detector", "reader")
    assert run.config.detector.name == "reader"


def test_the_operating_point_is_that_of_the_detector_in_use(run: Conversations) -> None:
    run(chat(asked(QUESTION), RIGHT), "--operating-point", 0.25)
    assert run.config is not None
    assert (run.config.detector.operating_point, run.config.similarity.threshold) == (0.25, None)
    run(chat(asked(QUESTION), RIGHT), "--operating-point", 0.25, "--detector", "similarity")
    similarity = run.config.similarity
    assert (run.config.detector.operating_point, similarity.threshold) == ("balanced", 0.25)


def test_the_environment_sets_what_the_file_does_not(
    run: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDWIRE_CHECK_ACTION", "block")
    assert "\naction    block: " in run(chat(asked(QUESTION, FACTS), WRONG)).stdout


@pytest.mark.parametrize("option", ["--answer", "--source", "--html", "--batch"])
def test_the_file_has_its_own_question_sources_and_answer(
    run: Conversations, option: str, config: Path
) -> None:
    result = run(chat(asked(QUESTION), RIGHT), option, config)
    assert result.exit_code == 2
    assert f"{option} cannot be used with --conversation" in result.stderr


def test_a_configuration_is_for_conversations() -> None:
    result = invoke("check", "--config", __file__, "--answer", "It is.")
    assert result.exit_code == 2
    assert "--config needs --conversation." in result.stderr


def test_the_whole_way_with_the_embedded_models(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(chat(asked(QUESTION, FACTS), WRONG)))
    result = invoke("check", "--conversation", file)
    assert result.exit_code == 1
    assert "⟦1950⟧ and stands at ⟦500 meters⟧" in result.stdout

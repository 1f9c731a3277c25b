"""``groundwire verify``: the embedded verifier, and a scripted endpoint at the wire."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from groundwire import detect_hallucination
from groundwire.verify.cache import SHARED
from tests.cli.conftest import invoke
from tests.verify.scripted import (
    Asked,
    Reply,
    ScriptedEndpoint,
    error,
    honest,
    in_turn,
    with_evidence,
)

#: As the documented page has it.
AUTH = "Auth reads JWT_ISSUER and validates the issuer of each token against it."
EXAMPLE = "Auth validates issuer via JWT_ISSUER. [S0]"
KEY = "sk-very-secret"
SKY = ["--answer", "The sky is blue [S0].", "--span-text", "S0=The sky is blue."]
PASSES = with_evidence(0.97, 0.05)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "BERRY_SERVICE_URL", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    SHARED.clear()
    yield
    SHARED.clear()


@pytest.fixture
def wire() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(honest(PASSES)) as endpoint:
        yield endpoint


def verify(*args: object, **how: Any) -> Result:  # noqa: ANN401
    return invoke("verify", *args, **how)


def ask(wire: ScriptedEndpoint, *args: object, **environ: str) -> Result:
    """Verify by the scripted endpoint, whose key is in the environment."""
    by = ("--verifier", "openai", "--base-url", wire.base_url)
    return verify(*by, *args, environ={"OPENAI_API_KEY": KEY} | environ)


def in_json(result: Result) -> dict[str, Any]:
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


# The documented example


def test_the_documented_example_needs_no_key() -> None:
    args = ["--answer", EXAMPLE, "--span-text", f"S0={AUTH}", "--require-citations"]
    result = verify(*args, "--context-mode", "cited", "--target", "0.95")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == 'passed  0  "Auth validates issuer via JWT_ISSUER." [S0]'
    assert re.match(r"  P 0\.9\d\d with its evidence, 0\.\d{3} without; bits needed", lines[1])
    assert "outcome   passed: 1 claim" in lines
    assert "settings  target 0.95, evidence cited, citations required, rule signed" in lines
    assert lines[-1].startswith("verifier  local reader@")
    assert result.stderr == ""


def test_json_is_what_the_library_says() -> None:
    answer = f"{EXAMPLE} Tokens are signed with RS256 [S7]. All is well."
    result = verify("--answer", answer, "--span-text", f"S0={AUTH}", "--json")
    expected = detect_hallucination(answer, [{"sid": "S0", "text": AUTH}])
    assert in_json(result) == json.loads(json.dumps(expected.to_dict()))
    assert result.exit_code == 1


def test_a_claim_that_is_flagged_is_told_with_its_doubtful_words() -> None:
    tokens = "S1=Tokens last for 60 minutes."
    result = verify("--answer", "Tokens last for 15 minutes [S1].", "--span-text", tokens)
    assert result.exit_code == 1
    assert 'contradicted  0  "Tokens last for ⟦15⟧ minutes." [S1]\n  P 0.' in result.stdout
    assert "outcome   flagged: 1 of 1 claim\n          contradicted (1): " in result.stdout


def test_citations_stand_beside_the_claims() -> None:
    answer = f"{EXAMPLE} Tokens last for 60 minutes [S0]. They are safe [S9]."
    spans = ["--span-text", f"S0={AUTH}", "--span-text", "S1=Tokens last for 60 minutes."]
    result = verify("--answer", answer, *spans, "--citations")
    for words in ("misattributed: S1 says", "fabricated_id: S9", "S9?", "unknown_citations"):
        assert words in result.stdout
    found = in_json(verify("--answer", answer, *spans, "--citations", "--json"))
    assert found["citations"]["statuses"] == {
        "fabricated_id": 1,
        "misattributed": 1,
        "supported": 1,
    }


# Exit status


@pytest.mark.merge
def test_0_if_each_claim_passed(wire: ScriptedEndpoint) -> None:
    result = ask(wire, *SKY)
    assert result.exit_code == 0
    assert "outcome   passed: 1 claim" in result.stdout
    assert ", 2 calls, 202 tokens" in result.stdout


@pytest.mark.merge
def test_1_if_claims_were_left_out(wire: ScriptedEndpoint) -> None:
    answer = "The sky is blue [S0]. It is blue [S0]. It is wide [S0]."
    result = ask(wire, *SKY[2:], "--answer", answer, "--max-claims", 1)
    assert result.exit_code == 1
    assert "outcome   flagged: 1 claim passed, and others were not verified" in result.stdout
    assert "unscored  2 claims beyond max_claims (1): raise it" in result.stdout
    assert '          1  "It is blue."' in result.stdout


@pytest.mark.merge
def test_2_if_the_verifier_fails_and_the_reason_goes_to_standard_error() -> None:
    with ScriptedEndpoint(in_turn(error(401))) as wire:
        result = ask(wire, *SKY)
        told = ask(wire, *SKY, "--json")
    assert result.exit_code == told.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: Authentication failed (401).")
    assert "secret" not in result.output
    found = in_json(told)
    assert (found["flagged"], found["error_type"]) == (True, "authentication_failed")
    assert found["details"] == []


@pytest.mark.merge
def test_2_if_one_claim_was_not_verified() -> None:
    def respond(asked: Asked) -> Reply:
        return error(400) if "red" in asked.claims[0] else honest(PASSES)(asked)

    with ScriptedEndpoint(respond) as wire:
        answer = "The sky is blue [S0]. Grass is red [S0]."
        result = ask(wire, *SKY[2:], "--answer", answer, GROUNDWIRE_VERIFY_GROUP_CLAIMS="no")
    assert result.exit_code == 2
    assert "verifier_error (1): the verifier gave no answer" in result.stdout
    assert "          Service error (400). The endpoint refuses the request." in result.stdout


@pytest.mark.merge
def test_2_if_citations_were_asked_for_and_not_checked() -> None:
    def respond(asked: Asked) -> Reply:
        return error(400) if len(asked.evidence) == 1 else honest(PASSES)(asked)

    with ScriptedEndpoint(respond) as wire:
        both = [
            "--answer",
            "It is so [S0, S1].",
            "--span-text",
            "S0=It is.",
            "--span-text",
            "S1=So.",
        ]
        assert ask(wire, *both).exit_code == 0
        result = ask(wire, *both, "--citations", GROUNDWIRE_VERIFY_USE_CACHE="no")
    assert result.exit_code == 2
    assert "unchecked" in result.stdout


def test_2_if_there_is_no_key() -> None:
    result = verify(*SKY, "--verifier", "openai")
    assert result.exit_code == 2
    assert "error: There is no API key. Set OPENAI_API_KEY" in result.stderr


def test_2_if_the_answer_claims_nothing() -> None:
    result = verify("--answer", "[S0]", *SKY[2:])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: The answer claims nothing")


# Settings


@pytest.mark.merge
@pytest.mark.parametrize(
    ("option", "field", "value"),
    [
        (["--target", "0.9"], "default_target", 0.9),
        (["--max-claims", "3"], "max_claims", 3),
        (["--require-citations"], "require_citations", True),
        (["--context-mode", "full"], "context_mode", "all"),
        (["--units", "nats"], "units", "nats"),
        (["--rule", "kl"], "rule", "kl"),
        (["--min-log-odds-gain", "1.5"], "min_log_odds_gain", 1.5),
        (["--verifier-model", "m"], "verifier_model", "m"),
    ],
)
def test_an_option_is_a_setting(
    wire: ScriptedEndpoint, option: list[str], field: str, value: object
) -> None:
    assert in_json(ask(wire, *SKY, *option, "--json"))["summary"][field] == value


@pytest.mark.merge
def test_settings_reach_the_endpoint(wire: ScriptedEndpoint) -> None:
    settings = {"TEMPERATURE": "0.5", "TOP_LOGPROBS": "3", "PLACEHOLDER": "[GONE]"}
    environ = {f"GROUNDWIRE_VERIFY_{name}": value for name, value in settings.items()}
    ask(wire, *SKY, "--verifier-model", "m", **environ)
    body = wire.asked[1].body
    assert (body["model"], body["temperature"], body["top_logprobs"]) == ("m", 0.5, 3)
    assert wire.asked[1].evidence == [{"sid": "S0", "quote": "[GONE]"}]


@pytest.mark.merge
def test_options_win_over_the_environment_and_that_over_the_file(
    wire: ScriptedEndpoint, tmp_path: Path
) -> None:
    file = tmp_path / "groundwire.yaml"
    file.write_text(
        "verify: {target: 0.5, rule: kl, units: nats}\ndetect_hallucination: {max_claims: 7}\n"
    )
    environ = {"GROUNDWIRE_VERIFY_TARGET": "0.6", "GROUNDWIRE_VERIFY_RULE": "signed"}
    result = ask(wire, *SKY, "--config", file, "--target", "0.7", "--json", **environ)
    summary = in_json(result)["summary"]
    found = [summary[name] for name in ("default_target", "rule", "units", "max_claims")]
    assert found == [0.7, "signed", "nats", 7]


@pytest.mark.merge
def test_what_the_environment_has_for_endpoints_counts_for_who_asks_one(
    wire: ScriptedEndpoint,
) -> None:
    environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": wire.base_url}
    environ |= {"BERRY_VERIFIER_MODEL": "berry-model"}
    found = in_json(verify(*SKY, "--verifier", "openai", "--json", environ=environ))
    assert found["summary"]["verifier_model"] == "berry-model"
    n_calls = len(wire.asked)
    local = in_json(verify(*SKY, "--json", environ=environ))
    assert local["summary"]["backend"] == "local"
    assert len(wire.asked) == n_calls


@pytest.mark.merge
def test_the_key_may_stand_in_the_configuration(wire: ScriptedEndpoint, tmp_path: Path) -> None:
    file = tmp_path / "groundwire.yaml"
    file.write_text(f"verify: {{verifier: openai, base_url: '{wire.base_url}', api_key: sk-file}}")
    result = verify(*SKY, "--config", file, "--json")
    assert result.exit_code == 0, result.stderr
    assert {each.headers["authorization"] for each in wire.asked} == {"Bearer sk-file"}
    assert "sk-file" not in result.output


@pytest.mark.merge
@pytest.mark.parametrize("option", ["--base-url", "--service-url"])
def test_a_key_of_the_configuration_is_not_sent_elsewhere(
    wire: ScriptedEndpoint, tmp_path: Path, option: str
) -> None:
    file = tmp_path / "groundwire.yaml"
    file.write_text("verify: {base_url: 'https://example.com/v1', api_key: sk-file}")
    by = ["--verifier", "service" if "service" in option else "openai"]
    result = verify(*SKY, "--config", file, *by, option, wire.base_url)
    assert result.exit_code == 2
    assert "groundwire.yaml:1 is for another server: not used." in result.stderr
    assert wire.asked == []


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--target", "1"], "verify.target = '1' is not possible. It must be a number, above 0"),
        (["--max-claims", "0"], "verify.max_claims = '0' is not possible."),
        (["--context-mode", "everything"], "must be one of cited, all, auto"),
        (["--verifier", "gemini"], "must be one of local, openai, service"),
        (["--base-url", "http://example.com"], "a URL with https://, or with http:// on this"),
        (["--citation-regex", "[x]"], "with a group named id"),
        (["--api-key", "sk-x"], "No such option"),
    ],
)
def test_an_option_that_is_not_possible_is_wrong_usage(option: list[str], message: str) -> None:
    result = verify(*SKY, *option)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_a_configuration_that_is_wrong_is_told_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "groundwire.yaml"
    file.write_text("verify:\n  target: 2\n")
    result = verify(*SKY, "--config", file)
    assert result.exit_code == 2
    assert "groundwire.yaml:2: verify.target = 2 is not possible" in result.stderr


# Evidence


def quotes(wire: ScriptedEndpoint) -> list[dict[str, str]]:
    return wire.asked[0].evidence


@pytest.mark.merge
def test_spans_come_from_files_texts_and_lists(wire: ScriptedEndpoint, tmp_path: Path) -> None:
    (tmp_path / "a=b.txt").write_text("From a file.")
    (tmp_path / "list.json").write_text(
        '\ufeff[{"sid": "L", "text": "From a list."}, {"text": "No id."}]', encoding="utf-8"
    )
    result = ask(
        wire,
        *("--answer", "All of it [S0, S1, L, s2].", "--spans", tmp_path / "list.json"),
        *("--span", f"S0={tmp_path / 'a=b.txt'}", "--span-text", "S1=From a=b."),
    )
    assert result.exit_code == 0, result.stderr
    assert quotes(wire) == [
        {"sid": "L", "quote": "From a list."},
        {"sid": "s2", "quote": "No id."},
        {"sid": "S0", "quote": "From a file."},
        {"sid": "S1", "quote": "From a=b."},
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "There are no spans"),
        ("[{}]", "span 0 has no text"),
        ("5", "holds no spans: it is a JSON number. It should hold a list"),
        ("no json", "is no JSON: Expecting value at line 1"),
        ('[{"sid": "S", "text": "a"}, {"sid": "S", "text": "b"}]', "duplicate span ids: 'S'"),
    ],
)
def test_a_file_without_spans_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "spans"
    file.write_text(text)
    result = verify("--answer", "So [S0].", "--spans", file)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("error: ")


@pytest.mark.merge
def test_a_text_is_never_taken_for_a_file(wire: ScriptedEndpoint, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("In the file.")
    name = str(tmp_path / "a.txt")
    ask(wire, "--answer", "So it is [S0].", "--span-text", f"S0={name}")
    assert quotes(wire) == [{"sid": "S0", "quote": name}]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--answer", "a [S0]."], "There is no evidence. Give --span ID=FILE"),
        (SKY[2:], "There is nothing to verify. Give --answer TEXT"),
        ([*SKY, "--answer-file", "-"], "--answer and --answer-file exclude each other"),
        ([*SKY[:2], "--span-text", "no id"], "'no id' has no id. Give one, such as S0=\"text\"."),
        ([*SKY[:2], "--span", "=a.txt"], "has no id. Give one, such as S0=evidence.txt"),
        ([*SKY[:2], "--span", "S0=missing"], "'missing' does not exist"),
        ([*SKY[:2], "--span", "S0="], "it is empty. Name a file"),
        (["--answer-file", "-", "--span", "S0=-"], "Only one option can read standard input"),
        ([*SKY, "--html", ""], "it is empty"),
    ],
)
def test_wrong_usage_is_explained(args: list[str], message: str) -> None:
    result = verify(*args, stdin="text")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""


# What is written


@pytest.mark.merge
def test_a_page_is_written_beside_the_report(wire: ScriptedEndpoint, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = ask(wire, *SKY, "--citations", "--html", page)
    assert "outcome   passed" in result.stdout
    text = page.read_text("utf-8")
    assert "<!doctype html>" in text
    assert '<a href="#span-1"><bdi>S0</bdi></a>' in text
    assert "Words without support" in text  # of the citations


def test_a_page_tells_also_why_nothing_was_verified(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert verify("--answer", "[S0]", *SKY[2:], "--html", page).exit_code == 2
    assert "Groundwire: not verified" in page.read_text("utf-8")


@pytest.mark.merge
def test_colour_is_for_terminals(wire: ScriptedEndpoint) -> None:
    environ = {"GROUNDWIRE_VERIFY_USE_CACHE": "no"}
    plain = ask(wire, *SKY, **environ)
    coloured = ask(wire, *SKY, "--color", "always", **environ)
    assert "\x1b" not in plain.stdout
    assert "\x1b[1;32mpassed" in coloured.stdout
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured.stdout) == plain.stdout


@pytest.mark.merge
def test_nothing_in_a_claim_or_an_id_acts_on_the_terminal(wire: ScriptedEndpoint) -> None:
    answer = "It is\x1b[2J \u202eblue [S\x07].\noutcome   passed: fine [S9]."
    result = ask(wire, "--answer", answer, "--span-text", "S\x07=x\x1b[2J", "--citations")
    assert "\x1b" not in result.stdout
    assert "␛[2J" in result.stdout
    lines = [each for each in result.stdout.splitlines() if each.startswith("outcome")]
    assert lines == ["outcome   flagged: 1 of 2 claims"]
    assert result.stdout.encode()
    data = ask(wire, "--answer", answer, "--span-text", "S\x07=x\x1b[2J", "--json")
    assert data.stdout.isascii()

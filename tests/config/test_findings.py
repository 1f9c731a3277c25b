"""What is odd about a configuration, and is told wherever it is read."""

from pathlib import Path

import pytest

from groundwire.config import parse
from groundwire.config.findings import findings
from groundwire.policy.policy import Action, Overrides
from tests.config.documented import REFERENCE, SNIPPET

DVARA = "dvara.llm-gateway.guardrail.grounding"


def told(text: str, **environ: str) -> list[str]:
    config = parse(text, name="groundwire.yaml", environ=environ)
    return [str(each) for each in findings(config)]


def codes(text: str) -> list[str]:
    return [each.code for each in findings(parse(text, name="groundwire.yaml"))]


def test_the_documented_block_of_dvara_withholds_right_answers_too() -> None:
    (said,) = told(f"{DVARA}:\n  enabled: true\n  action: BLOCK\n  similarity-threshold: 0.7\n")
    assert said.startswith(f"groundwire.yaml:3 ({DVARA}.action): action block with ")
    assert "similarity:hash at 0.7 withholds nearly every answer" in said
    assert "Set detector.name: reader" in said


def test_so_do_its_variables() -> None:
    names = {"ENABLED": "true", "ACTION": "BLOCK"}
    environ = {f"DVARA_LLM_GATEWAY_GUARDRAIL_GROUNDING_{k}": v for k, v in names.items()}
    (said,) = told("", **environ)
    assert said.startswith("DVARA_LLM_GATEWAY_GUARDRAIL_GROUNDING_ACTION: action block with ")


@pytest.mark.parametrize(
    "text",
    [
        f"{DVARA}: {{enabled: true, action: FLAG}}",
        f"{DVARA}: {{action: BLOCK}}",  # not enabled
        f"{DVARA}: {{enabled: true, action: BLOCK, similarity-threshold: 0.3}}",
        f"{DVARA}: {{enabled: true, action: BLOCK}}\nexplain: {{enabled: true}}",
        f"{DVARA}: {{enabled: true, action: BLOCK}}\ndetector: {{name: reader}}",
        "check: {action: block}\nexplain: {enabled: false}\ndetector: {name: similarity}",
        SNIPPET,
    ],
)
def test_policies_that_tell_answers_apart_are_no_finding(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "check: {action: block}\nexplain: {enabled: false}\n"
        "detector: {name: similarity}\nsimilarity: {threshold: 0.7}",
        "explain: {drops_entailed: false}\ndetector: {name: 'similarity:hash'}\ndecisions:\n"
        "  - {name: d, plugins: [{type: hallucination, configuration: "
        "{enabled: true, action: block}}]}",
    ],
)
def test_other_ways_to_say_the_same_are(text: str) -> None:
    assert codes(text) == ["blocks_right_answers"]


def test_tenants_are_named_beside_the_message_which_anybody_may_read() -> None:
    config = parse(f"{DVARA}: {{enabled: true, action: LOG}}", name="groundwire.yaml")
    own = {
        "acme": Overrides(action=Action.BLOCK),
        "beta": Overrides(action=Action.BLOCK, detector="reader"),
        "gamma": Overrides(),
    }
    (finding,) = findings(config, tenants=own)
    assert finding.tenants == ("acme",)
    assert "acme" not in finding.message
    assert str(finding).endswith(" Tenants: acme.")


def test_the_threshold_of_the_complete_file_of_halugate_is_one_for_other_scores() -> None:
    (said,) = told(REFERENCE)
    assert said.startswith("groundwire.yaml:3 (hallucination_mitigation.hallucination_model.thresh")
    assert "detector.operating_point = 0.8 holds literally. The probabilities of reader" in said
    assert codes(REFERENCE.replace("threshold: 0.8, ", "")) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "check: {action: block}\ngateway: {unchecked_endpoints: mark}",
            "c.yaml:2: gateway.unchecked_endpoints = mark: answers of endpoints",
        ),
        (
            "gateway: {unchecked_endpoints: mark}\ntenants: {a: {action: block}}",
            "gateway.unchecked_endpoints = mark: answers of endpoints",
        ),
        ("check: {action: block, on_error: allow}", "c.yaml:1: check.on_error = allow: an answer"),
        ("check: {preset: strict, on_error: warn}", "check.on_error = warn: an answer"),
        ("check: {contradicted_action: block, on_error: allow}", "check.on_error = allow"),
    ],
)
def test_what_lets_answers_pass_where_answers_are_withheld_is_one(text: str, said: str) -> None:
    (finding,) = findings(parse(text, name="c.yaml"))
    assert said in str(finding)


@pytest.mark.parametrize(
    "text",
    [
        "check: {action: block}\ngateway: {unchecked_endpoints: refuse}",
        "check: {action: block, on_error: auto}",
        "check: {action: flag, on_error: allow}\ngateway: {unchecked_endpoints: mark}",
        "check: {action: block, enabled: false, on_error: allow}",
    ],
)
def test_what_lets_nothing_pass_that_would_be_withheld_is_none(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("reader-bse", ["unknown_detector"]),
        ("similarity:neural", []),
        ("reader-small", []),
        ("similarity:hash", []),
        ("KRLabsOrg/lettucedect-base-modernbert-en-v1", []),
    ],
)
def test_a_name_that_no_detector_has_is_found(name: str, expected: list[str]) -> None:
    assert codes(f"detector: {{name: '{name}'}}") == expected


def test_a_folder_is_a_detector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path)
    assert codes("detector: {name: own}") == []


def test_repair_at_a_threshold_that_flags_many_right_answers_is_a_finding() -> None:
    precise = "detector: {operating_point: precision}"
    for action in ("action: repair", "action: log, contradicted_action: repair"):
        (said,) = told(f"check: {{{action}}}")
        assert "flags about one right answer in seven. Set detector.operating_point:" in said
        assert told(f"check: {{{action}}}\n{precise}") == []
    assert told("check: {action: block}") == []

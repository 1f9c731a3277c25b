from pathlib import Path

import pytest

from groundwire.config import Config, SettingOrigin, load, parse
from groundwire.config.kinds import Secret
from groundwire.config.show import to_yaml
from groundwire.detection.values import Outcome
from groundwire.errors import ConfigError
from groundwire.policy.policy import Action, Overrides, decide
from tests.test_package import modules_after


def problems(text: str, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(text, name="c.yaml", environ=environ)
    return list(caught.value.problems)


def test_it_needs_no_numpy_and_other_packages_only_for_what_is_given() -> None:
    modules = modules_after("from groundwire.config import parse; parse('', name='')")
    assert not {name.partition(".")[0] for name in modules} & {"numpy", "ruamel", "re2", "pydantic"}


def test_nothing_given_is_all_defaults() -> None:
    config = parse("# only a comment\n", name="c.yaml")
    assert config == Config()
    assert set(config.origins.values()) == {SettingOrigin()}
    assert config.formats == ()


def test_a_value_knows_its_line_or_its_variable() -> None:
    config = parse(
        "check:\n  action: block\ngate.threshold: 0.5\n",
        name="c.yaml",
        environ={"GROUNDWIRE_DETECTOR_MIN_WORDS": "2"},
    )
    assert str(config.origins["check.action"]) == "c.yaml:2"
    assert str(config.origins["gate.threshold"]) == "c.yaml:3"
    assert str(config.origins["detector.min_words"]) == "GROUNDWIRE_DETECTOR_MIN_WORDS"
    assert str(config.origins["check.enabled"]) == "default"


def test_a_variable_wins_over_the_file() -> None:
    config = parse("check.action: log", name="", environ={"GROUNDWIRE_CHECK_ACTION": "block"})
    assert config.check.action is Action.BLOCK


def test_all_problems_are_told_at_once_each_with_its_line() -> None:
    assert problems(
        "checks: {}\ncheck:\n  acton: log\n  action: blok\nevidence: 3\ngate: {threshold: 2}\n"
    )[1:] == [
        "c.yaml:3: there is no 'acton' in 'check'; did you mean 'action'? Known: preset, enabled, "
        "action, contradicted_action, unverified_action, partial_action, on_error, min_severity, "
        "include_details, false_block_budget.",
        "c.yaml:4: check.action = 'blok' is not possible; did you mean 'block'? It must be one of "
        "none, log, flag, header, body, repair, block (also metadata, warn, reject, raise).",
        "c.yaml:5: evidence is a mapping, and this is none. Known: max_sources, max_source_chars, "
        "metadata_only, final_tools, names.",
        "c.yaml:6: gate.threshold = 2 is not possible. It must be a number, above 0 to 1.",
    ]


def test_a_refused_url_is_told_without_what_it_may_hold_of_secrets() -> None:
    (problem,) = problems("upstream: {url: 'https://me:a/b@h/v1?key=s3cret#tok'}")
    assert "'https://***@h/v1?***' is not possible" in problem


def test_an_action_left_blank_is_not_none() -> None:
    assert "check.action = None is not possible" in problems("check: {action: }")[0]


def test_two_formats_that_differ_name_both_places() -> None:
    assert problems("check.action: log\ndvara.llm-gateway.guardrail.grounding.action: BLOCK") == [
        "c.yaml:2: 'dvara.llm-gateway.guardrail.grounding.action' sets the same as 'check.action' "
        "at c.yaml:1, to another value. Keep one of them."
    ]


def test_two_formats_that_agree_are_fine() -> None:
    text = "check.action: block\ndvara.llm-gateway.guardrail.grounding.action: BLOCK"
    assert parse(text, name="").check.action is Action.BLOCK


def test_two_variables_that_differ_name_both() -> None:
    dvara = "DVARA_LLM_GATEWAY_GUARDRAIL_GROUNDING_ACTION"
    found = problems("", **{dvara: "LOG", "GROUNDWIRE_CHECK_ACTION": "block"})
    assert found == [
        f"GROUNDWIRE_CHECK_ACTION: 'GROUNDWIRE_CHECK_ACTION' sets the same as '{dvara}' at "
        f"{dvara}, to another value. Keep one of them."
    ]


def test_a_variable_that_is_misspelled_is_an_error() -> None:
    assert problems("", GROUNDWIRE_CHECK_ATION="log") == [
        "GROUNDWIRE_CHECK_ATION: no setting has this variable. "
        "Did you mean GROUNDWIRE_CHECK_ACTION?"
    ]
    assert "it is empty" in problems("", GROUNDWIRE_CHECK_ACTION=" ")[0]


def test_variables_that_others_set_are_none_of_ours() -> None:
    kubernetes = {
        "GROUNDWIRE_SERVICE_HOST": "10.0.0.1",
        "GROUNDWIRE_PORT_8080_TCP": "tcp://10.0.0.1",
    }
    assert parse("", name="", environ={**kubernetes, "GROUNDWIRE_CACHE": "/tmp"}) == Config()


def test_a_secret_is_never_shown() -> None:
    config = parse("verify.api_key: sk-1", name="")
    assert config.verify.api_key == Secret("sk-1")
    assert "sk-1" not in repr(config)
    found = problems("verify: {verifier: openai, api_key: [sk-1]}")
    assert "sk-1" not in found[0]


def test_a_tenant_may_have_a_detector_a_threshold_and_a_release() -> None:
    text = """
tenants:
  a: {detector: similarity:hash, similarity_threshold: 0.6, release: Deferred}
  b: {operating_point: precision}
  c: {operating_point: 0.25, detector: reader}
"""
    assert parse(text, name="c.yaml").tenants == {
        "a": Overrides(detector="similarity:hash", similarity_threshold=0.6, release="deferred"),
        "b": Overrides(operating_point="precision"),
        "c": Overrides(operating_point=0.25, detector="reader"),
    }


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ("{detector: reeder}", "detector = 'reeder' is not possible. It must be one of reader, si"),
        ("{detector: 1}", "detector = 1 is not possible. It must be one of reader, similarity, "),
        ("{operating_point: 0}", "operating_point = 0 is not possible. It must be a number, abov"),
        ("{operating_point: best}", "'best' is not possible. It must be a number, above 0 to 1, "),
        ("{similarity_threshold: 2}", "similarity_threshold = 2 is not possible. It must be a num"),
        ("{release: late}", "release = 'late' is not possible. It must be one of sentence, def"),
        ("{similarity_threshold: 0.5}", "0.5 is a threshold of similarities, and reader gives"),
        (
            "{detector: similarity, operating_point: 0.5}",
            "0.5 is a threshold of probabilities, and similarity g",
        ),
    ],
)
def test_a_detector_and_its_threshold_that_mean_nothing_are_refused(own: str, problem: str) -> None:
    (found,) = problems(f"tenants:\n  acme: {own}")
    assert found.startswith("c.yaml:2: ")
    assert problem in found


def test_what_a_tenant_may_have_depends_on_the_configured_detector() -> None:
    text = "detector.name: similarity\ntenants: {acme: {similarity_threshold: 0.5}}"
    assert parse(text, name="c.yaml").tenants["acme"].similarity_threshold == 0.5
    text = "detector: {name: a/b, revision: abc}\ntenants: {acme: {detector: a/b}}"
    assert parse(text, name="c.yaml").tenants["acme"].detector == "a/b"


def test_tenants_are_strict_in_a_file() -> None:
    config = parse("tenants: {acme: {action: BLOCK, max_sources: 0}}", name="c.yaml")
    assert config.tenants == {"acme": Overrides(action=Action.BLOCK, max_sources=0)}
    assert str(config.origins["tenants.acme"]) == "c.yaml:1"
    assert problems("tenants:\n  acme: {acton: log}")[0].startswith(
        "c.yaml:2: there is no 'acton' in tenant 'acme'; did you mean 'action'?"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "c.yaml:1: this is no YAML"),
        ("%YAML 1.1\n---\ncheck: {enabled: yes}", "c.yaml:3: only YAML 1.1 takes this word"),
        ("a: b: c", "c.yaml:1: this is no YAML"),
        ("a: \x00", "c.yaml: this is no YAML"),
        ("- a", "c.yaml:1: a configuration is a mapping"),
        ("check: {action: log}\ncheck: {}", "c.yaml:2: 'check' stands here again, after c.yaml:1"),
        ("check: !!python/name:os.system {}", "is not possible"),
        ("check.action: !!python/name:os.system x", "c.yaml:1: the tag "),
        ("a: &a [*a]", "c.yaml:1: an alias here stands for what it is part of"),
        ("--- {}\n--- {}", "this is no YAML"),
        ("[a]: 1", "c.yaml:1: a key is a text"),
        ("check: " + "[" * 200 + "]" * 200, "nested too deeply"),
        pytest.param(
            "check: " + "[" * 20_000 + "]" * 20_000, "nested too deeply", marks=pytest.mark.nightly
        ),
    ],
)
def test_what_is_no_document_is_refused_with_its_line(text: str, problem: str) -> None:
    if "python/name:os.system {}" in text:
        assert parse(text, name="c.yaml") == Config()  # a table, whatever it is called
    else:
        assert problem in problems(text)[0]


def test_aliases_cannot_grow_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.config.document.MAX_PARTS", 1000)
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "too large" in problems("\n".join(lines))[0]


def test_anchors_are_read() -> None:
    config = parse("tenants:\n  a: &own {action: block}\n  b: *own\n", name="")
    assert config.tenants["b"] == Overrides(action=Action.BLOCK)


def test_merges_of_yaml_1_1_are_refused() -> None:
    text = "tenants:\n  a: &own {action: block}\n  b: {<<: *own, enabled: no}\n"
    assert "there is no '<<'" in problems(text)[0]


def test_a_file_is_read_and_named(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"\xef\xbb\xbfcheck.action: flag\n")
    config = load(path, environ={})
    assert config.check.action is Action.FLAG
    assert str(config.origins["check.action"]) == f"{path}:1"
    path.write_bytes(b"check.action: \xff")
    with pytest.raises(ConfigError, match="not UTF-8, at byte 14"):
        load(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("keywords: [{name: k}]", "the keywords 'k' have neither words nor patterns"),
        ("keywords: [{name: k, words: []}]", "words = [] is not possible"),
        ("keywords: [{name: k, words: [' ']}]", "is not possible"),
        (
            "keywords: [{name: k, patterns: ['(']}]",
            "the pattern '(' of 'k' cannot be used: missing )",
        ),
        (
            "keywords: [{name: k, patterns: ['(?=a)']}]",
            "without back references and looking around",
        ),
        (
            "keywords: [{name: k, words: a}, {name: k, words: b}]",
            "the name 'k' is taken, at c.yaml:1",
        ),
        ("keywords: [{words: a}]", "has no 'name', and needs one"),
        ("embeddings: [{name: e, examples: [a], threshold: 2}]", "a number, from -1 to 1"),
        ("embeddings: [{name: e}]", "has no 'examples'"),
        ("domains: [{name: sport}]", "the domain 'sport' has no description"),
        ("languages: [{name: german}]", "there is no 'german' in the languages (without 'codes')"),
        ("languages: [{name: x, codes: [xx]}]", "codes = ['xx'] is not possible"),
        ("hallucination: [{name: h, label: wrong}]", "one of any, unsupported, contradicted"),
        ("hallucination: [{name: h, min_severity: 5}]", "a whole number, from 0 to 4"),
        ("fact_check: [{name: maybe}]", "one of needs_fact_check, no_fact_check_needed"),
        ("keyword: []", "there is no 'keyword' in signals; did you mean 'keywords'?"),
        ("keywords: {a: b}", "signals.keywords is a list, and this is none"),
    ],
)
def test_a_signal_that_cannot_be_is_refused(text: str, problem: str) -> None:
    found = problems(f"signals: {{{text}}}")
    assert found[0].startswith("c.yaml:1: ")
    assert problem in found[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "{name: d, prioritty: 1}",
            "there is no 'prioritty' in a decision; did you mean 'priority'?",
        ),
        (
            "{name: d, priority: high}",
            "priority = 'high' is not possible. It must be a whole number.",
        ),
        ("{priority: 1}", "a decision has no 'name', and needs one"),
        ("{name: d}, {name: d}", "the name 'd' is taken, at c.yaml:1"),
        ("{name: d, rules: []}", "decision 'd': a rule is a mapping"),
        ("{name: d, rules: {operator: XOR, conditions: []}}", "one of AND, OR, NOT"),
        ("{name: d, rules: {operator: AND}}", "has no 'conditions'"),
        ("{name: d, rules: {operator: AND, conditions: []}}", "AND needs at least one condition"),
        (
            "{name: d, rules: {operator: NOT, conditions: [{type: language, name: de}, "
            "{type: language, name: en}]}}",
            "NOT takes one condition, and 2 are given",
        ),
        ("{name: d, rules: {type: keyword, name: k}}", "there is no 'k' in keyword signals"),
        (
            "{name: d, plugins: [{type: hallucination}, {type: hallucination}]}",
            "has a second plugin",
        ),
        (
            "{name: d, plugins: [{type: hallucination, configuration: "
            "{use_nli: yes, explain: no}}]}",
            "'explain' sets the same as 'use_nli' at c.yaml:1, to another value",
        ),
    ],
)
def test_a_decision_that_cannot_be_is_refused(text: str, problem: str) -> None:
    found = problems(f"decisions: [{text}]")
    assert found[0].startswith("c.yaml:1: ")
    assert problem in found[0]
    assert len(found) == 1


def test_a_signal_may_be_defined_below_the_decision_that_names_it() -> None:
    text = (
        "decisions: [{name: d, rules: {type: keyword, name: k}}]\n"
        "keyword_rules: [{name: k, keywords: [a]}]"
    )
    assert str(parse(text, name="").decisions[0].rule) == "(keyword:k)"


def test_built_in_domains_and_languages_need_no_definition() -> None:
    config = parse(
        "decisions: [{name: d, rules: {operator: OR, conditions: [\n"
        "  {type: domain, name: law}, {type: language, name: de},\n"
        "  {operator: NOT, conditions: [{type: hallucination, name: contradicted}]}]}}]\n",
        name="",
    )
    assert [domain.name for domain in config.signals.domains] == ["law"]
    assert config.signals.domains[0].description.startswith("Law: ")
    assert [(each.name, each.codes) for each in config.signals.languages] == [("de", ("de",))]
    assert str(config.decisions[0].rule) == (
        "(domain:law OR language:de OR NOT hallucination:contradicted)"
    )


def test_a_preset_changes_defaults_and_no_more() -> None:
    config = parse("check: {preset: strict, on_error: allow}", name="c.yaml")
    for outcome in (Outcome.HALLUCINATED, Outcome.UNVERIFIED, Outcome.PARTIAL):
        assert decide(config.policy, outcome) is Action.BLOCK
    assert decide(config.policy, Outcome.UNAVAILABLE) is Action.LOG
    assert str(config.origins["check.action"]) == "preset strict"
    assert parse(to_yaml(config), name="").policy == config.policy

import pytest

from groundwire.config import Format, parse
from groundwire.errors import ConfigError
from groundwire.policy.decisions import Decision, Rule, choose
from groundwire.policy.policy import Action, HallucinationPlugin, resolve
from groundwire.policy.signals import Condition, Operator, SignalRequest, Signals, SignalType
from tests.config.documented import REFERENCE, SNIPPET

NEEDS = Condition(SignalType.FACT_CHECK, "needs_fact_check")
GENERAL = Condition(SignalType.DOMAIN, "general")


def problems(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text, name="config.yaml")
    return str(caught.value)


def plugin(configuration: str) -> HallucinationPlugin:
    own_plugin = f"{{type: hallucination, configuration: {configuration}}}"
    text = f"decisions: [{{name: d, plugins: [{own_plugin}]}}]"
    own = parse(text, name="").decisions[0].plugin
    assert own is not None
    return own


def test_the_documented_snippet_loads_as_it_stands() -> None:
    config = parse(SNIPPET, name="snippet.yaml")
    assert config.decisions == (
        Decision(
            name="factual-query-with-verification",
            priority=100,
            rule=Rule(Operator.AND, (NEEDS, GENERAL)),
            plugin=HallucinationPlugin(
                enabled=True,
                explain=True,
                action=Action.HEADER,
                unverified_action=Action.HEADER,
                include_details=False,
            ),
        ),
    )
    assert config.formats == (Format.HALUGATE,)
    assert config.warnings == ()
    assert str(config.origins["decisions.factual-query-with-verification"]) == "snippet.yaml:2"


def test_the_documented_reference_loads_as_it_stands() -> None:
    config = parse(REFERENCE, name="reference.yaml")
    assert (config.gate.model, config.gate.threshold, config.gate.device) == (
        "embedded",
        0.6,
        "cpu",
    )
    detector = config.detector
    assert (detector.name, detector.operating_point, detector.device) == ("reader", 0.8, "cpu")
    explain = config.explain
    assert (explain.model, explain.threshold, explain.device) == ("embedded", 0.9, "cpu")
    assert config.signals.fact_check == (
        ("needs_fact_check", "..."),
        ("no_fact_check_needed", "..."),
    )
    assert config.decisions == (
        Decision(
            name="verified-factual",
            priority=100,
            rule=Rule(Operator.AND, (NEEDS,)),
            plugin=HallucinationPlugin(
                enabled=True,
                explain=True,
                action=Action.HEADER,
                unverified_action=Action.HEADER,
                include_details=True,
            ),
        ),
    )
    assert config.formats == (Format.HALUGATE,)
    assert str(config.origins["detector.operating_point"]) == (
        "reference.yaml:3 (hallucination_mitigation.hallucination_model.threshold)"
    )


@pytest.mark.parametrize("text", [SNIPPET, REFERENCE])
@pytest.mark.parametrize("needed", [True, False])
def test_the_documented_decision_applies_to_factual_prompts(text: str, *, needed: bool) -> None:
    config = parse(text, name="")
    request = SignalRequest(prompt="When was the Eiffel Tower built?", needs_fact_check=needed)
    choice = choose(config.decisions, Signals(config.signals).open(request))
    assert (choice.decision is not None) is needed
    policy = resolve(config.policy, plugins=choice.plugins)
    assert policy.action is (Action.HEADER if needed else Action.LOG)


def test_if_the_gate_fails_the_documented_check_is_due() -> None:
    config = parse(SNIPPET, name="")
    choice = choose(config.decisions, Signals(config.signals).open(SignalRequest(prompt="p")))
    assert resolve(config.policy, plugins=choice.plugins).enabled
    assert "fact_check:needs_fact_check unknown: the gate gave no answer" in str(choice)


def test_a_plugin_has_the_documented_defaults() -> None:
    assert plugin("{}") == HallucinationPlugin(
        enabled=False,
        explain=False,
        action=Action.HEADER,
        unverified_action=Action.HEADER,
        include_details=False,
    )


@pytest.mark.parametrize("action", ["header", "body", "block", "none"])
def test_all_documented_actions_are_what_they_say(action: str) -> None:
    assert plugin(f"{{hallucination_action: {action}}}").action == action


@pytest.mark.parametrize("action", ["header", "body", "none"])
def test_all_documented_unverified_actions_are_what_they_say(action: str) -> None:
    assert plugin(f"{{unverified_factual_action: {action}}}").unverified_action == action


@pytest.mark.parametrize("name", ["hallucination_action", "unverified_factual_action"])
@pytest.mark.parametrize("value", ["blok", "heade", "1", "true", "off", ""])
def test_an_unknown_action_stops_the_start_and_never_becomes_header(name: str, value: str) -> None:
    text = REFERENCE.replace(f'{name}: "header"', f"{name}: {value}")
    line = 1 + next(n for n, each in enumerate(text.splitlines()) if name in each)
    found = problems(text)
    assert found.startswith(f"config.yaml:{line}: decision 'verified-factual': plugin")
    assert "It must be one of none, log, flag, header, body, repair, block" in found


def test_an_unknown_field_of_the_plugin_names_the_known_ones() -> None:
    assert problems(REFERENCE.replace("use_nli", "use_nil")) == (
        "config.yaml:16: there is no 'use_nil' in decision 'verified-factual': plugin "
        "'hallucination'; did you mean 'use_nli'? Known: enabled, explain, use_nli, action, "
        "hallucination_action, unverified_action, unverified_factual_action, include_details, "
        "include_hallucination_details."
    )


def test_an_unknown_signal_names_the_known_ones() -> None:
    assert problems(SNIPPET.replace('type: "fact_check"', 'type: "fact_chek"')) == (
        "config.yaml:7: decision 'factual-query-with-verification': a condition: type = "
        "'fact_chek' is not possible; did you mean 'fact_check'? It must be one of fact_check, "
        "keyword, domain, embedding, language, hallucination."
    )
    assert problems(SNIPPET.replace("needs_fact_check", "need_fact_check")) == (
        "config.yaml:7: there is no 'need_fact_check' in fact_check signals; did you mean "
        "'needs_fact_check'? Known: needs_fact_check, no_fact_check_needed."
    )
    assert "'generl' in domain signals; did you mean 'general'?" in problems(
        SNIPPET.replace('"general"', '"generl"')
    )


def test_a_plugin_that_is_not_enabled_is_warned_about_if_it_says_anything_else() -> None:
    text = "decisions:\n  - name: d\n    plugins: [{type: hallucination, configuration: %s}]"
    (warning,) = parse(text % "{action: block}", name="f.yaml").warnings
    assert warning.startswith("f.yaml:3: decision 'd': plugin 'hallucination' does not say enabled")
    for silent in ("{}", "{enabled: false, action: block}", "{enabled: true}"):
        assert parse(text % silent, name="f.yaml").warnings == ()


def test_an_unknown_plugin_is_refused() -> None:
    found = problems(SNIPPET.replace('"hallucination"', '"jailbreak"'))
    assert "type = 'jailbreak' is not possible. It must be one of hallucination." in found


@pytest.mark.parametrize("threshold", ["0", "1.5", "-0.1", "true", ".nan", "high"])
@pytest.mark.parametrize("line", [2, 3, 4])
def test_a_threshold_outside_its_range_is_refused(threshold: str, line: int) -> None:
    lines = REFERENCE.splitlines()
    before, _, after = lines[line - 1].partition("threshold: ")
    lines[line - 1] = f"{before}threshold: {threshold}{after[3:]}"
    assert problems("\n".join(lines)).startswith(f"config.yaml:{line}: hallucination_mitigation.")


def test_a_path_or_a_hub_id_names_another_model() -> None:
    text = REFERENCE.replace(
        "models/halugate-detector", "KRLabsOrg/lettucedect-base-modernbert-en-v1"
    )
    assert parse(text, name="").detector.name == "KRLabsOrg/lettucedect-base-modernbert-en-v1"


def test_an_embedded_model_in_the_wrong_place_is_refused() -> None:
    found = problems(REFERENCE.replace("halugate-sentinel", "halugate-explainer"))
    assert "did you mean 'models/halugate-sentinel'?" in found


def test_without_use_cpu_a_model_runs_on_the_first_gpu() -> None:
    config = parse("hallucination_mitigation: {nli_model: {use_cpu: no}}", name="")
    assert config.explain.device == "cuda:0"


def test_the_other_fields_of_the_models_are_read() -> None:
    config = parse(
        "hallucination_mitigation:\n"
        "  enabled: true\n"
        "  on_hallucination_detected: warn\n"
        "  fact_check_model: {use_mmbert_32k: true}\n"
        "  hallucination_model:\n"
        "    min_span_length: 3\n"
        "    min_span_confidence: 0.7\n"
        "    context_window_size: 50\n"
        "    enable_nli_filtering: false\n"
        "    nli_entailment_threshold: 0.8\n",
        name="config.yaml",
    )
    assert config.check.enabled
    assert config.check.action is Action.HEADER
    assert (config.detector.min_words, config.detector.min_probability) == (3, 0.7)
    assert not config.explain.drops_entailed
    assert config.explain.entailment_threshold == 0.8
    assert config.warnings == (
        "config.yaml:4: hallucination_mitigation.fact_check_model.use_mmbert_32k has no effect "
        "here.",
        "config.yaml:8: hallucination_mitigation.hallucination_model.context_window_size has no "
        "effect here.",
    )


def test_by_default_a_span_of_one_word_is_reported() -> None:
    assert parse(REFERENCE, name="").detector.min_words == 0


def test_the_catalogue_of_newer_versions_says_the_same() -> None:
    config = parse(
        "global: {model_catalog: {modules: {hallucination_mitigation: {\n"
        "  fact_check: {model_id: models/halugate-sentinel, threshold: 0.6},\n"
        "  detector: {model_id: models/halugate-detector, threshold: 0.8},\n"
        "  explainer: {model_id: models/halugate-explainer, threshold: 0.9}}}}}\n",
        name="",
    )
    legacy = parse(REFERENCE, name="")
    assert (config.gate, config.detector, config.explain) == (
        legacy.gate,
        legacy.detector,
        legacy.explain,
    )

"""From a configuration to stages: every setting arrives, or is refused with its line."""

import pytest

from groundwire import Detector, Outcome, Pipeline
from groundwire.config import parse
from groundwire.engine.checkpoints import DeviceWarning
from groundwire.errors import ConfigError
from groundwire.pipeline.load import load_stages
from tests.config.documented import REFERENCE
from tests.pipeline.chats import FACTS, POEM, QUESTION, WRONG, asked, sent

OFF = "gate: {enabled: false}\n"
DVARA = "dvara.llm-gateway.guardrail.grounding"


def load(text: str) -> Pipeline:
    return Pipeline.load(parse(text, name="groundwire.yaml"))


def detector(text: str) -> Detector:
    with load(OFF + text) as pipeline:
        return pipeline.detector


# What arrives.


def test_without_a_configuration_the_defaults_hold() -> None:
    with Pipeline.load() as pipeline:
        context = pipeline.open(asked(QUESTION, FACTS))
        checked = pipeline.check(context, WRONG)
    assert (checked.outcome, checked.action) == ("hallucinated", "log")
    assert len(checked.explanations) == 2


@pytest.mark.parametrize(
    ("text", "name", "threshold"),
    [
        ("detector: {operating_point: 0.25}", "reader", 0.25),
        ("detector: {name: similarity}", "similarity", None),
        ("detector: {name: similarity, operating_point: recall}", "similarity", None),
        ("detector: {name: similarity}\nsimilarity: {threshold: 0.5}", "similarity", 0.5),
        ("detector: {name: similarity}\nsimilarity: {embedder: hash}", "similarity:hash", 0.7),
        ("detector: {name: similarity:hash}", "similarity:hash", 0.7),
        (f"{DVARA}.enabled: true", "similarity:hash", 0.7),
        (f"{DVARA}: {{enabled: true, similarity-threshold: 0.6}}", "similarity:hash", 0.6),
    ],
)
def test_each_detector_has_its_own_threshold(text: str, name: str, threshold: float | None) -> None:
    info = detector(text).info
    assert info.name == name
    assert threshold is None or info.threshold == threshold


def test_a_threshold_of_the_comparing_detector_does_not_reach_the_reader() -> None:
    assert detector("similarity: {threshold: 0.9}").info.operating_point == "balanced"


@pytest.mark.parametrize(
    ("filters", "marked"),
    [
        ("{}", ["1950", "500 meters"]),
        ("{min_words: 2}", ["500 meters"]),
        ("{min_probability: 1}", []),
        ("{operating_point: 1}", []),
        ("{min_pieces: 3}", ["1950", "500 meters"]),
        ("{min_pieces: 9}", []),
    ],
)
@pytest.mark.filterwarnings("ignore::groundwire.config.findings.ConfigWarning")
def test_filters_arrive(filters: str, marked: list[str]) -> None:
    with load(f"{OFF}detector: {filters}") as pipeline:
        detection = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG).detection
    assert detection is not None
    assert [span.text for span in detection.spans] == marked


def test_the_length_of_answers_is_limited() -> None:
    with load(f"{OFF}detector: {{max_answer_chars: 10}}") as pipeline:
        checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG)
    assert checked.reason == "LimitExceededError"


def test_under_dvaras_names_short_sentences_count_for_nothing() -> None:
    with load(f"{DVARA}.enabled: true") as pipeline:
        context = pipeline.open(sent("It is brown."))
        assert pipeline.check(context, "It is brown.").outcome is Outcome.GROUNDED
        assert pipeline.check(context, "Это так.").outcome is Outcome.GROUNDED
        missing = pipeline.open(sent("It is brown.", "x" * 10_001))
        assert pipeline.check(missing, "It is brown.").outcome is Outcome.PARTIAL


def test_the_threshold_of_the_gate_arrives() -> None:
    with load("gate: {threshold: 1}") as pipeline:
        assert pipeline.open(asked(QUESTION)).path == "not_factual"


def test_whether_named_sources_bypass_the_gate_can_be_set() -> None:
    with load("gate: {bypass_explicit: false}") as pipeline:
        assert pipeline.open(sent(FACTS, question=POEM)).path == "not_factual"


def test_whether_evidence_bypasses_the_gate_can_be_set() -> None:
    body = asked(POEM, FACTS)
    with load("") as pipeline:
        assert pipeline.open(body).path == "checked"
    for text in ("gate: {bypass_evidence: false}", REFERENCE.replace("threshold: 0.8, ", "")):
        with load(text) as pipeline:
            assert pipeline.open(body).path == "not_factual"


def test_under_dvaras_names_metadata_alone_is_evidence() -> None:
    with load(f"{DVARA}.enabled: true") as pipeline:
        assert pipeline.open(asked(QUESTION, FACTS)).path == "no_evidence"
        assert pipeline.open(sent(FACTS)).path == "checked"
    with load(f"{DVARA}.enabled: true\nevidence.metadata_only: false") as pipeline:
        assert pipeline.open(asked(QUESTION, FACTS)).path == "checked"


def test_tenants_and_limits_arrive() -> None:
    text = f"{OFF}evidence: {{max_sources: 2}}\ntenants: {{acme: {{max_sources: 1}}}}"
    with load(text) as pipeline:
        body = asked(QUESTION, "a", "b", "c")
        assert len(pipeline.open(body).conversation.offered) == 2
        assert len(pipeline.open(body, tenant="acme").conversation.offered) == 1


@pytest.mark.parametrize(
    ("text", "own", "threshold"),
    [
        # Its own threshold, for the configured one is of other scores.
        ("detector: {operating_point: 0.2}", "{detector: similarity:hash}", 0.7),
        ("detector: {operating_point: recall}", "{detector: similarity:hash}", 0.7),
        ("detector.name: similarity:hash", "{detector: reader}", None),
        ("similarity.threshold: 0.5\nsimilarity.embedder: hash", "{detector: similarity}", 0.5),
        ("similarity.threshold: 0.5", "{detector: similarity:hash}", 0.7),
        (
            "similarity.threshold: 0.5\ndetector.name: similarity",
            "{detector: similarity:hash}",
            0.7,
        ),
        (
            "similarity.threshold: 0.5",
            "{detector: similarity:hash, similarity_threshold: 0.4}",
            0.4,
        ),
        # What the configured one has, where it is the tenant's too.
        ("detector: {operating_point: 0.2}", "{explain: false}", 0.2),
        ("detector: {operating_point: 0.2}", "{detector: reader}", 0.2),
        ("detector: {operating_point: 0.2}", "{operating_point: 0.3}", 0.3),
        ("similarity.threshold: 0.5\ndetector.name: similarity", "{detector: similarity}", 0.5),
    ],
)
def test_each_tenant_has_a_threshold_of_its_detector(
    text: str, own: str, threshold: float | None
) -> None:
    with load(f"{OFF}explain.enabled: false\n{text}\ntenants: {{acme: {own}}}") as pipeline:
        found = pipeline.check(pipeline.open(sent("It is red."), tenant="acme"), "It is red.")
    assert found.detection is not None
    info = found.detection.detector
    assert info.threshold == (0.33 if threshold is None else threshold)


def test_filters_hold_for_detectors_of_tenants_as_far_as_they_mean_anything() -> None:
    text = (
        f"{OFF}explain: {{enabled: false}}\n"
        "detector: {min_pieces: 3, min_probability: 0.2, max_answer_chars: 25}\n"
        "tenants: {acme: {detector: similarity:hash}}"
    )
    with load(text) as pipeline:
        context = pipeline.open(sent("The house is red."), tenant="acme")
        assert pipeline.check(context, "It has rained all day.").outcome is Outcome.HALLUCINATED
        assert pipeline.check(context, "It rains. " * 3).reason == "LimitExceededError"


def test_domains_are_read_by_the_encoder_of_the_gate() -> None:
    text = """
signals: {domains: [{name: history, threshold: 0.1}]}
decisions:
  - name: history
    rules: {operator: OR, conditions: [{type: domain, name: history}]}
"""
    for gate in ("", OFF):
        with load(gate + text) as pipeline:
            context = pipeline.open(asked("When did the Roman empire fall, and to which rulers?"))
            assert str(context.choice) == "history (domain:history)"


def test_no_encoder_is_opened_where_no_signal_needs_one() -> None:
    stages = load_stages(parse(OFF, name=""))
    stages["detector"].close()
    assert stages["signals"]._embed is None


@pytest.mark.parametrize(
    ("text", "explains"),
    [
        ("{}", True),
        ("explain: {enabled: false}", False),
        ("explain: {enabled: false}\ntenants: {acme: {explain: true}}", True),
    ],
)
def test_an_explainer_is_loaded_if_any_policy_wants_one(text: str, explains: bool) -> None:
    stages = load_stages(parse(f"gate.enabled: false\n{text}" if text != "{}" else OFF, name=""))
    stages["detector"].close()
    assert (stages["explainer"] is not None) is explains


# What is refused.


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("detector:\n  revision: abc", r"groundwire.yaml:2: detector.revision = 'abc'"),
        ("detector:\n  max_length: 512", r"groundwire.yaml:2: detector.max_length = 512"),
        (
            "detector:\n  name: similarity\n  min_pieces: 2",
            r"groundwire.yaml:3: detector.min_pieces = 2 is not possible. It must be 1 with sim",
        ),
        (
            "span_min_tokens: 2\ndetector.name: similarity",
            r"groundwire.yaml:1 .span_min_tokens.: detector.min_pie",
        ),
        (
            "detector:\n  name: similarity\n  min_probability: 0.5",
            r"groundwire.yaml:3: detector.min_probability = 0.5",
        ),
        (
            "detector:\n  name: similarity\n  operating_point: 0.8",
            r"groundwire.yaml:3: .* is a probability, and similarity:neural compares. "
            r"Set similarity.threshold",
        ),
        (
            "detector: {name: similarity, operating_point: precision}",
            r"groundwire.yaml:1: detector.operating_point = 'precision'",
        ),
        (
            "detector:\n  name: someone/some-model",
            r"groundwire.yaml:2: .*revision is not pinned.*The setting is detector.revision",
        ),
    ],
)
def test_a_setting_that_is_not_possible_is_told_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        load(f"{text}\n{OFF}")


def test_a_threshold_that_the_detector_of_a_tenant_does_not_have_is_told_with_its_line() -> None:
    text = "tenants:\n  acme: {detector: similarity, operating_point: precision}"
    with pytest.raises(ConfigError, match=r"groundwire.yaml:2: tenant 'acme': .* balanced, recall"):
        load(f"{text}\n{OFF}")


@pytest.mark.parametrize("section", ["gate", "explain"])
def test_a_model_that_cannot_be_loaded_is_told_with_its_line(section: str) -> None:
    with pytest.raises(ConfigError, match=r"groundwire\.yaml:2: "):
        Pipeline.load(parse(f"{section}:\n  model: some/model", name="groundwire.yaml"))


def test_another_device_for_an_embedded_model_is_warned_about() -> None:
    for section in ("gate", "detector", "explain"):
        with pytest.warns(DeviceWarning, match="runs on the CPU"):
            load(f"{section}: {{device: cuda:0}}").close()


def test_a_file_that_the_gateway_shares_warns_of_nothing(recwarn: pytest.WarningsRecorder) -> None:
    text = (
        "gateway: {release: deferred, port: 9090}\naudit.text: hash\n"
        "upstreams: [{name: a, url: 'http://10.0.0.7/v1'}]\n"
        "tenants: {acme: {keys: gw_0000000000000000}}\nverify: {target: 0.9}\n"
    )
    Pipeline.load(parse(text, name="groundwire.yaml")).close()
    assert list(recwarn) == []


@pytest.mark.parametrize("names", ["'report, answer'", "[report, answer]", "report"])
def test_tools_that_return_the_final_answer_have_names_of_their_own(names: str) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("report", "search")]
    with load(f"{OFF}evidence: {{final_tools: {names}}}") as pipeline:
        form = pipeline.open(asked(QUESTION, FACTS, tools=tools)).conversation.form
    assert list(form.final_tools) == ["report"]


def test_evidence_has_names_of_ones_own() -> None:
    body = {"messages": [{"role": "user", "content": "Vorgang 7: Ja.\n\nQuestion: Yes or no?"}]}
    with load(f"{OFF}evidence.names: ['Vorgang:']") as pipeline:
        assert [each.text for each in pipeline.open(body).conversation.sources] == ["Ja."]

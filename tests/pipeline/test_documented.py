"""What HaluGate's documentation promises, with the embedded models and its files as they stand."""

import json
from collections.abc import Iterator

import pytest

from groundwire import Label, Outcome
from groundwire.config import parse
from groundwire.config.findings import ConfigWarning
from groundwire.pipeline import CheckPath, Pipeline
from groundwire.policy.policy import Action
from tests.config.documented import REFERENCE, SNIPPET
from tests.pipeline.chats import FACTS, QUESTION, RIGHT, TOOLS, WRONG, answered, asked

PROMPTS = {
    "When was Einstein born?": True,
    "Write a poem about autumn": False,
    "Debug this Python code": False,
    "What's your opinion on AI?": False,
    "Is the Earth round?": True,
}
TOWER = (
    "The Eiffel Tower was built between 1887 and 1889 and is 330 metres tall. "
    "It stands in Paris, France."
)


@pytest.fixture(scope="module")
def pipeline() -> Iterator[Pipeline]:
    """With the first documented file."""
    with Pipeline.load(parse(SNIPPET, name="halugate.yaml")) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def reference() -> Iterator[Pipeline]:
    """With the complete documented file."""
    with pytest.warns(ConfigWarning):
        loaded = Pipeline.load(parse(REFERENCE, name="halugate.yaml"))
    with loaded:
        yield loaded


@pytest.mark.parametrize(("prompt", "needed"), PROMPTS.items())
def test_the_documented_prompts_take_the_documented_paths(
    reference: Pipeline, prompt: str, needed: bool
) -> None:
    for body, path in ((asked(prompt), "no_evidence"), (asked(prompt, FACTS), "checked")):
        context = reference.open(body)
        assert context.path == (path if needed else "not_factual")
        assert (context.choice.decision is not None) is needed
        assert context.gate.result is not None
        assert 0.4 <= context.gate.result.confidence < 1


def test_the_documented_conversation_has_the_documented_spans(pipeline: Pipeline) -> None:
    context = pipeline.open(asked(QUESTION, FACTS, tools=TOOLS))
    response = pipeline.check_response(context, answered(WRONG))
    (checked,) = response.answers
    assert (checked.path, checked.outcome, checked.action) == ("checked", "hallucinated", "header")
    assert checked.detection is not None
    assert [span.text for span in checked.detection.spans] == ["1950", "500 meters"]
    assert [span.label for span in checked.detection.spans] == [Label.CONTRADICTED] * 2
    assert max(span.severity for span in checked.detection.spans) == 4
    assert (checked.ruling.label, checked.ruling.severity) == (Label.CONTRADICTED, 4)
    assert ["1887-1889" in e.text or "330 meters" in e.text for e in checked.explanations] == [
        True,
        True,
    ]


def test_the_threshold_of_the_complete_file_holds_literally_and_is_warned_about() -> None:
    with pytest.warns(
        ConfigWarning, match=r"halugate.yaml:3.*operating_point = 0.8 holds literally"
    ):
        Pipeline.load(parse(REFERENCE, name="halugate.yaml")).close()


def test_the_complete_file_without_that_threshold_finds_what_is_documented() -> None:
    config = parse(REFERENCE.replace("threshold: 0.8, ", ""), name="halugate.yaml")
    with Pipeline.load(config) as pipeline:
        checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG)
    assert checked.detection is not None
    assert [span.text for span in checked.detection.spans] == ["1950", "500 meters"]
    assert (checked.action, checked.ruling.severity) == (Action.HEADER, 4)


def test_the_complete_file_says_what_is_done(reference: Pipeline) -> None:
    context = reference.open(asked(QUESTION, FACTS))
    assert str(context.choice) == "verified-factual (fact_check:needs_fact_check)"
    policy = context.policy
    assert (policy.action, policy.unverified_action) == (Action.HEADER, Action.HEADER)
    assert policy.include_details
    assert policy.explain
    assert reference.detector.info.threshold == 0.8


def test_without_tools_the_answer_is_unverified_and_marked(reference: Pipeline) -> None:
    checked = reference.check(reference.open(asked(QUESTION)), WRONG)
    assert (checked.outcome, checked.action) == (Outcome.UNVERIFIED, Action.HEADER)


def test_tools_that_are_not_called_do_not_pass_silently(reference: Pipeline) -> None:
    checked = reference.check(reference.open(asked(QUESTION, tools=TOOLS)), WRONG)
    assert (checked.outcome, checked.action) == (Outcome.UNVERIFIED, Action.HEADER)


def test_a_prompt_that_needs_no_check_is_not_unverified(reference: Pipeline) -> None:
    checked = reference.check(reference.open(asked("Write a poem about autumn")), "Leaves fall.")
    assert (checked.outcome, checked.action) == (Outcome.SKIPPED, Action.NONE)


# Facts of its tests.


def test_two_tool_messages_are_read_in_order_and_empty_ones_skipped(pipeline: Pipeline) -> None:
    context = pipeline.open(asked(QUESTION, "first", "", "second", None))
    assert [source.text for source in context.conversation.sources] == ["first", "second"]
    assert pipeline.open(asked(QUESTION, "")).path is CheckPath.NO_EVIDENCE


def test_the_action_is_header_where_the_plugin_says_none(reference: Pipeline) -> None:
    text = SNIPPET.replace(', hallucination_action: "header"', "")
    assert text != SNIPPET
    config = parse(text, name="halugate.yaml")
    assert config.decisions[0].plugin is not None
    assert config.decisions[0].plugin.action is Action.HEADER
    assert config.decisions[0].plugin.unverified_action is Action.HEADER


@pytest.mark.parametrize("answer", [RIGHT, "It was built from 1887 to 1889.", "It is 330 m tall."])
def test_what_the_tower_is_passes(pipeline: Pipeline, answer: str) -> None:
    checked = pipeline.check(pipeline.open(asked(QUESTION, TOWER)), answer)
    assert checked.outcome is Outcome.GROUNDED


def test_two_results_support_a_comparison(pipeline: Pipeline) -> None:
    results = (
        json.dumps({"name": "Eiffel Tower", "height": "330 meters"}),
        json.dumps({"name": "Statue of Liberty", "height": "93 meters"}),
    )
    answer = "The Eiffel Tower is 330 meters tall and the Statue of Liberty is 93 meters tall."
    context = pipeline.open(asked("How tall are the two?", *results))
    assert pipeline.check(context, answer).outcome is Outcome.GROUNDED


def test_an_empty_answer_marks_nothing(pipeline: Pipeline) -> None:
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), "")
    assert (checked.outcome, checked.action, checked.reason) == ("skipped", "none", "empty")


@pytest.mark.parametrize(
    ("action", "done"),
    [("body", "body"), ("none", "none"), ("header", "header"), ("block", "block")],
)
def test_the_action_is_the_one_that_is_named(action: str, done: str) -> None:
    text = REFERENCE.replace('hallucination_action: "header"', f'hallucination_action: "{action}"')
    text = text.replace("threshold: 0.8", "threshold: 0.5")
    with Pipeline.load(parse(text, name="halugate.yaml")) as loaded:
        assert loaded.check(loaded.open(asked(QUESTION, FACTS)), WRONG).action == done


def test_a_long_context_hides_nothing(pipeline: Pipeline) -> None:
    context = pipeline.open(asked(QUESTION, " ".join([TOWER] * 40)))
    assert pipeline.check(context, WRONG).outcome is Outcome.HALLUCINATED


def test_a_false_last_sentence_of_a_long_answer_is_found(pipeline: Pipeline) -> None:
    answer = f"{' '.join([TOWER] * 12)} It was finished in 1912 and is 550 metres tall."
    checked = pipeline.check(pipeline.open(asked(QUESTION, TOWER)), answer)
    assert checked.detection is not None
    marked = " ".join(span.text for span in checked.detection.spans)
    assert "1912" in marked
    assert "550" in marked

"""HaluGate's plugin, fact by fact, over HTTP: its files as documented, its headers, its texts.

The models are the embedded ones, as a user has them who brings one of the documented files; where
only the way of an answer matters, a judge doubts fixed words.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx2 as httpx
import pytest

from groundwire import Detector, Pipeline
from groundwire.config import Config, parse
from tests.config.documented import REFERENCE, SNIPPET
from tests.fixed_judge import FixedJudge, RecordingJudge
from tests.gateway.chats import (
    Gateway,
    finish_of,
    gateway,
    pipeline_around,
    text_of,
    without_ids,
)
from tests.gateway.wire import DONE, Script, chunk, completion, event, eventually, stream_events
from tests.pipeline.chats import FACTS, POEM, QUESTION, RIGHT, TOOLS, WRONG, asked

pytestmark = pytest.mark.merge

TOWER = (
    "The Eiffel Tower was built between 1887 and 1889 and is 330 metres tall. "
    "It stands in Paris, France."
)
#: As documented, in the documented order.
HEADERS = {
    "x-vsr-fact-check-needed": "true",
    "x-vsr-hallucination-detected": "true",
    "x-vsr-hallucination-spans": "1950; 500 meters",
    "x-vsr-nli-contradictions": "2",
    "x-vsr-max-severity": "4",
}
UNVERIFIED = {
    "x-vsr-fact-check-needed": "true",
    "x-vsr-unverified-factual-response": "true",
    "x-vsr-verification-context-missing": "true",
}
WARNING = "x-vsr-response-warnings"
#: The threshold of the complete file is for another detector's scores, which its loading tells.
COMPLETE = REFERENCE.replace("threshold: 0.8, ", "")

Making = Callable[[Config], Pipeline]


@pytest.fixture(scope="module")
def models() -> Iterator[Pipeline]:
    """With the first documented file."""
    with Pipeline.load(parse(SNIPPET, name="halugate.yaml")) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def own(models: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with the first documented file."""
    with gateway(tmp_path_factory.mktemp("own"), SNIPPET, pipeline_of=lambda _: models) as running:
        yield running


def with_models_of(models: Pipeline) -> Making:
    """Pipelines of other files with the same models: they say other things, and read as these."""

    def make(config: Config) -> Pipeline:
        return Pipeline(
            models.detector,
            gate=models.gate,
            decisions=config.decisions,
            policy=config.policy,
            limits=config.limits,
            explainer=models.explainer,
        )

    return make


def acting(action: str, *, details: bool = True, unverified: str = "header") -> str:
    text = COMPLETE.replace('hallucination_action: "header"', f'hallucination_action: "{action}"')
    text = text.replace(
        'unverified_factual_action: "header"', f'unverified_factual_action: "{unverified}"'
    )
    return text.replace(
        "include_hallucination_details: true", f"include_hallucination_details: {details}"
    )


def answering(own: Gateway, text: str | None, body: dict[str, Any]) -> httpx.Response:
    """The response to a request whose upstream says this."""
    own.upstream.script(Script.json(completion(text)))
    return own.post(body)


def vsr(response: httpx.Response) -> dict[str, str]:
    """HaluGate's headers, but the single one of its newer versions."""
    found = response.headers.items()
    return {name: value for name, value in found if name.startswith("x-vsr-") and name != WARNING}


def content(response: httpx.Response) -> str:
    found = response.json()["choices"][0]["message"]["content"]
    assert isinstance(found, str)
    return found


# The documented example.


@pytest.mark.parametrize("shape", ["text", "parts"])
def test_the_documented_example_has_the_documented_headers(own: Gateway, shape: str) -> None:
    result = FACTS if shape == "text" else [{"type": "text", "text": FACTS}]
    response = answering(own, WRONG, asked(QUESTION, result, tools=TOOLS))
    assert (response.status_code, response.json()) == (200, completion(WRONG))
    assert vsr(response) == HEADERS
    assert response.headers[WARNING] == "hallucination"


def test_the_complete_file_has_them_too(tmp_path: Path, models: Pipeline) -> None:
    with gateway(tmp_path, COMPLETE, pipeline_of=with_models_of(models)) as complete:
        assert vsr(answering(complete, WRONG, asked(QUESTION, FACTS))) == HEADERS


def test_in_a_stream_they_stand_on_the_last_chunk(own: Gateway) -> None:
    own.upstream.script(Script.sse(stream_events([WRONG[:30], WRONG[30:]])))
    events = own.stream(**asked(QUESTION, FACTS), metadata=None)
    assert text_of(events) == WRONG
    marks = events[-2]["groundwire"]["headers"]
    assert marks == HEADERS | {WARNING: "hallucination"}


def test_without_tools_the_answer_is_unverified_and_has_the_documented_headers(
    own: Gateway,
) -> None:
    response = answering(own, WRONG, asked(QUESTION))
    assert (vsr(response), response.json()) == (UNVERIFIED, completion(WRONG))
    assert response.headers[WARNING] == "unverified_factual"


def test_tools_that_are_defined_and_not_called_are_no_context(own: Gateway) -> None:
    assert vsr(answering(own, WRONG, asked(QUESTION, tools=TOOLS))) == UNVERIFIED


@pytest.mark.parametrize("results", [(), (FACTS,)])
def test_a_prompt_that_is_not_factual_is_marked_as_nothing(
    own: Gateway, results: tuple[str, ...]
) -> None:
    response = answering(own, WRONG, asked(POEM, *results))
    assert (vsr(response), WARNING in response.headers) == ({}, False)
    assert response.headers["x-groundwire-outcome"] == "skipped"
    assert response.headers["x-groundwire-action"] == "none"
    eventually(lambda: own.metric("groundwire_skipped_total", reason="not_factual") >= 1)


def test_a_stream_whose_prompt_is_not_factual_says_so_in_its_headers(own: Gateway) -> None:
    own.upstream.script(Script.sse([event(chunk({"content": WRONG})), DONE]))
    response = own.post({**asked(POEM), "stream": True})
    assert response.headers["x-groundwire-outcome"] == "skipped"
    assert WRONG in response.text


PROMPTS = {
    "When was Einstein born?": True,
    "Write a poem about autumn": False,
    "Debug this Python code": False,
    "What's your opinion on AI?": False,
    "Is the Earth round?": True,
}


@pytest.mark.parametrize(("prompt", "needed"), PROMPTS.items())
def test_the_documented_prompts_need_a_check_or_do_not(
    own: Gateway, prompt: str, *, needed: bool
) -> None:
    """The first file asks for the domain too, and the Earth is round in astronomy."""
    url = own.url.removesuffix("/v1") + "/api/v1/classify/fact-check"
    response = httpx.post(url, json={"text": prompt}, headers=own.headers, timeout=20, verify=False)
    assert response.json()["needs_fact_check"] is needed


# Its own tests: what is read of a conversation.


def recorded(
    tmp_path: Path,
    *bodies: dict[str, Any],
    text: str = SNIPPET.replace('- {type: "domain", name: "general"}', ""),
) -> RecordingJudge:
    judge = RecordingJudge(doubtful={})
    with gateway(tmp_path, text, detector=Detector(judge)) as running:
        for body in bodies:
            assert answering(running, RIGHT, body).status_code == 200
    return judge


def test_two_tool_messages_are_both_read_in_order_and_empty_ones_skipped(tmp_path: Path) -> None:
    judge = recorded(tmp_path, asked(QUESTION, "first", "", "second", None))
    assert judge.opened == [["first", "second"]]


def test_malformed_parts_of_tool_messages_are_ignored(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text"}, {"type": "image_url"}, 3, "two"]
    judge = recorded(tmp_path, asked(QUESTION, parts))
    assert [" ".join(sources).split() for sources in judge.opened] == [["one", "two"]]


@pytest.mark.parametrize("results", [(), ("",), (None,)])
def test_no_tool_results_are_no_context(own: Gateway, results: tuple[object, ...]) -> None:
    assert vsr(answering(own, WRONG, asked(QUESTION, *results))) == UNVERIFIED


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": []}',
        b"",
        b"no JSON",
        b"null",
        b'{"choices": [{"message": {"content": null}}]}',
    ],
)
def test_a_response_without_an_answer_is_relayed_and_marked_as_nothing_found(
    own: Gateway, body: bytes
) -> None:
    own.upstream.script(Script.json(None, body=(body,)))
    response = own.post(asked(QUESTION, FACTS))
    assert (response.status_code, response.content) == (200, body)
    assert vsr(response) == {}


def test_an_empty_answer_is_clean(own: Gateway) -> None:
    assert vsr(answering(own, "", asked(QUESTION, FACTS))) == {}


# What is detected.


@pytest.mark.parametrize("answer", [RIGHT, "It was built from 1887 to 1889.", "It is 330 m tall."])
def test_what_the_tower_is_is_not_detected(own: Gateway, answer: str) -> None:
    response = answering(own, answer, asked(QUESTION, TOWER))
    assert (vsr(response), response.headers["x-groundwire-outcome"]) == ({}, "grounded")


def test_a_comparison_of_two_tool_results_is_not_detected(own: Gateway) -> None:
    results = (
        json.dumps({"name": "Eiffel Tower", "height": "330 meters"}),
        json.dumps({"name": "Statue of Liberty", "height": "93 meters"}),
    )
    answer = "The Eiffel Tower is 330 meters tall and the Statue of Liberty is 93 meters tall."
    response = answering(own, answer, asked("How tall are the two?", *results))
    assert (vsr(response), response.headers["x-groundwire-outcome"]) == ({}, "grounded")


def test_a_long_context_hides_nothing(own: Gateway) -> None:
    response = answering(own, WRONG, asked(QUESTION, " ".join([TOWER] * 40)))
    assert response.headers["x-vsr-hallucination-detected"] == "true"


def test_a_false_last_sentence_of_a_long_answer_is_detected(own: Gateway) -> None:
    answer = f"{' '.join([TOWER] * 12)} It was finished in 1912 and is 550 metres tall."
    spans = answering(own, answer, asked(QUESTION, TOWER)).headers["x-vsr-hallucination-spans"]
    assert ("1912" in spans, "550" in spans) == (True, True)


def test_spans_in_other_scripts_arrive_as_they_stand_in_the_answer(tmp_path: Path) -> None:
    doubtful = {"Élodie": 0.9, "北京": 0.9, "naïve": 0.9, "王明住在上海": 0.9}
    answer = "Élodie lives in Berlin. 王明住在上海。 A naïve guess."
    judge = FixedJudge(doubtful=doubtful)
    with gateway(tmp_path, "check: {action: header}", detector=Detector(judge)) as running:
        value = answering(running, answer, asked(QUESTION, FACTS)).headers[
            "x-vsr-hallucination-spans"
        ]
    assert value.isascii()
    spans = [unquote(span) for span in value.split("; ")]
    assert spans == ["Élodie", "王明住在上海", "naïve"]
    assert all(span in answer for span in spans)


EVERYDAY = {
    "When was the Eiffel Tower built?": "It was built in 1889.",
    "What is the population of Tokyo?": "Tokyo has 14 million people.",
    "Who founded Apple in 1976?": "Steve Jobs and Steve Wozniak did.",
    "How long is the Great Wall of China?": "It is about 21,000 km long.",
    "Who was the first president of the United States?": "George Washington was.",
}


class AllWords(dict[str, float]):
    """Doubts every word."""

    def get(self, key: str, default: Any = None) -> float:  # noqa: ANN401
        del key, default
        return 0.9


def test_a_detector_that_flags_everything_marks_every_factual_answer(
    tmp_path: Path, models: Pipeline
) -> None:
    def make(config: Config) -> Pipeline:
        detector = Detector(FixedJudge(doubtful=AllWords()))
        return Pipeline(detector, gate=models.gate, decisions=config.decisions)

    with gateway(tmp_path, COMPLETE, pipeline_of=make) as running:
        for prompt, answer in EVERYDAY.items():
            response = answering(running, answer, asked(prompt, FACTS))
            assert response.headers[WARNING] == "hallucination", prompt


# What is done.


def test_the_action_is_header_where_the_plugin_says_none(tmp_path: Path, models: Pipeline) -> None:
    text = SNIPPET.replace(', hallucination_action: "header"', "")
    assert text != SNIPPET
    with gateway(tmp_path, text, pipeline_of=with_models_of(models)) as running:
        assert vsr(answering(running, WRONG, asked(QUESTION, FACTS))) == HEADERS
        assert vsr(answering(running, WRONG, asked(QUESTION))) == UNVERIFIED


@pytest.mark.parametrize("details", [False, True])
def test_body_changes_the_body_and_sets_no_header(
    tmp_path: Path, models: Pipeline, *, details: bool
) -> None:
    make = with_models_of(models)
    with gateway(tmp_path, acting("body", details=details), pipeline_of=make) as running:
        running.upstream.script(Script.json(completion(WRONG, n=2)))
        response = running.post(asked(QUESTION, FACTS))
    assert (vsr(response), WARNING in response.headers) == ({}, False)
    for choice in response.json()["choices"]:  # every one
        warning, _, rest = choice["message"]["content"].partition("\n\n")
        assert rest == WRONG
        if not details:
            assert warning == (
                "[Hallucination Warning] This response may contain unsupported claims. "
                "Please verify the information independently."
            )
            continue
        lead, _, analysis = warning.partition(" Detailed analysis: ")
        assert lead.startswith(
            "[Hallucination Warning] This response may contain unsupported claims (confidence: "
        )
        assert lead.endswith("%).")
        assert analysis.startswith('[1] "1950" (NLI: CONTRADICTION, confidence: ')
        assert '[2] "500 meters" (NLI: CONTRADICTION, confidence: ' in analysis
        assert "severity: critical) - " in analysis


def test_body_names_the_spans_where_nothing_explains_them(tmp_path: Path) -> None:
    judge = FixedJudge(doubtful={"1950": 0.9, "500": 0.9})
    yaml = "check: {action: body, include_details: true}"
    with gateway(tmp_path, yaml, detector=Detector(judge)) as running:
        text = content(answering(running, WRONG, asked(QUESTION, FACTS)))
    assert text == (
        "[Hallucination Warning] This response may contain unsupported claims (confidence: 90%). "
        f'Unsupported spans: "1950", "500".\n\n{WRONG}'
    )


def test_an_unverified_answer_has_its_own_warning_in_the_body(
    tmp_path: Path, models: Pipeline
) -> None:
    make = with_models_of(models)
    with gateway(tmp_path, acting("body", unverified="body"), pipeline_of=make) as running:
        response = answering(running, WRONG, asked(QUESTION))
    assert content(response) == (
        "[Unverified Response] This response contains factual claims that could not be verified "
        f"due to missing context.\n\n{WRONG}"
    )
    assert vsr(response) == {}


def test_none_is_neither_body_nor_header(tmp_path: Path, models: Pipeline) -> None:
    make = with_models_of(models)
    with gateway(tmp_path, acting("none", unverified="none"), pipeline_of=make) as running:
        for body in (asked(QUESTION, FACTS), asked(QUESTION)):
            response = answering(running, WRONG, body)
            assert (vsr(response), response.json()) == ({}, completion(WRONG))
        assert running.events() == []


@pytest.mark.parametrize("stream", [False, True])
def test_block_withholds_which_the_reference_never_did(
    tmp_path: Path, models: Pipeline, *, stream: bool
) -> None:
    with gateway(tmp_path, acting("block"), pipeline_of=with_models_of(models)) as running:
        running.upstream.script(
            Script.sse(stream_events([WRONG])) if stream else Script.json(completion(WRONG))
        )
        body = {**asked(QUESTION, FACTS), "stream": stream}
        response = running.post(body)
        found = running.wait_for_events(1)[0]
    assert vsr(response) == {}
    assert not any(word in without_ids(response.text) for word in ("1950", "500 meters"))
    if stream:
        assert '"content_filter"' in response.text
    else:
        assert response.status_code == 403
        assert response.json()["error"]["code"] == "hallucination_detected"
    assert found["payload"]["max_severity"] == 4


def test_block_for_unverified_answers_is_possible_too(tmp_path: Path, models: Pipeline) -> None:
    make = with_models_of(models)
    with gateway(tmp_path, acting("header", unverified="block"), pipeline_of=make) as running:
        response = answering(running, WRONG, asked(QUESTION))
        assert response.json()["error"]["code"] == "response_unverified"
        running.upstream.script(Script.sse(stream_events([WRONG])))
        events = running.stream(**asked(QUESTION), metadata=None)
    assert (response.status_code, text_of(events)) == (403, "")
    assert finish_of(events) == "content_filter"


# What fails is never clean.


def test_a_detector_that_fails_is_not_clean_and_passes(tmp_path: Path) -> None:
    judge = RecordingJudge(doubtful={}, fails=True)
    with gateway(tmp_path, "check: {action: header}", detector=Detector(judge)) as running:
        response = answering(running, WRONG, asked(QUESTION, FACTS))
        eventually(lambda: running.metric("groundwire_checks_total", outcome="unavailable") == 1)
    assert response.json() == completion(WRONG)
    assert response.headers["x-groundwire-outcome"] == "unavailable"
    assert "x-vsr-hallucination-detected" not in response.headers


# Its endpoints.


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"premise": TOWER, "hypothesis": "The Eiffel Tower was built in 1950."}, 200),
        ({"premise": TOWER}, 400),
        ({"premise": "", "hypothesis": ""}, 400),
        ("no JSON", 400),
    ],
)
def test_nli_answers_200_or_400(own: Gateway, body: object, status: int) -> None:
    url = own.url.removesuffix("/v1") + "/api/v1/nli"
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    headers = {**own.headers, "Content-Type": "application/json"}
    response = httpx.post(url, content=raw, headers=headers, timeout=20, verify=False)
    assert response.status_code == status
    if status == 200:
        assert response.json()["label"].lower() == "contradiction"


def test_nli_answers_503_without_a_model(tmp_path: Path) -> None:
    def make(config: Config) -> Pipeline:
        return pipeline_around(Detector(FixedJudge(doubtful={})), config)

    with gateway(tmp_path, pipeline_of=make) as running:
        url = running.url.removesuffix("/v1") + "/api/v1/nli"
        body = {"premise": TOWER, "hypothesis": RIGHT}
        response = httpx.post(url, json=body, headers=running.headers, timeout=20, verify=False)
    assert response.status_code == 503

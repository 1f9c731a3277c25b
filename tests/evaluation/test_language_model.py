"""One call of an endpoint, over real HTTP."""

import json
import sys
from collections.abc import Callable

import pytest

from groundwire.errors import InputError, MissingExtraError
from groundwire.evaluation.language_model import (
    NO_KEY,
    EndpointAddress,
    GenerationError,
)
from tests.evaluation.measure.chats import SOON, echo, language_model, said
from tests.verify.scripted import Asked, Reply, ScriptedEndpoint, error, in_turn

MESSAGES = [{"role": "user", "content": "Question: When?"}]
BODY = {"model": "m", "messages": MESSAGES}


def failed(status: int, body: object = None) -> Reply:
    return Reply(status, json.dumps(body or {"error": {"message": "sk-secret"}}).encode(), SOON)


def problem_with(respond: Callable[[Asked], Reply]) -> GenerationError:
    with (
        ScriptedEndpoint(respond) as endpoint,
        language_model(endpoint.base_url) as model,
        pytest.raises(GenerationError) as caught,
    ):
        model.ask(BODY)
    assert "secret" not in f"{caught.value!r} {caught.value}"
    return caught.value


@pytest.mark.merge
def test_an_answer_comes_with_its_tokens_and_its_end() -> None:
    with (
        ScriptedEndpoint(lambda _: said("In 1889.", finish_reason="length")) as endpoint,
        language_model(endpoint.base_url) as model,
    ):
        reply = model.ask(BODY)
    assert (reply.answer, reply.finish_reason) == ("In 1889.", "length")
    assert (reply.prompt_tokens, reply.completion_tokens) == (50, 10)
    assert endpoint.asked[0].path == "/v1/chat/completions"
    assert endpoint.asked[0].headers["authorization"] == "Bearer sk-secret"
    assert endpoint.asked[0].body == BODY


@pytest.mark.merge
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_call_that_may_succeed_later_is_made_again(status: int) -> None:
    respond = in_turn(failed(status), failed(status), said("Yes."))
    with ScriptedEndpoint(respond) as endpoint, language_model(endpoint.base_url) as model:
        assert model.ask(BODY).answer == "Yes."
    assert len(endpoint.asked) == 3


@pytest.mark.merge
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_call_that_cannot_succeed_is_made_once(status: int) -> None:
    with (
        ScriptedEndpoint(lambda _: failed(status)) as endpoint,
        language_model(endpoint.base_url) as model,
        pytest.raises(GenerationError),
    ):
        model.ask(BODY)
    assert len(endpoint.asked) == 1


@pytest.mark.merge
def test_a_call_that_is_refused_to_the_end_says_so() -> None:
    assert str(problem_with(lambda _: failed(429))) == (
        "Service error (429). The endpoint refuses more calls for now. Make fewer at a time, or "
        "try again later."
    )
    assert str(problem_with(lambda _: failed(500))).startswith("Service error (500).")


@pytest.mark.merge
def test_an_error_quotes_nothing_but_short_words() -> None:
    body = {"error": {"message": "sk-secret", "param": "temperature", "code": "unsupported_value"}}
    found = str(problem_with(lambda _: failed(400, body)))
    assert "(400, param temperature, code unsupported_value)" in found
    hostile = {"error": {"message": "", "param": "x\x1b[2J secret", "code": ["secret"]}}
    assert "(400)" in str(problem_with(lambda _: failed(400, hostile)))


@pytest.mark.merge
@pytest.mark.parametrize(
    ("status", "code"), [(401, None), (404, None), (402, None), (429, "insufficient_quota")]
)
def test_some_failures_hold_for_all_calls(status: int, code: str | None) -> None:
    found = problem_with(lambda _: failed(status, {"error": {"message": "", "code": code}}))
    assert found.is_final
    assert not problem_with(lambda _: error(403)).is_final


@pytest.mark.merge
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"<html>", "no chat completion"),
        (b"[]", "no chat completion"),
        (b"{}", "no chat completion"),
        (b'{"choices": []}', "no chat completion"),
        (b'{"choices": [{"message": null}]}', "no chat completion"),
        (b'{"choices": [{"message": {"content": ["a"]}}]}', "no text (without a reason)"),
    ],
)
def test_a_malformed_reply_is_no_answer(content: bytes, problem: str) -> None:
    assert problem in str(problem_with(lambda _: Reply(200, content)))


@pytest.mark.merge
def test_a_reply_without_text_is_no_answer() -> None:
    filtered = problem_with(lambda _: said(" ", finish_reason="content_filter"))
    assert str(filtered) == "The reply has no text (finish_reason content_filter)."
    refused = problem_with(lambda _: said(None, refusal="I will not."))
    assert str(refused).endswith("The model refused.")


@pytest.mark.merge
@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": -1, "completion_tokens": "7"}])
def test_a_reply_may_lack_its_counts(usage: object) -> None:
    with (
        ScriptedEndpoint(lambda _: said("Yes.", usage=usage)) as endpoint,
        language_model(endpoint.base_url) as model,
    ):
        reply = model.ask(BODY)
    assert (reply.prompt_tokens, reply.completion_tokens) == (0, 0)


@pytest.mark.merge
def test_an_endpoint_that_does_not_answer_in_time_is_told() -> None:
    slow = Reply(200, b"{}", delay_s=30)
    with (
        ScriptedEndpoint(lambda _: slow) as endpoint,
        language_model(endpoint.base_url, max_retries=0, timeout_s=0.2) as model,
        pytest.raises(GenerationError, match="did not answer in time"),
    ):
        model.ask(BODY)


@pytest.mark.merge
def test_an_endpoint_that_is_not_there_is_told() -> None:
    with ScriptedEndpoint(echo) as endpoint:
        url = endpoint.base_url
    with (
        language_model(url, max_retries=0) as model,
        pytest.raises(GenerationError, match="cannot be reached"),
    ):
        model.ask(BODY)


def test_without_the_client_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[verify\]'"):
        language_model("http://localhost/v1")


@pytest.mark.merge
def test_redirects_are_not_followed() -> None:
    respond = in_turn(Reply(307, b"", {"Location": "/v1/elsewhere"}), said("Yes."))
    with (
        ScriptedEndpoint(respond) as endpoint,
        language_model(endpoint.base_url) as model,
        pytest.raises(GenerationError),
    ):
        model.ask(BODY)
    assert len(endpoint.asked) == 1


def address(
    url: str | None, environ: dict[str, str], variable: str | None = "KEY"
) -> EndpointAddress:
    return EndpointAddress.of(url, environ, variable=variable)


def test_the_key_is_that_of_the_environment_and_is_never_shown() -> None:
    found = address("https://example.com/v1/", {"KEY": " sk-secret\n"})
    assert (found.base_url, found.api_key) == ("https://example.com/v1", "sk-secret")
    assert "secret" not in repr(found)
    assert address(None, {"KEY": "k"}).base_url == "https://api.openai.com/v1"
    assert address(None, {"KEY": "k", "OPENAI_BASE_URL": "https://b/v1"}).base_url == "https://b/v1"


def test_no_key_is_needed_on_this_machine_nor_where_none_is_to_be_sent() -> None:
    assert address("http://localhost:8000/v1", {}).api_key == NO_KEY
    assert address("https://example.com/v1", {"KEY": "k"}, None).api_key == NO_KEY
    with pytest.raises(InputError, match="Set KEY, or say --no-key"):
        address("https://example.com/v1", {})


def test_a_key_does_not_travel_unencrypted() -> None:
    with pytest.raises(InputError, match="the key would travel unencrypted"):
        address("http://vllm:8000/v1", {"KEY": "k"})
    assert address("http://vllm:8000/v1", {"KEY": "k"}, None).is_plain
    assert not address("http://127.0.0.1:8000/v1", {"KEY": "k"}).is_plain


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hunter2@example.com/v1",
        "https://example.com/v1?key=hunter2",
        "ftp://example.com",
        "example.com/v1",
        "http://[::1",
    ],
)
def test_any_other_url_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(InputError) as caught:
        address(url, {"KEY": "k"})
    assert "hunter2" not in str(caught.value)


def test_a_key_that_no_header_can_hold_is_refused_without_being_quoted() -> None:
    with pytest.raises(InputError, match=r"KEY = \*\*\* is no key") as caught:
        address("https://example.com/v1", {"KEY": "sécret"})
    assert "sécret" not in str(caught.value)

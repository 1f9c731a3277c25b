from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.gateway.http.problems import Problem
from groundwire.gateway.paths import target_of


def problem(raw_path: bytes) -> Problem:
    with pytest.raises(Problem) as caught:
        target_of(raw_path)
    return caught.value


@pytest.mark.parametrize(
    "path",
    [
        "chat/completions",
        "chat/completions/",
        "chat//completions",
        "/chat/completions",
        "Chat/COMPLETIONS",
        "chat%2Fcompletions",
        "%63hat/completion%73",
        "chat/completions.",
        "chat/completions%20",
        "v1/chat/completions",
        "openai/deployments/gpt-4/chat/completions",
    ],
)
def test_every_spelling_of_the_chat_completions_is_known(path: str) -> None:
    assert target_of(b"/v1/" + path.encode()).is_chat


@pytest.mark.parametrize(
    "path",
    [
        "responses",
        "responses/",
        "//responses",
        "RESPONSES",
        "%72esponses",
        "responses/resp_1",
        "responses/resp_1/input_items",
        "messages",
        "messages/batches",
        "completions",
        "threads/t_1/messages",
        "threads/t_1/runs",
        "conversations/c_1/items",
        "batches",
        "chat/completions/chatcmpl-1/messages",
        "engines/davinci/completions",
        "v1/responses",
        "api/chat",
        "api/generate",
        "models/gemini-pro:generateContent",
        "models/llama3/completions",
        "models/org/llama3/generate/",
        "models/gemini-pro:streamGenerateContent",
        "responses/x/input_tokens/y",
        "audio/transcriptions",
        "audio/translations",
        "ocr",
        "evals/e_1/runs/r_1/output_items",
        "summarize",
        "files/file-1/content",
    ],
)
def test_endpoints_that_give_text_are_known_however_they_are_spelled(path: str) -> None:
    assert target_of(b"/v1/" + path.encode()).gives_text


@pytest.mark.parametrize(
    "path",
    [
        "models",
        "models/gpt-4o",
        "models/org%2Fmessages",
        "models/chat",
        "models/llama3:8b",
        "embeddings",
        "moderations",
        "images/generations",
        "audio/speech",
        "files",
        "videos/v_1/content",
        "rerank",
        "vector_stores/vs_1/search",
        "load_lora_adapter",
        "health",
        "messages/count_tokens",
        "responses/input_tokens",
    ],
)
def test_endpoints_that_give_none_are_known(path: str) -> None:
    target = target_of(b"/v1/" + path.encode())
    assert not target.gives_text
    assert not target.is_chat


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../admin",
        "models/../../admin",
        "models/.",
        "%2e%2e/admin",
        "%2E./admin",
        "%252e%252e/admin",
        "models/..;/admin",
        "models/%2e%2e%2fadmin",
        "%EF%BC%8E%EF%BC%8E/admin",  # wide dots
        "...",
        "models\\..\\admin",
        "models%5c..%5cadmin",
        "models/%00",
        "models/%0d%0aX-Evil:%201",
        "models/\xff",
        "models/%ff",
        "models/%c0%ae%c0%ae",
        "%25252525252e",
        "chat%252fcompletions",
        "chat/completions;v=1",
        "chat;x/completions",
        "chat/completions%3Fa=b",
        "%EF%BD%83hat/completions",  # a wide c
    ],
)
def test_paths_that_servers_read_differently_are_refused(path: str) -> None:
    found = problem(b"/v1/" + path.encode("latin-1"))
    assert (found.status, found.code) == (400, "invalid_path")


@pytest.mark.parametrize(
    "path", [b"/v1/", b"/v1//", b"/V1/models", b"/%761/models", b"/v1%2Fmodels"]
)
def test_what_is_not_written_below_v1_is_not_there(path: bytes) -> None:
    assert problem(path).status == 404


def test_a_path_goes_up_as_it_was_written() -> None:
    assert target_of(b"/v1/models/org%2FName").path == "models/org%2FName"


def test_the_model_of_a_path_is_known() -> None:
    assert target_of(b"/v1/models/org%2FName").model == "org/Name"
    assert target_of(b"/v1/models").model is None
    assert target_of(b"/v1/files/f").model is None


@given(st.text(max_size=40), st.integers(0, 2))
def test_whatever_is_written_no_path_leads_out(text: str, times: int) -> None:
    for _ in range(times):
        text = quote(text)
    try:
        target = target_of(b"/v1/" + text.encode("utf-8", "replace"))
    except Problem:
        return
    assert not {".", ".."} & set(target.path.split("/"))
    assert not {".", ".."} & set(target.words)


@given(st.data())
def test_no_mix_of_cases_and_percent_signs_hides_the_chat_completions(data: st.DataObject) -> None:
    spelled = "".join(
        data.draw(st.sampled_from([each, each.upper(), f"%{ord(each):02x}"]))
        for each in "chat/completions"
    )
    assert target_of(b"/v1/" + spelled.encode()).is_chat

"""The page and its checks, over ASGI."""

import asyncio
import json
import re
from typing import Any

import httpx2 as httpx
import pytest

from groundwire import Detector
from groundwire.gateway.playground.app import MAX_BODY_BYTES, Playground, examples
from groundwire.gateway.playground.kept_scores import LOWEST_THRESHOLD
from tests.render.test_render import Page

FACTS = "The tower was built in 1889."
MESSAGES = [
    {"role": "system", "content": f"Answer from the context.\n<context>\n{FACTS}\n</context>"},
    {"role": "user", "content": "When was it built?"},
    {"role": "assistant", "content": "It was built in 1950."},
]


@pytest.fixture(scope="module")
def playground(detector: Detector) -> Playground:
    return Playground(detector)


def ask(
    playground: Playground,
    path: str,
    body: object = None,
    *,
    is_local: bool = True,
    host: str = "127.0.0.1:8070",
    kind: str = "application/json",
) -> httpx.Response:
    """Send one request: a POST if it has a body."""

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=playground.app(is_local=is_local))
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            if body is None:
                return await client.get(path)
            content = body if isinstance(body, str) else json.dumps(body)
            return await client.post(path, content=content, headers={"Content-Type": kind})

    return asyncio.run(send())


def check(playground: Playground, **given: object) -> httpx.Response:
    return ask(playground, "/check", {"sources": [FACTS], "answer": "It is.", **given})


@pytest.mark.parametrize("name", ["", *examples()])
def test_the_page_shows_an_example_with_its_verdict(playground: Playground, name: str) -> None:
    page = ask(playground, f"/?example={name}").text
    example = examples()[name or next(iter(examples()))]
    shown = Page(page)
    for text in (*example["sources"], example["question"], example["answer"].strip()):
        assert text in shown.text
    assert 'class="verdict' in page
    link = f'<a href="/?example={example["name"]}" aria-current="page">{example["field"]}</a>'
    assert link in page
    ids = [attributes["id"] for _, attributes in shown.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_examples_are_of_eight_fields_and_all_but_one_have_a_mistake(
    playground: Playground,
) -> None:
    assert len({each["field"] for each in examples().values()}) == 8
    pages = {name: ask(playground, f"/?example={name}").text for name in examples()}
    assert [name for name, page in pages.items() if "verdict grounded" in page] == ["people"]
    assert sum("verdict hallucinated" in page for page in pages.values()) == 7


def test_a_check_gives_the_marked_answer_beside_its_sources(playground: Playground) -> None:
    answer = check(playground, answer="It was built in **1950**.", operating_point=0.31)
    assert answer.status_code == 200
    assert '<strong><mark class="contradicted" id="mark-1"' in answer.text
    assert f'data-lights="1 f1">{FACTS}</mark>' in answer.text
    assert "read in" in answer.text
    assert "custom (threshold 0.31)" in answer.text


def test_another_threshold_reads_nothing_again(playground: Playground) -> None:
    answer = "It was built in 1950 or later."
    check(playground, answer=answer)
    again = check(playground, answer=answer, operating_point=1.0)
    assert "kept scores, nothing read again" in again.text
    assert "verdict grounded" in again.text
    below = check(playground, answer=answer, operating_point=LOWEST_THRESHOLD / 2)
    assert "read in" in below.text


def test_a_chat_is_taken_apart_as_the_gateway_does(playground: Playground) -> None:
    wanted = {
        "sources": [{"id": "S0", "title": None, "text": FACTS}],
        "question": "When was it built?",
        "answer": "It was built in 1950.",
    }
    for chat in (MESSAGES, {"messages": MESSAGES}):
        found = ask(playground, "/chat", {"chat": json.dumps(chat)}).json()
        found["sources"][0]["id"] = "S0"
        assert found == wanted


def test_a_check_is_copied_as_code(playground: Playground) -> None:
    for kind, start in (("python", "from groundwire"), ("curl", "# A gateway"), ("test", "# The")):
        copied = ask(playground, f"/copy/{kind}", {"sources": [FACTS], "answer": "It is."})
        assert copied.text.startswith(start)
        assert copied.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/check", "{", "The row is not JSON"),
        ("/check", {"answer": " "}, "answer"),
        ("/check", {"sources": [FACTS], "answer": "It.", "operating_point": 2}, "operating point"),
        ("/check", {"sources": [5], "answer": "It."}, "source"),
        ("/check", {"answer": "x" * MAX_BODY_BYTES}, "4,000,000 bytes"),
        ("/chat", {"chat": "[]"}, "neither request nor messages"),
        ("/chat", {"chat": "hello"}, "The chat is no JSON."),
        ("/chat", {"chat": json.dumps(MESSAGES[:2])}, "no answer"),
        ("/copy/python", {"answer": "\ud800"}, "answer"),
    ],
)
def test_what_cannot_be_checked_is_told(
    playground: Playground, path: str, body: object, words: str
) -> None:
    refused = ask(playground, path, body)
    assert refused.status_code == 422
    assert words in refused.json()["error"]


def test_other_sites_cannot_use_it(playground: Playground) -> None:
    """No form and no script of another site, and no name that leads here."""
    body = {"sources": [FACTS], "answer": "It is."}
    assert ask(playground, "/check", body, kind="text/plain").status_code == 422
    assert ask(playground, "/", host="evil.example:8070").status_code == 403
    assert ask(playground, "/", host="evil.example:8070", is_local=False).status_code == 200
    assert ask(playground, "/", host="localhost:8070").status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/assets/look.css", "/assets/playground.js", "/assets/none", "/check", "/none"]
)
def test_each_response_has_the_policy(playground: Playground, path: str) -> None:
    headers = ask(playground, path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_the_page_has_no_inline_style_or_script_and_names_no_other_host(
    playground: Playground,
) -> None:
    page = ask(playground, "/").text
    for tag, attributes in Page(page).tags:
        assert tag != "style"
        assert tag != "script" or attributes.get("src")
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
    assert not re.findall(r"(?:src|href)=\"(?![/#])[^\"]*", page)
    for name in re.findall(r"(?:src|href)=\"(/assets/[^\"]*)", page):
        assert ask(playground, name).status_code == 200


HOSTILE = [
    "<script>alert(1)</script>",
    "</textarea><img src=x onerror=alert(1)>",
    "[x](javascript:alert(1)) ![y](https://evil.example/z.png)",
    "<a href='https://evil.example'>x</a> **<b onclick=alert(1)>y</b>**",
    "```html\n<iframe src=https://evil.example></iframe>\n```",
    '" data-lights="9" onmouseover="alert(1)',
    "\x1b[2J\u202e\u2028{{ 7 * 7 }} {% raw %}",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_markup_or_script(playground: Playground, text: str) -> None:
    source: dict[str, Any] = {"id": text, "title": text, "text": f"{text} It is 5."}
    answer = check(playground, sources=[source], answer=f"{text} It is 7.", question=text)
    assert answer.status_code == 200
    for tag, attributes in Page(answer.text).tags:
        assert tag not in ("script", "img", "iframe", "b", "style", "link", "textarea", "object")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert (attributes.get("href") or "#").startswith("#")
        assert set(attributes.get("data-lights") or "") <= set("f0123456789 ")
    assert "7 * 7" not in text or "{{ 7 * 7 }}" in answer.text

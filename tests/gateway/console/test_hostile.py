"""Nothing that strangers write becomes markup or script, on any page of the console."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from groundwire.config.tenants import KINDS
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.events import response_events
from groundwire.control.audit.quoted import AuditText, Keeping
from groundwire.gateway.console.replay import MAX_ANSWERS
from tests.fixed_judge import FixedJudge
from tests.gateway.answers import checked
from tests.gateway.console.desk import Desk, desk
from tests.pipeline.chats import asked, piped
from tests.render.test_render import Page

_SCRIPTS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href=javascript:alert(1)>x</a>",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/x.png)",
    "<style>*{display:none}</style>",
    "<form action=//evil.example><button>x</button></form>",
    "<meta http-equiv=refresh content=0;//evil.example>",
    "<base href=//evil.example>",
    "onmouseover=alert(1) x=",
    "{{ 7 * 7 }}{% raw %}",
    "<!--<b>",
    "&lt;script&gt;alert(1)&lt;/script&gt;&#60;b&#62;",
    "<object data=//evil.example></object>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "<template><b id=token name=token value=1></template>",
    "<link rel=stylesheet href=//evil.example>",
    "<b id=page class=said>",
)
_FRAMES = (
    "{}",
    '"{}',
    "'{}",
    '">{}',
    "'>{}",
    "</textarea>{}",
    "</title></style></script>{}",
    "--></select>{}",
    "\x00\x1b[2J\u202e\u2028{}",
    "```html\n{}\n```",
)
#: Two hundred texts.
CORPUS = tuple(frame.format(script) for frame, script in product(_FRAMES, _SCRIPTS))
TAGS = {"script", "img", "iframe", "style", "object", "meta", "base", "template", "link", "math"}

#: Every eleventh text, which is each with some frame; all in the tier nightly.
_STEPS = [11, pytest.param(1, marks=pytest.mark.nightly)]
some_or_all = pytest.mark.parametrize("step", _STEPS)


@pytest.fixture(scope="module")
def anna(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with desk(tmp_path_factory.mktemp("hostile"), is_local_demo=True) as made:
        yield made


def plain(page: str) -> Page:
    """Parse a page, and fail unless all of its markup is ours."""
    found = Page(page)
    tags = [(tag, attributes) for tag, attributes in found.tags if tag in TAGS]
    scripts = [("script", f"/console/assets/{name}.js") for name in ("answer", "review", "busy")]
    ours = [*scripts, ("link", None), ("meta", None)]
    for tag, attributes in tags:
        assert (tag, attributes.get("src")) in ours, attributes
        assert attributes.get("http-equiv") is None
        assert (attributes.get("href") or "/console/").startswith("/console/")
    for tag, attributes in found.tags:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        for name in ("href", "action", "src"):
            assert (attributes.get(name) or "/").startswith(("/", "#", "?")), attributes
        assert not (attributes.get(name) or "").startswith("//")
    assert len([each for _, each in found.tags if each.get("id") == "page"]) == 1
    assert not any(character in page for character in "\x00\x1b\u202e\u2028")
    return found


def hostile_events(text: str) -> list[AuditEvent]:
    """Events with a text wherever strangers write: answers, sources, models, paths, metadata."""
    sane = text.replace("\x00", "")
    body = asked(f"{sane} How tall?", f"{sane} It is 330 metres tall.")
    keeping = Keeping(text=AuditText.FULL)
    answers = checked(f"{sane} It is 1950 metres tall. {sane}", body=body)
    tenant, trace_id = text[:128], text[:64]
    return [
        *response_events(answers, tenant=tenant, trace_id=trace_id, keeping=keeping, model=text),
        AuditEvent(
            type=EventType.UNCHECKED_ENDPOINT,
            payload={"path": text, "model": text, "action": text, "diff": {text: {text: text}}},
            detail={"detection": text, "sources": [{"id": text}], "explanations": [{"text": text}]},
            tenant=tenant,
            trace_id=trace_id,
        ),
    ]


@some_or_all
def test_events_of_strangers_stay_text(anna: Desk, step: int) -> None:
    events = [each for text in CORPUS[::step] for each in hostile_events(text)]
    anna.run(anna.control.audit.settle([each for each in events if "\x00" not in each.tenant]))
    link, n_events, n_judged = "/audit", 0, 0
    while link:
        page = anna.get(link).text
        plain(page)
        for part in page.split('<a href="/console/audit/')[1:]:
            id_ = part.partition('"')[0]
            plain(anna.get(f"/audit/{id_}").text)
            review = anna.get(f"/review/{id_}")
            plain(review.text)
            if review.status_code == 200:
                text = CORPUS[n_judged % len(CORPUS)]
                again = anna.post(f"/review/{id_}", {"missed": text, "finding-1": text})
                plain(again.text)
                n_judged += again.status_code == 422
            n_events += 1
        more = page.partition('<a class="button" href="')[2].partition('"')[0]
        link = f"/audit{more.replace('&amp;', '&')}" if more else ""
    assert n_events > 300 / step
    assert n_judged > 100 / step
    plain(anna.get("/review").text)
    plain(anna.post("/audit/verify").text)


@some_or_all
def test_what_is_asked_for_stays_text(anna: Desk, step: int) -> None:
    for text in CORPUS[::step]:
        for path in ("", "/tenants", "/tenants/x", "/audit", "/review", "/people", "/sign-in"):
            names = ("q", "text", "tenant", "model", "since", "preset", "done", "window", "next")
            plain(anna.get(path, params=dict.fromkeys(names, text)).text)


@some_or_all
def test_headers_of_requests_stay_text(anna: Desk, step: int) -> None:
    names = ("x-trace-id", "traceparent", "x-forwarded-proto", "user-agent", "referer", "accept")
    for text in CORPUS[::step]:
        headers = dict.fromkeys(names, text.encode("utf-8", "replace"))
        for path in ("", "/audit", "/nothing"):
            plain(anna.get(path, headers=headers).text)


@some_or_all
def test_names_and_values_of_tenants_keys_and_people_stay_text(anna: Desk, step: int) -> None:
    anna.get("/tenants")
    registry, n_named, n_echoed = anna.control.registry, 0, 0
    for text in CORPUS[::step]:  # while there are no tenants, since each page lists all of them
        for path in ("/tenants", "/people", "/tenants/nobody", "/sign-in", "/nothing"):
            plain(anna.post(path, {"id": text, "name": text, "role": text, "next": text}).text)
    for number, text in enumerate(CORPUS[::step]):
        id_ = f"t{number}"
        sane = "".join(each for each in text if each.isprintable())
        anna.run(registry.put_metadata(id_, {f"x{sane}"[:99]: sane, "grounding.action": sane}))
        anna.run(registry.rename(id_, sane))
        anna.run(registry.create_key(tenant=id_, name=sane))
        path = f"/tenants/{id_}"
        page = plain(anna.get(path).text)
        plain(anna.get(f"{path}/keys").text)
        form = dict.fromkeys((*KINDS, "version", "threshold", "score"), text)
        for under in ("", "/try", "/budget"):
            plain(anna.post(f"{path}{under}", form).text)
        plain(anna.get(f"{path}/budget").text)
        budget = plain(anna.post(f"{path}/budget", {"budget": text, "version": text}).text)
        n_echoed += text in [each.get("value") for _, each in budget.tags]
        n_named += sane.strip() in page.text
    assert n_named == len(CORPUS[::step])
    assert n_echoed == sum("\x00" not in text for text in CORPUS[::step])
    plain(anna.get("/tenants").text)


@some_or_all
def test_stored_answers_stay_text_where_settings_are_tried(tmp_path: Path, step: int) -> None:
    judge, keeping = FixedJudge(doubtful={"1950": 0.9}), Keeping(text=AuditText.FULL, sample=1)
    texts, n_shown = CORPUS[::step], 0
    with desk(tmp_path, "audit: {text: full, sample: 1}", is_local_demo=True) as own:
        for at in range(0, len(texts), MAX_ANSWERS):
            tenant = f"t{at}"
            own.run(own.control.registry.create(tenant))
            for text in texts[at : at + MAX_ANSWERS]:
                sane = text.replace("\x00", "")
                answers = checked(
                    f"{sane} It is 1950 metres tall.",
                    body=asked(f"{sane} How tall?", f"{sane} It is 330 metres tall."),
                    judge=judge,
                    explainer=None,
                )
                events = response_events(answers, tenant=tenant, trace_id="t", keeping=keeping)
                own.run(own.control.audit.settle(events))
            own.run(own.control.watcher.refresh())
            with piped(judge) as own.control.pipeline:
                own.get(f"/tenants/{tenant}")
                tried = own.post(f"/tenants/{tenant}/try", {"action": "block"}).text
                n_shown += tried.count('<a target="_blank" href="/console/audit/')
                for page in (tried, own.get(f"/tenants/{tenant}/budget").text):
                    plain(page)
    assert n_shown >= len(texts)


def test_activity_of_strangers_stays_text(anna: Desk) -> None:
    answers = checked()
    for text in CORPUS[:90]:
        anna.control.activity.answered(answers, model=text)
        anna.control.activity.took(text[:16], 1.0)
    plain(anna.get("").text)

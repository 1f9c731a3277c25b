"""The audit trail in the console: what is found, what an event's page shows, and what it hides."""

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from groundwire import Detector, Pipeline
from groundwire.control.audit.detail import detail_of
from groundwire.control.audit.events import response_events
from groundwire.control.audit.quoted import AuditText, Keeping
from groundwire.control.audit.redact import Redaction
from groundwire.gateway.console.audit import _moment
from groundwire.gateway.console.stored_answer import stored_view
from tests.fixed_judge import FixedJudge
from tests.gateway.answers import BLOCK, checked, checked_by, unverified
from tests.gateway.console.desk import Desk, desk
from tests.pipeline.chats import EXPLAINER, asked
from tests.render.test_render import Page

FULL = Keeping(text=AuditText.FULL)


@pytest.fixture(scope="module")
def anna(tmp_path_factory: pytest.TempPathFactory, detector: Detector) -> Iterator[Desk]:
    """Anna, an admin, before a trail with a block, a warning, and an answer without evidence."""
    with desk(tmp_path_factory.mktemp("audit")) as made:
        made.add("anna")
        made.sign_in()
        real = checked_by(Pipeline(detector, policy=BLOCK, explainer=EXPLAINER))
        events = [
            *response_events(real, tenant="acme", trace_id="t1", keeping=FULL),
            *response_events(real, tenant="globex", trace_id="t2", model="gpt-5"),
            *response_events(unverified(), tenant="globex", trace_id="t3"),
        ]
        made.run(made.control.audit.settle(events))
        yield made


def traces(anna: Desk, query: str) -> list[str]:
    """The requests whose events a search finds, the latest first."""
    page = anna.get(f"/audit{query}").text
    ids = [
        part.partition('"')[0].partition("?")[0]
        for part in page.split('<a href="/console/audit/')[1:]
    ]
    found = [anna.run(anna.control.trail.get(id_)) for id_ in ids]
    return [each.event["trace_id"] for each in found if each.event["trace_id"].startswith("t")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["t3", "t2", "t1"]),
        ("?when=24h", ["t3", "t2", "t1"]),
        ("?when=yesterday", []),
        ("?when=24h&since=2030-01-01T00:00", []),
        ("?since=2020-01-01T00:00&until=2020-01-02T00:00", []),
        ("?tenant=globex", ["t3", "t2"]),
        ("?tenant=%00globex", ["t3", "t2"]),
        ("?outcome=hallucinated", ["t2", "t1"]),
        ("?outcome=unverified", ["t3"]),
        ("?outcome=hallucinated&action=block", ["t2", "t1"]),
        ("?order=worst&type=HALLUCINATION_DETECTED", ["t2", "t1"]),
        ("?outcome=unverified&type=HALLUCINATION_DETECTED", []),
        ("?outcome=unavailable", []),
        ("?type=CHECK_INCOMPLETE", ["t3"]),
        ("?action=block", ["t2", "t1"]),
        ("?action=block&tenant=acme", ["t1"]),
        ("?model=gpt-5", ["t2"]),
        ("?type=changes", []),
        ("?severity=4", ["t2", "t1"]),
        ("?severity=9", ["t2", "t1"]),
        ("?trace_id=t1", ["t1"]),
        ("?text=EIFFEL+tower", ["t2", "t1"]),
        ("?text=nothing+of+this", []),
    ],
)
def test_events_are_found(anna: Desk, query: str, expected: list[str]) -> None:
    assert traces(anna, query) == expected


def test_a_time_with_an_offset_is_another_time_in_utc() -> None:
    assert str(_moment("2026-01-31T12:00+02:00")) == "2026-01-31 10:00:00+00:00"
    assert str(_moment("2026-01-31T12:00")) == "2026-01-31 12:00:00+00:00"


def test_an_answer_that_is_also_drawn_at_random_is_listed_once_by_its_action(
    tmp_path: Path, detector: Detector
) -> None:
    real = checked_by(Pipeline(detector, policy=BLOCK, explainer=EXPLAINER))
    with desk(tmp_path, is_local_demo=True) as own:
        events = response_events(real, tenant="acme", trace_id="t1", keeping=Keeping(sample=1))
        own.run(own.control.audit.settle(events))
        assert traces(own, "") == ["t1", "t1"]
        assert traces(own, "?action=block") == ["t1"]


def test_the_worst_answer_comes_first_if_that_is_asked_for(tmp_path: Path) -> None:
    with desk(tmp_path, is_local_demo=True) as own:
        for trace, doubtful in (("t1", {"1950": 0.93}), ("t2", {"1950": 0.8}), ("t3", {})):
            answers = checked(judge=FixedJudge(doubtful=doubtful))
            events = response_events(answers, tenant="acme", trace_id=trace)
            own.run(own.control.audit.settle(events))
        assert traces(own, "?outcome=hallucinated") == ["t2", "t1"]
        assert traces(own, "?order=worst") == ["t1", "t2"]
        page = own.get("/audit?order=worst").text
        assert '<td data-label="Probability">0.93</td>' in page
        assert "1 to 2 of 2 hallucinated answers, by severity" in page
        assert "left out" not in page
        assert "highest probability 0.93" in event_page(own, "t1")


def test_the_next_worst_answers_are_on_a_page_of_their_own(tmp_path: Path) -> None:
    with desk(tmp_path, is_local_demo=True) as own:
        answers = checked()
        for trace in range(52):
            events = response_events(answers, tenant="acme", trace_id=f"t{trace}")
            own.run(own.control.audit.settle(events))
        first = own.get("/audit?order=worst").text
        assert "The next worst" in first
        assert "1 to 50 of 52" in first
        last = own.get("/audit?order=worst&cursor=50").text
        assert "51 to 52 of 52" in last
        assert "The next worst" not in last
        assert own.get("/audit?order=worst&cursor=x").status_code == 200


def test_a_time_that_is_none_is_told(anna: Desk) -> None:
    answer = anna.get("/audit?since=soon")
    assert (answer.status_code, "&#39;soon&#39; is no time." in answer.text) == (400, True)
    assert anna.get("/audit?cursor=nonsense").status_code == 400
    assert anna.get("/audit/00000000-0000-0000-0000-000000000000").status_code == 404


def event_page(anna: Desk, trace_id: str) -> str:
    page = anna.get(f"/audit?trace_id={trace_id}").text
    link = page.partition('<a href="/console')[2]
    while not link.startswith("/audit/"):
        link = link.partition('<a href="/console')[2]
    return anna.get(link.partition('"')[0]).text


def test_an_event_shows_the_answer_with_marks_beside_its_evidence(anna: Desk) -> None:
    page = event_page(anna, "t1")
    assert '<mark class="contradicted" id="mark-1"' in page
    # The lines that decide are marked, each for its own finding, and not the line of the name.
    marked = re.findall(r'class="evidence" id=\S+ data-lights="([^"]*)">(.*?)</mark>', page)
    assert [(lights, unescape(text)) for lights, text in marked] == [
        ("1 f1", '"built": "1887-1889"'),
        ("1 f2", '"height": "330 meters"'),
    ]
    first = unescape(page.partition('id="finding-1"')[2].partition("</li>")[0])
    assert 'The answer says "1950"; the source says "1887-1889"' in first
    assert '"built": "1887-1889"</blockquote>' in first
    assert "Judge its findings" in page
    for part in (
        "Sources of the check",
        "Time of the check",
        "the answer is compared with the evidence",
        "is-block",
    ):
        assert part in page


def test_the_way_back_keeps_the_filters(anna: Desk) -> None:
    page = anna.get("/audit?trace_id=t1").text
    link = page.partition('<a href="/console/audit/')[2].partition('"')[0]
    event = anna.get(f"/audit/{link}".replace("&amp;", "&")).text
    assert '<a href="/console/audit?trace_id=t1">Audit trail</a>' in event
    strange = anna.get(f"/audit/{link.partition('?')[0]}?back=//evil.example").text
    assert '<a href="/console/audit">Audit trail</a>' in strange


def test_an_event_whose_answer_is_cut_shows_the_beginnings(anna: Desk) -> None:
    page = event_page(anna, "t2")
    assert '<mark class="contradicted" id="mark-1"' in page
    assert "Only the beginnings of its statements are kept" in page
    assert 'class="evidence" id="evidence-1"' in page
    assert "model gpt-5" in page


def test_an_event_without_a_finding_says_what_it_is(anna: Desk) -> None:
    assert "There was no evidence to compare the answer with" in event_page(anna, "t3")


def test_the_trail_is_verified_and_exported_by_whom_is_on_record(anna: Desk) -> None:
    anna.get("/audit")
    assert "The trail is as it was written." in anna.post("/audit/verify").text
    lines = anna.post("/audit/export?tenant=globex&text=eiffel").text.splitlines()
    assert [json.loads(each)["trace_id"] for each in lines] == ["t2"]
    (event,) = anna.events("RECORDS_EXPORTED")
    assert event["payload"] == {
        "actor": "account:anna",
        "filters": {"tenant": "globex", "contains": "eiffel"},
    }


def kept(keeping: Keeping, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """The detail of HaluGate's documented wrong answer, as it is kept."""
    body = asked("How tall? Ask a@b.example.", "It is 330 metres tall, says a@b.example, in Paris.")
    answer = "Ask a@b.example: it is 500 metres tall, says a@b.example."
    (found,) = checked(answer, body=body)
    detail: dict[str, Any] = json.loads(json.dumps(detail_of(found, keeping)))
    return detail | changes


def test_what_is_redacted_stays_so_and_marks_stand_at_their_words() -> None:
    keeping = Keeping(text=AuditText.FULL, redaction=Redaction.of("email"))
    view = stored_view(kept(keeping))
    assert view is not None
    assert "a@b.example" not in f"{view.answer}{view.panels}"
    assert "[REDACTED:email]" in view.detection.answer
    for span in view.detection.spans:
        assert view.detection.answer[span.start : span.end] == span.text


def test_of_equal_words_the_marked_ones_are_shown() -> None:
    judge = FixedJudge(doubtful={"1889": 0.9})
    (answer,) = checked("It opened in 1889 and closed in 1889.", judge=judge, explainer=None)
    detail: dict[str, Any] = json.loads(json.dumps(detail_of(answer, FULL)))
    first, second = detail["detection"]["spans"]
    detail["detection"]["spans"] = [second]
    view = stored_view(detail)
    assert view is not None
    (shown,) = view.detection.spans
    assert (shown.start, shown.start > first["start"]) == (second["start"], True)


def test_an_answer_of_which_hashes_are_kept_is_not_shown() -> None:
    assert stored_view(kept(Keeping(text=AuditText.HASH))) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"detection": 5},
        {"answer": None},
        {"sources": [None]},
        {"outcome": "fine"},
        {"detection": {}},
    ],
)
def test_a_detail_that_somebody_changed_breaks_no_page(changes: dict[str, Any]) -> None:
    assert stored_view(kept(FULL, **changes)) is None


def test_evidence_of_a_source_that_is_not_there_breaks_no_page() -> None:
    detail = kept(FULL)
    place = {"source": 9, "start": 0, "end": 1, "text": "x"}
    detail["detection"]["claims"][0]["evidence"] = [place]
    assert stored_view(detail) is None


def test_pages_of_events_have_ids_once_and_links_that_lead_somewhere(anna: Desk) -> None:
    tags = Page(event_page(anna, "t1")).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    anchors = [x["href"] for tag, x in tags if tag == "a" and (x["href"] or "").startswith("#")]
    assert {str(each)[1:] for each in anchors} <= set(map(str, ids))

"""Review in the console: the queue, labels, who may give them, agreement, and what is exported."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.control.accounts import AccountRole
from groundwire.control.audit.events import response_events
from groundwire.control.audit.quoted import AuditText, Keeping
from groundwire.control.review.answers import doubt_of
from groundwire.control.review.labels import QUEUE, Labels
from groundwire.control.verdicts import Agreement, AnswerReview
from groundwire.evaluation.datasets.files import NumberedAnswer, read_labelled
from groundwire.evaluation.datasets.labelled import Known
from groundwire.render.answer import find_shown, shown_at
from tests.cli.conftest import invoke
from tests.fixed_judge import FixedJudge
from tests.gateway.answers import checked, partial, unverified
from tests.gateway.console.desk import Desk, desk
from tests.pipeline.chats import FACTS, QUESTION, RIGHT, WRONG

FULL = Keeping(text=AuditText.FULL)


@pytest.fixture
def rita(tmp_path: Path) -> Iterator[Desk]:
    """Rita, a reviewer, before a trail of answers; anna is an admin and vic a viewer."""
    with desk(tmp_path, "audit: {text: full}") as made:
        roles = {"anna": AccountRole.ADMIN, "rita": AccountRole.REVIEWER, "vic": AccountRole.VIEWER}
        for name, role in roles.items():
            made.add(name, role)
        events = [
            *response_events(checked(), tenant="acme", trace_id="t1", keeping=FULL, model="gpt-5"),
            *response_events(partial(), tenant="globex", trace_id="t2", keeping=FULL),
            *response_events(checked(), tenant="acme", trace_id="cut"),
            *response_events(unverified(), tenant="acme", trace_id="bare", keeping=FULL),
        ]
        made.run(made.control.audit.settle(events))
        made.sign_in("rita")
        yield made


def queued(desk: Desk, query: str = "") -> list[str]:
    """The ids of the answers in the queue, in its order."""
    table = desk.get(f"/review{query}").text.partition("<tbody>")[2].partition("</tbody>")[0]
    parts = table.split('<a href="/console/review/')[1:]
    return [part.partition('"')[0].partition("?")[0] for part in parts]


def labelled(desk: Desk, event: str, missed: str = "", **verdicts: str) -> int:
    """Label an answer with verdicts on its findings, f1, f2 and so on; the status."""
    desk.get(f"/review/{event}")
    form = {name.replace("f", "finding-"): verdict for name, verdict in verdicts.items()}
    return desk.post(f"/review/{event}", {**form, "missed": missed}).status_code


def exported(desk: Desk, query: str = "") -> list[dict[str, object]]:
    desk.get("/review")
    return [json.loads(line) for line in desk.post(f"/review/export{query}").text.splitlines()]


def test_the_queue_has_what_can_be_judged_the_most_doubtful_first(rita: Desk) -> None:
    incomplete, sure = queued(rita)
    near = checked(judge=FixedJudge(doubtful={"1950": 0.52}))
    event = response_events(near, tenant="globex", trace_id="t3", keeping=FULL)
    rita.run(rita.control.audit.settle(event))
    assert queued(rita) == [event[0].id, incomplete, sure]
    page = rita.get("/review").text
    assert '0.52 <span class="soft">threshold 0.50</span>' in page
    assert '<q dir="auto">1950</q>, <q dir="auto">500 meters</q>' in page
    assert queued(rita, "?tenant=globex") == [event[0].id, incomplete]
    assert queued(rita, "?tenant=nobody") == []
    assert rita.get("/review/next").headers["location"].endswith(event[0].id)
    skipped = rita.get(f"/review/next?after={event[0].id}&tenant=globex").headers["location"]
    assert skipped == f"/console/review/{incomplete}?tenant=globex"


@pytest.mark.parametrize(
    ("doubtful", "worst", "distance"),
    [
        ({"1950": 0.6, "500": 0.75}, 0.75, math.log(3)),
        ({}, 0.1, math.log(9)),
        ({"1950": 1.0}, 1.0, math.log(999_999)),
    ],
)
def test_doubt_is_the_distance_of_the_worst_score_in_log_odds(
    doubtful: dict[str, float], worst: float, distance: float
) -> None:
    answers = checked(WRONG, judge=FixedJudge(doubtful=doubtful), explainer=None)
    keeping = Keeping(text=AuditText.FULL, sample=1.0)
    *_, event = response_events(answers, tenant="acme", trace_id="t", keeping=keeping)
    doubt = doubt_of(event.detail)
    assert doubt is not None
    assert doubt.worst == pytest.approx(worst)
    assert doubt.threshold == 0.5
    assert doubt.distance == pytest.approx(distance, rel=1e-3)


def test_the_random_sample_is_a_view_of_its_own(rita: Desk) -> None:
    assert queued(rita, "?view=sample") == []
    assert "audit.sample" in rita.get("/review?view=sample").text
    keeping = Keeping(text=AuditText.FULL, sample=1.0)
    drawn = [
        *response_events(checked(RIGHT), tenant="acme", trace_id="s1", keeping=keeping),
        *response_events(checked(), tenant="globex", trace_id="s2", keeping=keeping),
    ]
    rita.run(rita.control.audit.settle(drawn))
    right, found, wrong = (each.id for each in drawn)
    assert set(queued(rita, "?view=sample")) == {right, wrong}
    assert queued(rita, "?view=sample&tenant=acme") == [right]
    assert found in queued(rita)
    assert not {right, wrong} & set(queued(rita))
    after = rita.get(f"/review/next?view=sample&tenant=acme&after={wrong}").headers["location"]
    assert after == f"/console/review/{right}?tenant=acme&view=sample"
    assert labelled(rita, right) == 303  # nothing was missed
    assert labelled(rita, found, f1="right", f2="right") == 303
    assert {each["id"]: each["sample"] for each in exported(rita)} == {right: 1.0, found: None}
    assert [each["id"] for each in exported(rita, "?view=sample")] == [right]
    assert rita.events("RECORDS_EXPORTED")[-1]["payload"]["filters"] == {"labels": "of the sample"}


def test_the_audit_trail_tells_which_answers_are_judged(rita: Desk) -> None:
    (found, *_) = queued(rita)
    before = rita.get("/audit").text.count(">judged</span>")
    assert labelled(rita, found, f1="right", f2="right") == 303
    assert rita.get("/audit").text.count(">judged</span>") == before + 1
    assert f"/console/audit/{found}" in rita.get(f"/review?labelled={found}").text


def test_answers_that_nobody_can_judge_do_not_hide_those_with_findings(rita: Desk) -> None:
    before = queued(rita)
    (answer,) = unverified()
    events = [
        event
        for number in range(QUEUE + 1)
        for event in response_events((answer,), tenant="acme", trace_id=f"u{number}", keeping=FULL)
    ]
    rita.run(rita.control.audit.settle(events))
    assert queued(rita) == before


def test_an_answer_that_was_found_and_drawn_is_exported_once(rita: Desk) -> None:
    keeping = Keeping(text=AuditText.FULL, sample=1.0)
    events = response_events(checked(), tenant="globex", trace_id="both", keeping=keeping)
    rita.run(rita.control.audit.settle(events))
    for each in events:
        assert labelled(rita, each.id, f1="right", f2="right") == 303
    for number in range(99):  # so that the two are on two pages of the export
        review = AnswerReview(event_id=f"0{number:03}", account="rita", tenant="globex", marks=())
        rita.run(Labels(rita.control.store).save(review))
    (row,) = (each for each in exported(rita) if each["sample"] is not None)
    assert len(exported(rita)) == 1
    assert row["id"] == events[-1].id


def test_labels_are_stored_with_who_and_when_and_audited(rita: Desk) -> None:
    incomplete, sure = queued(rita)
    assert labelled(rita, sure, f1="right", f2="wrong", missed="Paris, France") == 303
    (review,) = rita.run(Labels(rita.control.store).of(sure)).values()
    assert [(each.verdict, WRONG[each.start : each.end]) for each in review.marks] == [
        ("right", "1950"),
        ("wrong", "500 meters"),
        ("missed", "Paris, France"),
    ]
    assert queued(rita) == [incomplete]
    page = rita.get(f"/review/{incomplete}?labelled={sure}").text
    assert "1 right, 1 wrong, 1 missed" in page
    assert f'<a href="/console/review/{sure}">Change them</a>' in page
    assert "This is the next answer." in page
    assert "Your labels are stored" not in rita.get("/review?labelled=nobody").text
    (event,) = rita.events("ANSWER_LABELLED")
    assert event["tenant"] == "acme"
    assert event["payload"]["actor"] == "account:rita"
    assert event["payload"]["event_id"] == sure
    assert [each["verdict"] for each in event["payload"]["labels"]] == ["right", "wrong", "missed"]
    again = rita.get(f"/review/{sure}").text
    assert 'value="wrong" form="labels" checked' in again
    assert labelled(rita, sure, f1="right", f2="right") == 303
    (review,) = rita.run(Labels(rita.control.store).of(sure)).values()
    assert [each.verdict for each in review.marks] == ["right", "right"]


def test_what_is_open_or_not_in_the_answer_stands_at_its_field_and_nothing_is_stored(
    rita: Desk,
) -> None:
    _, sure = queued(rita)
    rita.get(f"/review/{sure}")
    page = rita.post(f"/review/{sure}", {"finding-1": "wrong", "missed": "Berlin\ntower #2"})
    assert page.status_code == 422
    for part in ("Right or wrong?", "The answer has no “tower #2”", "Berlin", "checked"):
        assert part in page.text
    assert rita.run(Labels(rita.control.store).of(sure)) == {}


def test_viewers_neither_see_nor_judge_and_forms_of_others_are_refused(rita: Desk) -> None:
    _, sure = queued(rita)
    path = f"/review/{sure}"
    assert rita.post(path, {"token": "0" * 64, "finding-1": "right"}).status_code == 403
    foreign = {"sec-fetch-site": "cross-site"}
    assert rita.post(path, {"finding-1": "right"}, headers=foreign).status_code == 403
    rita.client.cookies.clear()
    assert rita.get("/review").status_code == 303
    rita.sign_in("vic")
    assert "/console/review" not in rita.get("").text
    rita.get("/account")
    for answer in (
        rita.get("/review"),
        rita.get(path),
        rita.post(path),
        rita.post("/review/export"),
    ):
        assert answer.status_code == 403
    assert rita.run(Labels(rita.control.store).of(sure)) == {}


def test_an_answer_without_its_texts_is_not_queued_and_the_page_says_what_to_set(
    tmp_path: Path,
) -> None:
    with desk(tmp_path, is_local_demo=True) as anna:
        events = response_events(checked(), tenant="acme", trace_id="t1")
        anna.run(anna.control.audit.settle(events))
        page = anna.get("/review").text
        assert "audit.text: full" in page
        assert queued(anna) == []
        answer = anna.get(f"/review/{events[0].id}")
        assert (answer.status_code, "cannot be judged" in answer.text) == (409, True)
        assert anna.get("/review/nothing").status_code == 404


def test_what_others_say_is_seen_by_those_who_have_judged(rita: Desk) -> None:
    _, sure = queued(rita)
    labelled(rita, sure, f1="right", f2="right")
    rita.sign_in("anna")
    assert "What others say" not in rita.get(f"/review/{sure}").text
    page = rita.get(f"/audit/{sure}").text
    assert "Labelled by rita, <time" in page
    assert "is right" not in page
    changes = rita.get("/audit?type=changes").text
    assert "verdicts: 2" in changes
    (event,) = rita.events("ANSWER_LABELLED")
    record = rita.get(f"/audit/{event['id']}").text
    assert "shown once you have judged the answer yourself" in record
    assert "verdict&#34;: " not in record
    labelled(rita, sure, f1="right", f2="wrong")
    page = rita.get(f"/review/{sure}").text
    assert "What others say" in page
    assert "verdict&#34;: &#34;right" in rita.get(f"/audit/{event['id']}").text
    assert "rita, <time" in page
    assert '<q dir="auto">1950</q> is right: it lacks support' in page
    page = rita.get(f"/audit/{sure}").text
    assert "Change your labels" in page
    assert '<q dir="auto">500 meters</q> is a false alarm' in page
    overview = rita.get("/review").text
    assert "anna and rita" in overview
    assert "50 %" in overview
    assert "as their reviewers disagree: 1." in overview


def test_labels_are_exported_as_evaluate_and_tune_read_them(rita: Desk, tmp_path: Path) -> None:
    incomplete, sure = queued(rita)
    labelled(rita, sure, f1="right", f2="wrong", missed="Paris, France")
    labelled(rita, incomplete)
    assert len(exported(rita, "?tenant=globex")) == 1
    file = tmp_path / "labels.jsonl"
    rows = exported(rita)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    first, second = read_labelled(file)
    assert isinstance(first, NumberedAnswer)
    assert isinstance(second, NumberedAnswer)
    spans = [WRONG[each.start : each.end] for each in first.answer.spans]
    assert spans == ["1950", "Paris, France"]
    assert first.answer.example.sources[0].text == FACTS
    assert first.answer.example.question == QUESTION
    assert (second.answer.is_hallucinated, second.answer.known) == (False, Known.SPANS)
    assert {"tenant": "acme", "reviewers": "rita"}.items() <= first.answer.columns.items()
    judged = invoke("evaluate", "--data", file, "--json")
    assert (judged.exit_code, json.loads(judged.stdout)["n"]) == (0, 2)
    tuned = json.loads(invoke("tune", "--data", file, "--target", "fpr=0.5", "--json").stdout)
    assert tuned["n"] == 2
    (_, event) = rita.events("RECORDS_EXPORTED")
    assert event["payload"] == {"actor": "account:rita", "filters": {"labels": "all"}}


def test_disputed_answers_and_those_without_texts_are_not_exported(rita: Desk) -> None:
    incomplete, sure = queued(rita)
    labelled(rita, sure, f1="right", f2="right")
    labelled(rita, incomplete)
    rita.sign_in("anna")
    labelled(rita, sure, f1="right", f2="wrong")
    labelled(rita, incomplete)
    (row,) = exported(rita)
    assert (row["id"], row["reviewers"]) == (incomplete, "anna, rita")


def test_kappa_is_that_of_the_textbook_and_undefined_without_variation() -> None:
    # Cohen's table of 20, 5, 10 and 15: agreement 0.7, by chance 0.5.
    table = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    found = Agreement.of(("a", "b"), table)
    assert (found.n, found.n_same) == (50, 35)
    assert found.kappa == pytest.approx(0.4)
    assert Agreement.of(("a", "b"), [(True, True)] * 3).kappa is None


@pytest.mark.parametrize(
    ("answer", "words", "nth", "expected"),
    [
        ("One, two, one.", "one", 1, "one"),
        ("It is **very\n tall** here.", "very tall", 1, "very\n tall"),
        ("A &amp; B", "& B", 1, "&amp; B"),
        ("1889 and 1889", "1889", 2, "1889"),
        ("1889 and 1889", "1889", 3, None),
        ("text", " ", 1, None),
    ],
)
def test_words_are_found_as_a_page_shows_them(
    answer: str, words: str, nth: int, expected: str | None
) -> None:
    (found,) = checked(answer)
    assert found.detection is not None
    place = find_shown(found.detection, words, nth=nth)
    assert (None if place is None else answer[slice(*place)]) == expected
    if place is not None:
        assert shown_at(found.detection, *place) == words

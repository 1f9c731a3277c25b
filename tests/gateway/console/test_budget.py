"""A tenant's budget: set, supported by labels of the sample, broken, kept by a threshold."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import time

import pytest

from groundwire.control.accounts import AccountRole
from groundwire.control.activity import SLOT_S
from groundwire.control.audit.events import response_events
from groundwire.control.audit.quoted import AuditText, Keeping
from groundwire.control.review.labels import Labels
from groundwire.control.store.tables import activity
from groundwire.control.verdicts import AnswerReview
from groundwire.detection.values import Label
from groundwire.policy.policy import Action, Policy
from tests.fixed_judge import FixedJudge
from tests.gateway.answers import checked
from tests.gateway.console.desk import Desk, desk
from tests.pipeline.chats import RIGHT, WRONG, piped

KEEPING = Keeping(text=AuditText.FULL, sample=1.0)
JUDGE = FixedJudge(doubtful={"1950": 0.9, "500": 0.9, "metres": 0.6})
LOG = Policy(action=Action.LOG)


@pytest.fixture
def anna(tmp_path: Path) -> Iterator[Desk]:
    """An admin and a reviewer, with a pipeline whose judge doubts one right word, metres."""
    with desk(tmp_path, "audit: {text: full, sample: 1}\ncheck: {action: block}") as made:
        for name, role in (("anna", AccountRole.ADMIN), ("rita", AccountRole.REVIEWER)):
            made.add(name, role)
        made.run(made.control.registry.create("acme"))
        made.run(made.control.watcher.refresh())
        with piped(JUDGE) as made.control.pipeline:
            made.sign_in()
            yield made


def sampled(desk: Desk, *answers: str) -> list[str]:
    """Record drawn answers of the tenant acme; the ids of their events."""
    events = []
    for number, text in enumerate(answers):
        checks = checked(text, judge=JUDGE, explainer=None, policy=LOG)
        made = response_events(checks, tenant="acme", trace_id=f"t{number}", keeping=KEEPING)
        events.append(made[-1])
    desk.run(desk.control.audit.settle(events))
    return [each.id for each in events]


def judge(desk: Desk, event: str, missed: str = "", **verdicts: str) -> None:
    """Label an answer in the console."""
    desk.get(f"/review/{event}")
    form = {f"finding-{name[1:]}": verdict for name, verdict in verdicts.items()}
    assert desk.post(f"/review/{event}", {**form, "missed": missed}).status_code == 303


def budgeted(desk: Desk, **form: str) -> int:
    """Send a form of the tab with the version that it shows; the status."""
    page = desk.get("/tenants/acme/budget").text
    version = page.partition('name="version" value="')[2].partition('"')[0]
    return desk.post("/tenants/acme/budget", {"version": version, **form}).status_code


def test_labels_of_the_sample_keep_what_a_promise_needs(anna: Desk) -> None:
    right, wrong = sampled(anna, RIGHT, WRONG)
    judge(anna, right, f1="wrong")
    judge(anna, wrong, f1="right", f2="right")
    (second, first) = anna.run(Labels(anna.control.store).of_sample("acme"))
    assert (first.event_id, second.event_id) == (right, wrong)
    assert first.facts is not None
    assert first.facts.worst == ((Label.UNSUPPORTED, 2, pytest.approx(0.6)),)
    assert (first.facts.detector, first.facts.threshold) == ("fixed", 0.5)
    assert (first.facts.sample, first.facts.trace_id) == (1.0, "t0")


def test_a_budget_is_broken_kept_by_another_threshold_and_on_record(anna: Desk) -> None:
    page = anna.get("/tenants/acme/budget").text
    assert "No answer of the random sample is labelled yet." in page
    right, wrong = sampled(anna, RIGHT, WRONG)
    judge(anna, right, f1="wrong")
    judge(anna, wrong, f1="right", f2="right")
    labels = Labels(anna.control.store)
    (of_wrong, of_right) = anna.run(labels.of_sample("acme"))
    for one, n in ((of_right, 40), (of_wrong, 9)):  # the same again, of further answers
        for number in range(n):
            anna.run(labels.save(copied(one, number)))
    assert budgeted(anna, budget="10 %") == 303
    assert "Budget of acme</strong>" in overview(anna)
    page = anna.get("/tenants/acme/budget").text
    assert "At most 10 % of right answers blocked: broken" in page
    assert "41 of 41" in page
    assert "Use 0.601 as the threshold" in page
    assert budgeted(anna, threshold="0.601", score="probability") == 303
    page = anna.get("/tenants/acme/budget").text
    assert "the labels support it" in page
    assert "0 of 41" in page
    assert "10 of 10" in page
    first, second = (each["payload"]["diff"] for each in anna.events("TENANT_POLICY_UPDATED"))
    assert first["added"] == {"false_block_budget": 0.1}
    assert second["added"] == {"operating_point": 0.601}
    assert budgeted(anna, budget="") == 303
    assert "blocked: " not in anna.get("/tenants/acme/budget").text


def test_the_overview_lists_a_budget_that_reviewers_have_to_settle(anna: Desk) -> None:
    (right,) = sampled(anna, RIGHT)
    judge(anna, right, f1="wrong")
    labels = Labels(anna.control.store)
    (review,) = anna.run(labels.of_sample("acme"))
    anna.run(labels.save(replace(review, account="rita", marks=())))
    assert review.facts is not None
    passing = replace(review, facts=replace(review.facts, worst=()))
    for number in range(40):
        anna.run(labels.save(copied(passing, number)))
    assert budgeted(anna, budget="10 %") == 303
    page = anna.get("/tenants/acme/budget").text
    assert "reviewers have to agree first" in page
    assert "blocked answers about which reviewers disagree: 1." in page
    assert "Budget of acme</strong>" in overview(anna)
    assert "reviewers have to agree first: see the tab Budget of the tenant acme" in overview(anna)


def test_the_page_says_that_labels_count_after_other_settings_change(anna: Desk) -> None:
    (right,) = sampled(anna, RIGHT)
    judge(anna, right, f1="wrong")
    page = anna.get("/tenants/acme/budget").text
    assert "Labels still count after other settings change" in page
    assert "Of several right answers to one request, or several wrong ones, the table" in page


def overview(desk: Desk) -> str:
    """The overview, with the lines about budgets."""
    page = desk.get("").text
    while "load the page again in a moment" in page:
        page = desk.get("").text
    return page


def test_only_contradictions_count_where_the_policy_blocks_only_them(anna: Desk) -> None:
    (wrong,) = sampled(anna, WRONG)
    judge(anna, wrong, f1="wrong", f2="wrong")
    assert budgeted(anna, budget="10 %") == 303
    assert "1 of 1" in anna.get("/tenants/acme/budget").text
    anna.run(
        anna.control.registry.set_policy("acme", {"min_severity": 3}, merges=True, metadata={})
    )
    anna.run(anna.control.watcher.refresh())
    page = anna.get("/tenants/acme/budget").text
    assert "0 of 1" in page
    assert "Only findings that the policy blocks count, by their label and severity." in page


def copied(review: AnswerReview, number: int) -> AnswerReview:
    assert review.facts is not None
    facts = replace(review.facts, trace_id=f"{review.event_id}-{number}")
    return replace(review, event_id=f"{review.event_id[:30]}{number:04}", facts=facts)


@pytest.mark.parametrize("budget", ["none", "100", "1e999"])
def test_a_budget_that_is_no_share_is_refused_and_nothing_is_saved(anna: Desk, budget: str) -> None:
    assert budgeted(anna, budget=budget) == 422
    assert anna.events("TENANT_POLICY_UPDATED") == []


def test_only_admins_set_budgets_and_nobody_overwrites_what_another_changed(anna: Desk) -> None:
    anna.get("/tenants/acme/budget")
    assert anna.post("/tenants/acme/budget", {"budget": "1", "version": "99"}).status_code == 409
    assert budgeted(anna, threshold="7", score="probability") == 422
    anna.sign_in("rita")
    assert anna.get("/tenants/acme/budget").status_code == 200
    assert anna.post("/tenants/acme/budget", {"budget": "1"}).status_code == 403


def test_a_change_of_the_traffic_is_told(anna: Desk) -> None:
    (right,) = sampled(anna, RIGHT)
    judge(anna, right, f1="wrong")
    assert budgeted(anna, budget="1") == 303
    assert (
        "Since the day of the newest labelled answer" not in anna.get("/tenants/acme/budget").text
    )
    (review,) = anna.run(Labels(anna.control.store).of_sample("acme"))
    assert review.facts is not None
    facts = replace(review.facts, checked_at="2026-01-01T00:00:00Z")
    anna.run(Labels(anna.control.store).save(replace(review, facts=facts)))
    anna.run(counted(anna, 1767225600, hallucinated=20, grounded=980))
    anna.run(counted(anna, int(time()) // SLOT_S * SLOT_S, hallucinated=90, grounded=910))
    page = anna.get("/tenants/acme/budget").text
    assert "found in 9.0 % of 1,000 answers, before in 2.0 % of 1,000" in page


async def counted(desk: Desk, slot: int, **outcomes: int) -> None:
    """Count answers of an hour."""
    own = {"slot": slot, "tenant": "acme", "model": "m", "action": "none"}
    async with desk.control.store.writing() as connection:
        for outcome, n in outcomes.items():
            await connection.execute(activity.insert().values(**own, outcome=outcome, n=n))


def test_without_a_detector_nothing_is_said_of_its_threshold(anna: Desk) -> None:
    anna.control.pipeline = None
    page = anna.get("/tenants/acme/budget")
    assert (page.status_code, "cannot be used now" in page.text) == (200, True)

"""Stored answers under other settings: which decisions would change, before they are saved."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.control.audit.events import response_events
from groundwire.control.audit.quoted import AuditText, Keeping
from groundwire.control.review.labels import Labels
from groundwire.gateway.console.replay import Effect, replay, replayable
from groundwire.pipeline import Pipeline
from groundwire.policy.decisions import Decision
from groundwire.policy.policy import (
    Action,
    HallucinationPlugin,
    Overrides,
    Policy,
    SourceLimits,
)
from tests.fixed_judge import FixedJudge
from tests.gateway.answers import checked, unverified
from tests.gateway.console.desk import Desk, desk
from tests.pipeline.chats import FACTS, QUESTION, RIGHT, WRONG, asked, piped

FULL = Keeping(text=AuditText.FULL, sample=1.0)
JUDGE = FixedJudge(doubtful={"1950": 0.9, "500": 0.9, "metres": 0.6})


@pytest.fixture
def anna(tmp_path: Path) -> Iterator[Desk]:
    """An admin, before two stored answers: a wrong one, and a right one that is marked."""
    with desk(tmp_path, "audit: {text: full, sample: 1}", is_local_demo=True) as made:
        made.run(made.control.registry.create("acme"))
        made.run(made.control.watcher.refresh())
        for text in (WRONG, RIGHT):
            answers = checked(text, judge=JUDGE, explainer=None)
            events = response_events(answers, tenant="acme", trace_id="t", keeping=FULL)
            made.run(made.control.audit.settle(events))
        with piped(JUDGE) as made.control.pipeline:
            yield made


def tried(desk: Desk, **form: str) -> str:
    desk.get("/tenants/acme")
    return desk.post("/tenants/acme/try", form).text


#: Each answer was recorded twice, once for what was found and once at random.
EFFECT = (
    "Of 2 stored answers 1 more would be blocked, 0 fewer; the decision about 2 would change. "
    "In place of 3 findings, 2 would be marked in them."
)


def effect(desk: Desk, pipeline: Pipeline, then: Overrides, **more: float) -> Effect:
    stored, n_left_out = replayable(
        desk.run(Labels(desk.control.store).latest_of_each_kind("acme"))
    )
    return replay(
        pipeline,
        stored,
        n_left_out=n_left_out,
        tenant="acme",
        now=Overrides(),
        then=then,
        **more,
    )


def test_the_effect_is_shown_and_nothing_is_saved(anna: Desk) -> None:
    page = tried(anna, action="block", operating_point="0.7")
    for part in (
        "Threshold: 0.5 → 0.7, which flags less.",
        "Action if hallucinated: log → block.",
        EFFECT,
    ):
        assert part in page
    assert 'value="0.7"' in page  # the form is still filled in
    assert anna.events("TENANT_METADATA_UPDATED", "TENANT_POLICY_UPDATED") == []
    page = tried(anna)
    assert "The form has the settings that hold now." in page
    assert "Of 2 stored answers none would be decided otherwise." in page


def test_a_higher_threshold_lets_the_doubtful_pass(anna: Desk) -> None:
    with piped(JUDGE, policy=Policy(action=Action.BLOCK)) as pipeline:
        found = effect(anna, pipeline, Overrides(operating_point=0.7))
        assert [(each.text, each.then.action) for each in found.changed] == [(RIGHT, "none")]
        assert sorted(found.actions) == [("block", "block", 1), ("block", "none", 1)]
        assert found.blocked == (0, 1)
        off = effect(anna, pipeline, Overrides(enabled=False))
        assert {(each.then.outcome, each.then.action) for each in off.answers} == {
            ("skipped", "none")
        }


def test_answers_without_evidence_are_tried_and_those_that_cannot_be_are_counted(
    anna: Desk,
) -> None:
    (answer,) = unverified()
    limited = checked(judge=JUDGE, limits=SourceLimits(max_source_chars=60))
    as_json = asked(QUESTION, FACTS, response_format={"type": "json_object"})
    structured = checked(json.dumps({"built": "in 1950"}), body=as_json, judge=JUDGE)
    assert limited[0].context.conversation.lost
    assert structured[0].answer.kind == "structured"
    for number, each in enumerate((answer, *limited, *structured)):
        events = response_events((each,), tenant="acme", trace_id=f"more{number}", keeping=FULL)
        anna.run(anna.control.audit.settle(events))
    with piped(JUDGE) as pipeline:
        strict = Overrides(action=Action.BLOCK, unverified_action=Action.BLOCK)
        found = effect(anna, pipeline, strict)
    (bare,) = (each for each in found.answers if each.now.outcome == "unverified")
    assert (bare.now.action, bare.then.action) == ("log", "block")
    assert (found.n_stored, found.n_left_out) == (3, 2)
    assert "Not tried either: 2, since they are JSON" in tried(anna, action="block")


def test_another_detector_is_not_compared_by_its_threshold(anna: Desk) -> None:
    page = tried(anna, detector="similarity:hash", similarity_threshold="0.9")
    assert "which flags" not in page
    assert "Detector: " in page


def test_what_takes_too_long_ends_and_says_how_many_are_left(anna: Desk) -> None:
    with piped(JUDGE) as pipeline:
        found = effect(anna, pipeline, Overrides(), limit_s=-1.0)
    assert (found.answers, found.n_stored) == ((), 2)


def test_decisions_hold_in_a_replay_as_in_a_chat(anna: Desk) -> None:
    decision = Decision(name="all", plugin=HallucinationPlugin(enabled=True, action=Action.BODY))
    with piped(JUDGE, decisions=(decision,)) as pipeline:
        found = effect(anna, pipeline, Overrides(action=Action.LOG))
    assert {(each.now.action, each.then.action) for each in found.answers} == {("body", "log")}


def test_values_that_are_wrong_or_impossible_are_refused_at_their_field(anna: Desk) -> None:
    for form in ({"max_sources": "many"}, {"detector": "nobody"}):
        assert "The effect" not in tried(anna, **form)
        assert 'aria-invalid="true"' in tried(anna, **form)


def test_what_is_missing_for_a_replay_is_said(tmp_path: Path) -> None:
    with desk(tmp_path, is_local_demo=True) as anna:
        anna.run(anna.control.registry.create("acme"))
        anna.run(anna.control.watcher.refresh())
        assert "the models are not loaded" in tried(anna)
        events = response_events(checked(), tenant="acme", trace_id="t")
        anna.run(anna.control.audit.settle(events))
        with piped(JUDGE) as anna.control.pipeline:
            assert "audit.text: full" in tried(anna)

"""The first page: its numbers are those of the store, and it says how the gateway is."""

import pytest

from groundwire.gateway.console.charts import ranges, stacked
from tests.gateway.answers import checked, unverified
from tests.gateway.console.desk import Desk
from tests.render.test_render import Page

HOSTILE = '"><script>alert(1)</script>\u202e{{ 7 * 7 }}'


def test_the_page_counts_answers_by_outcome_tenant_and_model(console: Desk) -> None:
    console.sign_in()
    activity = console.control.activity
    activity.answered(checked() + checked() + unverified(), model="gpt-5")
    activity.answered(checked(), model=HOSTILE)
    activity.took("read", 20)
    page = console.get("").text
    assert "75% of 4 answers had something unsupported" in page
    assert "<title>" in page
    assert ": 3 hallucinated</title>" in page
    own = console.get("?model=gpt-5&window=7d").text
    assert "66% of 3 answers" in own
    assert "<option selected>gpt-5</option>" in own
    assert "<h2>By action</h2>" in own
    assert "Of all answers: times are not kept by tenant, model or action." in own
    assert "Of all answers" not in page
    assert "0 answers" not in console.get("?window=nonsense&tenant=acme").text
    assert "No answers in this time" in console.get("?tenant=nobody").text
    assert "script" not in {tag for tag, _ in Page(page).tags}
    assert "{{ 7 * 7 }}" in page


def test_the_page_says_how_model_store_and_trail_are(console: Desk) -> None:
    console.sign_in()
    page = console.get("").text
    for name, state in (("Model", "loading"), ("Store", "unknown"), ("Audit trail", "unknown")):
        assert f'is-ill">{state}</span> <strong>{name}</strong>' in page


def test_the_page_says_when_the_chain_was_verified(console: Desk) -> None:
    console.sign_in()
    assert 'chip">not verified</span> <strong>Chain of the audit trail' in console.get("").text
    console.get("/audit")
    assert console.post("/audit/verify").status_code == 200
    page = console.get("").text
    assert 'is-well">intact</span> <strong>Chain of the audit trail' in page
    assert " records, verified 2" in page


def test_bars_stand_on_one_another_and_reach_the_right_tick() -> None:
    chart = stacked([("a", {"x": 3, "y": 1}), ("b", {}), ("c", {"y": 8})], ["x", "y"])
    assert [text for _, text in chart.ticks] == ["0", "2", "4", "6", "8"]
    below, above, alone = chart.boxes
    assert below.y + below.height == 182
    assert above.y + above.height == pytest.approx(below.y)
    assert (alone.y, alone.height) == (10, 172)
    assert alone.title == "c: 8 y"


def test_ranges_lie_on_a_logarithmic_axis() -> None:
    chart = ranges([("read", 1, 100), ("gate", 10, 10)], unit="ms")
    assert [text for _, text in chart.ticks] == ["1", "10", "100"]
    read, gate = chart.boxes
    assert gate.x == pytest.approx(read.x + read.width / 2)
    assert gate.width == 3
    assert ranges([], unit="ms").boxes == ()

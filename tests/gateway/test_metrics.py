"""What Prometheus reads: DVARA's counter with its documented meaning, and ours."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from groundwire.config import parse
from groundwire.control.audit.log import AuditStats
from groundwire.engine.cache import CacheStats
from groundwire.gateway.collectors import of_audit, of_cache, of_control
from groundwire.gateway.control_state import ControlState
from groundwire.gateway.http.refusals import RefusalCode
from groundwire.gateway.metrics import Metrics, Mode, endpoint_of
from groundwire.pipeline import Checked, Pipeline
from groundwire.policy.policy import Action
from tests.gateway.answers import BLOCK, checked, checked_by, partial, unavailable, unverified
from tests.pipeline.chats import RIGHT, WRONG, asked, sent

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "examples" / "prometheus-alerts.yaml"
DVARAS = "gateway_grounding_check_total"
CACHE = CacheStats(hits=3, misses=2, evictions=1, entries=4, bytes=500, max_bytes=1000)
AUDIT = AuditStats(
    written={"CHECK_INCOMPLETE": 2}, n_failures=1, n_lost=0, depth=7, n_without_detail=3
)

CONTROL = ControlState(
    is_up=True,
    problem=None,
    revision=3,
    age_s=0.5,
    is_audit_failing=False,
    n_waiting=0,
)


def read(metrics: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text, _ = metrics.render()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return read(metrics).get((name, frozenset(labels.items())))


def count(*answers: Checked, mode: Mode = "complete", action: Action = Action.LOG) -> Metrics:
    metrics, context = Metrics(), checked(RIGHT)[0].context
    policy = replace(context.policy, action=action)
    metrics.checked(replace(context, policy=policy, detector="reader"), answers, mode=mode)
    return metrics


def dvaras(metrics: Metrics) -> dict[tuple[str, str], float]:
    found = {}
    for (name, labels), number in read(metrics).items():
        if name == DVARAS:
            by_name = dict(labels)
            found[by_name["grounded"], by_name["action"]] = number
    return found


# DVARA's counter.


def test_a_grounded_response_counts_as_grounded_under_the_policys_action() -> None:
    assert dvaras(count(*checked(RIGHT), action=Action.BLOCK)) == {
        ("true", "BLOCK"): 1,
        ("false", "BLOCK"): 0,
    }


def test_a_hallucinated_response_counts_as_not_grounded() -> None:
    found = dvaras(count(*checked(), action=Action.FLAG))
    assert found == {("true", "FLAG"): 0, ("false", "FLAG"): 1}


def test_a_response_counts_once_whatever_its_choices() -> None:
    assert dvaras(count(*checked(RIGHT, WRONG, WRONG)))["false", "LOG"] == 1
    assert dvaras(count(*checked(RIGHT, RIGHT)))["true", "LOG"] == 1


def test_streams_are_not_counted_by_dvara() -> None:
    assert dvaras(count(*checked(), mode="stream")) == {}


@pytest.mark.parametrize("make", [partial, unavailable, unverified])
def test_what_was_not_checked_in_full_is_neither_grounded_nor_not(make: type) -> None:
    assert dvaras(count(*make())) == {}


def test_an_answer_of_which_nothing_was_due_is_not_counted() -> None:
    assert dvaras(count(*checked(""))) == {}
    assert dvaras(count()) == {}


def test_a_choice_without_text_does_not_hide_the_others() -> None:
    assert dvaras(count(*checked(RIGHT, "")))["true", "LOG"] == 1
    assert dvaras(count(*checked("", WRONG)))["false", "LOG"] == 1


def test_nothing_to_compare_is_grounded_under_dvaras_names() -> None:
    text = "dvara: {llm-gateway: {guardrail: {grounding: {enabled: true}}}}"
    with Pipeline.load(parse(text, name="application.yaml")) as pipeline:
        body = sent("The tower is 330 metres tall.")
        assert dvaras(count(*checked_by(pipeline, "Yes.", body=body)))["true", "LOG"] == 1
    with Pipeline.load(parse("detector: {name: similarity}", name="groundwire.yaml")) as pipeline:
        assert dvaras(count(*checked_by(pipeline, "Yes.", body=body))) == {}


# Ours.


@pytest.mark.parametrize("mode", ["complete", "stream"])
def test_every_answer_is_counted_with_what_was_done(mode: Mode) -> None:
    metrics = count(*checked(RIGHT, WRONG, policy=BLOCK), mode=mode, action=Action.BLOCK)
    labels = {"mode": mode, "detector": "reader"}
    name = "groundwire_checks_total"
    assert value(metrics, name, outcome="grounded", action="none", **labels) == 1
    assert value(metrics, name, outcome="hallucinated", action="block", **labels) == 1


def test_the_stages_of_a_request_are_counted_once_for_all_its_answers() -> None:
    metrics = count(*checked(RIGHT, WRONG))
    for stage, n in {"evidence": 1, "decide": 1, "index": 2, "read": 2, "explain": 1}.items():
        assert value(metrics, "groundwire_stages_seconds_count", stage=stage) == n, stage
    assert value(metrics, "groundwire_stages_seconds_count", stage="total") is None


def test_requests_upstreams_and_refusals() -> None:
    metrics = Metrics()
    metrics.request_began()
    assert value(metrics, "groundwire_in_flight") == 1
    metrics.request_ended("/v1/chat/completions", status=403, seconds=0.02)
    metrics.upstream_answered("openai", seconds=0.2)
    metrics.upstream_failed("openai", "reset")
    metrics.refused(RefusalCode.STREAM_ERROR)
    metrics.added(0.004, mode="stream")
    named = {"endpoint": "chat_completions"}
    assert value(metrics, "groundwire_in_flight") == 0
    assert value(metrics, "groundwire_requests_total", status_class="4xx", **named) == 1
    assert value(metrics, "groundwire_request_seconds_count", **named) == 1
    assert value(metrics, "groundwire_upstream_seconds_sum", upstream="openai") == 0.2
    kinds = {"upstream": "openai", "kind": "reset"}
    assert value(metrics, "groundwire_upstream_failures_total", **kinds) == 1
    assert value(metrics, "groundwire_refusals_total", code="stream_error") == 1
    assert value(metrics, "groundwire_added_seconds_bucket", mode="stream", le="0.005") == 1


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/v1/chat/completions", "chat_completions"),
        ("/v1/chat/completions/", "chat_completions"),
        ("/openai/deployments/mine/chat/completions", "chat_completions"),
        ("/openai/v1/responses", "responses"),
        ("/v1/models", "models"),
        ("/v1/models/gpt-4o", "models"),
        ("/v1/check/batch", "check_batch"),
        ("/api/v1/nli", "nli"),
        ("/v1/files/secret-name", "passed_through"),
        ("/wp-login.php", "other"),
        ("", "other"),
    ],
)
def test_a_path_is_told_by_the_name_of_its_endpoint(path: str, endpoint: str) -> None:
    assert endpoint_of(path) == endpoint


def test_no_label_has_what_strangers_write() -> None:
    metrics = Metrics()
    for n in range(50):
        metrics.request_ended(f"/v1/{n}", status=200 + n, seconds=0)
        metrics.request_ended(f"/{n}", status=1000 * n, seconds=0)
        metrics.refused(f"code-{n}")
    names = ("requests_total", "refusals_total")
    series = [name for name, _ in read(metrics) if name.removeprefix("groundwire_") in names]
    assert len(series) == 3


def test_the_cache_and_the_audit_log_are_read_when_asked() -> None:
    metrics = Metrics()
    now: list[Any] = [None]
    metrics.watch(lambda: of_cache(now[0]))
    metrics.watch(lambda: of_audit(AUDIT))
    assert value(metrics, "groundwire_cache_hits_total") is None
    now[0] = CACHE
    assert value(metrics, "groundwire_cache_hits_total") == 3
    assert value(metrics, "groundwire_cache_misses_total") == 2
    assert value(metrics, "groundwire_cache_evictions_total") == 1
    assert value(metrics, "groundwire_cache_entries") == 4
    assert value(metrics, "groundwire_cache_bytes") == 500
    assert value(metrics, "groundwire_cache_max_bytes") == 1000
    assert value(metrics, "groundwire_audit_events_total", type="CHECK_INCOMPLETE") == 2
    assert value(metrics, "groundwire_audit_failures_total") == 1
    assert value(metrics, "groundwire_audit_lost_total") == 0
    assert value(metrics, "groundwire_audit_queue_depth") == 7
    assert value(metrics, "groundwire_audit_without_detail_total") == 3


def test_two_gateways_in_a_process_count_apart() -> None:
    one, other = count(*checked(RIGHT)), Metrics()
    assert dvaras(one)
    assert not dvaras(other)


def test_the_text_is_that_of_prometheus_without_times_of_creation() -> None:
    text, content_type = count(*checked(RIGHT)).render()
    assert content_type.startswith("text/plain; version=0.0.4")
    assert b"_created" not in text
    assert b"process_cpu_seconds_total" in text or not Path("/proc").exists()


def test_a_choice_with_no_evidence_is_told() -> None:
    metrics = count(*checked(body=asked()))
    labels = {"action": "header", "mode": "complete", "detector": "reader"}
    assert value(metrics, "groundwire_checks_total", outcome="unverified", **labels) == 1


# The alerts that come with it.


@pytest.mark.skipif(not ALERTS.exists(), reason="this is no checkout")
def test_the_alerts_are_about_metrics_that_exist() -> None:
    rules = YAML(typ="safe").load(ALERTS)
    metrics = Metrics()
    metrics.watch(lambda: of_cache(CACHE))
    metrics.watch(lambda: of_audit(AUDIT))
    metrics.watch(lambda: of_control(CONTROL))
    known = set(re.findall(r"# TYPE (\S+)", metrics.render()[0].decode()))
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    assert len(alerts) >= 5
    for rule in alerts:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert set(rule["annotations"]) == {"summary", "description"}
        names = re.findall(r"\b(?:gateway|groundwire)_\w+", rule["expr"])
        assert names, rule
        for name in names:
            assert re.sub(r"_(bucket|sum|count)$", "", name) in known, name
        assert rule["expr"].count("(") == rule["expr"].count(")")


@pytest.mark.skipif(not ALERTS.exists(), reason="this is no checkout")
def test_the_documented_share_is_among_the_alerts() -> None:
    text = " ".join(ALERTS.read_text(encoding="utf-8").split())
    assert (
        'sum(rate(gateway_grounding_check_total{grounded="false"}[15m])) '
        "/ sum(rate(gateway_grounding_check_total[15m])) > 0.1"
    ) in text

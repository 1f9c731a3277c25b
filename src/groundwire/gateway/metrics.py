"""Prometheus metrics of the gateway, in a registry of their own.

``gateway_grounding_check_total`` is a metric of DVARA (another LLM gateway), with the meaning that
DVARA documents. Metrics that begin with ``process_`` are those of Prometheus's client; all others
are Groundwire's own. No label holds text of a client or a model.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric

from groundwire.control.activity import Activity
from groundwire.detection.values import Outcome
from groundwire.gateway.collectors import FunctionCollector
from groundwire.gateway.http.refusals import RefusalCode
from groundwire.gateway.paths import AZURE, PREFIX
from groundwire.pipeline import Checked, RequestContext

Mode: TypeAlias = Literal["complete", "stream", "native"]

_OTHER = "other"
#: Paths after ``/v1/`` that have a label of their own, which is the path with ``_`` in place of
#: ``/``. A path ``models/NAME`` has the label ``models``; all others share ``passed_through``.
_ENDPOINTS = frozenset(
    {
        *("chat/completions", "completions", "responses", "messages", "embeddings", "models"),
        *("check", "check/batch", "verify"),
    }
)
#: Paths outside ``/v1/`` → their label, for the proxy and for the admin plane.
_ELSEWHERE = {
    "/api/v1/classify/fact-check": "fact_check",
    "/api/v1/nli": "nli",
    "/metrics": "metrics",
    "/livez": "livez",
    "/readyz": "readyz",
    "/openapi.json": "openapi",
}
#: Patterns of paths of the admin plane → their label; the first pattern that matches decides.
_ADMIN_ENDPOINTS = {
    r"/console(/.*)?": "console",
    r"/v1/admin/tenants(/[^/]*/?)?": "tenants",
    r"/v1/admin/tenants/[^/]*/policy(/.*)?": "policies",
    r"/v1/admin/tenants/[^/]*/effective(/.*)?": "effective",
    r"/v1/admin/tenants/[^/]*/keys(/.*)?": "tenant_keys",
    r"/v1/admin/keys(/.*)?": "admin_keys",
    r"/v1/admin/me": "me",
    r"/v1/admin/audit/events(/.*)?": "audit_events",
    r"/v1/admin/audit/export": "audit_export",
    r"/v1/admin/audit/verify": "audit_verify",
}
_STATUS_CLASSES = {1: "1xx", 2: "2xx", 3: "3xx", 4: "4xx", 5: "5xx"}
_STAGES = frozenset({"evidence", "gate", "decide", "index", "read", "explain"})

#: Upper bounds, in seconds, of the histogram buckets for the time that checks add to a response.
_ADDED_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: Upper bounds, in seconds, of the histogram buckets for the time of each stage of a check.
_STAGE_S = (0.0001, 0.0005, *_ADDED_S)
#: Upper bounds, in seconds, of the histogram buckets for the time of client and upstream requests.
_REQUEST_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """The metrics of one gateway.

    Attributes:
        activity: Stores counts of answers and times of checks in the database; ``None`` if there
            is no database.
    """

    def __init__(self) -> None:
        self.activity: Activity | None = None
        # Without this call, each counter and histogram would get one more series, with its
        # creation time.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"{name}_total", text, labels, registry=registry)

        def seconds(name: str, text: str, *labels: str, buckets: Sequence[float]) -> Histogram:
            return Histogram(
                f"groundwire_{name}_seconds", text, labels, buckets=buckets, registry=registry
            )

        self._grounding = counter(
            "gateway_grounding_check",
            "Responses, not streamed, that were checked: DVARA's counter. action is the policy's.",
            *("grounded", "action"),
        )
        self._checks = counter(
            "groundwire_checks",
            "Answers by outcome and by what was done about them.",
            *("outcome", "action", "mode", "detector"),
        )
        self._skipped = counter(
            "groundwire_skipped",
            "Answers that are skipped, by reason: the gate sees no need, or there is no text.",
            "reason",
        )
        self._stages = seconds(
            "stages", "Time of the stages of a check.", "stage", buckets=_STAGE_S
        )
        self._added = seconds(
            "added",
            "Time from the last byte of the upstream to the last byte for the client.",
            "mode",
            buckets=_ADDED_S,
        )
        self._requests = counter(
            "groundwire_requests",
            "Requests by endpoint and class of status.",
            *("endpoint", "status_class"),
        )
        self._request_seconds = seconds(
            "request",
            "Time of a request until the last byte of its answer.",
            "endpoint",
            buckets=_REQUEST_S,
        )
        self._in_flight = Gauge(
            "groundwire_in_flight", "Requests that are being answered.", registry=registry
        )
        self._admin_requests = counter(
            "groundwire_admin_requests",
            "Requests to the admin plane by kind of what they are about and class of status.",
            *("endpoint", "status_class"),
        )
        self._upstream_seconds = seconds(
            "upstream",
            "Time until an upstream has sent the headers of its answer.",
            "upstream",
            buckets=_REQUEST_S,
        )
        self._upstream_failures = counter(
            "groundwire_upstream_failures", "Failures of upstreams.", "upstream", "kind"
        )
        self._refusals = counter(
            "groundwire_refusals",
            "Responses that were withheld, and requests that were refused, by a guardrail.",
            "code",
        )

    # Methods that count checks and refusals.

    def checked(
        self, context: RequestContext, answers: Sequence[Checked], *, mode: Mode, model: str = ""
    ) -> None:
        """Count the answers of one response, with the times of the stages of their checks.

        Args:
            context: The context of the request.
            answers: The results for the answers of the response.
            mode: How the answers came: in a ``complete`` response, in a ``stream``, or ``native``,
                if the client itself sent them to be checked.
            model: The name of the model in the client's request; empty if it is not known.
        """
        if self.activity is not None:
            self.activity.answered(answers, model=model)
        for answer in answers:
            labels = (str(answer.outcome), str(answer.action), mode, context.detector or "none")
            self._checks.labels(*labels).inc()
            if answer.outcome is Outcome.SKIPPED:
                self._skipped.labels(answer.reason or str(answer.path)).inc()
        grounded = is_grounded(answers)
        if mode == "complete" and grounded is not None:
            action = str(context.policy.action).upper()
            # Create the series of both values: without a series for "true", a query for the share
            # of grounded responses would return nothing in place of 0.
            counts = {value: self._grounding.labels(value, action) for value in ("true", "false")}
            counts["true" if grounded else "false"].inc()
        for stage, ms in _stage_times(answers):
            name = stage if stage in _STAGES else _OTHER
            self._stages.labels(name).observe(ms / 1000)
            if self.activity is not None:
                self.activity.took(name, ms)

    def added(self, seconds: float, *, mode: Mode) -> None:
        """Record the seconds that a client waited after the upstream's last byte.

        The client waited for the check, and perhaps for its audit events.
        """
        self._added.labels(mode).observe(seconds)
        if self.activity is not None:
            self.activity.took("added", 1000 * seconds)

    def refused(self, code: str) -> None:
        """Count a refusal under its code; a code that is no :class:`.RefusalCode` is ``other``."""
        self._refusals.labels(code if code in set(RefusalCode) else _OTHER).inc()

    # Methods that count requests of clients.

    def request_began(self) -> None:
        """Count the start of a request; the caller must call :meth:`request_ended` later."""
        self._in_flight.inc()

    def request_ended(self, path: str, *, status: int, seconds: float) -> None:
        """Count the end of a request that took this many ``seconds``.

        Of the path, only the endpoint's label is kept.
        """
        endpoint = endpoint_of(path)
        self._in_flight.dec()
        self._requests.labels(endpoint, _STATUS_CLASSES.get(status // 100, _OTHER)).inc()
        self._request_seconds.labels(endpoint).observe(seconds)

    def admin_request_ended(self, path: str, *, status: int, seconds: float) -> None:
        """Count the end of a request to the admin plane; its duration is not kept."""
        del seconds
        endpoint = admin_endpoint_of(path)
        self._admin_requests.labels(endpoint, _STATUS_CLASSES.get(status // 100, _OTHER)).inc()

    # Methods that count responses and failures of upstreams.

    def upstream_answered(self, upstream: str, *, seconds: float) -> None:
        """Record the seconds that an upstream, given by name, took to send response headers."""
        self._upstream_seconds.labels(upstream).observe(seconds)

    def upstream_failed(self, upstream: str, kind: str) -> None:
        """Count a failure of an upstream.

        Args:
            upstream: Name of the upstream.
            kind: The kind of failure: ``connect`` (no connection, or lost before the headers of
                the response), ``timeout``, ``invalid`` (no valid HTTP), ``status`` (500, 502, 503
                or 504), ``reset`` or ``incomplete`` (the body broke off), or ``error`` (an error in
                a checked body or stream with a status from 200 to 299).
        """
        self._upstream_failures.labels(upstream, kind).inc()

    # Methods that add metrics from other parts of the gateway, and return all metrics.

    def watch(self, read: Callable[[], Iterable[Metric]]) -> None:
        """Add metrics: ``read`` is called at each scrape, and returns them."""
        self._registry.register(FunctionCollector(read))

    def render(self) -> tuple[bytes, str]:
        """Return all metrics in the text format of Prometheus, and its content type."""
        return generate_latest(self._registry), CONTENT_TYPE_PLAIN_0_0_4


def endpoint_of(path: str) -> str:
    """Return the label of a path in metrics and logs, one of a fixed set.

    >>> endpoint_of("/v1/chat/completions"), endpoint_of("/v1/models/any"), endpoint_of("/x")
    ('chat_completions', 'models', 'other')
    """
    path = AZURE.sub(PREFIX, path.rstrip("/").encode(errors="replace")).decode()
    if path in _ELSEWHERE:
        return _ELSEWHERE[path]
    if not path.startswith("/v1/"):
        return _OTHER
    name = path.removeprefix("/v1/")
    if name.startswith("models/"):
        return "models"
    return name.replace("/", "_") if name in _ENDPOINTS else "passed_through"


def admin_endpoint_of(path: str) -> str:
    """Return the label of a path of the admin plane in metrics and logs, one of a fixed set.

    >>> admin_endpoint_of("/v1/admin/tenants/acme/keys/0a1b"), admin_endpoint_of("/v1/x")
    ('tenant_keys', 'other')
    """
    for pattern, label in _ADMIN_ENDPOINTS.items():
        if re.fullmatch(pattern, path, re.DOTALL):
            return label
    return _ELSEWHERE.get(path, _OTHER)


def is_grounded(answers: Sequence[Checked]) -> bool | None:
    """Return whether a response counts as grounded in ``gateway_grounding_check_total``.

    Skipped answers are left out first. The result is ``False`` if an answer is hallucinated, and
    ``True`` if there are answers and all are grounded. Otherwise the result is ``None``, and the
    response is not counted. The rule is that of the gateway DVARA.
    """
    outcomes = {answer.outcome for answer in answers} - {Outcome.SKIPPED}
    if Outcome.HALLUCINATED in outcomes:
        return False
    return True if outcomes == {Outcome.GROUNDED} else None


def _stage_times(answers: Sequence[Checked]) -> Iterator[tuple[str, float]]:
    """Yield pairs: the name of a stage of the checks, and its time in milliseconds.

    A stage that ran once for the whole request is yielded once, although all answers report it.
    """
    if answers:
        yield from answers[0].context.timings_ms.items()
    for answer in answers:
        own = answer.timings_ms.items()
        yield from ((k, v) for k, v in own if k != "total" and k not in answer.context.timings_ms)

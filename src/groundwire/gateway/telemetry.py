"""Traces of requests for OpenTelemetry, with the results of checks.

There are three kinds of trace spans. The span of a request to the gateway continues the trace in
the client's ``traceparent`` header, if any. The span of a request to an upstream is named in the
``traceparent`` that the upstream gets. The span of a check has an event
``gen_ai.evaluation.result`` for each answer. Trace spans hold no prompt, answer, source or key.

OpenTelemetry is imported only if traces are enabled.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire import __version__
from groundwire.config import Config
from groundwire.config.upstreams import Upstream
from groundwire.control.audit.quoted import MAX_NAME, Keeping, Quotes
from groundwire.detection.values import Detection, Outcome, Score
from groundwire.errors import needs_extra
from groundwire.gateway.http.caller import OPEN
from groundwire.gateway.logs import TRACE_ID
from groundwire.gateway.metrics import endpoint_of
from groundwire.gateway.upstream.asking import UpstreamRequest
from groundwire.gateway.upstream.headers import Pairs
from groundwire.pipeline import Checked

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

#: Endpoint of an upstream → name of its operation in OpenTelemetry's conventions for generative AI.
_OPERATIONS = {
    "chat/completions": "chat",
    "messages": "chat",
    "responses": "chat",
    "completions": "text_completion",
    "embeddings": "embeddings",
}


class Telemetry:
    """Makes trace spans of requests and checks, and sends them to a collector."""

    def __init__(self, provider: TracerProvider) -> None:
        """Use a provider to make the trace spans; :meth:`close` closes the provider."""
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider, self._trace = provider, trace
        self._tracer = provider.get_tracer("groundwire", __version__)
        self._headers = TraceContextTextMapPropagator()

    @classmethod
    def of(cls, config: Config) -> Telemetry | None:
        """Return the telemetry that a configuration describes; ``None`` if traces are not enabled.

        Raises:
            MissingExtraError: If OpenTelemetry is not installed.
        """
        if not config.otel.enabled:
            return None
        with needs_extra("otel.enabled", "otel"):
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        provider = new_provider()
        exporter = OTLPSpanExporter(endpoint=_traces_url(config.otel.endpoint))
        provider.add_span_processor(BatchSpanProcessor(exporter))
        return cls(provider)

    def close(self) -> None:
        """Send the remaining trace spans, and close the provider; this may wait for the network."""
        self._provider.shutdown()

    def request(self, scope: Scope) -> AbstractContextManager[Span]:
        """Make a trace span for a request to the gateway; it is current inside the ``with``.

        If the request has a ``traceparent``, the trace span continues the client's trace.
        """
        given = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        return self._tracer.start_as_current_span(
            f"{scope['method']} {endpoint_of(scope['path'])}",
            context=self._headers.extract(given),
            kind=self._trace.SpanKind.SERVER,
            attributes={
                "http.request.method": scope["method"],
                "http.route": endpoint_of(scope["path"]),
                "groundwire.trace_id": TRACE_ID.get(),
            },
            record_exception=False,  # the exception's message may hold text of a user
            set_status_on_exception=False,
        )

    @contextmanager
    def asking(self, upstream: Upstream, ask: UpstreamRequest, headers: Pairs) -> Iterator[Span]:
        """Make a trace span for a request to an upstream; it is current inside the ``with``.

        Args:
            upstream: The upstream that gets the request.
            ask: The request.
            headers: The headers for the upstream. In this list, the client's trace headers are
                replaced by those of the new trace span.
        """
        operation = _OPERATIONS.get(ask.path.rstrip("/"))
        # A client may send a key as the name of a model.
        model = Quotes(Keeping(), max_chars=0).name((ask.model or "")[:MAX_NAME])
        attributes: dict[str, Any] = {
            "http.request.method": ask.method,
            "server.address": urlsplit(upstream.url).hostname or "",
            "groundwire.upstream": upstream.name,
        }
        if operation is not None:
            attributes |= {"gen_ai.operation.name": operation, "gen_ai.provider.name": "openai"}
            attributes |= {"gen_ai.request.model": model} if model else {}
        with self._tracer.start_as_current_span(
            f"{operation or ask.method} {model or upstream.name}",
            kind=self._trace.SpanKind.CLIENT,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            carrier: dict[str, str] = {}
            self._headers.inject(carrier)
            headers[:] = [pair for pair in headers if pair[0] not in self._headers.fields]
            headers.extend(carrier.items())
            try:
                yield span
            except Exception as error:
                self.failed(span, type(error).__name__)
                raise

    def checked(self, answers: Sequence[Checked], *, detector: str) -> None:
        """Make the trace span of a check that has just ended, unless there are no answers.

        The trace span lasts as long as the check of the slowest answer, and ends now.
        """
        if not answers:
            return
        ms = max(answer.timings_ms.get("total", 0.0) for answer in answers)
        now = time.time_ns()
        about = {"groundwire.detector": detector, "groundwire.path": str(answers[0].path)}
        span = self._tracer.start_span("check", start_time=now - int(ms * 1e6), attributes=about)
        for stage, spent_ms in answers[0].timings_ms.items():
            span.set_attribute(f"groundwire.{stage}_ms", spent_ms)
        for answer in answers:
            span.add_event("gen_ai.evaluation.result", _evaluation(answer), timestamp=now)
        span.end(now)

    def failed(self, span: Span, kind: str) -> None:
        """Mark a trace span as failed; ``kind`` is the class of the error or the HTTP status."""
        span.set_attribute("error.type", kind)
        span.set_status(self._trace.StatusCode.ERROR)


class Traced:
    """Middleware that makes a trace span for each request.

    Requests for probes, metrics and the OpenAPI document (:data:`.caller.OPEN`) get none.
    """

    def __init__(self, app: ASGIApp, *, telemetry: Telemetry) -> None:
        self._app, self._telemetry = app, telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on to the app, inside a trace span."""
        if scope["type"] != "http" or scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        with self._telemetry.request(scope) as span:

            async def send_noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = message["status"]
                    span.set_attribute("http.response.status_code", status)
                    if status >= 500:
                        self._telemetry.failed(span, str(status))
                await send(message)

            try:
                await self._app(scope, receive, send_noted)
            except Exception as error:
                self._telemetry.failed(span, type(error).__name__)
                raise
            finally:
                if (caller := scope["state"].get("caller")) is not None:
                    span.set_attribute("groundwire.tenant", caller.tenant)


def new_provider() -> TracerProvider:
    """Return a provider of trace spans that uses the request's trace id as the id of a new trace.

    The trace gets a random id if the request's id is not one that OpenTelemetry allows: 32
    hexadecimal digits in lower case that are not all zero.
    """
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class RequestIds(RandomIdGenerator):
        def generate_trace_id(self) -> int:
            own = TRACE_ID.get()
            is_one = len(own) == 32 and set(own) <= set("0123456789abcdef") and set(own) != {"0"}
            return int(own, 16) if is_one else secrets.randbits(128)

    own = {"service.name": "groundwire", "service.version": __version__}
    # OpenTelemetry's environment variables take precedence over these values, so that each of
    # several gateways can have its own name.
    resource = Resource.create(own | dict(OTELResourceDetector().detect().attributes))
    return TracerProvider(resource=resource, id_generator=RequestIds())


def _traces_url(endpoint: str | None) -> str | None:
    """Return the URL to which traces are sent: the endpoint of the collector, with a path.

    An endpoint without a path gets ``/v1/traces``. ``None`` leaves the URL to OpenTelemetry.
    """
    if endpoint is None or urlsplit(endpoint).path.strip("/"):
        return endpoint
    return f"{endpoint.rstrip('/')}/v1/traces"


def _evaluation(answer: Checked) -> dict[str, Any]:
    """Return the result of a check as attributes in OpenTelemetry's terms for generative AI.

    See https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events/. The optional attribute
    for an explanation is left out, because it would quote the answer.
    """
    data: dict[str, Any] = {
        "gen_ai.evaluation.name": "groundedness",
        "gen_ai.evaluation.score.label": str(answer.outcome),
        "groundwire.action": str(answer.action),
    }
    if answer.outcome is Outcome.UNAVAILABLE:
        data["error.type"] = answer.reason or "unavailable"
    detection = answer.detection
    if detection is not None:
        data["groundwire.n_findings"] = len(detection.spans)
        score = _groundedness(detection)
        data |= {} if score is None else {"gen_ai.evaluation.score.value": score}
    return data


def _groundedness(detection: Detection) -> float | None:
    """Return a score that is higher for a better grounded answer; ``None`` if there is no score.

    The score is 1 - P(not supported), in [0, 1]. If the detector measures similarity, the
    score is the mean similarity of the claims to the sources, in [-1, 1].
    """
    if detection.detector.score is Score.SIMILARITY:
        return detection.similarity
    return None if detection.probability is None else 1 - detection.probability

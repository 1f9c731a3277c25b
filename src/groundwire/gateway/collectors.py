"""Prometheus metrics of values that other parts of the gateway count, read at each scrape."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from groundwire.control.audit.log import AuditStats
from groundwire.engine.cache import CacheStats

if TYPE_CHECKING:
    from groundwire.gateway.control_state import ControlState


_REVISION = "Changes of tenants and keys that are in effect here."
_AGE = "Time since what is known of tenants and keys was last seen to be what is stored."
_WITHOUT_DETAIL = "Audit events that were kept without their detail, for too much was waiting."


class FunctionCollector(Collector):
    """A collector for Prometheus that gets its metrics from a function, at each scrape."""

    def __init__(self, read: Callable[[], Iterable[Metric]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """Yield the current metrics."""
        yield from self._read()


def of_cache(stats: CacheStats | None) -> Iterator[Metric]:
    """Yield the metrics of the cache of sources; without a cache (``None``), yield nothing."""
    if stats is None:
        return
    for name in ("hits", "misses", "evictions"):
        text = f"{name.capitalize()} of the cache of sources."
        yield CounterMetricFamily(f"groundwire_cache_{name}", text, getattr(stats, name))
    for name, text in (
        ("entries", "Sources that are kept."),
        ("bytes", "Bytes that they take."),
        ("max_bytes", "Bytes that they may take."),
    ):
        yield GaugeMetricFamily(f"groundwire_cache_{name}", text, getattr(stats, name))


def of_audit(stats: AuditStats) -> Iterator[Metric]:
    """Yield the metrics of the audit log."""
    events = CounterMetricFamily(
        "groundwire_audit_events", "Audit events that were written.", labels=["type"]
    )
    for type_, count in sorted(stats.written.items()):
        events.add_metric([type_], count)
    yield events
    for name, text in (
        ("failures", "Attempts to write audit events that failed; they are repeated."),
        ("lost", "Audit events that were given up."),
        ("without_detail", _WITHOUT_DETAIL),
    ):
        yield CounterMetricFamily(f"groundwire_audit_{name}", text, getattr(stats, f"n_{name}"))
    yield GaugeMetricFamily("groundwire_audit_queue_depth", "Audit events that wait.", stats.depth)


def of_control(state: "ControlState") -> Iterator[Metric]:
    """Yield the metrics of the database, and of the tenants and keys read from it."""
    for name, text, value in (
        ("store_up", "Whether the database can be used.", float(state.is_up)),
        ("directory_revision", _REVISION, state.revision),
        ("directory_age_seconds", _AGE, state.age_s),
    ):
        yield GaugeMetricFamily(f"groundwire_{name}", text, value)

"""What is counted elsewhere, read when Prometheus asks."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from groundwire.control.audit.log import AuditStats
from groundwire.engine.cache import CacheStats

if TYPE_CHECKING:
    from groundwire.gateway.control_state import ControlState


class WithoutCreated(Collector):
    """A registry without the times at which its series were made: twice the series, for nobody."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """The others."""
        for metric in self._registry.collect():
            metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
            if metric.samples or not metric.name.endswith("_created"):
                yield metric


class CacheCollector(Collector):
    """The cache of sources that were read."""

    def __init__(self, read: Callable[[], CacheStats | None]) -> None:
        self._read = read

    def describe(self) -> Iterator[Metric]:
        """Nothing that would have to be read before there is a cache."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """As they are now; none without a cache."""
        stats = self._read()
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


class AuditCollector(Collector):
    """The audit log."""

    def __init__(self, read: Callable[[], AuditStats]) -> None:
        self._read = read

    def describe(self) -> Iterator[Metric]:
        """Nothing, as above."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """As they are now."""
        stats = self._read()
        events = CounterMetricFamily(
            "groundwire_audit_events", "Audit events that were written.", labels=["type"]
        )
        for type_, count in sorted(stats.written.items()):
            events.add_metric([type_], count)
        yield events
        yield CounterMetricFamily(
            "groundwire_audit_failures",
            "Attempts to write audit events that failed; they are repeated.",
            stats.n_failures,
        )
        yield CounterMetricFamily(
            "groundwire_audit_lost", "Audit events that were given up.", stats.n_lost
        )
        yield CounterMetricFamily(
            "groundwire_audit_without_detail",
            "Audit events that were kept without their detail, for too much was waiting.",
            stats.n_without_detail,
        )
        yield GaugeMetricFamily(
            "groundwire_audit_queue_depth", "Audit events that wait.", stats.depth
        )


class ControlCollector(Collector):
    """The database of the control plane, and what is known of it."""

    def __init__(self, read: "Callable[[], ControlState]") -> None:
        self._read = read

    def describe(self) -> Iterator[Metric]:
        """Nothing, as above."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """As they are now."""
        state = self._read()
        yield GaugeMetricFamily(
            "groundwire_store_up", "Whether the database can be used.", float(state.is_up)
        )
        yield GaugeMetricFamily(
            "groundwire_directory_revision",
            "Changes of tenants and keys that are in effect here.",
            state.revision,
        )
        yield GaugeMetricFamily(
            "groundwire_directory_age_seconds",
            "Time since what is known of tenants and keys was last seen to be what is stored.",
            state.age_s,
        )

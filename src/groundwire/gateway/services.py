"""The services that the gateway's endpoints share, from the start of the gateway to its end."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from groundwire.config import Config
from groundwire.control.audit.configured import audit_log
from groundwire.control.audit.log import AuditLog
from groundwire.engine.settings import n_threads
from groundwire.gateway.collectors import of_audit, of_cache
from groundwire.gateway.http.background import Background
from groundwire.gateway.metrics import Metrics
from groundwire.gateway.telemetry import Telemetry
from groundwire.gateway.upstream import Upstreams
from groundwire.gateway.verifying import Verifications
from groundwire.pipeline import Pipeline
from groundwire.policy.policy import Overrides

if TYPE_CHECKING:
    from groundwire.gateway.control import ControlPlane

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: Default size of the cache of sources in a gateway, in megabytes. It is larger than in the
#: library, because a gateway has a process, and usually a machine, to itself.
CACHE_MB = 1000.0


class RequestThreads(ThreadPoolExecutor):
    """A thread pool that keeps the caller's context variables, for log records and traces."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> "Future[_T]":
        """Run a function in a thread, with the caller's context variables."""
        return super().submit(copy_context().run, partial(fn, *args, **kwargs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of the gateway that endpoints use.

    Attributes:
        config: The configuration.
        pipeline: Checks answers, in stages.
        upstreams: The upstream servers.
        audit: The audit log, with the findings of checks and the actions taken.
        metrics: The metrics.
        background: Runs tasks that go on after a response was sent.
        checks: Threads for checks. They are twice as many as the detector's threads, so that the
            next check is ready when another ends.
        verifications: Verifies claims against the sources that they cite; has threads of its own.
        opening: Threads that read requests, find their sources, and decide whether a check is due.
            Even a response that does not wait for its check waits for these threads, so no check
            may occupy them.
        telemetry: Makes traces; ``None`` if traces are not enabled.
    """

    config: Config
    pipeline: Pipeline
    upstreams: Upstreams
    audit: AuditLog
    metrics: Metrics
    background: Background
    checks: ThreadPoolExecutor
    verifications: Verifications
    opening: ThreadPoolExecutor
    telemetry: Telemetry | None = None


async def open_services(
    stack: AsyncExitStack,
    config: Config,
    *,
    metrics: Metrics,
    pipeline: Pipeline | None,
    control: "ControlPlane | None" = None,
    telemetry: Telemetry | None = None,
) -> Services:
    """Make the services of the gateway.

    Args:
        stack: The exit stack that later closes the services, in reverse order.
        config: The configuration.
        metrics: The metrics; they can be scraped before the other services are ready.
        pipeline: A pipeline that is already loaded, and that the caller closes; ``None``: it is
            loaded here.
        control: The control plane, with the tenants and the audit log; the caller closes it.
            ``None``: tenants come from the configuration, and no database stores audit events.
        telemetry: Makes traces; the caller closes it. ``None``: there are no traces.

    Raises:
        GroundwireError: If a model cannot be used, or the audit log cannot be written or signed.
    """
    if pipeline is None:
        tenants = tenants_of(config, control)
        # Loading takes seconds; in a thread, it does not keep probes waiting.
        load = partial(Pipeline.load, with_larger_cache(config), tenants=tenants)
        pipeline = await asyncio.to_thread(load)
        stack.callback(pipeline.close)
    n = n_threads(config.detector.threads)
    checks = RequestThreads(2 * n, thread_name_prefix="groundwire-check")
    stack.callback(checks.shutdown, wait=True, cancel_futures=True)
    verifications = Verifications(config, pipeline.detector)
    stack.callback(verifications.close)
    opening = RequestThreads(n, thread_name_prefix="groundwire-open")
    stack.callback(opening.shutdown, wait=True, cancel_futures=True)
    if control is None:
        audit = audit_log(config, is_stored=False)
        await audit.open()
        stack.push_async_callback(audit.close, timeout_s=config.gateway.shutdown_s)
    else:
        audit = control.audit
    metrics.watch(lambda: of_audit(audit.stats))
    detector = pipeline.detector
    metrics.watch(lambda: of_cache(detector.cache))
    client = Upstreams(config.upstreams, config.upstream, observer=metrics, tracer=telemetry)
    upstreams = await stack.enter_async_context(client)
    background = Background()
    stack.push_async_callback(background.close, config.gateway.shutdown_s)
    return Services(
        config=config,
        pipeline=pipeline,
        upstreams=upstreams,
        audit=audit,
        metrics=metrics,
        background=background,
        checks=checks,
        verifications=verifications,
        opening=opening,
        telemetry=telemetry,
    )


def tenants_of(config: Config, control: "ControlPlane | None") -> Mapping[str, Overrides]:
    """Return the settings of tenants by id, from the control plane or else the configuration."""
    return config.tenants if control is None else control.directory


def with_larger_cache(config: Config) -> Config:
    """Return a configuration with a cache of :data:`CACHE_MB`, unless the given one sets a size."""
    origin = config.origins.get("detector.cache_mb")
    if origin is not None and not origin.is_default:
        return config
    return replace(config, detector=replace(config.detector, cache_mb=CACHE_MB))

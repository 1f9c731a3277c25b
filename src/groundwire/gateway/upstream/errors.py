"""Errors of requests to upstreams."""

from enum import StrEnum

from groundwire.errors import GroundwireError
from groundwire.gateway.http.problems import Problem


class Breakage(StrEnum):
    """The ways in which the body of a response can break off."""

    RESET = "reset"  # the connection was reset
    TIMEOUT = "timeout"  # nothing came for too long
    INCOMPLETE = "incomplete"  # the connection was closed, or the framing was wrong


_HOW = {
    Breakage.RESET: "the connection was reset",
    Breakage.TIMEOUT: "nothing more came for too long",
    Breakage.INCOMPLETE: "the connection was closed before the end of the body",
}


class UpstreamBrokenError(GroundwireError):
    """The response of an upstream broke off, so its answer is incomplete."""

    def __init__(self, upstream: str, kind: Breakage, n_bytes: int) -> None:
        super().__init__(upstream, kind, n_bytes)
        self.upstream, self.kind, self.n_bytes = upstream, kind, n_bytes

    def __str__(self) -> str:
        return (
            f"The response of the upstream {self.upstream!r} broke off after {self.n_bytes:,} "
            f"bytes: {_HOW[self.kind]}."
        )

    def problem(self) -> Problem:
        """Return the error for a client that has received nothing of the response yet."""
        is_late = self.kind is Breakage.TIMEOUT
        return Problem.named("upstream_stopped" if is_late else "upstream_incomplete", error=self)


class UnansweredError(GroundwireError):
    """An upstream sent no response, or a response that is not valid HTTP.

    Attributes:
        upstream: Name of the upstream.
        problem: The error for the client.
        kind: The kind of failure, for metrics: ``connect``, ``timeout`` or ``invalid``.
    """

    def __init__(self, upstream: str, problem: Problem, kind: str) -> None:
        super().__init__(upstream, problem, kind)
        self.upstream, self.problem, self.kind = upstream, problem, kind


def unreachable(upstream: str, reason: str) -> UnansweredError:
    """Return the error of a connection that failed, or was lost before the response's headers."""
    problem = Problem.named("upstream_unreachable", upstream=upstream, reason=reason)
    return UnansweredError(upstream, problem, "connect")


def invalid(upstream: str, reason: str) -> UnansweredError:
    """Return the error of an upstream that sent no valid HTTP response."""
    problem = Problem.named("upstream_invalid", upstream=upstream, reason=reason)
    return UnansweredError(upstream, problem, "invalid")


def late(upstream: str, timeout_s: float) -> UnansweredError:
    """Return the error of an upstream that sent no headers in time."""
    problem = Problem.named("upstream_timeout", upstream=upstream, timeout_s=timeout_s)
    return UnansweredError(upstream, problem, "timeout")


def no_such_model(model: str) -> Problem:
    """Return the error for a request whose model no upstream serves."""
    shown = model if len(model) <= 100 else model[:100] + "..."
    return Problem.named("model_not_found", shown=shown)

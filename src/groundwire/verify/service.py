"""The verifier ``service``: a server that offers the same two calls, asked for the whole report.

``POST {url}/detect_hallucination`` and ``/audit_trace_budget``, the key as a bearer token, spans as
``{"id", "text"}``. Answer, evidence and key leave this machine, so nothing but
``verifier="service"`` chooses it; plain HTTP is refused but to this machine, and no redirect is
followed.
"""

import json
import time
from collections.abc import Mapping
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from io import BufferedReader, RawIOBase
from socket import socket
from typing import Any
from urllib.error import HTTPError
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from groundwire.config.kinds import is_loopback
from groundwire.verify.verifier import FailureKind

#: A longer response is none of a report's.
MAX_RESPONSE_BYTES = 16 * 1024 * 1024
_PIECE_BYTES = 65_536


class ServiceError(Exception):
    """The service gave no report; the text quotes nothing that was sent or received."""

    def __init__(self, kind: FailureKind, problem: str) -> None:
        super().__init__(kind, problem)
        self.kind, self.problem = kind, problem

    def __str__(self) -> str:
        return self.problem


def call_service(
    url: str, call: str, payload: Mapping[str, Any], *, api_key: str, timeout_s: float
) -> object:
    """Make one call, and return the JSON of its response.

    Args:
        url: Where the service is, ``https://`` or on this machine.
        call: ``detect_hallucination`` or ``audit_trace_budget``.
        payload: What is sent.
        api_key: Sent as a bearer token.
        timeout_s: Seconds until the whole response must be there.

    Raises:
        ServiceError: If there is no response with JSON.
    """
    request = Request(
        f"{url}/{call}",
        data=json.dumps(payload).encode(),
        headers={
            "Authorization": f"Bearer {api_key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        },
        method="POST",
    )
    deadline = time.monotonic() + timeout_s
    try:
        with _opener(url, deadline).open(request, timeout=timeout_s) as response:
            return json.loads(_body(response))
    except HTTPError as error:
        with error:
            raise _of_status(error.code) from error
    except TimeoutError as error:
        raise _timeout() from error
    except (OSError, HTTPException) as error:
        if isinstance(getattr(error, "reason", None), TimeoutError):
            raise _timeout() from error
        raise ServiceError(
            FailureKind.CONNECTION,
            f"The service cannot be reached ({type(error).__name__}). See that it runs and that "
            "service_url is right.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise malformed("it is no JSON") from error


def malformed(problem: str) -> ServiceError:
    """The error of a response that is no report."""
    return ServiceError(FailureKind.MALFORMED, f"The service's response is no report: {problem}.")


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        """Follow nowhere: the key and the evidence were meant for one place."""


class _Timed(RawIOBase):
    """What a socket brings until a point in time; the socket's own timeout is of each read."""

    def __init__(self, sock: socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline
        self._inner = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - as it is declared
        """Read what there is.

        Raises:
            TimeoutError: If there is nothing until the deadline.
        """
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._sock.settimeout(left_s)
        return self._inner.readinto(buffer)

    def close(self) -> None:
        """Close this end."""
        self._inner.close()
        super().close()


class _Response(HTTPResponse):
    """A response whose headers, and not its pieces alone, have to be there in time."""

    def __init__(self, sock: socket, *how: Any, deadline: float, **more: Any) -> None:  # noqa: ANN401
        super().__init__(sock, *how, **more)
        self.fp.close()
        self.fp = BufferedReader(_Timed(sock, deadline))


def _connection(kind: Any, deadline: float, *how: Any, **more: Any) -> HTTPConnection:  # noqa: ANN401
    connection: HTTPConnection = kind(*how, **more)
    connection.response_class = partial(_Response, deadline=deadline)  # type: ignore[assignment]
    return connection


class _Http(HTTPHandler):
    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: Request) -> HTTPResponse:
        """Open a connection, each of whose responses has a deadline."""
        return self.do_open(partial(_connection, HTTPConnection, self._deadline), req)


class _Https(HTTPSHandler):
    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def https_open(self, req: Request) -> HTTPResponse:
        """As :class:`_Http`; certificates are checked, as they are by default."""
        return self.do_open(partial(_connection, HTTPSConnection, self._deadline), req)


def _opener(url: str, deadline: float) -> OpenerDirector:
    # This machine is not reached through a proxy, which would see it all.
    proxies = [ProxyHandler({})] if is_loopback(url) else []
    return build_opener(_NoRedirects, _Http(deadline), _Https(deadline), *proxies)


def _body(response: Any) -> bytes:  # noqa: ANN401 - urllib's
    pieces, size = [], 0
    while piece := response.read1(_PIECE_BYTES):
        size += len(piece)
        if size > MAX_RESPONSE_BYTES:
            raise malformed(f"it is longer than {MAX_RESPONSE_BYTES:,} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def _timeout() -> ServiceError:
    return ServiceError(
        FailureKind.TIMEOUT,
        "The service did not answer in time. Raise timeout_s, or try again later.",
    )


def _of_status(status: int) -> ServiceError:
    if status in (401, 403):
        return ServiceError(
            FailureKind.AUTHENTICATION,
            f"Authentication failed ({status}). See that OPENAI_API_KEY is the service's.",
        )
    if status == 402:
        return ServiceError(
            FailureKind.BUDGET_EXCEEDED,
            "Budget exceeded (402). The account behind the key has no credit left.",
        )
    kind, more = _STATUSES.get(status) or _of_range(status)
    return ServiceError(kind, f"Service error ({status}). {more}")


_STATUSES = {
    404: (FailureKind.NOT_FOUND, "It knows no such call. See that service_url is right."),
    429: (FailureKind.RATE_LIMITED, "It refuses more calls for now. Try again later."),
}


def _of_range(status: int) -> tuple[FailureKind, str]:
    if status < 400:
        next_step = "It is elsewhere, and no redirect is followed. See that service_url is right."
        return FailureKind.SERVICE_ERROR, next_step
    if status < 500:
        return FailureKind.REFUSED, "It refuses the request. See that service_url is right."
    return FailureKind.SERVICE_ERROR, "Try again later, or see what is wrong with the service."

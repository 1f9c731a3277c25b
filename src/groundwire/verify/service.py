"""The verifier ``service``: a server that offers the same two calls and answers with a report.

``POST {url}/detect_hallucination`` and ``/audit_trace_budget``, the key as a bearer token, spans as
``{"id", "text"}``. Answer, evidence and key leave this machine, so it is used only where
``verifier="service"`` says so; plain HTTP is refused except to this machine, and no redirect is
followed.
"""

from collections.abc import Mapping
from typing import Any

from groundwire.verify.client import ChatClient, call_failure


def call_service(
    url: str, call: str, payload: Mapping[str, Any], *, api_key: str, timeout_s: float
) -> bytes:
    """Make one call, without a second try, and return its response.

    Args:
        url: URL of the service, ``https://`` or on this machine.
        call: ``detect_hallucination`` or ``audit_trace_budget``.
        payload: JSON data to send.
        api_key: Key to send as a bearer token.
        timeout_s: Seconds until the whole response must be there.

    Raises:
        NotVerifiedError: If there is no response.
        MissingExtraError: If the official client is not installed.
    """
    with ChatClient(
        base_url=url,
        api_key=api_key,
        timeout_s=timeout_s,
        max_retries=0,
        what="The service verifier",
    ) as client:
        try:
            return client.post(f"/{call}", payload)
        except Exception as error:  # whatever the client raises, nothing was verified
            raise call_failure(error, "service") from error

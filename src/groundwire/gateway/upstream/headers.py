"""Filters the headers of requests to an upstream, and of its responses.

Names and values are decoded as Latin-1, one character for each byte, so that no byte is lost. Order
and repetition of headers are kept.
"""

import re
from collections.abc import Iterable

from groundwire.control.keys import holds_key
from groundwire.gateway.http.caller import CREDENTIALS

Pairs = list[tuple[str, str]]

#: Headers about one connection, which a proxy does not forward (see RFC 9110, 7.6.1).
HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "expect", "te", "trailer", "upgrade"),
        *("proxy-authenticate", "proxy-authentication-info", "proxy-authorization"),
        "transfer-encoding",
    }
)

#: Further request headers that are not forwarded: those that the HTTP client writes itself;
#: cookies, since a browser may send those of the gateway's own pages; and headers that change the
#: method, since the gateway's own decisions rest on the original method.
_STAYS = frozenset(
    {
        *("content-length", "cookie", "host"),
        *("x-http-method", "x-http-method-override", "x-method-override"),
    }
)

#: Further response headers that are not returned: the trace id and the date, which the gateway sets
#: itself; and headers with rules for a whole host, since for the caller the gateway is the host.
_NOT_ITS_OWN = frozenset(
    {"x-trace-id", "date", "alt-svc", "strict-transport-security", "public-key-pins"}
)
#: Prefixes of headers with results of a check, which only the gateway may set.
_OURS = ("x-vsr-", "x-groundwire-")

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def going_up(
    headers: Iterable[tuple[str, str]],
    *,
    api_key: str | None,
    passes_authorization: bool,
    accept_encoding: str | None = None,
    key_names: Iterable[str] = ("authorization",),
) -> Pairs:
    """Return the caller's headers that an upstream may see, and the upstream's key if needed.

    Left out are cookies, headers about the connection or the host, those that the HTTP client
    writes or that change the method, the gateway's own headers, and all headers with text that
    looks like a key of the gateway.

    Args:
        headers: The headers of the caller.
        api_key: The configured key of the upstream, if any.
        passes_authorization: Whether credentials in ``headers`` are for the upstream. If so, they
            are sent in place of ``api_key``; if not, they are left out.
        accept_encoding: Replaces the caller's Accept-Encoding; ``None`` keeps it.
        key_names: The headers in which ``api_key`` is sent.

    Returns:
        Pairs of name, in lower case, and value.
    """
    # If two names differ only in case, the HTTP client sends just the second header. So all names
    # are put in lower case.
    given = [(name.lower(), value) for name, value in headers]
    dropped = HOP_BY_HOP | _STAYS | _named_by_connection(given)
    if not passes_authorization:
        dropped |= CREDENTIALS
    if accept_encoding is not None:
        dropped |= {"accept-encoding"}
    kept = [
        (name, value)
        for name, value in given
        if name not in dropped and not name.startswith("x-groundwire-") and not holds_key(value)
    ]
    if accept_encoding is not None:
        kept.append(("accept-encoding", accept_encoding))
    if api_key is not None and not any(name in CREDENTIALS for name, _ in kept):
        bearer = f"Bearer {api_key}"
        kept += [(name, bearer if name == "authorization" else api_key) for name in key_names]
    return kept


def coming_back(headers: Iterable[tuple[bytes, bytes]], *, status: int) -> Pairs:
    """Return the upstream's headers that a caller may see, with names in lower case.

    Left out are headers about the connection or the host, those that the gateway sets itself,
    invalid headers, and those with results of a check: an upstream must not claim that an answer
    was checked. Content-Length is left out if the status is 204 or 304, and if the response has
    Transfer-Encoding.
    """
    pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers]
    dropped = HOP_BY_HOP | _NOT_ITS_OWN | _named_by_connection(pairs)
    if status in {204, 304} or any(name == "transfer-encoding" for name, _ in pairs):
        dropped |= {"content-length"}
    return [
        (name, value)
        for name, value in pairs
        if name not in dropped
        and not name.startswith(_OURS)
        and _TOKEN.fullmatch(name)
        and not _CONTROL.search(value)
    ]


def _named_by_connection(headers: Iterable[tuple[str, str]]) -> frozenset[str]:
    values = (value for name, value in headers if name == "connection")
    return frozenset(word.strip().lower() for value in values for word in value.split(","))

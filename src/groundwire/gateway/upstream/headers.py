"""Filters the headers that go to an upstream, and those that come back.

Names and values are texts of one character a byte (Latin-1), as HTTP/1.1 has them, so that nothing
is lost on the way. Order and repetition are kept.
"""

import re
from collections.abc import Iterable

from groundwire.control.keys import holds_key
from groundwire.gateway.http.caller import CREDENTIALS

Pairs = list[tuple[str, str]]

#: Headers about one connection and not its messages (RFC 9110, 7.6.1), and ``Upgrade`` requests.
HOP_BY_HOP = frozenset(
    {
        "connection",
        "expect",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)

#: Of the caller's, besides: what the client of the upstream writes itself; cookies, which a browser
#: also sends that has a session with us; and what makes a method another one than was looked at.
_STAYS = frozenset(
    {
        "content-length",
        "cookie",
        "host",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
    }
)

#: Of the upstream's, besides: what we say of an answer, which nobody else can; the date, which our
#: server writes; and what is about all of a host, which is another one to the caller.
_NOT_ITS_OWN = frozenset(
    {"x-trace-id", "date", "alt-svc", "strict-transport-security", "public-key-pins"}
)
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
    """Return the caller's headers that an upstream may see: none that may hold a key of ours.

    Args:
        headers: The caller's.
        api_key: What the upstream wants to see, if it is configured.
        passes_authorization: Whether credentials in ``headers`` are the caller's own for the
            upstream. They then win over ``api_key``; else they are for us, and stay here.
        accept_encoding: Replaces the caller's Accept-Encoding; ``None`` keeps it.
        key_names: The headers that ``api_key`` goes in.

    Returns:
        Names in lower case; without Host and Content-Length.
    """
    # The client takes names that differ in case alone for two headers, and the last wins.
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
    """Return the upstream's headers that a caller may see, names in lower case.

    An upstream cannot say in our name that an answer was checked. Content-Length stays where it
    tells the length of the body that follows.
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

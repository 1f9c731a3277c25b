"""Authentication: finds the tenant of a request by its key, before the body is read.

A key comes as ``Authorization: Bearer``, as the password of ``Authorization: Basic``, as
``X-API-Key``, as Azure's ``api-key`` or ``Ocp-Apim-Subscription-Key``, or as ``X-Groundwire-Key``.
If a request has ``X-Groundwire-Key``, keys in other headers are for the upstream.
"""

import re
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress

from starlette.types import ASGIApp, Scope

from groundwire.config.keys import DEFAULT_TENANT
from groundwire.config.kinds import is_loopback_host
from groundwire.control.keys import ADMIN_PREFIX, Key
from groundwire.control.tenants.directory import Directory
from groundwire.gateway.http.caller import CREDENTIALS, OPEN, Caller
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware.guard import Guard
from groundwire.policy.policy import Overrides

OWN_HEADER = b"x-groundwire-key"

#: Characters that may separate a key from other text in a header.
_BETWEEN = re.compile(rb"[\s,;=\"']+")

#: Limit on the words in a request's credentials. Each word is looked up among the gateway's keys,
#: so that none of these keys is forwarded to the upstream. Credentials with more words are not
#: forwarded.
_MAX_WORDS = 64


class Authentication(Guard):
    """Finds the tenant of requests, and refuses requests that need a valid key and have none.

    With ``is_local_demo``, no request needs a key, but a request is refused unless its headers Host
    and, if it is sent, Origin name this machine; see :func:`check_is_local`.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        keyring: Directory,
        tenants: Mapping[str, Overrides],
        is_local_demo: bool = False,
        until_known: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Wrap an app.

        Args:
            app: Answers requests that are let in.
            keyring: The directory of all keys: those of tenants and those of the admin plane.
            tenants: The current settings of tenants by id.
            is_local_demo: Whether requests need no key.
            until_known: Waits until the keys are known, and raises a problem if they cannot be read
                in time; ``None`` if they are known from the start.
        """
        super().__init__(app)
        self._keyring, self._tenants = keyring, tenants
        self._is_local_demo, self._until_known = is_local_demo, until_known

    async def check(self, scope: Scope) -> None:
        """Find the tenant of a request, and store it in a :class:`.Caller` in the request's state.

        A request for probes, metrics or the OpenAPI document (:data:`.caller.OPEN`) needs no key,
        and gets no caller.

        Raises:
            Problem: If the keys cannot be read in time, or the request has no valid key. With
                ``is_local_demo``, no key is needed, but :func:`check_is_local` may raise a problem.
        """
        if self._is_local_demo:
            check_is_local(scope)
        if scope["path"] not in OPEN:
            if self._until_known is not None:
                await self._until_known()
            scope["state"]["caller"] = self._caller(scope)

    def _caller(self, scope: Scope) -> Caller:
        key: Key | None = None
        if not self._is_local_demo:
            # At most four credentials are looked up, since each look-up computes a hash.
            given = [each for each in candidates(scope) if each][:4]
            found = [self._keyring.find(each) for each in given]
            key = next((each for each in found if each is not None), None)
            if key is None:
                if any(each.startswith(ADMIN_PREFIX.encode()) for each in given):
                    raise Problem.named("admin_key_on_data_plane")
                raise Problem.named("unknown_key" if given else "missing_key")
        tenant = DEFAULT_TENANT if key is None else key.tenant
        is_own = key is None or bool(values(scope, OWN_HEADER))
        return Caller(
            tenant=tenant,
            key_id=None if key is None else key.key_id,
            passes_authorization=is_own and may_pass(scope, self._keyring),
            # There is no await between the look-ups of the key and of the tenant, so the tenant
            # cannot change in between.
            overrides=self._tenants.get(tenant) or Overrides(),
        )


def candidates(scope: Scope) -> Iterator[bytes]:
    """Yield the credentials that may be a gateway key.

    If ``X-Groundwire-Key`` was sent, only its first value may be a gateway key.
    """
    if own := values(scope, OWN_HEADER):
        yield own[0]
        return
    yield from _authorization(scope, b"bearer")
    for name in (b"x-api-key", b"api-key", b"ocp-apim-subscription-key"):
        yield from values(scope, name)
    # A client whose URL is http://name:KEY@host sends the key as a password.
    yield from (password for _, password in _logins(scope))


def may_pass(scope: Scope, keyring: Directory) -> bool:
    """Return whether the credentials may go to the upstream: they must not hold a gateway key.

    Credentials with too many words to look up may not go to the upstream either.
    """
    words = {
        word
        for name in CREDENTIALS
        for value in values(scope, name.encode())
        # A key may follow any scheme, or no scheme. Values are split at spaces alone, and again at
        # all separators, because a separator may be a part of a credential.
        for word in (*value.split(), *_BETWEEN.split(value))
    }
    words.update(word for login in _logins(scope) for word in login)
    return len(words) <= _MAX_WORDS and not any(map(keyring.is_ours, words))


def values(scope: Scope, name: bytes) -> list[bytes]:
    """Return all values of a header; ``name`` must be in lower case."""
    return [bytes(value).strip() for key, value in scope["headers"] if key == name]


def _authorization(scope: Scope, scheme: bytes) -> list[bytes]:
    """Return the credentials of a scheme in ``Authorization``; ``scheme`` must be in lower case."""
    pairs = [value.partition(b" ") for value in values(scope, b"authorization")]
    return [credentials.strip() for name, _, credentials in pairs if name.lower() == scheme]


def _logins(scope: Scope) -> Iterator[tuple[bytes, bytes]]:
    """Yield the name and the password in each valid ``Authorization: Basic`` header."""
    for credentials in _authorization(scope, b"basic"):
        with suppress(ValueError):
            name, _, password = b64decode(credentials).partition(b":")
            yield name, password


def check_is_local(scope: Scope) -> None:
    """Refuse a request whose header Host or Origin names another machine.

    A page of another website can make the user's browser send requests to this machine. The header
    Origin, which browsers send with many of these requests, names the website. If the website lets
    its own host name point to this machine (DNS rebinding), the header Host has that name.

    Raises:
        Problem: If there is no header Host or more than one, or if Host or an Origin does not name
            this machine.
    """
    hosts = values(scope, b"host")
    if len(hosts) != 1 or not is_loopback_host(host_of(hosts[0].decode("latin-1"))):
        raise Problem.named("host_not_local")
    for origin in values(scope, b"origin"):
        if not is_loopback_host(host_of(origin.decode("latin-1").partition("://")[2])):
            raise Problem.named("origin_not_local")


def host_of(authority: str) -> str:
    """Return the host of ``host:port``; an IPv6 address keeps its brackets.

    >>> host_of("localhost:8080"), host_of("[::1]:8080"), host_of("::1")
    ('localhost', '[::1]', '::1')
    """
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    host, colon, port = authority.rpartition(":")
    return host if colon and port.isdigit() and ":" not in host else authority

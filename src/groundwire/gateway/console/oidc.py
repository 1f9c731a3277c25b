"""Sign-in at an OpenID Connect provider: the authorization code flow, with PKCE.

Authlib and joserfc (the extra ``oidc``) build the requests and validate the ID token. No data of
the provider or of a sign-in are kept between requests: the keys of the provider are fetched for
each sign-in, and the values that tie a sign-in to its browser are derived from a secret in a
cookie.
"""

import asyncio
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote, urlsplit

import aiohttp
from authlib.oauth2.client import OAuth2Client
from authlib.oauth2.rfc6749.parameters import prepare_token_request
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import get_well_known_url
from joserfc import jwt
from joserfc.errors import ClaimError, JoseError
from joserfc.jwk import KeySet, KeySetSerialization
from joserfc.jws import JWSRegistry

from groundwire.config.kinds import is_encrypted
from groundwire.config.tree import OpenIdConnect
from groundwire.control.accounts import AccountRole, Identity
from groundwire.control.store.tables import SUBJECT_CHARS
from groundwire.gateway.http.problems import Problem

#: The accepted signature algorithms. HMAC is left out, since an attacker could sign a token with a
#: public key as the secret.
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)

#: Seconds by which the clocks of the provider and of this machine may differ.
LEEWAY_S = 60

#: Limits on the seconds that a request to the provider takes, and on the bytes of the response.
TIMEOUT_S, MAX_BYTES = 10.0, 500_000

#: Highest number of simultaneous requests to the provider. Further requests are refused, so that a
#: slow provider does not block other pages.
MAX_WAITING = 16

_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_ERROR = re.compile(r"[a-z_]{1,40}")

#: The errors of joserfc and Authlib for tokens and keys that are not valid.
_INVALID = (JoseError, LookupError, TypeError, ValueError, RecursionError)


class Provider:
    """An OpenID Connect provider, at which people sign in.

    Attributes:
        issuer: The URL of the provider.
    """

    def __init__(self, settings: OpenIdConnect) -> None:
        """Take the settings, in which ``issuer`` must be set; nothing is fetched yet."""
        assert settings.issuer is not None
        self._own, self.issuer = settings, settings.issuer
        self._places = asyncio.Semaphore(MAX_WAITING)

    @property
    def is_https(self) -> bool:
        """Whether people come back from the provider over HTTPS."""
        return (self._own.redirect_uri or "").startswith("https://")

    @property
    def host(self) -> str:
        """The host of the provider, to show on pages."""
        return urlsplit(self.issuer).hostname or ""

    async def leave(self, secret: str) -> str:
        """Return the URL of the provider's sign-in page, for a browser with ``secret`` in a cookie.

        Raises:
            Problem: 502, if the provider cannot be used.
        """
        about = await self._discovered()
        url, _ = self._client(about).create_authorization_url(
            _endpoint(about, "authorization_endpoint"),
            state=_derived(secret, "state"),
            nonce=_derived(secret, "nonce"),
            code_verifier=_derived(secret, "verifier"),
        )
        return str(url)

    async def arrive(
        self, secret: str, query: Mapping[str, str]
    ) -> tuple[Identity, AccountRole | None]:
        """Return the identity of a person who came back from the provider, and their role.

        The role is ``None`` if the ID token gives the person no role.

        Args:
            secret: The secret in the browser's cookie; empty without a cookie.
            query: The parameters with which the provider sent the browser back.

        Raises:
            Problem: 400 or 401, if the person is refused; 502, if the provider cannot be used.
        """
        if not secret or not hmac.compare_digest(
            query.get("state", "").encode(), _derived(secret, "state").encode()
        ):
            raise Problem.named("sign_in_lost")
        if query.get("iss", self.issuer) != self.issuer:
            raise _refused("another provider answered")
        if "code" not in query:
            raise _refused(f"the provider gives the error {_error(query)}")
        claims = await self._claims(secret, query["code"])
        name = claims.get("preferred_username")
        person = Identity(
            issuer=self.issuer, subject=claims["sub"], called=name if isinstance(name, str) else ""
        )
        return person, self._role(claims)

    def _role(self, claims: Mapping[str, Any]) -> AccountRole | None:
        """Return the highest role that the claims of an ID token give, or ``None``.

        The setting ``oidc.role_claim`` names the claim that gives roles.
        """
        raw = claims.get(self._own.role_claim)
        values = [raw] if isinstance(raw, str) else raw if isinstance(raw, list) else []
        for role, given_by in (
            (AccountRole.ADMIN, self._own.admins),
            (AccountRole.REVIEWER, self._own.reviewers),
            (AccountRole.VIEWER, self._own.viewers),
        ):
            if any(value in (given_by or ()) for value in values):
                return role
        return None

    async def _claims(self, secret: str, code: str) -> Mapping[str, Any]:
        """Exchange the authorization code for an ID token; return the claims of the valid token."""
        about = await self._discovered()
        token = await self._id_token(about, secret, code)
        status, keys = await self._fetch("GET", _endpoint(about, "jwks_uri"))
        if status != 200:
            raise _unavailable(f"its keys have status {status}")
        essential: dict[str, Any] = {"essential": True}
        options = {
            "iss": essential | {"value": self.issuer},
            "aud": essential | {"value": self._own.client_id},
            "sub": essential,
        }
        params = {"nonce": _derived(secret, "nonce"), "client_id": self._own.client_id}
        registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        registry.max_header_length = MAX_BYTES  # a header may have a chain of certificates
        try:
            key_set = KeySet.import_key_set(cast(KeySetSerialization, keys))
            found = jwt.decode(token, key_set, ALGORITHMS, registry)
            claims = CodeIDToken(found.claims, found.header, options, params)
            claims.validate(leeway=LEEWAY_S)
        except _INVALID as error:
            raise _refused(f"the ID token is not valid: {_reason(error)}") from error
        if len(claims["sub"]) > SUBJECT_CHARS or not re.fullmatch(r"[\x20-\x7e]+", claims["sub"]):
            raise _refused("the ID token is not valid: sub is not up to 255 ASCII characters")
        return dict(claims)

    async def _id_token(self, about: Mapping[str, Any], secret: str, code: str) -> str:
        """Exchange the authorization code for an ID token, which is not validated yet."""
        client = self._client(about)
        auth = client.client_auth(client.token_endpoint_auth_method)
        if client.token_endpoint_auth_method == "client_secret_basic":
            # RFC 6749 (section 2.3.1) requires encoded ids and secrets; Authlib encodes neither.
            auth.client_id = quote(client.client_id, safe="")
            auth.client_secret = quote(client.client_secret, safe="")
        url, headers, body = auth.prepare(
            "POST",
            _endpoint(about, "token_endpoint"),
            dict(_FORM),
            prepare_token_request(
                "authorization_code",
                code=code,
                redirect_uri=self._own.redirect_uri,
                code_verifier=_derived(secret, "verifier"),
            ),
        )
        status, answer = await self._fetch("POST", url, headers=headers, data=body)
        if status != 200:
            raise _refused(f"the provider gives the error {_error(answer)} for its code")
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise _refused("the provider sent no ID token")
        return token

    async def _discovered(self) -> Mapping[str, Any]:
        """Fetch the document in which the provider describes itself; check the issuer in it."""
        url = get_well_known_url(self.issuer, external=True)
        status, about = await self._fetch("GET", url)
        if status != 200:
            raise _unavailable(f"{url} has status {status}")
        if about.get("issuer") != self.issuer:
            raise _unavailable("it names another issuer than oidc.issuer")
        return about

    async def _fetch(
        self,
        method: str,
        url: str,
        **sent: Any,  # noqa: ANN401 - arguments of aiohttp
    ) -> tuple[int, Mapping[str, Any]]:
        """Send a request to the provider; return the status and the JSON object of the response.

        Raises:
            Problem: 502, if no JSON object of at most :data:`MAX_BYTES` comes in time, if the
                status is 500 or above, or if too many requests wait for a response already.
        """
        if self._places.locked():
            raise _unavailable("too many sign-ins wait for it")
        timeout, data = aiohttp.ClientTimeout(total=TIMEOUT_S), bytearray()
        cookies = aiohttp.DummyCookieJar()
        try:
            async with (
                self._places,
                aiohttp.ClientSession(timeout=timeout, cookie_jar=cookies) as session,
                session.request(method, url, allow_redirects=False, **sent) as response,
            ):
                async for piece in response.content.iter_chunked(65_536):
                    data += piece
                    if len(data) > MAX_BYTES:
                        raise _unavailable(f"a response has more than {MAX_BYTES:,} bytes")
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise _unavailable(f"it does not answer ({type(error).__name__})") from error
        if response.status >= 500:
            raise _unavailable(f"a response has status {response.status}")
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise _unavailable("a response is not JSON") from error
        if not isinstance(found, dict):
            raise _unavailable("a response is no JSON object")
        return response.status, found

    def _client(self, about: Mapping[str, Any]) -> OAuth2Client:
        secret, method = self._own.client_secret, "none"
        if secret is not None:
            known = about.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
            is_basic = "client_secret_basic" in known
            method = "client_secret_basic" if is_basic else "client_secret_post"
        return OAuth2Client(
            session=None,
            client_id=self._own.client_id,
            client_secret=None if secret is None else secret.reveal(),
            token_endpoint_auth_method=method,
            scope=self._own.scope,
            redirect_uri=self._own.redirect_uri,
            code_challenge_method="S256",
        )


def _derived(secret: str, what: str) -> str:
    """Derive a value of one sign-in from the secret in the browser's cookie.

    ``what`` is the name of the value. ``state`` shows that the browser that comes back is the one
    that left. ``nonce`` shows that the ID token was made for this sign-in. ``verifier`` is the code
    verifier of PKCE, without which nobody can exchange the code of this sign-in.
    """
    return hmac.digest(secret.encode(), what.encode(), "sha256").hex()


def _endpoint(about: Mapping[str, Any], name: str) -> str:
    """Return the URL of an endpoint, from the document in which the provider describes itself.

    Raises:
        Problem: 502, if the URL is missing or not safe.
    """
    url = about.get(name)
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        is_safe = bool(parts.hostname) and is_encrypted(parts.geturl(), plain_host=None)
    except ValueError:
        is_safe = False
    # A provider with HTTPS must not make this machine send plain HTTP to local services.
    is_plain_allowed = urlsplit(str(about["issuer"])).scheme == "http"
    if not is_safe or not (is_plain_allowed or parts.scheme == "https"):
        raise _unavailable(f"its {name} is no URL with https://")
    return str(url)


def _error(answer: Mapping[str, Any]) -> str:
    """Return the error code that the provider sent; ``(none that is known)`` if it is not valid."""
    code = answer.get("error")
    return code if isinstance(code, str) and _ERROR.fullmatch(code) else "(none that is known)"


def _reason(error: Exception) -> str:
    """Return the reason why a token is invalid, without any text of the token."""
    if isinstance(error, ClaimError):
        return f"{error.error} {error.claim}"
    return error.error if isinstance(error, JoseError) else type(error).__name__


def _refused(reason: str) -> Problem:
    return Problem.named("sign_in_refused", reason=reason)


def _unavailable(reason: str) -> Problem:
    return Problem.named("provider_unavailable", reason=reason)

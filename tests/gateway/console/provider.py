"""An OpenID Connect provider on this machine, from the server side of Authlib.

Authlib checks the client, its secret, the redirect URI, each code and PKCE. A test says who signs
in, and how the provider misbehaves.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from authlib.oauth2 import AuthorizationServer, OAuth2Request
from authlib.oauth2.rfc6749 import ClientMixin
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc7636 import CodeChallenge
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.gateway.serving import serving

CLIENT, SECRET = "console+of/acme", "s3cret:50%25+of+the/console="
CALLBACK = "http://127.0.0.1:8090/console/sign-in/callback"

#: The key that signs, made once: making one takes a while.
KEY = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})

Claims = dict[str, Any]


@dataclass(kw_only=True)
class Provider:
    """What the provider does next.

    Attributes:
        url: Its issuer.
        callback: Where it sends browsers back to.
        claims: The claims of whoever signs in.
        about: What replaces parts of the document about the provider.
        changed: Changes the claims of an ID token before it is signed.
        signed: Signs the claims of an ID token.
        answered: Changes the answer to a code.
        keys: Its public keys.
        status: The status of all its documents.
        n_codes: How many codes it has exchanged for tokens.
        authenticated: How the console has authenticated itself.
    """

    url: str = ""
    callback: str = CALLBACK
    claims: Claims = field(
        default_factory=lambda: {
            "sub": "0815",
            "preferred_username": "Anna",
            "email": "anna@example.com",
            "groups": ["everybody", "console-admins"],
        }
    )
    about: Claims = field(default_factory=dict)
    changed: Callable[[Claims], Claims] = dict
    signed: Callable[[Claims], str] = lambda claims: signed(claims)
    answered: Callable[[Claims], Any] = dict
    keys: list[Any] = field(default_factory=lambda: [KEY.as_dict(private=False)])
    status: int = 200
    n_codes: int = 0
    authenticated: str = ""


def signed(claims: Claims, *, key: Any = KEY, alg: str = "RS256") -> str:  # noqa: ANN401
    """Sign the claims of an ID token."""
    return jwt.encode({"alg": alg, "kid": "first"}, claims, key, [alg])


class _Client(ClientMixin):  # type: ignore[misc]
    """The one client: the console."""

    def __init__(self, callback: str) -> None:
        self._callback = callback

    def get_client_id(self) -> str:
        return CLIENT

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri == self._callback

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method in ("client_secret_basic", "client_secret_post")

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


class _Request(OAuth2Request):  # type: ignore[misc]
    """A request in the words of Authlib, which wants to hear of TLS."""

    def __init__(self, request: Request, fields: dict[str, str]) -> None:
        super().__init__(request.method, "https://provider.example/", headers=request.headers)
        self.payload = BasicOAuth2Payload(fields)
        self.args = self.form = fields

    args: Any = None
    form: Any = None


class _Grant(AuthorizationCodeGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post")

    def save_authorization_code(self, code: str, request: Any) -> None:  # noqa: ANN401
        asked = request.payload.data
        self.server.codes[code] = SimpleNamespace(
            code=code,
            nonce=asked["nonce"],
            code_challenge=asked["code_challenge"],
            code_challenge_method=asked["code_challenge_method"],
            get_redirect_uri=lambda: asked["redirect_uri"],
            get_scope=lambda: asked["scope"],
        )

    def query_authorization_code(self, code: str, client: object) -> Any:  # noqa: ANN401
        return self.server.codes.get(code)

    def delete_authorization_code(self, authorization_code: Any) -> None:  # noqa: ANN401
        del self.server.codes[authorization_code.code]

    def authenticate_user(self, authorization_code: Any) -> Any:  # noqa: ANN401
        return authorization_code


class _Server(AuthorizationServer):  # type: ignore[misc]
    """Authlib's server, whose requests are already in its words."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(scopes_supported=["openid", "profile"])
        self.provider, self.codes = provider, dict[str, Any]()
        self.register_grant(_Grant, [CodeChallenge(required=True)])
        self.register_token_generator("default", self._token)

    def query_client(self, client_id: str) -> _Client | None:
        return _Client(self.provider.callback) if client_id == CLIENT else None

    def save_token(self, token: Claims, request: OAuth2Request) -> None:
        self.provider.n_codes += 1
        self.provider.authenticated = request.auth_method

    def send_signal(self, name: str, *args: object, **kwargs: object) -> None:
        """Nobody listens."""

    def create_oauth2_request(self, request: _Request) -> _Request:
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> Response:  # noqa: ANN401
        if status == 302:
            return RedirectResponse(dict(headers)["Location"], 302)
        return JSONResponse(body, status, dict(headers))

    def _token(self, *, user: Any, scope: str, **_: object) -> Any:  # noqa: ANN401
        own, moment = self.provider, int(time.time())
        claims = {
            **{"iss": own.url, "aud": CLIENT, "iat": moment, "exp": moment + 300},
            **own.claims,
            "nonce": user.nonce,
        }
        token = {"access_token": "opaque", "token_type": "Bearer", "scope": scope}
        return own.answered(token | {"id_token": own.signed(own.changed(claims))})


@contextmanager
def providing() -> Iterator[Provider]:
    """A provider, on a port of this machine, while the block runs."""
    provider = Provider()
    server = _Server(provider)

    async def about(request: Request) -> Response:
        found = {
            "issuer": provider.url,
            "authorization_endpoint": f"{provider.url}/authorize",
            "token_endpoint": f"{provider.url}/token",
            "jwks_uri": f"{provider.url}/keys",
        }
        return JSONResponse(found | provider.about, provider.status)

    async def keys(request: Request) -> Response:
        return JSONResponse({"keys": provider.keys}, provider.status)

    async def authorize(request: Request) -> Response:
        asked = _Request(request, dict(request.query_params))
        grant = server.get_consent_grant(asked, end_user=provider)
        answer: Response = server.create_authorization_response(asked, provider, grant)
        return answer

    async def token(request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        answer: Response = server.create_token_response(_Request(request, form))
        return answer

    routes = [
        Route("/.well-known/openid-configuration", about),
        Route("/keys", keys),
        Route("/authorize", authorize),
        Route("/token", token, methods=["POST"]),
    ]
    with serving(Starlette(routes=routes)) as provider.url:
        yield provider

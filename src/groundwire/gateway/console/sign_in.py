"""Pages to sign in (with a password or at a provider), to sign out, and to change a password."""

import logging
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from groundwire.control.accounts import SESSION, InvalidAccountError, SavedAccount
from groundwire.control.audit.control_events import account_actor
from groundwire.control.audit.event import AuditEvent
from groundwire.gateway.admin.auth import address_of
from groundwire.gateway.console.services import WINDOW_S, services_of
from groundwire.gateway.console.visit import (
    COOKIE,
    HOME,
    SIGN_IN,
    Visit,
    person_of,
    read_form,
    screen,
)
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware.state import trace_id

if TYPE_CHECKING:
    from groundwire.gateway.console.oidc import Provider

_log = logging.getLogger(__name__)

#: Name and lifetime in seconds of the cookie of a sign-in at the provider. The cookie has a secret
#: and, unless it is too long, the path of the page to show afterwards.
_AWAY, _AWAY_S = "groundwire_sign_in", 600

_TOO_MANY = f"There were too many wrong passwords. Try again in {WINDOW_S // 60} minutes."


async def _show(request: Request) -> Response:
    person = await person_of(request)
    if person is not None and person.has_session:
        return RedirectResponse(HOME, 303)
    return await _form(request, after=request.query_params.get("next", ""))


async def _form(
    request: Request, *, name: str = "", after: str = "", problem: str = "", status: int = 200
) -> Response:
    visit = Visit(request=request)
    is_first = not await visit.own.accounts.all()
    values = {"name": name, "after": after, "problem": problem, "is_first": is_first}
    return visit.page("sign_in", status=status, provider=visit.own.provider, **values)


async def _sign_in(request: Request) -> Response:
    form, visit = await read_form(request), Visit(request=request)
    await visit.control.require_open()
    name, after = form.get("name", "").strip().lower()[:64], form.get("next", "")
    address, trace = address_of(request.scope), trace_id(request)
    if visit.own.throttle.is_over(name, address):
        visit.control.note_failed_login(address, trace_id=trace)
        return await _form(request, name=name, after=after, problem=_TOO_MANY, status=429)
    found = await visit.own.accounts.sign_in(name, form.get("password", ""))
    if found is None:
        visit.control.note_failed_login(address, trace_id=trace)
        problem = "Name and password do not belong together."
        return await _form(request, name=name, after=after, problem=problem, status=401)
    account, token = found
    visit.own.throttle.forget(name, address)
    events = visit.control.events(account_actor(account.name), trace_id=trace)
    await visit.control.record([events.login(account.role, address)])
    return _entered(request, token, after=after)


async def _leave(request: Request) -> Response:
    """Redirect a browser to the provider's sign-in page, with a cookie to recognise the browser."""
    provider, secret = _provider(request), secrets.token_urlsafe(32)
    response = RedirectResponse(await provider.leave(secret), 303)
    after = quote(_inside(request.query_params.get("next", "")), safe="")
    value = f"{secret}.{after if len(after) <= 2000 else ''}"  # browsers drop long cookies
    _set_cookie(request, response, _AWAY, value, max_age_s=_AWAY_S, path=SIGN_IN)
    return response


async def _arrive(request: Request) -> Response:
    """Sign in the person who came back from the provider."""
    provider, visit = _provider(request), Visit(request=request)
    await visit.control.require_open()
    address, trace = address_of(request.scope), trace_id(request)
    secret, _, after = request.cookies.get(_AWAY, "").partition(".")
    secret = secret[:64]  # the throttle keeps secrets in memory, so the length is limited
    try:
        if visit.own.throttle.is_over(secret, address):
            raise Problem.named("too_many_sign_ins", minutes=WINDOW_S // 60)
        person, role = await provider.arrive(secret, request.query_params)
        if role is None:
            await visit.own.accounts.end_sessions(person)
            raise Problem.named("no_role")
    except Problem as problem:
        _log.warning("nobody is signed in, %s: %s", problem.code, problem.message)
        if problem.status < 500:
            visit.control.note_failed_login(address, trace_id=trace)
        if problem.status >= 500 or problem.code == "sign_in_lost":
            # The throttle does not count this try as failed: the provider cannot be used, or the
            # browser does not have the cookie of this sign-in.
            visit.own.throttle.forget(secret, address)
        raise
    visit.own.throttle.forget(secret, address)

    def events(made: tuple[SavedAccount, str]) -> Sequence[AuditEvent]:
        own = visit.control.events(account_actor(made[0].account.name), trace_id=trace)
        return own.signed_in_by_provider(made[0], address)

    _, token = await visit.control.change(
        lambda _: visit.own.accounts.sign_in_as(person, role), events
    )
    response = _entered(request, token, after=unquote(after))
    response.delete_cookie(_AWAY, path=SIGN_IN)
    return response


def _provider(request: Request) -> "Provider":
    provider = services_of(request).provider
    if provider is None:
        raise Problem.named("no_provider")
    return provider


def _entered(request: Request, token: str, *, after: str) -> Response:
    """Return a response that sets the cookie of a session and redirects to the page ``after``.

    If ``after`` is not a path below ``/console/``, the response redirects to the first page.
    """
    response = RedirectResponse(_inside(after), 303)
    _set_cookie(request, response, COOKIE, token, max_age_s=int(SESSION.total_seconds()), path=HOME)
    return response


def _set_cookie(
    request: Request, response: Response, name: str, value: str, *, max_age_s: int, path: str
) -> None:
    response.set_cookie(
        name,
        value,
        max_age=max_age_s,
        path=path,
        secure=_is_encrypted(request),
        httponly=True,
        samesite="lax",
    )


async def _sign_out(visit: Visit) -> Response:
    await visit.own.accounts.sign_out(visit.request.cookies.get(COOKIE, ""))
    response = RedirectResponse(SIGN_IN, 303)
    response.delete_cookie(COOKIE, path=HOME)
    return response


async def _account(visit: Visit) -> Response:
    return visit.page("account", problem="")


async def _change_password(visit: Visit) -> Response:
    own, name = visit.own.accounts, visit.who.name
    if visit.own.throttle.is_over(name, f"account {name}"):
        return visit.page("account", status=429, problem=_TOO_MANY)
    if not await own.is_right(name, visit.form.get("password", "")):
        address = address_of(visit.request.scope)
        visit.control.note_failed_login(address, trace_id=trace_id(visit.request))
        return visit.page("account", status=422, problem="The current password is another one.")
    visit.own.throttle.forget(name, f"account {name}")
    new, token = visit.form.get("new", ""), visit.request.cookies.get(COOKIE, "")
    try:
        await visit.control.change(
            lambda _: own.save(name, password=new, keeps_session=token), visit.events.account_saved
        )
    except InvalidAccountError as error:
        return visit.page("account", status=422, problem=str(error))
    return RedirectResponse(f"{HOME}/account?done=password", 303)


def _inside(after: str) -> str:
    """Return ``after`` if it is a path of the console, else the path of the first page."""
    if not after.startswith((f"{HOME}/", f"{HOME}?")):
        return HOME
    is_path = not any(urlsplit(after)[:2]) and after.isprintable() and "\\" not in after
    return after if is_path else HOME


def _is_encrypted(request: Request) -> bool:
    provider = services_of(request).provider
    if provider is not None and provider.is_https and request.url.path.startswith(f"{SIGN_IN}/"):
        return True  # the browser comes back over HTTPS, even if the proxy's header denies it
    # A client that invents X-Forwarded-Proto only makes its own cookie stricter.
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))


routes = [
    Route(SIGN_IN, _show),
    Route(SIGN_IN, _sign_in, methods=["POST"]),
    Route(f"{SIGN_IN}/provider", _leave),
    Route(f"{SIGN_IN}/callback", _arrive),
    Route(f"{HOME}/sign-out", screen(_sign_out), methods=["POST"]),
    Route(f"{HOME}/account", screen(_account)),
    Route(f"{HOME}/account", screen(_change_password), methods=["POST"]),
]

"""Pages to sign in and out, and to change one's own password."""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from groundwire.control.accounts import SESSION, InvalidAccountError
from groundwire.control.audit.control_events import account_actor, login
from groundwire.gateway.admin.auth import address_of
from groundwire.gateway.console.services import WINDOW_S
from groundwire.gateway.console.visit import (
    COOKIE,
    HOME,
    SIGN_IN,
    Visit,
    person_of,
    read_form,
    screen,
)
from groundwire.gateway.middleware.state import trace_id


async def _show(request: Request) -> Response:
    if await person_of(request) is not None:
        return RedirectResponse(HOME, 303)
    return await _form(request, after=request.query_params.get("next", ""))


async def _form(
    request: Request, *, name: str = "", after: str = "", problem: str = "", status: int = 200
) -> Response:
    visit = Visit(request=request)
    is_first = not await visit.own.accounts.all()
    values = {"name": name, "after": after, "problem": problem, "is_first": is_first}
    return visit.page("sign_in", status=status, **values)


async def _sign_in(request: Request) -> Response:
    form, visit = await read_form(request), Visit(request=request)
    await visit.control.require_open()
    name, after = form.get("name", "").strip().lower()[:64], form.get("next", "")
    address, trace = address_of(request.scope), trace_id(request)
    if visit.own.throttle.is_over(name, address):
        visit.control.note_failed_login(address, trace_id=trace)
        minutes = WINDOW_S // 60
        problem = f"There were too many wrong passwords. Try again in {minutes} minutes."
        return await _form(request, name=name, after=after, problem=problem, status=429)
    found = await visit.own.accounts.sign_in(name, form.get("password", ""))
    if found is None:
        visit.control.note_failed_login(address, trace_id=trace)
        problem = "Name and password do not belong together."
        return await _form(request, name=name, after=after, problem=problem, status=401)
    account, token = found
    visit.own.throttle.forget(name, address)
    actor = account_actor(account.name)
    await visit.control.record([login(actor, account.role, address, trace_id=trace)])
    response = RedirectResponse(_inside(after), 303)
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(SESSION.total_seconds()),
        path=HOME,
        secure=_is_encrypted(request),
        httponly=True,
        samesite="lax",
    )
    return response


async def _sign_out(visit: Visit) -> Response:
    await visit.own.accounts.sign_out(visit.request.cookies.get(COOKIE, ""))
    response = RedirectResponse(SIGN_IN, 303)
    response.delete_cookie(COOKIE, path=HOME)
    return response


async def _account(visit: Visit) -> Response:
    return visit.page("account", problem="")


async def _change_password(visit: Visit) -> Response:
    assert visit.person is not None
    own, name = visit.own.accounts, visit.person.name
    if visit.own.throttle.is_over(name, f"account {name}"):
        problem = f"There were too many wrong passwords. Try again in {WINDOW_S // 60} minutes."
        return visit.page("account", status=429, problem=problem)
    if not await own.is_right(name, visit.form.get("password", "")):
        problem = "The current password is another one."
        return visit.page("account", status=422, problem=problem)
    visit.own.throttle.forget(name, f"account {name}")
    new, token = visit.form.get("new", ""), visit.request.cookies.get(COOKIE, "")
    try:
        await visit.control.change(
            lambda _: own.save(name, password=new, keeps_session=token),
            lambda saved: (visit.events.account_saved(saved),),
        )
    except InvalidAccountError as error:
        return visit.page("account", status=422, problem=str(error))
    return RedirectResponse(f"{HOME}/account?done=password", 303)


def _inside(after: str) -> str:
    """Return ``after`` if it is a path of the console, else the path of the first page."""
    is_path = not any(urlsplit(after)[:2]) and after.isprintable() and "\\" not in after
    return after if is_path and after.startswith(f"{HOME}/") else HOME


def _is_encrypted(request: Request) -> bool:
    # A client that invents the header only makes its own cookie stricter.
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))


routes = [
    Route(SIGN_IN, _show),
    Route(SIGN_IN, _sign_in, methods=["POST"]),
    Route(f"{HOME}/sign-out", screen(_sign_out), methods=["POST"]),
    Route(f"{HOME}/account", screen(_account)),
    Route(f"{HOME}/account", screen(_change_password), methods=["POST"]),
]

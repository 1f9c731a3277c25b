"""One request to the console: the person, the rights of their role, and the page to return."""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from groundwire.control.accounts import AccountRole
from groundwire.control.audit.control_events import ControlEvents, account_actor
from groundwire.gateway.admin.auth import LOCAL_DEMO
from groundwire.gateway.admin.trail import require_stored
from groundwire.gateway.console.services import ConsoleServices, services_of
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware.auth import check_is_local
from groundwire.gateway.middleware.state import trace_id
from groundwire.render.html import render

HOME = "/console"
SIGN_IN = f"{HOME}/sign-in"
COOKIE = "groundwire_session"
_FORM = "application/x-www-form-urlencoded"
_RANKS = list(AccountRole)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person who may use the console.

    Attributes:
        name: The name of the account; ``local-demo`` without an account.
        actor: The value of ``actor`` in audit events that the person causes.
        role: The role, which decides what the person may do.
        secret: The secret of the session, from which ``form_token`` is made.
        has_password: ``False`` if the person signs in at an OpenID Connect provider.
        has_session: Whether the person signed in, which a local demo does not require.
    """

    name: str
    actor: str
    role: AccountRole
    secret: str = field(repr=False)
    has_password: bool = True
    has_session: bool = True

    @property
    def form_token(self) -> str:
        """The token that every form of this session must have."""
        return hmac.digest(self.secret.encode(), b"form", "sha256").hex()

    def may(self, role: AccountRole) -> bool:
        """Return whether the person has this role or a higher one."""
        return _RANKS.index(self.role) >= _RANKS.index(role)

    @property
    def is_admin(self) -> bool:
        """Whether the person has the role admin, which may change tenants and accounts."""
        return self.may(AccountRole.ADMIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request to the console.

    Attributes:
        request: The HTTP request.
        person: The person who sent the request; ``None`` if they were not looked up, or are not
            known.
        form: The fields of the form that was sent; empty if none was read.
    """

    request: Request
    person: Person | None = None
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def who(self) -> Person:
        """The person who sent the request.

        Use this only on pages made by :func:`screen`, on which the person is always known.
        """
        assert self.person is not None
        return self.person

    @property
    def own(self) -> ConsoleServices:
        """The services of the console."""
        return services_of(self.request)

    @property
    def control(self) -> ControlPlane:
        """The control plane: tenants, keys and the audit trail over one database."""
        return self.own.control

    @property
    def events(self) -> ControlEvents:
        """The builder of audit events about the actions of this person."""
        return self.control.events(self.who.actor, trace_id=trace_id(self.request))

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters in the query of the URL."""
        return {name: _stored(value) for name, value in self.request.query_params.items()}

    def part(self, name: str) -> str:
        """Return the value of a parameter of the path, such as ``tenant``."""
        return _stored(str(self.request.path_params[name]))

    def page(self, template: str, /, *, status: int = 200, **values: Any) -> Response:  # noqa: ANN401
        """Render a page of the console.

        Args:
            template: Name of the page; its template is ``console_NAME.html``.
            status: The status of the response.
            values: More variables of the template, in addition to those that all pages have;
                ``title`` replaces the title made from the name.
        """
        person, title = self.person, template.replace("_", " ")
        html = render(
            f"console_{template}.html",
            title=values.pop("title", title),
            person=person,
            path=self.request.url.path,
            token="" if person is None else person.form_token,
            is_local_demo=self.control.is_local_demo,
            said=DONE.get(self.query.get("done", ""), ""),
            SECTIONS=SECTIONS,
            link=_link,
            **values,
        )
        return HTMLResponse(html, status_code=status)


def _link(values: Mapping[str, str], **changes: str) -> str:
    """Return a URL query with ``values``, updated by ``changes``; empty values are left out."""
    return "?" + urlencode({key: value for key, value in {**values, **changes}.items() if value})


#: Path and label of each page in the navigation, and the lowest role that may see the page.
SECTIONS = (
    (HOME, "Overview", AccountRole.VIEWER),
    (f"{HOME}/tenants", "Tenants", AccountRole.VIEWER),
    (f"{HOME}/audit", "Audit", AccountRole.VIEWER),
    (f"{HOME}/review", "Review", AccountRole.REVIEWER),
    (f"{HOME}/people", "People", AccountRole.VIEWER),
)

#: Value of ``done`` in the query of the URL → the message to show after a form was sent.
DONE = {
    "saved": "Saved. It holds from now on.",
    "made": "The tenant is made. Clients can use it once it has a key: see Keys.",
    "same": "Nothing was changed.",
    "removed": "Removed.",
    "revoked": "Revoked. The key is refused from now on.",
    "password": "Your password is changed, and your other sessions have ended.",
}

Handler: TypeAlias = Callable[[Visit], Awaitable[Response]]
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def screen(
    handler: Handler, *, needs: AccountRole = AccountRole.VIEWER, reads_trail: bool = False
) -> Endpoint:
    """Make the endpoint of a page.

    The endpoint redirects people who are not signed in to the sign-in page, except in a local demo.
    It refuses a form that does not come from a page of the same session.

    Args:
        handler: The function that answers a visit.
        needs: The lowest role that may use the page.
        reads_trail: Whether the page needs an audit trail that is in the database.
    """
    return partial(_answer, handler=handler, needs=needs, reads_trail=reads_trail)


async def _answer(
    request: Request, *, handler: Handler, needs: AccountRole, reads_trail: bool
) -> Response:
    person = await person_of(request)
    if person is None:
        asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        after = f"?next={quote(asked, safe='')}" if request.method == "GET" else ""
        return RedirectResponse(SIGN_IN + after, 303)
    if not person.may(needs):
        raise Problem.named("role", needs=needs, name=person.name, own_role=person.role)
    form: Mapping[str, str] = {}
    if request.method == "POST":
        form = await read_form(request)
        if not hmac.compare_digest(form.get("token", "").encode(), person.form_token.encode()):
            raise Problem.named("form_token")
    if reads_trail:
        await require_stored(request)
    return await handler(Visit(request=request, person=person, form=form))


async def person_of(request: Request) -> Person | None:
    """Return the person who sent a request; ``None`` if they are not signed in.

    In a local demo, a person who is not signed in is an admin.
    """
    own = services_of(request)
    nobody = None
    if own.control.is_local_demo:
        check_is_local(request.scope)
        nobody = Person(
            name=LOCAL_DEMO,
            actor=LOCAL_DEMO,
            role=AccountRole.ADMIN,
            secret=own.demo_secret,
            has_session=False,
        )
    await own.control.require_open()
    token = request.cookies.get(COOKIE, "")
    account = await own.accounts.signed_in(token) if token else None
    if account is None:
        return nobody
    if account.identity is not None and (
        own.provider is None or account.identity.issuer != own.provider.issuer
    ):
        return nobody  # the account's provider is no longer configured
    return Person(
        name=account.name,
        actor=account_actor(account.name),
        role=account.role,
        secret=token,
        has_password=account.identity is None,
    )


async def read_form(request: Request) -> dict[str, str]:
    """Read a form that was sent from a page of the console.

    Raises:
        Problem: If another website sent the form, the content type is not that of a form, or the
            form has too many fields.
    """
    headers = request.headers
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    is_foreign = site not in ("same-origin", "none")
    # Sec-Fetch-Site is not sent by old browsers, nor over plain HTTP to another machine. Without
    # this header, Origin decides.
    if site is None:
        is_foreign = origin is not None and urlsplit(origin).netloc != headers.get("host")
    if is_foreign:
        raise Problem.named("foreign_form")
    if headers.get("content-type", "").partition(";")[0].strip() != _FORM:
        raise Problem.named("no_form")
    body = (await request.body()).decode("utf-8", errors="replace")
    try:
        pairs = parse_qsl(body, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        raise Problem.named("large_form") from None
    return {name: _stored(value) for name, value in pairs}


def _stored(text: str) -> str:
    """Return a text without NUL characters, which PostgreSQL refuses."""
    return text.replace("\0", "")

"""The page that lists people's accounts, and lets people with the role admin change them."""

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from groundwire.control.accounts import AccountRole, InvalidAccountError, SavedAccount, new_password
from groundwire.gateway.console.visit import HOME, Visit, screen
from groundwire.gateway.http.problems import Problem

PEOPLE = f"{HOME}/people"


async def _list(
    visit: Visit, *, status: int = 200, problem: str = "", made: tuple[str, str] | None = None
) -> Response:
    """Render the list of people.

    ``made`` is the name of an account and its new password; ``None`` if no password was made.
    """
    return visit.page(
        "people",
        status=status,
        people=await visit.own.accounts.all(),
        roles=list(AccountRole),
        name=visit.form.get("name", ""),
        problem=problem,
        made=made,
    )


async def _add(visit: Visit) -> Response:
    password = new_password()
    try:
        saved = await _save(
            visit, visit.form.get("name", ""), role=_role(visit), password=password, is_new=True
        )
    except InvalidAccountError as error:
        return await _list(visit, status=422, problem=str(error))
    return await _list(visit, made=(saved.account.name, password))


async def _change(visit: Visit) -> Response:
    name, what = visit.part("name"), visit.form.get("do")
    if name.strip().lower() == visit.who.name.lower():  # names are stored in lower case
        raise Problem.named("own_account")
    if what == "password":
        password = new_password()
        await _save(visit, name, password=password)
        return await _list(visit, made=(name, password))
    try:
        if what == "remove":
            await visit.control.change(
                lambda _: visit.own.accounts.remove(name, keeps_admin=True),
                visit.events.account_removed,
            )
            return RedirectResponse(f"{PEOPLE}?done=removed", 303)
        await _save(visit, name, role=_role(visit))
    except InvalidAccountError as error:
        return await _list(visit, status=409, problem=str(error))
    return RedirectResponse(f"{PEOPLE}?done=saved", 303)


async def _save(
    visit: Visit,
    name: str,
    *,
    role: AccountRole | None = None,
    password: str | None = None,
    is_new: bool = False,
) -> SavedAccount:
    return await visit.control.change(
        lambda _: visit.own.accounts.save(
            name, role=role, password=password, is_new=is_new, keeps_admin=True
        ),
        visit.events.account_saved,
    )


def _role(visit: Visit) -> AccountRole:
    try:
        return AccountRole(visit.form.get("role", ""))
    except ValueError:
        raise Problem.named("unknown_role", known=", ".join(AccountRole)) from None


routes = [
    Route(PEOPLE, screen(_list)),
    Route(PEOPLE, screen(_add, needs=AccountRole.ADMIN), methods=["POST"]),
    Route(f"{PEOPLE}/{{name}}", screen(_change, needs=AccountRole.ADMIN), methods=["POST"]),
]

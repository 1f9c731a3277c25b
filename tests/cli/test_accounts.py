"""``groundwire accounts``: on the database itself, with what it does on record."""

import asyncio
from pathlib import Path

import pytest
from click.testing import Result

from groundwire.control.accounts import Accounts
from groundwire.control.store import Store
from tests.cli.conftest import invoke
from tests.cli.test_keys import prepare
from tests.gateway.admin.plane import recorded


def accounts(*args: str, folder: Path) -> Result:
    return invoke("accounts", *args, environ={"GROUNDWIRE_GATEWAY_DATA_DIR": str(folder)})


def lets_in(folder: Path, password: str) -> bool:
    async def ask() -> bool:
        async with Store(f"sqlite:///{folder / 'groundwire.db'}") as store:
            return await Accounts(store).is_right("anna", password)

    return asyncio.run(ask())


@pytest.mark.merge
def test_an_account_is_made_changed_listed_and_removed(tmp_path: Path) -> None:
    prepare(tmp_path)
    first = accounts("set", "Anna", "--role", "admin", folder=tmp_path)
    assert (first.exit_code, "anna has the role admin." in first.stderr) == (0, True)
    password = first.stdout.strip()
    changed = accounts("set", "anna", "--role", "viewer", folder=tmp_path)
    assert (changed.stdout, lets_in(tmp_path, password)) == ("", True)
    again = accounts("set", "anna", "--new-password", folder=tmp_path).stdout.strip()
    assert (lets_in(tmp_path, password), lets_in(tmp_path, again)) == (False, True)
    assert accounts("list", folder=tmp_path).stdout == "anna  viewer  never signed in\n"
    assert accounts("remove", "anna", folder=tmp_path).exit_code == 0
    found = recorded(
        f"sqlite:///{tmp_path / 'groundwire.db'}",
        *("ACCOUNT_CREATED", "ACCOUNT_UPDATED", "ACCOUNT_REMOVED"),
    )
    assert {each["payload"]["actor"] for each in found} == {"command-line"}
    assert len(found) == 4
    assert not any(secret in str(found) for secret in (password, again))


def test_what_cannot_be_is_told(tmp_path: Path) -> None:
    prepare(tmp_path)
    for args, words in (
        (("set", "two words"), "A name has 1 to 64 letters"),
        (("remove", "anna"), "There is no account of this name"),
        (("set", "anna", "--role", "king"), "'king' is not one of"),
    ):
        result = accounts(*args, folder=tmp_path)
        assert (result.exit_code, words in result.stderr) == (2, True)

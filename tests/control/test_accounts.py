"""Accounts and sessions, on both kinds of database."""

import asyncio
import threading
from typing import Literal

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select, update

from groundwire.control.accounts import (
    MAX_PASSWORD_CHARS,
    AccountRole,
    Accounts,
    Identity,
    InvalidAccountError,
    UnknownAccountError,
)
from groundwire.control.store import Store
from groundwire.control.store.moments import now
from groundwire.control.store.tables import accounts as accounts_table
from groundwire.control.store.tables import sessions
from tests.control.tenants.conftest import migrated_file, store, store_url
from tests.gateway.console.desk import CHEAP

__all__ = ["migrated_file", "store", "store_url"]

PASSWORD = "right horse battery"

pytestmark = pytest.mark.asyncio


async def test_a_text_that_begins_with_the_longest_password_is_not_the_password(
    store: Store,
) -> None:
    accounts = Accounts(store, hasher=CHEAP)
    longest = "a" * MAX_PASSWORD_CHARS
    await accounts.save("Anna", role=AccountRole.ADMIN, password=longest)
    assert await accounts.is_right("anna", longest)
    assert not await accounts.is_right("anna", f"{longest}b")


async def test_a_session_lasts_until_it_ends_or_the_account_changes(store: Store) -> None:
    accounts = Accounts(store, hasher=CHEAP)
    saved = await accounts.save("Anna", role=AccountRole.ADMIN, password=PASSWORD)
    assert (saved.account.name, saved.role_before, saved.has_new_password) == ("anna", None, True)
    assert await accounts.sign_in("anna", "wrong") is None
    assert await accounts.sign_in("nobody", PASSWORD) is None
    tokens = []
    for _ in range(3):
        signed_in = await accounts.sign_in("anna", PASSWORD)
        assert signed_in is not None
        tokens.append(signed_in[1])
    first, second, third = tokens
    await accounts.sign_out(first)
    assert await accounts.signed_in(first) is None
    account = await accounts.signed_in(second)
    assert account is not None
    assert account.role is AccountRole.ADMIN
    assert account.signed_in_at is not None
    await accounts.save("anna", role=AccountRole.VIEWER, keeps_session=third)
    assert await accounts.signed_in(second) is None
    assert await accounts.signed_in(third) is not None
    async with store.writing() as connection:
        await connection.execute(update(sessions).values(expires_at=now()))
    assert await accounts.signed_in(third) is None


class SlowHasher(PasswordHasher):
    """A hasher that says when it verifies a password, and waits until it may go on."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.has_begun, self.may_end = threading.Event(), threading.Event()

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        self.has_begun.set()
        assert self.may_end.wait(10)
        return super().verify(hash, password)


async def test_a_password_that_is_replaced_while_it_is_verified_is_wrong(store: Store) -> None:
    hasher = SlowHasher()
    accounts = Accounts(store, hasher=hasher)
    await accounts.save("anna", password=PASSWORD)
    signing_in = asyncio.create_task(accounts.sign_in("anna", PASSWORD))
    assert await asyncio.to_thread(hasher.has_begun.wait, 10)
    await accounts.save("anna", password="another battery")
    hasher.may_end.set()
    assert await signing_in is None
    assert await accounts.sign_in("anna", "another battery") is not None


async def test_a_removed_account_takes_its_sessions_along(store: Store) -> None:
    accounts = Accounts(store, hasher=CHEAP)
    await accounts.save("anna", password=PASSWORD)
    assert await accounts.sign_in("anna", PASSWORD) is not None
    await accounts.remove("anna")
    async with store.reading() as connection:
        assert await connection.scalar(select(sessions.c.sha256)) is None
    assert await accounts.all() == ()
    with pytest.raises(UnknownAccountError):
        await accounts.remove("anna")


async def test_two_admins_who_remove_each_other_at_once_do_not_both_go(store: Store) -> None:
    accounts = Accounts(store, hasher=CHEAP)
    for name in ("anna", "otto"):
        await accounts.save(name, role=AccountRole.ADMIN, password=PASSWORD)
    found = await asyncio.gather(
        accounts.remove("anna", keeps_admin=True),
        accounts.save("otto", role=AccountRole.VIEWER, keeps_admin=True),
        return_exceptions=True,
    )
    assert [type(each) for each in found].count(InvalidAccountError) == 1
    assert AccountRole.ADMIN in {each.role for each in await accounts.all()}


async def test_passwords_and_tokens_are_kept_as_hashes(store: Store) -> None:
    accounts = Accounts(store, hasher=CHEAP)
    await accounts.save("anna", password=PASSWORD)
    signed_in = await accounts.sign_in("anna", PASSWORD)
    assert signed_in is not None
    async with store.reading() as connection:
        kept = await connection.scalar(select(accounts_table.c.password))
        token = await connection.scalar(select(sessions.c.sha256))
    assert str(kept).startswith("$argon2id$")
    assert len(str(token)) == 64
    assert signed_in[1] not in f"{kept}{token}"


@pytest.mark.parametrize("password", ["short", "x" * 201, "anna@example.com"])
async def test_some_passwords_are_none(store: Store, password: str) -> None:
    with pytest.raises(InvalidAccountError):
        await Accounts(store, hasher=CHEAP).save("anna@example.com", password=password)


async def test_first_sign_ins_of_one_person_at_once_make_one_account(
    store: Store, store_url: str
) -> None:
    anna = Identity(issuer="https://provider.example", subject="0815", called="anna")
    async with Store(store_url) as replica:
        both = (Accounts(store, hasher=CHEAP), Accounts(replica, hasher=CHEAP))
        signed_in = await asyncio.gather(
            *(each.sign_in_as(anna, AccountRole.ADMIN) for each in both * 4)
        )
    (account,) = await both[0].all()
    assert (account.name, account.role) == (anna.account, AccountRole.ADMIN)
    roles_before = [saved.role_before for saved, _ in signed_in]
    assert sorted(roles_before, key=str) == [None, *[AccountRole.ADMIN] * 7]
    for _, token in signed_in:
        assert await both[0].signed_in(token) == account

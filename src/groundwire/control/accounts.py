"""Accounts of people who sign in to the console, and their sessions.

Of passwords, the database stores only Argon2 hashes; of the random tokens of sessions, only SHA-256
hashes. Whoever signs in at an OpenID Connect provider has an account without a password.
"""

import asyncio
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import ColumnElement, Row, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.config.keys import key_hash
from groundwire.control.store import Store
from groundwire.control.store.moments import now
from groundwire.control.store.tables import accounts, sessions
from groundwire.errors import GroundwireError

_T = TypeVar("_T")

MIN_PASSWORD_CHARS, MAX_PASSWORD_CHARS = 12, 200

#: Time from the sign-in until a session expires.
SESSION = timedelta(hours=12)

#: Limit on the passwords that are hashed or checked at the same time: each takes 64 MiB of memory.
_MAX_HASHING = 2

_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9._@+-]+")

#: Prefix of the names of accounts without a password, whose owners sign in at an OpenID Connect
#: provider. Names that people choose cannot begin with this prefix.
_FROM_PROVIDER = "oidc:"
_HASHER = PasswordHasher()


class AccountRole(StrEnum):
    """The roles of people in the console; each role includes the rights of the roles before it."""

    VIEWER = "viewer"  # may read pages
    REVIEWER = "reviewer"  # may also judge findings
    ADMIN = "admin"  # may also change tenants and accounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A person, as an OpenID Connect provider knows them.

    Attributes:
        issuer: The URL of the provider.
        subject: The provider's id of the person, which nobody else ever gets.
        called: A readable name, which may change and which others may have, too; empty if the
            provider gives none, or if the identity was read from the database.
    """

    issuer: str
    subject: str
    called: str = ""

    @property
    def account(self) -> str:
        """A name for a new account, made of ``called`` and a hash of issuer and subject."""
        called = _NOT_IN_NAMES.sub("-", self.called.lower())[:50].strip("-") or "somebody"
        return f"{_FROM_PROVIDER}{called}-{key_hash(f'{self.issuer} {self.subject}')[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The account of somebody who may sign in to the console.

    Attributes:
        name: The name, which never changes.
        signed_in_at: The moment when the owner signed in last; ``None`` if never.
        identity: The owner's identity at an OpenID Connect provider; ``None`` if the owner has a
            password.
    """

    name: str
    role: AccountRole
    created_at: datetime
    signed_in_at: datetime | None = None
    identity: Identity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedAccount:
    """The result of saving an account.

    Attributes:
        account: The account as it is now.
        role_before: The role before the change; ``None`` if the account is new.
        has_new_password: Whether the account got a new password.
    """

    account: Account
    role_before: AccountRole | None
    has_new_password: bool


class InvalidAccountError(GroundwireError, ValueError):
    """A change of accounts is refused; the message says why."""

    def __str__(self) -> str:
        return f"{self.args[0]}."


class UnknownAccountError(GroundwireError):
    """There is no account of this name."""

    def __str__(self) -> str:
        return "There is no account of this name. The list of people has their names."


class Accounts:
    """Reads and changes accounts and sessions in a store. Any method may raise StoreError."""

    def __init__(self, store: Store, *, hasher: PasswordHasher = _HASHER) -> None:
        """Prepare to use a store; ``hasher`` hashes and verifies passwords."""
        self._store, self._hasher = store, hasher
        self._hashing = asyncio.Semaphore(_MAX_HASHING)

    async def all(self) -> tuple[Account, ...]:
        """Return all accounts, sorted by name."""
        async with self._store.reading() as connection:
            found = await connection.execute(select(accounts).order_by(accounts.c.name))
            return tuple(map(_account, found))

    async def save(
        self,
        name: str,
        *,
        role: AccountRole | None = None,
        password: str | None = None,
        is_new: bool | None = None,
        is_reset: bool = True,
        keeps_session: str = "",
        keeps_admin: bool = False,
    ) -> SavedAccount:
        """Make an account, or change an account's role or password and end the account's sessions.

        Args:
            name: The name to sign in with.
            role: The new role; ``None`` leaves the role, and makes a new account a viewer.
            password: The new password; ``None`` leaves the password. A new account needs one.
            is_new: ``True``: raise an error if there is an account of this name; ``False``: raise
                an error if there is none; ``None``: make or change the account.
            is_reset: Whether the new password also replaces that of an existing account.
            keeps_session: The token of the only session that does not end; empty: all sessions end.
            keeps_admin: Whether to raise an error if no admin would be left.

        Raises:
            InvalidAccountError: If the name or the password is not valid, or the change is refused
                by ``is_new`` or ``keeps_admin``.
            UnknownAccountError: If there is no account of this name, and none may be made, because
                there is no password or ``is_new`` is ``False``.
        """
        name = read_name(name)
        hashed = None
        if password is not None:
            hashed = await self._in_thread(
                lambda: self._hasher.hash(_read_password(password, name))
            )
        async with self._store.writing() as connection:
            before = await _stored(connection, name)
            if before is not None and is_new:
                raise InvalidAccountError("There is an account of this name already")
            if keeps_admin and before is not None and role not in (None, AccountRole.ADMIN):
                await _require_another_admin(connection, before)
            old = before or Account(name=name, role=AccountRole.VIEWER, created_at=now())
            account = replace(old, role=role or old.role)
            values: dict[str, Any] = {"role": account.role}
            if hashed is not None and (before is None or is_reset):
                values["password"] = hashed
            if before is not None:
                await connection.execute(update(accounts).where(_is(name)).values(values))
                others = sessions.c.sha256 != key_hash(keeps_session)
                await connection.execute(delete(sessions).where(sessions.c.account == name, others))
            elif hashed is None or is_new is False:
                raise UnknownAccountError
            else:
                made = {"name": name, "created_at": account.created_at}
                await connection.execute(insert(accounts).values(values | made))
        return SavedAccount(
            account=account,
            role_before=None if before is None else before.role,
            has_new_password="password" in values,
        )

    async def remove(self, name: str, *, keeps_admin: bool = False) -> Account:
        """Remove an account; its sessions end.

        Raises:
            InvalidAccountError: With ``keeps_admin``, if no admin would be left.
            UnknownAccountError: If there is no account of this name.
        """
        async with self._store.writing() as connection:
            account = await _stored(connection, name)
            if account is None:
                raise UnknownAccountError
            if keeps_admin:
                await _require_another_admin(connection, account)
            await connection.execute(delete(sessions).where(sessions.c.account == name))
            await connection.execute(delete(accounts).where(_is(name)))
        return account

    async def is_right(self, name: str, password: str) -> bool:
        """Return whether a text is the password of an account.

        If the name is unknown, another hash is checked, so that the time does not reveal this.
        """
        return await self._verified(name, password) is not None

    async def _verified(self, name: str, password: str) -> str | None:
        """Return an account's stored password hash if the password is right; else ``None``."""
        async with self._store.reading() as connection:
            stored = await connection.scalar(select(accounts.c.password).where(_is(name)))
        is_right = await self._in_thread(
            lambda: self._matches(stored or self._dummy_hash, password[: MAX_PASSWORD_CHARS + 1])
        )
        return stored if is_right else None

    async def sign_in(self, name: str, password: str) -> tuple[Account, str] | None:
        """Begin a session; return account and token, or ``None`` if name or password is wrong."""
        verified = await self._verified(name, password)
        if verified is None:
            return None
        async with self._store.writing() as connection:
            # Since the check of the password, the account may have been removed, or have got
            # another password.
            same = select(accounts).where(_is(name), accounts.c.password == verified)
            row = (await connection.execute(same)).first()
            return None if row is None else (_account(row), await _begin(connection, name))

    async def sign_in_as(self, identity: Identity, role: AccountRole) -> tuple[SavedAccount, str]:
        """Begin a session for a person whom a provider has identified.

        The first sign-in makes an account. If the role has changed, earlier sessions end. Return
        the saved account and the token of the session.
        """
        is_theirs = _is_of(identity)
        values = {"name": identity.account, "password": "", "created_at": now(), "role": role}
        values |= {"issuer": identity.issuer, "subject": identity.subject}
        # Nothing is inserted if an earlier or simultaneous sign-in has made the account already.
        making = self._store.insert(accounts).values(values).on_conflict_do_nothing()
        async with self._store.writing() as connection:
            is_new = await connection.scalar(making.returning(accounts.c.name)) is not None
            found = _account((await connection.execute(select(accounts).where(is_theirs))).one())
            if found.role is not role:
                await connection.execute(delete(sessions).where(sessions.c.account == found.name))
                await connection.execute(update(accounts).where(is_theirs).values(role=role))
            token = await _begin(connection, found.name)
        saved = SavedAccount(
            account=replace(found, role=role),
            role_before=None if is_new else found.role,
            has_new_password=False,
        )
        return saved, token

    async def end_sessions(self, identity: Identity) -> None:
        """End the sessions of a person to whom the provider no longer gives a role."""
        theirs = select(accounts.c.name).where(_is_of(identity))
        async with self._store.writing() as connection:
            await connection.execute(delete(sessions).where(sessions.c.account.in_(theirs)))

    async def signed_in(self, token: str) -> Account | None:
        """Return the account of a token's session; ``None`` if no valid session has the token."""
        query = select(accounts).join(sessions, sessions.c.account == accounts.c.name)
        of_token = sessions.c.sha256 == key_hash(token)
        async with self._store.reading() as connection:
            where = query.where(of_token, sessions.c.expires_at > now())
            row = (await connection.execute(where)).first()
        return None if row is None else _account(row)

    async def sign_out(self, token: str) -> None:
        """End the session to which a token belongs, if there is one."""
        async with self._store.writing() as connection:
            await connection.execute(delete(sessions).where(sessions.c.sha256 == key_hash(token)))

    @cached_property
    def _dummy_hash(self) -> str:
        """A hash to check a password against if the account is unknown or has no password.

        The check then takes about as long as for any other account.
        """
        return self._hasher.hash(secrets.token_urlsafe(32))

    def _matches(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        async with self._hashing:
            return await asyncio.to_thread(work)


def new_password() -> str:
    """Make a random password of 20 characters."""
    return secrets.token_urlsafe(15)


def read_name(raw: str) -> str:
    """Validate the name of an account; return it in lower case, without spaces around it.

    Raises:
        InvalidAccountError: If the name is not valid.
    """
    name = raw.strip().lower()
    if name.startswith(_FROM_PROVIDER):
        raise InvalidAccountError(
            "Accounts of people who sign in at a provider can only be removed: the provider says "
            "which role they have"
        )
    if not _NAME.fullmatch(name):
        raise InvalidAccountError(
            "A name has 1 to 64 letters without accents, digits and any of . _ @ + -, and a "
            "letter or digit first"
        )
    return name


def _read_password(password: str, name: str) -> str:
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise InvalidAccountError(
            f"A password has {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters"
        )
    if password.lower() == name:
        raise InvalidAccountError("The password must not be the name")
    return password


async def _begin(connection: AsyncConnection, name: str) -> str:
    """Begin a session of an account, and return the token.

    The moment of the sign-in is stored, and all expired sessions are deleted.
    """
    token, moment = secrets.token_urlsafe(32), now()
    await connection.execute(delete(sessions).where(sessions.c.expires_at <= moment))
    session = {"sha256": key_hash(token), "account": name, "expires_at": moment + SESSION}
    await connection.execute(insert(sessions).values(session))
    await connection.execute(update(accounts).where(_is(name)).values(signed_in_at=moment))
    return token


async def _stored(connection: AsyncConnection, name: str) -> Account | None:
    row = (await connection.execute(select(accounts).where(_is(name)))).first()
    return None if row is None else _account(row)


async def _require_another_admin(connection: AsyncConnection, account: Account) -> None:
    if account.role is not AccountRole.ADMIN:
        return
    # Two admins may remove each other at once. The second transaction waits for the lock of the
    # first, and then no longer finds the account that the first has removed.
    admins = select(accounts.c.name).where(accounts.c.role == AccountRole.ADMIN)
    found = await connection.scalars(admins.order_by(accounts.c.name).with_for_update())
    if {*found} <= {account.name}:
        raise InvalidAccountError("Nobody with the role admin would be left")


def _is(name: str) -> ColumnElement[bool]:
    return accounts.c.name == name


def _is_of(identity: Identity) -> ColumnElement[bool]:
    return (accounts.c.issuer == identity.issuer) & (accounts.c.subject == identity.subject)


def _account(row: Row[Any]) -> Account:
    return Account(
        name=row.name,
        role=AccountRole(row.role),
        created_at=row.created_at,
        signed_in_at=row.signed_in_at,
        identity=Identity(issuer=row.issuer, subject=row.subject) if row.issuer else None,
    )

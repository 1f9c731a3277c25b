"""Reads the addresses of databases."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from groundwire.config.kinds import Kind, KindError, Secret, StoreUrl
from groundwire.errors import SettingError


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """The address of a database: a file of SQLite, or a database of a PostgreSQL server.

    Attributes:
        path: The file of SQLite; ``None`` for PostgreSQL.
        dsn: The URL for PostgreSQL, with the password; empty for a file.
        shown: The address without the password.
    """

    path: Path | None = None
    dsn: str = field(default="", repr=False)
    shown: str

    @classmethod
    def read(cls, url: str) -> Self:
        """Read the value of ``store.url``.

        Raises:
            SettingError: If the URL is not valid. The message does not show the URL, which may
                contain a password.
        """
        try:
            secret = Kind(StoreUrl).read(url)
        except KindError as error:
            raise SettingError("store.url", Secret(""), error.legal) from None
        if urlsplit(url).scheme == "sqlite":
            # The first slash belongs to the URL: sqlite:///a is a relative path, sqlite:////a an
            # absolute one.
            return cls.of_file(Path(unquote(urlsplit(url).path[1:])))
        return cls(dsn=urlsplit(url)._replace(scheme="postgresql").geturl(), shown=repr(secret))

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Return the address of a file of SQLite."""
        path = path.expanduser()
        return cls(path=path, shown=f"sqlite:///{path}")

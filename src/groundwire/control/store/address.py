"""Where a database is."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from groundwire.config.kinds import Kind, KindError, Secret, StoreUrl
from groundwire.errors import SettingError


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """Where a database is: a file of SQLite, or a database of a PostgreSQL server.

    Attributes:
        path: The file; ``None`` if it is PostgreSQL.
        dsn: PostgreSQL's own URL, with the password; empty if it is a file.
        shown: What may be shown of it: all but the password.
    """

    path: Path | None = None
    dsn: str = field(default="", repr=False)
    shown: str

    @classmethod
    def read(cls, url: str) -> Self:
        """Read it as ``store.url`` has it.

        Raises:
            SettingError: If it is none. The message does not have it: it may hold a password.
        """
        try:
            secret = Kind(StoreUrl).read(url)
        except KindError as error:
            raise SettingError("store.url", Secret(""), error.legal) from None
        if urlsplit(url).scheme == "sqlite":
            # The first slash is the URL's; a path from the root on has one of its own.
            return cls.of_file(Path(unquote(urlsplit(url).path[1:])))
        dsn = urlsplit(url)._replace(scheme="postgresql").geturl()
        return cls(dsn=dsn, shown=repr(secret))

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """A file of SQLite."""
        path = path.expanduser()
        return cls(path=path, shown=f"sqlite:///{path}")

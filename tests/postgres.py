"""Databases for tests: files of SQLite, and a real PostgreSQL, started once if it is installed."""

import asyncio
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

#: Longer than a start or an end takes on a busy machine; nothing waits this long if all is well.
PATIENCE_S = 30.0

_USER = "groundwire"
#: PostgreSQL does not run as root: then it runs as the first of these that is there.
_UNPRIVILEGED = ("postgres", "nobody")
#: What a crash of the machine would lose does not matter here.
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "100",
    "log_min_messages": "log",
}

#: Runs a server as long as whoever holds the other end of its input lives; if that is killed, the
#: server ends and its folder goes.
_GUARD = """\
"$@" & server=$!
exec 3<&0
(
  read -r word <&3 && exit
  kill -INT "$server"
  while kill -0 "$server" 2>/dev/null; do sleep 0.1; done
  rm -rf "$PWD"
) &
exec 3<&-
wait "$server"
"""


def programs() -> Path | None:
    """The folder with PostgreSQL's programs, the newest if there are several; else ``None``."""
    found = shutil.which("postgres")
    folders = [Path(found).resolve().parent] if found else []
    versions = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if path.is_dir()]
    folders += sorted(versions, key=lambda path: float(path.parent.name), reverse=True)
    return next((each for each in folders if (each / "initdb").is_file()), None)


class Postgres:
    """A server with a folder of its own, which can be killed and started again."""

    def __init__(self, bin_folder: Path) -> None:
        """Make its folder; :meth:`start` starts it."""
        self.port = _free_port()
        self.password = secrets.token_hex(16)
        self._bin, self._user = bin_folder, _unprivileged()
        self._process: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None
        self._paused: tuple[int, ...] = ()
        self._numbers = count(1)
        # Not pytest's folder: its name is too long for a socket, and others may not enter it.
        self._folder = Path(tempfile.mkdtemp(prefix="groundwire-pg-"))
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        try:
            self._make()
        except BaseException:
            shutil.rmtree(self._folder)
            raise

    @property
    def socket_folder(self) -> Path:
        """Where its socket is, beside everything else it has."""
        return self._folder

    @property
    def is_running(self) -> bool:
        """Whether it was started and not ended."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """The process that all others of the server belong to."""
        assert self._pid is not None, "the server does not run"
        return self._pid

    def url(self, database: str, user: str = _USER, password: str | None = None) -> str:
        """Where a database is, for the superuser or another."""
        secret = self.password if password is None else password
        return f"postgresql://{user}:{secret}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        assert self._process is None, "the server runs"
        settings = _SETTINGS | {"port": str(self.port), "unix_socket_directories": self._folder}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._status.unlink(missing_ok=True)  # that of one that was killed
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "sh", self._bin / "postgres", "-D", self._data, *options],
                **self._as_user(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl+C is for the tests, which end it then
            )
        self._wait()

    def stop(self) -> None:
        """End it in order. Who is connected is cut off."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it as a crash would: all its processes at once, in the middle of what they do."""
        self._signal(self._pids(), signal.SIGKILL)
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Have it hang: it takes connections, and says nothing, until :meth:`go_on`."""
        self._paused = self._pids()
        self._signal(self._paused, signal.SIGSTOP)

    def go_on(self) -> None:
        """End a pause."""
        self._signal(self._paused, signal.SIGCONT)
        self._paused = ()

    def close(self) -> None:
        """End it if it runs, and remove what it has kept."""
        self.go_on()
        try:
            if self._process is not None:
                self.stop()
        finally:
            shutil.rmtree(self._folder)

    def run(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement outside of a transaction, as one who may do everything."""
        import asyncpg  # of all tests few need it

        async def run() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(self.url(database), timeout=PATIENCE_S)
            try:
                return [tuple(row) for row in await connection.fetch(statement)]
            finally:
                await connection.close(timeout=PATIENCE_S)

        # A thread of its own: the one of the tests has an event loop.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, run()).result(PATIENCE_S)

    def make_database(self) -> str:
        """Make an empty database; its name."""
        name = f"test_{next(self._numbers)}"
        self.run(f'CREATE DATABASE "{name}"')
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _pids(self) -> tuple[int, ...]:
        """Its processes, the first one first: each is a session of its own."""
        return (self.pid, *(pid for (pid,) in self.run("SELECT pid FROM pg_stat_activity")))

    def _signal(self, pids: tuple[int, ...], number: signal.Signals) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _status(self) -> Path:
        return self._data / "postmaster.pid"

    def _as_user(self) -> dict[str, Any]:
        own: dict[str, Any] = {"cwd": self._folder, "env": os.environ | {"LC_ALL": "C"}}
        if self._user is not None:
            own |= {"user": self._user, "group": _group(self._user), "extra_groups": ()}
        return own

    def _make(self) -> None:
        password = self._folder / "password"
        password.write_text(self.password)
        password.chmod(0o600)
        if self._user is not None:
            shutil.chown(password, self._user)
        options = ("--no-sync", "--no-locale", "--encoding=UTF8", "--auth=scram-sha-256")
        subprocess.run(
            [
                *(self._bin / "initdb", "-D", self._data, "-U", _USER, *options),
                f"--pwfile={password}",
            ],
            **self._as_user(),
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE_S,
        )

    def _wait(self) -> None:
        """Until the file of its process says that it is ready; that takes no connection."""
        assert self._process is not None
        deadline = time.monotonic() + PATIENCE_S
        while self._process.poll() is None and time.monotonic() < deadline:
            lines = self._status.read_text().splitlines() if self._status.exists() else []
            self._pid = int(lines[0]) if lines else None
            if lines[7:] and lines[7].strip() == "ready":
                return
            time.sleep(0.01)
        log = (self._folder / "log").read_text(errors="replace")
        self._end(signal.SIGQUIT)
        raise RuntimeError(f"PostgreSQL did not start: {log[-2000:]}")

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None, "the server does not run"
        process, pid = self._process, self._pid
        self._process = self._pid = None
        self._signal((pid,) if pid is not None else (), how)
        try:
            process.wait(PATIENCE_S)
        finally:
            assert process.stdin is not None
            process.stdin.write(b"it has ended\n")
            process.stdin.close()


def _unprivileged() -> str | None:
    """Who the server runs as, if not as who the tests do."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in _UNPRIVILEGED if name in known), None)


def _group(user: str) -> int:
    import pwd

    return pwd.getpwnam(user).pw_gid


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert isinstance(port, int)
        return port


@contextmanager
def _running() -> Iterator[Postgres]:
    folder = programs()
    if folder is None:
        pytest.skip(
            "PostgreSQL's server programs are not installed: there is no postgres in PATH, and no "
            "/usr/lib/postgresql/*/bin (Debian, Ubuntu: apt-get install postgresql)"
        )
    server = Postgres(folder)
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL that runs, for all tests; none of them stops it."""
    with _running() as server:
        yield server


@pytest.fixture(scope="session")
def _mortal() -> Iterator[Postgres]:
    with _running() as server:
        yield server


@pytest.fixture
def mortal_postgres(_mortal: Postgres) -> Iterator[Postgres]:
    """Another one, which runs when a test begins, and which the test may end, kill and pause."""
    yield _mortal
    _mortal.go_on()
    if not _mortal.is_running:
        _mortal.start()


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """An empty database of PostgreSQL. Tests that ask for it have the mark ``postgres``."""
    name = postgres.make_database()
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database: the test runs twice, on a file of SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{quote(str(tmp_path / 'groundwire.db'))}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite with all tables and no rows: to copy it is faster than to migrate."""
    path = tmp_path_factory.mktemp("migrated") / "groundwire.db"
    # Imported here: tests that need no extra import this module, too.
    from groundwire.control.store import Store

    async def migrate() -> None:
        async with Store(f"sqlite:///{quote(str(path))}"):
            pass

    asyncio.run(migrate())
    return path


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def migrated_url(request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> str:
    """A database without rows: as ``store_url``, but a file of SQLite has its tables already."""
    if request.param == "sqlite":
        path = tmp_path / "groundwire.db"
        shutil.copy(migrated_file, path)
        return f"sqlite:///{quote(str(path))}"
    return str(request.getfixturevalue("postgres_url"))

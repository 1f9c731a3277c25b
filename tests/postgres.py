"""Databases for tests: SQLite files, and a real PostgreSQL server if its programs are installed."""

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

#: Seconds after which a start, an end or a query counts as failed, even on a busy machine.
PATIENCE_S = 30.0

_USER = "groundwire"
#: PostgreSQL refuses to run as root. If root runs the tests, it runs as the first of these users
#: that exists.
_UNPRIVILEGED = ("postgres", "nobody")
#: Settings of the server. Nothing is flushed to disk, because the data need not survive a crash.
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "100",
    "log_min_messages": "log",
}

#: Shell script that runs a server. If the process at the other end of its standard input dies, the
#: script stops the server and removes its folder.
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
    """Return the folder of PostgreSQL's programs; ``None`` if they are not installed.

    The programs in ``PATH`` come first, then the newest version.
    """
    found = shutil.which("postgres")
    folders = [Path(found).resolve().parent] if found else []
    versions = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if path.is_dir()]
    folders += sorted(versions, key=lambda path: float(path.parent.name), reverse=True)
    return next((each for each in folders if (each / "initdb").is_file()), None)


class Postgres:
    """A PostgreSQL server with a folder of its own, which can be killed and started again."""

    def __init__(self, bin_folder: Path) -> None:
        """Make the server's folder; :meth:`start` starts the server."""
        self.port = _free_port()
        self.password = secrets.token_hex(16)
        self._bin, self._user = bin_folder, _unprivileged()
        self._process: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None
        self._paused: tuple[int, ...] = ()
        self._numbers = count(1)
        # pytest's folder would not do: its name is too long for a socket, and other users may not
        # enter it.
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
        """The folder of the server's socket, which is the folder of all its files."""
        return self._folder

    @property
    def is_running(self) -> bool:
        """Whether the server was started and not ended since."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """The id of the server's main process."""
        assert self._pid is not None, "the server does not run"
        return self._pid

    def url(self, database: str, user: str = _USER, password: str | None = None) -> str:
        """Return the URL of a database, by default for the superuser."""
        secret = self.password if password is None else password
        return f"postgresql://{user}:{secret}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        assert self._process is None, "the server runs"
        settings = _SETTINGS | {"port": str(self.port), "unix_socket_directories": self._folder}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._status.unlink(missing_ok=True)  # a killed server leaves this file behind
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "sh", self._bin / "postgres", "-D", self._data, *options],
                **self._as_user(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl+C reaches only the tests, which then end the server
            )
        self._wait()

    def stop(self) -> None:
        """End the server in order; open connections are cut off."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill all processes of the server at once, as in a crash."""
        self._signal(self._pids(), signal.SIGKILL)
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Make the server hang until :meth:`go_on`: it accepts connections but does not answer."""
        self._paused = self._pids()
        self._signal(self._paused, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let a paused server go on."""
        self._signal(self._paused, signal.SIGCONT)
        self._paused = ()

    def close(self) -> None:
        """End the server if it runs, and remove its folder."""
        self.go_on()
        try:
            if self._process is not None:
                self.stop()
        finally:
            shutil.rmtree(self._folder)

    def run(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement outside of a transaction as the superuser, and return the rows."""
        import asyncpg  # imported here, since few tests need it

        async def run() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(self.url(database), timeout=PATIENCE_S)
            try:
                return [tuple(row) for row in await connection.fetch(statement)]
            finally:
                await connection.close(timeout=PATIENCE_S)

        # In a thread of its own, because an event loop may run in the thread of the tests.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, run()).result(PATIENCE_S)

    def make_database(self) -> str:
        """Make an empty database, and return its name."""
        name = f"test_{next(self._numbers)}"
        self.run(f'CREATE DATABASE "{name}"')
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database, and cut off its connections."""
        self.run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _pids(self) -> tuple[int, ...]:
        """Return the ids of the server's processes, the main one first.

        Each has to be signalled alone, because PostgreSQL puts each in a session of its own.
        """
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
        """Wait until the server's status file says that it is ready, which needs no connection."""
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
    """Return the user that the server runs as; ``None``: the user that runs the tests."""
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
    """A running PostgreSQL server that all tests share; no test may stop it."""
    with _running() as server:
        yield server


@pytest.fixture(scope="session")
def _mortal() -> Iterator[Postgres]:
    with _running() as server:
        yield server


@pytest.fixture
def mortal_postgres(_mortal: Postgres) -> Iterator[Postgres]:
    """A second PostgreSQL server, which a test may stop, kill and pause; it runs at the start."""
    yield _mortal
    _mortal.go_on()
    if not _mortal.is_running:
        _mortal.start()


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """The URL of an empty PostgreSQL database. Tests that use it need the mark ``postgres``."""
    name = postgres.make_database()
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database; the test runs twice, with a SQLite file and with PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{quote(str(tmp_path / 'groundwire.db'))}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables and no rows; copying it is faster than migrating anew."""
    path = tmp_path_factory.mktemp("migrated") / "groundwire.db"
    # Imported here, because tests that run without extras import this module too.
    from groundwire.control.store import Store

    async def migrate() -> None:
        async with Store(f"sqlite:///{quote(str(path))}"):
            pass

    asyncio.run(migrate())
    return path


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def migrated_url(request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> str:
    """The URL of a database without rows, like ``store_url``; a SQLite file has its tables."""
    if request.param == "sqlite":
        path = tmp_path / "groundwire.db"
        shutil.copy(migrated_file, path)
        return f"sqlite:///{quote(str(path))}"
    return str(request.getfixturevalue("postgres_url"))

"""``groundwire audit list``, ``show``, ``export`` and ``prune``: the trail in a store."""

import asyncio
import gzip
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

import click

from groundwire.cli.audit_shown import row, whole
from groundwire.cli.config import read_config
from groundwire.cli.inputs import TEXT_FILE, refuse_empty
from groundwire.cli.status import ExitStatus
from groundwire.config import Config
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.filters import Filter
from groundwire.control.audit.found import FoundRecord
from groundwire.control.audit.log import AuditLog
from groundwire.control.audit.own_trail import check_own
from groundwire.control.audit.retention import Expired, find_expired
from groundwire.control.audit.retention import prune as prune_trail
from groundwire.control.audit.signing import known_keys
from groundwire.control.audit.store_sink import StoreSink
from groundwire.control.audit.trail import MAX_LIMIT, Trail
from groundwire.control.folder import data_folder
from groundwire.control.store import Store
from groundwire.errors import InputError, SettingError
from groundwire.render import visible
from groundwire.text.files.reading import STDIN
from groundwire.text.files.writing import to_json

#: Pause between two lines about how far an export is, where there is no terminal.
LINE_EVERY_S = 10.0

_AGO = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

Command = Callable[..., Any]


class UnknownEventError(InputError):
    """No event has this id."""

    def __init__(self, event_id: str) -> None:
        super().__init__(event_id)
        self.event_id = event_id

    def __str__(self) -> str:
        return (
            f"There is no event {self.event_id[:60]!r} in the store. "
            "groundwire audit list shows which there are, each with its id."
        )


def _when(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """A moment: a date, with a time or not, or how long ago."""
    if value is None:
        return None
    if (ago := _AGO.fullmatch(value)) is not None:
        return datetime.now(UTC) - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"{value[:60]!r} is no moment. Write 2026-03-04, 2026-03-04T05:06:07Z, or 90m, 24h, 7d "
            "for so long ago; without a time zone it is in UTC.",
            ctx,
            param,
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def apply(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


_place = _options(
    click.option("--config", type=TEXT_FILE, help="The gateway's configuration file."),
    click.option("--store", "url", metavar="URL", help="The database, if not the configured one."),
)
_filters = _options(
    click.option("--tenant", callback=refuse_empty, metavar="ID", help="Only events of a tenant."),
    click.option(
        "--type",
        "types",
        multiple=True,
        type=click.Choice([str(each) for each in EventType], case_sensitive=False),
        metavar="TYPE",
        help="Only events of a type, such as hallucination_detected. Again for more.",
    ),
    click.option("--trace-id", callback=refuse_empty, metavar="ID", help="Only of a request."),
    click.option("--writer", callback=refuse_empty, metavar="ID", help="Only of a chain."),
    click.option(
        "--since", callback=_when, metavar="WHEN", help="From then on: a date, a time, or 24h, 7d."
    ),
    click.option("--until", callback=_when, metavar="WHEN", help="Before then."),
)


@click.command(
    "list",
    epilog="\b\nExamples:\n"
    "  groundwire audit list --since 24h --type hallucination_detected\n"
    "  groundwire audit list --tenant acme --all --json > events.jsonl",
)
@_place
@_filters
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Events at most."
)
@click.option("--all", "shows_all", is_flag=True, help="All of them, however many.")
@click.option("--oldest-first", is_flag=True, help="The oldest first, not the newest.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def list_(
    ctx: click.Context,
    /,
    *,
    config: Path | None,
    url: str | None,
    limit: int,
    shows_all: bool,
    oldest_first: bool,
    as_json: bool,
    **filters: Any,  # noqa: ANN401 - those of the options
) -> None:
    """List events: when, which, what, whose, and the gist."""
    read, asked = read_config(ctx, config), Filter(**filters)

    async def run() -> bool:
        async with _trail(read, url) as trail:
            n_left = sys.maxsize if shows_all else limit
            found = _events(trail, asked, n_left, newest_first=not oldest_first)
            async for event in found:
                if n_left == 0:
                    return True
                n_left -= 1
                told = event.to_dict()
                click.echo(to_json(told) if as_json else row(told))
        return False

    if asyncio.run(run()):
        click.echo(f"And more: these are {limit:,}; --limit, or --all.", err=True)


@click.command(epilog="\b\nExample:\n  groundwire audit show 5f0c8a0e-6f0f-4c5e-9d2b-0f6f3f1a7f11")
@_place
@click.argument("event_id", metavar="EVENT_ID")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_context
def show(
    ctx: click.Context, /, *, config: Path | None, url: str | None, event_id: str, as_json: bool
) -> None:
    """Show one event, with what was found in full if that is kept."""
    read = read_config(ctx, config)

    async def run() -> FoundRecord | None:
        async with _trail(read, url) as trail:
            return await trail.get(event_id)

    found = asyncio.run(run())
    if found is None:
        raise UnknownEventError(event_id)
    if as_json:
        click.echo(to_json({**found.to_dict(), "detail": found.detail}, indent=2))
        return
    for line in whole(found.to_dict(), found.detail):
        click.echo(line)


@click.command(
    epilog="\b\nExamples:\n  groundwire audit export --out audit.jsonl.gz\n"
    "  groundwire audit export --tenant acme --since 2026-03-01 --out acme.jsonl"
)
@_place
@_filters
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="The file, made for your eyes alone; compressed if it ends with .gz; -: standard output.",
)
@click.pass_context
def export(
    ctx: click.Context,
    /,
    *,
    config: Path | None,
    url: str | None,
    out: Path,
    **filters: Any,  # noqa: ANN401 - those of the options
) -> None:
    """Write events with their details and chains as JSON Lines.

    Without filter, or of one --writer, groundwire audit verify --file tells whether all are there;
    with others, give it --partial.
    """
    read, asked = read_config(ctx, config), Filter(**filters)

    async def run() -> int:
        async with _trail(read, url) as trail:
            with _new_file(out) as file, _progress() as report:
                n_events = 0
                async for line in trail.export(asked):
                    file.write(line)
                    n_events += 1
                    report(n_events)
        return n_events

    n_events = asyncio.run(run())
    where = "standard output" if out == STDIN else visible(str(out))
    click.echo(f"{_count(n_events, 'event')} in {where}", err=True)


@click.command(
    epilog="\b\nExit status:\n  0  done\n  1  a chain is not as it was written, and stays\n"
    "  2  it failed"
)
@_place
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@click.pass_context
def prune(ctx: click.Context, /, *, config: Path | None, url: str | None, dry_run: bool) -> None:
    """Remove what is older than audit.retention_days and audit.detail_days say.

    The gateway does so every hour. Before anything goes, a record says what.
    """
    read = read_config(ctx, config)
    days = {"retention_days": read.audit.retention_days, "detail_days": read.audit.detail_days}
    if set(days.values()) == {None}:
        click.echo("Nothing goes: audit.retention_days and audit.detail_days are null.")
        return
    keys = _keys(read)

    async def run() -> Expired:
        now = datetime.now(UTC)
        async with _trail(read, url, keys=keys) as trail:
            if dry_run:
                return await find_expired(trail.store, now, **days, keys=keys)
            audit = _Late(AuditLog(StoreSink(_store(read, url), keys), key=keys[0]))
            try:
                return await prune_trail(trail.store, now, **days, audit=audit, keys=keys)
            finally:
                await audit.close()

    done = asyncio.run(run())
    verb = "would be removed" if dry_run else "removed"
    click.echo(f"{_count(done.n_records, 'record')} and {_count(done.n_details, 'detail')} {verb}")
    for writer in done.refused:
        click.echo(f"chain {writer} is not as it was written, and stays", err=True)
    if done.refused:
        click.echo("Run groundwire audit verify.", err=True)
        ctx.exit(ExitStatus.FLAGGED)


async def _events(
    trail: Trail, asked: Filter, limit: int, *, newest_first: bool
) -> AsyncIterator[FoundRecord]:
    """Events from as many pages as it takes, and one more if there are more."""
    cursor: str | None = None
    n_left = limit + 1
    while n_left > 0:
        page = await trail.page(
            asked, cursor=cursor, limit=min(n_left, MAX_LIMIT), newest_first=newest_first
        )
        for event in page.events:
            yield event
        cursor, n_left = page.next, n_left - len(page.events)
        if cursor is None:
            return


class _Late:
    """An audit log that starts with the first events: where nothing goes, no chain begins."""

    def __init__(self, log: AuditLog) -> None:
        self._log, self._is_open = log, False

    async def settle(self, events: Sequence[AuditEvent]) -> bool:
        """Write events; whether they are on disk."""
        if not self._is_open:
            self._is_open = True
            await self._log.open()
        return await self._log.settle(events)

    async def close(self) -> None:
        """End, if it has started."""
        await self._log.close()


@asynccontextmanager
async def _trail(
    config: Config, url: str | None, *, keys: Sequence[bytes] = ()
) -> AsyncIterator[Trail]:
    """The trail in the store of a configuration, or in another, whose tables stay as they are.

    With keys, only one that they have a part in: to all others every chain looks forged.
    """
    if url is None and config.audit.path is not None:
        raise SettingError(
            "audit.path",
            config.audit.path,
            "null: the trail is in that file, which these commands do not read",
        )
    store = _store(config, url)
    if store.address.path is not None and not store.address.path.exists():
        raise SettingError("store.url", store.where, "a database that is there")
    await store.open(migrates=False)
    try:
        if keys:
            async with store.reading() as connection:
                await check_own(connection, keys)
        yield Trail(store)
    finally:
        await store.close()


def _store(config: Config, url: str | None) -> Store:
    return Store.of(config, is_synced=True) if url is None else Store(url, is_synced=True)


def _keys(config: Config) -> Sequence[bytes]:
    keys = known_keys(config, data_folder(config))
    if not keys:
        raise SettingError(
            "audit.key", None, "what the trail was signed with: give --config, GROUNDWIRE_AUDIT_KEY"
        )
    return keys


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that is there once it is whole, for the eyes of this user."""
    if path == STDIN:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    if path.exists():
        raise _there_already(path)
    # mkstemp makes files that only this user can read.
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=file, mode="wb") as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
        _name(Path(temporary), path)
    finally:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()


def _name(temporary: Path, path: Path) -> None:
    """Give a file its name, and never that of another which has come meanwhile."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise _there_already(path) from None
    except (OSError, NotImplementedError):  # a file system without links
        if path.exists():
            raise _there_already(path) from None
        temporary.rename(path)


def _there_already(path: Path) -> click.UsageError:
    return click.UsageError(f"{path} is there already. Name another file, or remove it.")


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Say on standard error now and then how many events have been written."""
    is_terminal, last = sys.stderr.isatty(), time.monotonic()

    def report(n_events: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= (0.2 if is_terminal else LINE_EVERY_S):
            last = now
            click.echo(f"\r{_count(n_events, 'event')}", err=True, nl=not is_terminal)

    yield report
    if is_terminal:
        click.echo("\r\x1b[K", err=True, nl=False)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"

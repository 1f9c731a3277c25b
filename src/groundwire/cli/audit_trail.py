"""``groundwire audit export``: events of the trail in a store, as JSON Lines."""

import asyncio
import gzip
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import click

from groundwire.cli.inputs import NAME
from groundwire.cli.options import command, group, option
from groundwire.cli.progress import count_of, totals
from groundwire.cli.settings import StoreOptions
from groundwire.config import Config
from groundwire.control.audit.event import EventType
from groundwire.control.audit.filters import Filter
from groundwire.control.audit.trail import Trail
from groundwire.control.store.opening import existing_store
from groundwire.errors import SettingError
from groundwire.render import visible
from groundwire.text.files.reading import STDIN

_AGO = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

_TYPES = click.Choice([str(each) for each in EventType], case_sensitive=False)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """The options that choose events.

    Attributes:
        tenant: Only events of a tenant.
        types: Only events of a type, such as hallucination_detected. Again for more.
        trace_id: Only events of a request.
        writer: Only events of a chain.
        since: Only events from this moment on: a date, a time, or 24h, 7d for so long ago.
        until: Only events before this moment.
    """

    tenant: str | None = option("--tenant", "ID", NAME)
    types: tuple[str, ...] = option("--type", "TYPE", _TYPES)
    trace_id: str | None = option("--trace-id", "ID", NAME)
    writer: str | None = option("--writer", "ID", NAME)
    since: datetime | None = option("--since", "WHEN", callback=_when)
    until: datetime | None = option("--until", "WHEN", callback=_when)


@command()
def export(
    ctx: click.Context,
    /,
    *,
    store: StoreOptions = group(StoreOptions),
    filters: Filter = group(FilterOptions),
    out: Path = option(
        "--out", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path), required=True
    ),
) -> None:
    """Write events with their details and chains as JSON Lines.

    Without filters, or with --writer alone, groundwire audit verify --file says whether records are
    missing; with other filters, give it --partial.

    Args:
        out: The file, which only you can read; compressed if its name ends with .gz; -: standard
            output.

    Examples:
        groundwire audit export --out audit.jsonl.gz
        groundwire audit export --tenant acme --since 2026-03-01 --out acme.jsonl
        groundwire audit export --type hallucination_detected --since 24h --out - | jq .payload
    """
    config = store.read(ctx)

    async def run() -> int:
        async with _trail(config, store) as trail:
            with _new_file(out) as file, totals("event") as report:
                n_events = 0
                async for line in trail.export(filters):
                    file.write(line)
                    n_events += 1
                    report(n_events, None)
        return n_events

    n_events = asyncio.run(run())
    where = "standard output" if out == STDIN else visible(str(out))
    click.echo(f"{count_of(n_events, 'event')} in {where}", err=True)


@asynccontextmanager
async def _trail(config: Config, place: StoreOptions) -> AsyncIterator[Trail]:
    """Open the trail in the store of a configuration, or in another; its tables stay as they are.

    Raises:
        SettingError: If the trail is in a file.
        StoreError: If the store cannot be used.
    """
    if place.store is None and config.audit.path is not None:
        raise SettingError(
            "audit.path",
            config.audit.path,
            "null: the trail is in that file, which this command does not read",
        )
    async with existing_store(config) as store:
        yield Trail(store)


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """A new file for the eyes of this user; it is empty until all of it is written."""
    if path == STDIN:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    part = path.with_name(f".{path.name}.part")
    try:
        path.touch(0o600, exist_ok=False)
    except FileExistsError:
        raise click.UsageError(
            f"{path} is there already. Name another file, or remove it."
        ) from None
    try:
        part.touch(0o600)
        with part.open("wb") as file:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=file, mode="wb") as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        raise

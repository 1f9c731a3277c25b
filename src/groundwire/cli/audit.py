"""``groundwire audit``: the audit trail, from the command line."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.config import read_config
from groundwire.cli.inputs import TEXT_FILE
from groundwire.cli.status import ExitStatus
from groundwire.errors import MissingExtraError, SettingError
from groundwire.text.files.writing import to_json

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.control.audit.record import Head
    from groundwire.control.audit.verdict import TrailVerdict

#: Commands of the group that are elsewhere: name → where, and its line in the list of commands.
LAZY = {
    "list": ("groundwire.cli.audit_trail:list_", "List events."),
    "show": ("groundwire.cli.audit_trail:show", "Show one event, with what was found in full."),
    "export": ("groundwire.cli.audit_trail:export", "Write events as JSON Lines."),
    "prune": ("groundwire.cli.audit_trail:prune", "Remove what is older than it is to be kept."),
}

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

_EPILOG = """\b
Examples:
  groundwire audit verify --config groundwire.yaml
  groundwire audit verify --file audit.jsonl.1 --file audit.jsonl
  groundwire audit verify --write-anchors /mnt/elsewhere/anchors.json

\b
Exit status:
  0  the trail is as it was written
  1  it was tampered with
  2  it could not be verified: it is empty, out of reach, or signed with another key
"""

_TOLD = {"intact": "intact", "tampered": "TAMPERED", "unverified": "not verified"}

Report = Callable[[int, int], None]


class _AuditCommands(click.Group):
    """A group some of whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, most used first."""
        return [*super().list_commands(ctx), *LAZY]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported if need be."""
        if cmd_name not in LAZY:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = LAZY[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        own = [(name, each.get_short_help_str(100)) for name, each in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*own, *((name, line) for name, (_, line) in LAZY.items())])


@click.group(cls=_AuditCommands)
def audit() -> None:
    """Look at the audit trail, verify it, export it."""
    # The commands import what the base installation does not have.
    if find_spec("sqlalchemy") is None:
        raise MissingExtraError("groundwire audit", "gateway")


@audit.command(epilog=_EPILOG, short_help="Say whether the trail is as it was written.")
@click.option("--config", type=TEXT_FILE, help="The gateway's configuration file.")
@click.option("--store", "url", metavar="URL", help="The database, in place of the configured one.")
@click.option(
    "--file",
    "files",
    type=_FILE,
    multiple=True,
    help="A file in place of a database: audit.path, or an export. Again for each file that was "
    "rotated away, the oldest first.",
)
@click.option(
    "--partial",
    "is_partial",
    is_flag=True,
    help="The files are a part of a trail: records that are missing are nothing wrong.",
)
@click.option(
    "--key-file",
    "key_files",
    type=_FILE,
    multiple=True,
    help="Keys beside the configured one, one a line: of earlier times, of other replicas.",
)
@click.option(
    "--anchors",
    type=_FILE,
    help="Where the trail stood at an earlier time: it must still have come from there.",
)
@click.option(
    "--write-anchors",
    type=click.Path(dir_okay=False, path_type=Path),
    help="If it is intact, write where it stands, for --anchors of a later time.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def verify(
    ctx: click.Context,
    /,
    *,
    config: Path | None,
    url: str | None,
    files: tuple[Path, ...],
    is_partial: bool,
    key_files: tuple[Path, ...],
    anchors: Path | None,
    write_anchors: Path | None,
    as_json: bool,
) -> None:
    """Say whether the audit trail is as it was written.

    Every record is signed together with the one before it. What was changed, removed, inserted or
    moved by somebody without the key is found, and said where. It changes nothing.
    """
    if url is not None and files:
        raise click.UsageError("Give --store or --file, not both.")
    if is_partial and not files:
        raise click.UsageError("Write --partial with --file: a store has the whole trail.")
    if is_partial and write_anchors is not None:
        raise click.UsageError("A part of a trail does not say where it stands: verify all of it.")
    read = read_config(ctx, config)
    from groundwire.control.audit.anchors import read_anchors
    from groundwire.control.audit.anchors import write_anchors as write
    from groundwire.control.audit.verdict import TrailStatus

    keys = _keys(read, key_files)
    known = () if anchors is None else read_anchors(anchors, keys)
    found = files or _configured_files(read, url)
    if found:
        verdict = _verify_files(found, keys, known, is_partial=is_partial)
    else:
        verdict = asyncio.run(_verify_store(read, url, keys, known))
    _say(verdict, as_json=as_json)
    if verdict.status is TrailStatus.INTACT:
        if write_anchors is not None:
            write(write_anchors, verdict.heads, keys[0])
        return
    if write_anchors is not None:
        click.echo("No anchors were written: the trail is not intact.", err=True)
    ctx.exit(ExitStatus.FLAGGED if verdict.status is TrailStatus.TAMPERED else ExitStatus.FAILED)


def _keys(config: "Config", key_files: Sequence[Path]) -> Sequence[bytes]:
    from groundwire.control.audit.signing import known_keys, read_keys
    from groundwire.control.folder import data_folder

    own = known_keys(config, data_folder(config))
    keys = [*own, *(key for path in key_files for key in read_keys(path))]
    if not keys:
        raise SettingError(
            "audit.key",
            None,
            "what the trail was signed with: give --config, GROUNDWIRE_AUDIT_KEY or --key-file",
        )
    return keys


def _configured_files(config: "Config", url: str | None) -> Sequence[Path]:
    """The file of a configuration, if the trail is not in the store."""
    path = config.audit.path
    if url is not None or path is None:
        return ()
    if path == "-":
        raise SettingError("audit.path", path, "a file here: give the one it was kept in as --file")
    return (Path(path),)


def _verify_files(
    paths: Sequence[Path], keys: Sequence[bytes], anchors: Sequence["Head"], *, is_partial: bool
) -> "TrailVerdict":
    from groundwire.control.audit.verify_file import verify_files

    with _progress() as report:
        return verify_files(paths, keys, anchors=anchors, is_partial=is_partial, report=report)


async def _verify_store(
    config: "Config", url: str | None, keys: Sequence[bytes], anchors: Sequence["Head"]
) -> "TrailVerdict":
    from groundwire.control.audit.verify_store import verify_store
    from groundwire.control.store import Store

    store = Store.of(config) if url is None else Store(url)
    await store.open(migrates=False)
    try:
        with _progress() as report:
            return await verify_store(store, keys, anchors=anchors, report=report)
    finally:
        await store.close()


@contextmanager
def _progress() -> Iterator[Report]:
    """A bar on standard error while the block runs, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    # Rich costs a tenth of a second to import, and only a terminal can show what it draws.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=None),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _what(verdict: "TrailVerdict") -> str:
    count = f"{_count(verdict.records, 'record')} in {_count(verdict.chains, 'chain')}"
    if verdict.status == "tampered":
        return f"{_count(verdict.findings_total, 'finding')}, {count}"
    if verdict.status == "unverified":
        why = "there are no records"
        return f"no key that was given has signed any of {count}" if verdict.records else why
    return count


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _say(verdict: "TrailVerdict", *, as_json: bool) -> None:
    if as_json:
        click.echo(to_json(verdict.to_dict(), indent=2))
        return
    from groundwire.render import visible  # what was put into a database may be anything

    click.echo(f"{_TOLD[verdict.status]}: {_what(verdict)}")
    for finding in verdict.findings:
        click.echo(f"  {finding.kind:<10}{visible(finding.text)}")
    if verdict.findings_total > len(verdict.findings):
        click.echo(f"  and {verdict.findings_total - len(verdict.findings):,} more")
    for note in verdict.notes:
        click.echo(f"note: {visible(note)}")

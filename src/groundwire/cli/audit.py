"""``groundwire audit``: verifies the audit trail."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.console import show
from groundwire.cli.options import command, commands, option
from groundwire.cli.settings import StoreOptions
from groundwire.cli.status import ExitStatus
from groundwire.cli.store_change import run
from groundwire.errors import SettingError
from groundwire.text.screen import count_of

if TYPE_CHECKING:
    from groundwire.config import Config

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@commands()
def audit() -> None:
    """Verify the audit trail."""


@command(short_help="Say whether the trail is as it was written.", under=audit)
def verify(
    ctx: click.Context,
    /,
    *,
    store: StoreOptions,
    files: tuple[Path, ...] = option("--file", type=_FILE),
    is_partial: bool = option("--partial"),
    key_files: tuple[Path, ...] = option("--key-file", type=_FILE),
    as_json: bool = option("--json"),
) -> None:
    """Say whether the audit trail is as it was written.

    Every record is signed together with the signature of the record before it. So the command finds
    each place where somebody without the key changed, removed, inserted or moved records. Only the
    removal of the last records of a file may go unnoticed. The command changes nothing.

    Args:
        files: A file to verify in place of a database: audit.path, or an export. Repeat the option
            for each file that was rotated away, the oldest first.
        is_partial: The files are a part of a trail, so missing records and details are no sign of
            tampering.
        key_files: A file with further keys, one a line: earlier keys, or those of other replicas;
            can be repeated.
        as_json: Print the findings as JSON.

    Examples:
        groundwire audit verify --config groundwire.yaml
        groundwire audit verify --file audit.jsonl.1 --file audit.jsonl

    Exit status:
        0  the trail is as it was written
        1  it was tampered with
        2  it could not be verified (it is empty, out of reach, or signed with another key), or the
           command was wrong
    """
    if store.store is not None and files:
        raise click.UsageError("Give --store or --file, not both.")
    if is_partial and not files:
        raise click.UsageError("Write --partial with --file: a store has the whole trail.")
    config = store.read(ctx)
    from groundwire.control.audit.signing import existing_keys
    from groundwire.control.audit.verdict import TrailStatus
    from groundwire.control.audit.verify_file import verify_files
    from groundwire.control.audit.verify_store import verify_store
    from groundwire.render.html import render_text

    keys = existing_keys(config, more=key_files)
    found = files or _configured_files(config, store)
    if found:
        verdict = verify_files(found, keys, is_partial=is_partial)
    else:
        verdict = run(config, lambda store: verify_store(store, keys)).value
    show(
        asdict(verdict),
        lambda: render_text("audit.txt", verdict=verdict, count_of=count_of),
        as_json=as_json,
    )
    if verdict.status is TrailStatus.TAMPERED:
        ctx.exit(ExitStatus.FLAGGED)
    if verdict.status is not TrailStatus.INTACT:
        ctx.exit(ExitStatus.FAILED)


def _configured_files(config: "Config", store: StoreOptions) -> Sequence[Path]:
    """Return the file that the configuration names for the audit trail.

    The result is empty with ``--store``, or if the configured trail is in a database.

    Raises:
        SettingError: If the configured trail is standard output, and ``--store`` is not given.
    """
    path = config.audit.path
    if store.store is not None or path is None:
        return ()
    if path == "-":
        raise SettingError("audit.path", path, "a file here: give the one it was kept in as --file")
    return (Path(path),)

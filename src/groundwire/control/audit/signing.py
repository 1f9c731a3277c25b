"""Reads the keys of the audit trail from a setting and a file, or makes a first key."""

import os
import secrets
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from groundwire.config import Config
from groundwire.control.folder import data_folder
from groundwire.errors import ConfigError, SettingError

#: The file of keys, in the data folder of the gateway.
FILE = "audit.key"

#: Lowest number of characters of a key. Whoever has a record can test guessed keys on the record,
#: and could find a shorter key.
MIN_CHARS = 32

_MAX_FILE_BYTES = 100_000


def known_keys(config: Config) -> Sequence[bytes]:
    """Return the keys that exist, the configured one first; no key is made.

    Raises:
        ConfigError: If a key cannot be read or used.
    """
    path, given = data_folder(config) / FILE, config.audit.key
    own = [] if given is None else [_checked(given.reveal().strip(), "audit.key")]
    return [*own, *(read_keys(path) if path.exists() else ())]


def existing_keys(config: Config, *, more: Iterable[Path] = ()) -> Sequence[bytes]:
    """Return the keys that a command uses: known keys, then those in the files ``more``.

    No key is made.

    Raises:
        SettingError: If there is no key.
        ConfigError: If a key cannot be read or used.
    """
    if keys := [*known_keys(config), *(key for path in more for key in read_keys(path))]:
        return keys
    raise SettingError(
        "audit.key",
        None,
        "what the gateways sign their records with: give their configuration with --config, or "
        "GROUNDWIRE_AUDIT_KEY; to verify, --key-file will do",
    )


def signing_keys(config: Config) -> Sequence[bytes]:
    """Return the keys of the audit trail: first the key that signs, then earlier keys.

    Older chains may have been signed with the earlier keys. If there is no key, make one.

    Raises:
        ConfigError: If a key cannot be read, used or made.
    """
    if keys := known_keys(config):
        return keys
    path = data_folder(config) / FILE
    try:
        _make(path)
        return read_keys(path)
    except OSError as error:
        problem = error.strerror or type(error).__name__
        raise ConfigError(
            [
                f"{path}: the key of the audit trail cannot be made: {problem}. Make the folder "
                "writable, or set audit.key (GROUNDWIRE_AUDIT_KEY) to the output of "
                "openssl rand -hex 32."
            ]
        ) from error


def read_keys(path: Path) -> Sequence[bytes]:
    """Read the keys of a file: one key per line, the newest first.

    Raises:
        ConfigError: If the file cannot be read, has no key, or a key is too short.
    """
    try:
        with path.open("rb") as file:
            lines = file.read(_MAX_FILE_BYTES).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, f"it cannot be read ({type(error).__name__})") from error
    keys = [line.strip() for line in lines if line.strip()]
    if not keys:
        raise _unreadable(path, "it has no key")
    return [_checked(key, str(path)) for key in keys]


def _checked(key: str, where: str) -> bytes:
    if len(key) < MIN_CHARS:
        raise ConfigError(
            [
                f"{where}: a key of the audit trail has {len(key)} characters and needs "
                f"{MIN_CHARS}, so that nobody can guess it. Make one: openssl rand -hex 32."
            ]
        )
    return key.encode("utf-8")


def _make(path: Path) -> None:
    """Write a new key into a file, unless another process has just made the file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp makes files that only this user can read.
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_hex(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            # With the link, the file appears as a whole, and never replaces the file of another
            # process, whose key may have signed records already.
            path.hardlink_to(temporary)
        except FileExistsError:
            return
        except (OSError, NotImplementedError):  # a file system without links
            if not path.exists():
                Path(temporary).replace(path)
    finally:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()


def _unreadable(path: Path, problem: str) -> ConfigError:
    return ConfigError(
        [
            f"{path}: the key of the audit trail: {problem}. Put the file back as it was: without "
            "it earlier records cannot be verified. Moved away, the next start makes a new one."
        ]
    )

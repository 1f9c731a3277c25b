"""Applies options to a configuration, reads secrets, and checks that extras are installed."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.config import read_config
from groundwire.cli.inputs import TEXT_FILE
from groundwire.cli.options import given_settings, option
from groundwire.errors import MissingExtraError

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.config.kinds import Secret

#: Import names of the packages without which the gateway cannot run; the extra ``gateway``
#: installs them.
PACKAGES = (
    *("aiohttp", "aiosqlite", "alembic", "argon2", "asyncpg", "fastapi", "httptools", "msgspec"),
    *("prometheus_client", "sqlalchemy", "starlette", "uvicorn"),
)


def with_values(config: "Config", given: Mapping[str, Any]) -> "Config":
    """Return a configuration with the values of options in place of its own.

    ``given`` maps the path of a setting to its new value.

    Raises:
        UsageError: If ``verify.base_url`` or ``verify.service_url`` then has plain HTTP, and its
            host is neither this machine nor ``verify.plain_http_host``.
    """
    from groundwire.config import SettingOrigin
    from groundwire.config.fields import describe_wrong
    from groundwire.config.kinds import ENCRYPTED, KindError, is_encrypted
    from groundwire.detection.values import FrozenMapping

    given, changes = dict(given), dict[str, Any]()
    compares = str(given.get("detector.name", config.detector.name)).startswith("similarity")
    if compares and (point := given.get("detector.operating_point")) is not None:
        # --operating-point is for any detector, but similarity has a threshold setting of its own.
        points = (point, None) if isinstance(point, str) else ("balanced", point)
        given["detector.operating_point"], given["similarity.threshold"] = points
    for path, value in given.items():
        section, _, name = path.partition(".")
        changes[section] = replace(changes.get(section, getattr(config, section)), **{name: value})
    here = dict.fromkeys(given, SettingOrigin(source="the command line"))
    changed = replace(config, **changes, origins=FrozenMapping({**config.origins, **here}))
    for path in ("verify.base_url", "verify.service_url"):
        url = changed.value(path)
        if url and not is_encrypted(url, plain_host=changed.verify.plain_http_host):
            raise click.UsageError(describe_wrong(path, url, KindError(ENCRYPTED)))
    return changed


def is_of_file(config: "Config", path: str) -> bool:
    """Return whether a setting has a value that does not come from an environment variable."""
    return config.value(path) is not None and config.origins[path].source not in os.environ


def read_variable(variable: str, type_: Any, *, what: str) -> "Secret":  # noqa: ANN401
    """Read a secret from an environment variable.

    Args:
        variable: Name of the variable.
        type_: Annotation of a setting, which says which values are legal.
        what: Name of the secret in the error, such as ``key``.

    Raises:
        UsageError: If the variable is not set, or its value is not legal.
    """
    from groundwire.config.kinds import Kind, KindError

    text = os.environ.get(variable, "").strip()
    try:
        found: Secret = Kind(type_).read(text)
    except KindError as error:
        problem = f"holds no {what}" if text else "is not set"
        raise click.UsageError(
            f"The environment variable {variable!r} {problem}. It must be {error.legal}."
        ) from error
    return found


def require(packages: Iterable[str], what: str, extra: str) -> None:
    """Raise a MissingExtraError if a package of an extra is not installed.

    ``what`` is the feature that needs the extra, for the error.
    """
    if any(find_spec(name) is None for name in packages):
        raise MissingExtraError(what, extra)


def require_gateway(what: str = "The gateway") -> None:
    """Raise a MissingExtraError that names ``what`` if the extra ``gateway`` is not installed."""
    require(PACKAGES, what, "gateway")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """The options of commands that work on the database itself.

    Attributes:
        file: The gateway's configuration file.
        store: The database, in place of the configured one. Put a URL with a password into
            GROUNDWIRE_STORE_URL instead, since others can see the options of a command.
    """

    file: Path | None = option("--config", type=TEXT_FILE)
    store: object = option("--store", "URL", setting="store.url")

    def read(self, ctx: click.Context) -> "Config":
        """Read the configuration in effect; end the command if the configuration has errors.

        Raises:
            MissingExtraError: If the extra ``gateway`` is not installed.
        """
        require_gateway()
        return with_values(read_config(ctx, self.file), given_settings(self))

"""``groundwire serve``: starts the gateway."""

import gc
import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from groundwire.cli.config import read_config
from groundwire.cli.console import say
from groundwire.cli.inputs import NAME, TEXT_FILE, in_url
from groundwire.cli.options import command, given_settings, option
from groundwire.cli.settings import is_of_file, read_variable, require_gateway, with_values

if TYPE_CHECKING:
    from socket import socket

    from groundwire.config import Config
    from groundwire.control.tenants.record import FirstStart

#: File in ``gateway.data_dir`` for new keys that are not shown on a terminal.
FIRST_KEYS = "first-keys.txt"

REACHABLE = """\
warning: other machines may reach the admin plane at {host}. It needs a key, and speaks plain HTTP:
put TLS before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of the gateway.

    Attributes:
        upstream: Base URL of the OpenAI-compatible API that answers, such as
            https://api.openai.com/v1. Only a configuration can name several upstreams. Without
            an upstream, chats are refused.
        upstream_key_env: The environment variable that holds the upstream's key. Without it,
            clients send the upstream's key as Authorization, and the gateway's key as
            X-Groundwire-Key.
        host: The address to listen on.  [default: 127.0.0.1]
        port: The port to listen on; 0: any.  [default: 8080]
        file: The configuration; environment variables override it, and options override both.
        preset: strict: block all answers that are not found to be grounded, including answers
            without evidence and answers that could not be checked. Other options override it.
        action: What is done about hallucinated answers: none, log, flag, header, body,
            repair or block.
            [default: log]
        operating_point: The threshold: precision (few false alarms, for blocking), balanced,
            recall, or a number.  [default: balanced]
        release: When a stream passes on text that may have to be blocked: sentence (once the
            sentence is judged) or deferred (at the end).  [default: sentence]
        checks: Whether answers are checked at all.
        store: The database of tenants, keys and the audit trail:
            postgresql://user:password@host/name, or sqlite:///path.  [default: a file of SQLite
            in gateway.data_dir]
        admin: Whether there is an admin plane.  [default: there is]
        admin_port: The port of the admin plane, on this machine unless admin.host says
            otherwise; 0: any.  [default: 8090]
        is_local_demo: Need no key on either port, and serve this machine only. The header
            Authorization is passed on to the upstream.
    """

    upstream: object = option("--upstream", "URL", setting="upstream.url")
    upstream_key_env: str | None = option("--upstream-key-env", "NAME", NAME)
    host: object = option("--host", "ADDRESS", setting="gateway.host")
    port: object = option("--port", "N", setting="gateway.port")
    file: Path | None = option("--config", type=TEXT_FILE)
    preset: object = option("--preset", "NAME", setting="check.preset")
    action: object = option("--action", "ACTION", setting="check.action")
    operating_point: object = option(
        "--operating-point", "POINT", setting="detector.operating_point"
    )
    release: object = option("--release", "WHEN", setting="gateway.release")
    checks: bool | None = option("--check/--no-check", setting="check.enabled")
    store: object = option("--store", "URL", setting="store.url")
    admin: bool | None = option("--admin/--no-admin", setting="admin.enabled")
    admin_port: object = option("--admin-port", "N", setting="admin.port")
    is_local_demo: bool = option("--local-demo")


@command()
def serve(ctx: click.Context, /, *, options: ServeOptions) -> None:
    """Stand between applications and a language model, and check its answers.

    Serves the upstream's API under /v1, so a client needs only another base URL and another key.
    Answers are checked against the sources in their requests; the action says what is done about
    findings.

    Examples:
        groundwire serve --upstream https://api.openai.com/v1 --upstream-key-env OPENAI_API_KEY
        groundwire serve --upstream http://127.0.0.1:11434/v1 --action header --local-demo
        groundwire serve --config groundwire.yaml --host 0.0.0.0

    The first start makes a key for clients and an admin key, unless the configuration has keys. It
    shows them once on a terminal; without a terminal it writes them to first-keys.txt in
    gateway.data_dir, a file that only its owner can read. groundwire keys makes further keys.
    SIGTERM or Ctrl-C ends the gateway once the requests in flight have ended.

    Exit status:
        0  it was told to stop
        2  it could not start, or the command was wrong
    """
    require_gateway()
    config = with_upstream(read_config(ctx, options.file), given_settings(options))
    if options.upstream_key_env is not None:
        config = with_key(config, options.upstream_key_env)
    run(config, is_local_demo=options.is_local_demo)


def with_upstream(config: "Config", given: dict[str, Any]) -> "Config":
    """Apply options, and the preset that an option names, to a configuration.

    The preset overrides the configuration, and other options override both. An upstream in the
    options replaces the configured upstreams. If ``upstream.api_key`` in the configuration file is
    for another URL, this key is then dropped, with a warning.
    """
    from groundwire.config.tree import PRESETS

    preset = PRESETS[given.get("check.preset", "none")]
    changed = with_values(config, {**preset, **given})
    url = given.get("upstream.url")
    if url is None:
        return changed
    changed = replace(changed, listed=())
    if config.upstream.url not in (None, url) and is_of_file(config, "upstream.api_key"):
        # The key belongs to the configured server, and must not be sent to another one.
        changed = replace(changed, upstream=replace(changed.upstream, api_key=None))
        where = config.origins["upstream.api_key"]
        say(f"warning: the key at {where} is for {config.upstream.url}, and is not used.")
    return changed


def with_key(config: "Config", variable: str) -> "Config":
    """Read the upstream's key from an environment variable into the configuration.

    Raises:
        UsageError: If there is no ``upstream.url``, or the variable has no valid key.
    """
    from groundwire.config.keys import Token

    if config.upstream.url is None:
        text = "goes with --upstream; upstreams of a configuration have keys of their own."
        raise click.UsageError(f"--upstream-key-env {text}")
    key = read_variable(variable, Token, what="key")
    return replace(config, upstream=replace(config.upstream, api_key=key))


def run(config: "Config", *, is_local_demo: bool) -> None:
    """Serve the gateway, and its admin plane if there is one, until SIGTERM or Ctrl-C."""
    # These imports take time, and --help does not need them.
    from groundwire.config.findings import ConfigWarning, findings
    from groundwire.gateway.app import create_app
    from groundwire.gateway.console.app import AdminPlane
    from groundwire.gateway.control import ControlPlane
    from groundwire.gateway.logs import log_to_stderr
    from groundwire.gateway.server import Beside, Server, is_reachable, listen

    # The findings about the configuration are printed below, so Python need not warn of them.
    warnings.simplefilter("ignore", ConfigWarning)
    tell = say if config.log.format == "text" else log_lines
    with ExitStack() as stack:
        # The ports are opened first: new keys are shown only once, and would be lost to the user
        # if the start failed afterwards.
        found = listen(config, is_local_demo=is_local_demo)
        sockets = [stack.enter_context(each) for each in found]
        address = _address(config.gateway.host, sockets)
        admins = []
        if config.admin.enabled:
            found = listen(config, is_admin=True, is_local_demo=is_local_demo)
            admins = [stack.enter_context(each) for each in found]
        log_to_stderr(config.log)
        tell(*describe(config, is_local_demo=is_local_demo))
        if is_reachable(admins):
            tell(REACHABLE.format(host=config.admin.host))
        tell(*(f"warning: {each}" for each in findings(config)))
        control = ControlPlane(
            config,
            is_local_demo=is_local_demo,
            on_start=lambda start: show_keys(config, start, address=address, tell=tell),
        )
        app = create_app(
            config,
            control=control,
            is_local_demo=is_local_demo,
            on_failure=lambda error: server.fail(error),
        )
        beside = None
        if admins:
            admin_app = AdminPlane(
                control, readiness=app.state.readiness, metrics=app.state.metrics
            )
            beside = Beside(admin_app, config, admins, address=_address(config.admin.host, admins))
        server = Server(app, config, says=tell, address=address, beside=beside)
        # Imported modules are never freed. The garbage collector holds up all requests while it
        # runs, so it should not look at these objects again.
        gc.freeze()
        server.serve_until_told(sockets)


def describe(config: "Config", *, is_local_demo: bool) -> list[str]:
    """Describe the gateway that is about to run, line by line."""
    from groundwire.control.folder import data_folder
    from groundwire.control.store.store import FILE
    from groundwire.render.html import render_text

    url = config.store.url
    text = render_text(
        "serve.txt",
        config=config,
        is_local_demo=is_local_demo,
        checked_tenants=[name for name, each in config.tenants.items() if each.enabled],
        decisions=[(each.name, each.plugin) for each in config.decisions if each.plugin],
        store=data_folder(config) / FILE if url is None else repr(url),
        urlsplit=urlsplit,
    )
    return text.split("\n")


def log_lines(*lines: str) -> None:
    """Write lines about the start to the log; a line that begins with "warning:" as a warning."""
    log = logging.getLogger("groundwire.serve")
    for line in lines:
        if line.startswith("warning: "):
            log.warning("%s", line.removeprefix("warning: "))
        elif line:
            log.info("%s", " ".join(line.split()))


def show_keys(
    config: "Config", start: "FirstStart", *, address: str, tell: Callable[..., None]
) -> None:
    """Print which keys are accepted; show new keys on a terminal, or else write them to a file.

    Without a terminal, or if the log is JSON, the output may be kept in a log, so no new key is
    printed.
    """
    tell(f"keys      {_keys(config, start)}", f"admin     {_admin_keys(config, start)}")
    if not start.keys:
        return
    if sys.stderr.isatty() and tell is say:
        say(*describe_keys(start, address=address))
        return
    from groundwire.control.folder import data_folder

    path = data_folder(config) / FIRST_KEYS
    try:
        write_secret(path, "".join(f"{line}\n" for line in describe_keys(start, address=address)))
    except OSError as error:
        tell(
            f"warning: the new keys could not be written to {path}: {error.strerror}. "
            "groundwire keys create makes others."
        )
    else:
        tell(
            f"The new keys are in {path}, which its owner alone can read. Take them, and delete it."
        )


def write_secret(path: Path, text: str) -> None:
    """Write a file that only its owner can read, replacing any old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(text)


def describe_keys(start: "FirstStart", *, address: str) -> list[str]:
    """Return lines that show the new keys with their uses."""
    from groundwire.render.html import render_text

    return [*render_text("first_keys.txt", start=start, address=address).split("\n"), ""]


def _keys(config: "Config", start: "FirstStart") -> str:
    if start.tenant_key is not None:
        return "a new one, of tenant default"
    if not config.keys:
        return "those in the store"
    listed = ", ".join(f"{name} ({len(own)})" for name, own in config.keys.items())
    return f"of the configuration: {listed}; and those in the store"


def _admin_keys(config: "Config", start: "FirstStart") -> str:
    if start.admin_key is not None:
        return "a new key, with the role admin"
    if config.admin.api_key is not None:
        return "the key of the configuration, and those in the store"
    return "the keys in the store" if config.admin.enabled else "off"


def _address(host: str, sockets: "Sequence[socket]") -> str:
    return f"http://{in_url(host)}:{sockets[0].getsockname()[1]}"

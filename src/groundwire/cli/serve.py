"""``groundwire serve``: the gateway, from the command line."""

import os
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from groundwire.cli.config import read_config
from groundwire.cli.inputs import TEXT_FILE, refuse_empty
from groundwire.cli.setting_options import setting_option, with_values
from groundwire.errors import MissingExtraError

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.gateway.keys import Start

#: What the gateway imports beyond the base installation.
PACKAGES = (
    *("aiohttp", "brotli", "fastapi", "httptools", "msgspec", "prometheus_client"),
    *("starlette", "uvicorn"),
)

#: Parameters of the command → settings.
SETTINGS_OF = {
    "upstream": "upstream.url",
    "host": "gateway.host",
    "port": "gateway.port",
    "action": "check.action",
    "release": "gateway.release",
    "checks": "check.enabled",
}

NO_UPSTREAM = """\
There is no upstream to send requests to. Name one, for instance:
  groundwire serve --upstream https://api.openai.com/v1 --upstream-key-env OPENAI_API_KEY
  groundwire serve --upstream http://127.0.0.1:11434/v1"""

EPILOG = """\b
Examples:
  groundwire serve --upstream https://api.openai.com/v1 --upstream-key-env OPENAI_API_KEY
  groundwire serve --upstream http://127.0.0.1:11434/v1 --action header --local-demo
  groundwire serve --config groundwire.yaml --host 0.0.0.0

\b
Without a key in the configuration, the first start makes one and prints it, once.
SIGTERM or Ctrl-C ends it once the requests in flight have ended.

\b
Exit status:
  0  it was told to stop
  2  it could not start, or the command was wrong
"""


@click.command(epilog=EPILOG)
@setting_option(
    SETTINGS_OF["upstream"],
    "--upstream",
    metavar="URL",
    help="Where the OpenAI-compatible API begins that answers, such as https://api.openai.com/v1. "
    "Several upstreams stand in a configuration.",
)
@click.option(
    "--upstream-key-env",
    metavar="NAME",
    callback=refuse_empty,
    help="The environment variable that holds the upstream's key. Without one, clients send "
    "theirs as Authorization, and the gateway's as X-Groundwire-Key.",
)
@setting_option(
    SETTINGS_OF["host"],
    "--host",
    metavar="ADDRESS",
    help="The address to listen on.  [default: 127.0.0.1]",
)
@setting_option(
    SETTINGS_OF["port"],
    "--port",
    metavar="N",
    help="The port to listen on; 0: any.  [default: 8080]",
)
@click.option(
    "--config",
    "file",
    type=TEXT_FILE,
    metavar="FILE",
    help="The configuration; environment variables win over it, and options over both.",
)
@setting_option(
    SETTINGS_OF["action"],
    "--action",
    metavar="ACTION",
    help="What is done about hallucinated answers: none, log, flag, header, body or block.  "
    "[default: log]",
)
@setting_option(
    SETTINGS_OF["release"],
    "--release",
    metavar="WHEN",
    help="When a stream lets text go that may have to be withheld: sentence (once judged) or "
    "deferred (at the end).  [default: sentence]",
)
@click.option(
    "--check/--no-check", "checks", default=None, help="Whether answers are checked at all."
)
@click.option(
    "--local-demo",
    "is_local_demo",
    is_flag=True,
    help="Need no key, and serve this machine only. Authorization goes on to the upstream.",
)
@click.pass_context
def serve(
    ctx: click.Context,
    /,
    *,
    file: Path | None,
    upstream_key_env: str | None,
    is_local_demo: bool,
    **options: Any,  # noqa: ANN401 - of SETTINGS_OF
) -> None:
    """Stand between applications and a language model, and check its answers.

    Serves the upstream's API under /v1, so a client needs another base URL and a key, and nothing
    else. Answers are checked against the sources that their requests have; the action says what is
    done about findings.
    """
    require_gateway()
    given = {SETTINGS_OF[name]: value for name, value in options.items() if value is not None}
    config = with_options(read_config(ctx, file), given)
    if upstream_key_env is not None:
        config = with_key(config, upstream_key_env)
    if not config.upstreams:
        raise click.UsageError(NO_UPSTREAM)
    run(config, is_local_demo=is_local_demo)


def require_gateway() -> None:
    """Make sure that the extra is installed.

    Raises:
        MissingExtraError: If it is not.
    """
    if any(find_spec(name) is None for name in PACKAGES):
        raise MissingExtraError("The gateway", "gateway")


def with_options(config: "Config", given: dict[str, Any]) -> "Config":
    """A configuration over which options have won."""
    changed = with_values(config, given)
    url = given.get("upstream.url")
    if url is None:
        return changed
    changed = replace(changed, listed=())
    if config.upstream.url not in (None, url) and _is_of_file(config, "upstream.api_key"):
        # It was given for another server, which is not to see it.
        changed = replace(changed, upstream=replace(changed.upstream, api_key=None))
        where = config.origins["upstream.api_key"]
        say(f"warning: the key at {where} is for {config.upstream.url}, and is not used.")
    return changed


def _is_of_file(config: "Config", path: str) -> bool:
    source = config.origins[path].source
    return config.value(path) is not None and source not in os.environ


def with_key(config: "Config", variable: str) -> "Config":
    """A configuration whose upstream has the key that a variable holds."""
    from groundwire.config.keys import Token
    from groundwire.config.kinds import KindError

    if config.upstream.url is None:
        text = "goes with --upstream; upstreams of a configuration have keys of their own."
        raise click.UsageError(f"--upstream-key-env {text}" if config.upstreams else NO_UPSTREAM)
    text = os.environ.get(variable, "")
    try:
        key = Token().read(text.strip())
    except KindError as error:
        what = "holds no key" if text else "is not set"
        raise click.UsageError(
            f"The environment variable {variable!r} {what}. It must be {error.legal}."
        ) from error
    return replace(config, upstream=replace(config.upstream, api_key=key))


def run(config: "Config", *, is_local_demo: bool) -> None:
    """Serve until told to stop."""
    # All of this is heavy, and --help needs none of it.
    from groundwire.gateway.app import create_app
    from groundwire.gateway.folder import data_folder
    from groundwire.gateway.keys import Keyring, Start, prepare_keys
    from groundwire.gateway.server import Server, listen, log_to_stderr

    # First the port: a key that is made is shown once, and must not be lost to a failed start.
    sockets = listen(config, is_local_demo=is_local_demo)
    address = _address(config.gateway.host, sockets[0].getsockname()[1])
    try:
        start = (
            Start(keyring=Keyring.of(config))
            if is_local_demo
            else prepare_keys(config, data_folder(config))
        )
        for line in describe(config, start, address=address, is_local_demo=is_local_demo):
            say(line)
        log_to_stderr()
        app = create_app(
            config,
            keyring=start.keyring,
            is_local_demo=is_local_demo,
            on_failure=lambda error: server.fail(error),
        )
        server = Server(app, config, says=say, address=address)
        server.serve_until_told(sockets)
    finally:
        for each in sockets:
            each.close()


def say(line: str) -> None:
    """A line on standard error; names in it may come from anywhere."""
    from groundwire.render import visible

    click.echo(visible(line), err=True)


def describe(
    config: "Config", start: "Start", *, address: str, is_local_demo: bool
) -> Iterator[str]:
    """What is about to run, a line each."""
    for each in config.upstreams:
        models = "all models" if each.models == ("*",) else ", ".join(each.models)
        yield f"upstream  {each.name}: {each.url}, {models}"
        if not urlsplit(each.url).path.strip("/"):
            yield "          It has no path; most servers have their API at /v1."
    yield f"checks    {_checks(config)}"
    if decisions := _decisions(config):
        yield f"          but for decisions: {decisions}"
    yield f"audit     {_audit(config)}"
    if is_local_demo:
        yield "keys      none is needed: --local-demo serves this machine only"
        return
    yield f"keys      {_keys(start)}"
    if start.new_key is not None:
        yield ""
        yield "Clients need this key. It is shown this once:"
        yield ""
        yield f"  {start.new_key}"
        yield ""
        yield "Use it as any OpenAI key, with this base URL:"
        yield f"  export OPENAI_BASE_URL={address}/v1 OPENAI_API_KEY=..."
        yield ""


def _checks(config: "Config") -> str:
    own = config.check
    if not own.enabled:
        tenants = [name for name, each in config.tenants.items() if each.enabled]
        return f"off, but for {', '.join(tenants)}" if tenants else "off"
    released = f", released by {config.gateway.release}" if own.action == "block" else ""
    if config.gateway.release == "deferred" and own.action == "block":
        released = ", released at the end"
    return f"on, action {own.action}{released}, detector {config.detector.name}"


def _decisions(config: "Config") -> str:
    """The decisions that have a say about checks, by name, with what they do."""
    plugins = {each.name: each.plugin for each in config.decisions if each.plugin is not None}
    said = (f"{name} ({own.action if own.enabled else 'off'})" for name, own in plugins.items())
    return ", ".join(said)


def _audit(config: "Config") -> str:
    from groundwire.gateway.folder import data_folder

    if not config.audit.enabled:
        return "off"
    path = config.audit.path
    return "standard output" if path == "-" else str(path or data_folder(config) / "audit.jsonl")


def _keys(start: "Start") -> str:
    if start.new_key is not None:
        return f"a new one, of tenant default; its hash is in {start.path}"
    if start.is_used:
        return f"the one of an earlier start, whose hash is in {start.path}"
    counts = dict.fromkeys(start.keyring.tenants, 0)
    for key in start.keyring.keys:
        counts[key.tenant] += 1
    listed = ", ".join(f"{name} ({n})" for name, n in counts.items())
    ignored = f"; the one in {start.path} is not taken" if start.path else ""
    return f"of the configuration: {listed}{ignored}"


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

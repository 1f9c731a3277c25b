"""``groundwire mcp``: the tools for agents, over the Model Context Protocol."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import KW_ONLY, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.config import read_config
from groundwire.cli.inputs import TEXT_FILE, refuse_empty
from groundwire.cli.serve import say, with_options
from groundwire.errors import MissingExtraError
from groundwire.text.files.reading import STDIN

if TYPE_CHECKING:
    from groundwire.mcp.backend import Backend
    from groundwire.mcp.http import Access

#: What the server imports beyond the base installation; ``mcp_types`` is no part of mcp 1.
PACKAGES = ("anyio", "mcp", "mcp_types", "starlette", "uvicorn")

#: They stand here so that --help imports no client.
CLIENTS = ("claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "gemini-cli")

STDIO, HTTP = "stdio", "streamable-http"

#: Hosts that stand for all addresses.
_EVERYWHERE = ("0.0.0.0", "::", "")

SETTINGS_OF = {
    "verifier": "verify.verifier",
    "verifier_model": "verify.model",
    "base_url": "verify.base_url",
    "service_url": "verify.service_url",
}

EPILOG = """\b
Examples:
  groundwire mcp --root .
  groundwire mcp --print-config claude-code --root .
  groundwire mcp --verifier openai --verifier-model gpt-4o-mini
  groundwire mcp --transport streamable-http
  groundwire mcp --transport streamable-http --host 0.0.0.0 --token-env MCP_TOKEN \\
    --allowed-host mcp.example.com

\b
Exit status:
  0  the client went away, or it was told to stop
  2  it could not start, or the command was wrong
"""


def setting_option(*names: str, **settings: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    """An option that wins over the setting of :data:`SETTINGS_OF`."""
    return click.option(*names, callback=_read_setting, **settings)


def _read_setting(ctx: click.Context, param: click.Parameter, value: object) -> object:
    if value is None:
        return None
    from groundwire.config.fields import describe_wrong
    from groundwire.config.kinds import KindError
    from groundwire.config.tree import SETTINGS

    own = SETTINGS[SETTINGS_OF[str(param.name)]]
    try:
        return own.kind.read(value)
    except KindError as error:
        raise click.BadParameter(describe_wrong(own.path, value, error), ctx, param) from error


def _read_path(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not (value.startswith("/") and value.isascii() and "{" not in value):
        raise click.BadParameter("it must begin with a slash, such as /mcp.", ctx, param)
    return value


@click.command(epilog=EPILOG)
@click.option(
    "--transport",
    type=click.Choice([STDIO, HTTP]),
    default=STDIO,
    show_default=True,
    metavar="NAME",
    help="stdio, for a client that starts this; streamable-http, for several clients.",
)
@click.option("--host", metavar="ADDRESS", help="The address to listen on.  [default: 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    metavar="N",
    help="The port to listen on; 0: any.  [default: 8765]",
)
@click.option(
    "--path", metavar="PATH", callback=_read_path, help="Where it is served.  [default: /mcp]"
)
@click.option(
    "--token-env",
    metavar="NAME",
    callback=refuse_empty,
    help="The environment variable with the token that clients send as Authorization: Bearer. "
    "Without one, this machine alone is served.",
)
@click.option(
    "--allowed-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    callback=lambda ctx, param, values: [refuse_empty(ctx, param, each) for each in values],
    help="A name that clients reach it by (the header Host); can be repeated.  [default: --host]",
)
@click.option(
    "--allowed-origin",
    "origins",
    multiple=True,
    metavar="URL",
    callback=lambda ctx, param, values: [refuse_empty(ctx, param, each) for each in values],
    help="An origin of web pages that may call it, such as https://app.example.com; can be "
    "repeated.",
)
@click.option(
    "--config",
    "file",
    type=TEXT_FILE,
    metavar="FILE",
    help="The configuration: its sections verify, detector and explain. Environment variables win "
    "over it, and options over both.",
)
@setting_option(
    "--verifier",
    metavar="NAME",
    help="Who verifies claims: local, openai or service. With the last two, claims and evidence "
    "leave this machine.  [default: local]",
)
@setting_option(
    "--verifier-model", metavar="NAME", help="The model of an endpoint, if an agent names none."
)
@setting_option(
    "--base-url",
    metavar="URL",
    help="Where an endpoint is.  [default: OPENAI_BASE_URL, or OpenAI's]",
)
@setting_option(
    "--service-url", metavar="URL", help="Where a service is.  [default: BERRY_SERVICE_URL]"
)
@click.option(
    "--evidence/--no-evidence",
    "holds_evidence",
    default=True,
    help="Whether agents can have the server hold evidence.  [default: --evidence]",
)
@click.option(
    "--held-only",
    is_flag=True,
    help="Refuse evidence that comes with a call: only what the server holds counts.",
)
@click.option(
    "--root",
    "roots",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    metavar="DIR",
    help="A folder whose files may be evidence, all of them; can be repeated.  [default: none]",
)
@click.option(
    "--print-config",
    "client",
    type=click.Choice(CLIENTS),
    metavar="CLIENT",
    help=f"Print what a client wants in its configuration, and end: {', '.join(CLIENTS)}.",
)
@click.pass_context
def mcp(
    ctx: click.Context,
    /,
    *,
    transport: str,
    host: str | None,
    port: int | None,
    path: str | None,
    token_env: str | None,
    hosts: Sequence[str],
    origins: Sequence[str],
    file: Path | None,
    holds_evidence: bool,
    held_only: bool,
    roots: Sequence[Path],
    client: str | None,
    **options: Any,  # noqa: ANN401 - of SETTINGS_OF
) -> None:
    """Serve agents: verify answers, check citations, hold evidence.

    A server for the Model Context Protocol. Agents call detect_hallucination,
    audit_trace_budget, check_answer and check_citations; who verifies, and where, is chosen here
    and by no agent.
    """
    if file == STDIN:
        raise click.UsageError("--config must name a file: standard input belongs to the client.")
    if held_only and not holds_evidence:
        raise click.UsageError("--held-only needs evidence that is held: leave --no-evidence out.")
    given = {"host": host, "port": port, "path": path, "token_env": token_env}
    own = Http(
        host=host or "127.0.0.1",
        port=8765 if port is None else port,
        path=path or "/mcp",
        token_env=token_env,
        hosts=tuple(hosts),
        origins=tuple(origins),
    )
    if transport == STDIO:
        _refuse_http({**given, "allowed_host": hosts or None, "allowed_origin": origins or None})
    chosen = {name: value for name, value in options.items() if value is not None}
    start = ServerOptions(
        ctx,
        file=file,
        options=chosen,
        holds_evidence=holds_evidence,
        held_only=held_only,
        roots=roots,
    )
    if client is not None:
        print_config(client, start, own if transport == HTTP else None)
        return
    require_mcp()
    if transport == STDIO:
        run_stdio(start)
    else:
        run_http(start, own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Http:
    """What the options say of HTTP."""

    host: str
    port: int
    path: str
    token_env: str | None
    hosts: tuple[str, ...]
    origins: tuple[str, ...]

    @property
    def host_name(self) -> str:
        """The host, as a URL has it."""
        return f"[{self.host}]" if ":" in self.host else self.host

    def url(self, port: int) -> str:
        """Where it is served."""
        return f"http://{self.host_name}:{port}{self.path}"


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the options say of the tools."""

    ctx: click.Context
    _: KW_ONLY
    file: Path | None
    options: dict[str, Any]
    holds_evidence: bool
    held_only: bool
    roots: Sequence[Path]

    def command(self) -> list[str]:
        """What starts this server from anywhere, found on no search path."""
        # -P: a folder that is open in an editor must not be where modules are looked for.
        words = [sys.executable, "-P", "-m", "groundwire", "mcp"]
        words += [] if self.file is None else ["--config", str(self.file.resolve())]
        for name, value in self.options.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        words += [] if self.holds_evidence else ["--no-evidence"]
        words += ["--held-only"] if self.held_only else []
        for root in self.roots:
            words += ["--root", str(root.resolve())]
        return words

    @contextmanager
    def opened(self, *, has_sessions: bool) -> Iterator["Backend"]:
        """What the tools work with, until it is no longer needed.

        Raises:
            MissingExtraError: If the verifier that was chosen needs one.
        """
        from groundwire.mcp.backend import Backend
        from groundwire.mcp.files import Roots
        from groundwire.mcp.models import Models
        from groundwire.mcp.sessions import Stores

        settings = {SETTINGS_OF[name]: value for name, value in self.options.items()}
        config = with_options(read_config(self.ctx, self.file), settings)
        if config.verify.verifier != "local" and find_spec("openai") is None:
            raise MissingExtraError(f"The verifier {config.verify.verifier}", "verify")
        with closing(Models(config)) as models:
            yield Backend(
                config=config,
                models=models,
                stores=Stores(forgets=not has_sessions) if self.holds_evidence else None,
                roots=Roots.of(self.roots),
                needs_handle=not has_sessions,
                held_only=self.held_only,
            )


def require_mcp() -> None:
    """Make sure that the extra is installed.

    Raises:
        MissingExtraError: If it is not.
    """
    if any(find_spec(name) is None for name in PACKAGES):
        raise MissingExtraError("The MCP server", "mcp")


def print_config(name: str, start: ServerOptions, http: Http | None) -> None:
    """Print what a client wants; where it goes is said on standard error."""
    from groundwire.mcp.clients import CLIENTS as KNOWN
    from groundwire.mcp.clients import local_config, remote_config

    client = KNOWN[name]
    if http is None:
        text = local_config(client, start.command())
    else:
        text = remote_config(client, http.url(http.port), token_env=http.token_env)
    click.echo(text)
    say(f"This belongs in {client.file}.")


def describe(backend: "Backend") -> Iterator[str]:
    """What is about to be served, a line each."""
    where = {
        "local": "local: nothing leaves this machine",
        "openai": "openai: claims and the evidence they are read with leave this machine",
        "service": "service: answers and all their evidence leave this machine",
    }
    yield f"verifier  {where[backend.name]}"
    has_key = backend.config.verify.api_key is not None or os.environ.get("OPENAI_API_KEY")
    if backend.is_open_world and not has_key:
        yield "          OPENAI_API_KEY is not set: until it is, all is flagged."
    has_url = backend.config.verify.service_url or os.environ.get("BERRY_SERVICE_URL")
    if backend.name == "service" and not has_url:
        yield "          BERRY_SERVICE_URL is not set: until it is, all is flagged."
    if backend.stores is None:
        yield "evidence  not held"
    else:
        files = ", ".join(map(str, backend.roots.folders))
        only = " only" if backend.held_only else ""
        yield f"evidence  held{only}; {f'files of {files}' if files else 'no files'}"


def run_stdio(start: ServerOptions) -> None:
    """Serve the client that started this process."""
    from groundwire.mcp.logs import log_to_stderr
    from groundwire.mcp.server import ToolServer
    from groundwire.mcp.stdio import serve_stdio
    from groundwire.mcp.toolbox import tools_of

    with start.opened(has_sessions=True) as backend:
        log_to_stderr()
        for line in describe(backend):
            say(line)
        serve_stdio(ToolServer(tools_of(backend)), says=say)


def run_http(start: ServerOptions, own: Http) -> None:
    """Serve whoever may ask, until told to stop."""
    from groundwire.mcp.http import app_of, listen, serve_http
    from groundwire.mcp.logs import log_to_stderr
    from groundwire.mcp.server import ToolServer
    from groundwire.mcp.store import StoreLimits
    from groundwire.mcp.toolbox import tools_of

    access = read_access(own)
    with start.opened(has_sessions=False) as backend:
        app = app_of(ToolServer(tools_of(backend)), access, path=own.path, limits=StoreLimits())
        sockets = listen(own.host, own.port)
        try:
            log_to_stderr()
            for line in describe(backend):
                say(line)
            address = own.url(sockets[0].getsockname()[1])
            serve_http(app, sockets, address=address, says=say)
        finally:
            for each in sockets:
                each.close()


def read_access(own: Http) -> "Access":
    """Who may ask.

    Raises:
        UsageError: If others could ask without a token, or by names that nobody allowed.
    """
    from groundwire.mcp.http import Access, is_local

    token_hash = None if own.token_env is None else read_token(own.token_env)
    if is_local(own.host):
        return Access(token_hash=token_hash, hosts=own.hosts, origins=own.origins)
    if token_hash is None:
        raise click.UsageError(
            f"{own.host} can be reached from other machines, so clients need a token: name the "
            "environment variable that holds it with --token-env. 127.0.0.1 needs none."
        )
    if not own.hosts and own.host in _EVERYWHERE:
        raise click.UsageError(
            f"{own.host} stands for all addresses. Say by which names clients reach this server: "
            "--allowed-host mcp.example.com"
        )
    hosts = own.hosts or (own.host_name,)
    return Access(token_hash=token_hash, hosts=hosts, origins=own.origins, is_local=False)


def read_token(variable: str) -> str:
    """The hash of the token that an environment variable holds.

    Raises:
        UsageError: If it holds none.
    """
    from groundwire.config.keys import KeyText, hash_of
    from groundwire.config.kinds import Kind, KindError

    text = os.environ.get(variable, "").strip()
    try:
        return hash_of(Kind(KeyText).read(text))
    except KindError as error:
        what = "holds no token" if text else "is not set"
        raise click.UsageError(
            f"The environment variable {variable!r} {what}. It must be {error.legal}."
        ) from error


def _refuse_http(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} goes with --transport {HTTP}.")

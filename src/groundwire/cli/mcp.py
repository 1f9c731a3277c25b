"""``groundwire mcp``: serves tools for agents over the Model Context Protocol."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.check import refuse_options
from groundwire.cli.console import say
from groundwire.cli.inputs import NAME, TEXT_FILE, in_url
from groundwire.cli.options import command, given_options, given_settings, names_of, option
from groundwire.cli.settings import read_variable, require
from groundwire.cli.verify import read_settings
from groundwire.text.files.reading import STDIN

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.mcp.backend import Backend
    from groundwire.mcp.http import Access
    from groundwire.mcp.server import ToolServer

#: Packages that the server needs beyond the base installation. Version 1 of ``mcp``, which is too
#: old, does not bring ``mcp_types``.
PACKAGES = ("anyio", "mcp", "mcp_types", "starlette", "uvicorn")

#: Names of the clients that --print-config knows. They are here, so that --help need not import
#: :mod:`groundwire.mcp.clients`.
CLIENTS = ("claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "gemini-cli")

STDIO, HTTP = "stdio", "streamable-http"
#: Path in the URL of the server over HTTP.
ENDPOINT = "/mcp"

#: Sections of a configuration whose variables :meth:`ServerOptions.environment` returns.
_SECTIONS = ("verify", "detector", "explain", "similarity")

#: Hosts that mean all addresses of the machine.
_EVERYWHERE = ("0.0.0.0", "::", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """The options of a server over HTTP.

    Attributes:
        host: The address to listen on.
        port: The port to listen on; 0: any.
        token_env: The environment variable with the token that clients send as Authorization:
            Bearer. Without a token, --host must be an address that only this machine can reach.
        hosts: A host name that clients use for the server (the header Host); can be repeated.
            [default: --host]
        origins: An origin of web pages that may call the server, such as https://app.example.com;
            can be repeated.
    """

    host: str = option("--host", "ADDRESS", default="127.0.0.1")
    port: int = option("--port", "N", click.IntRange(0, 65_535), default=8765)
    token_env: str | None = option("--token-env", "NAME", NAME)
    hosts: tuple[str, ...] = option("--allowed-host", "NAME", NAME)
    origins: tuple[str, ...] = option("--allowed-origin", "URL", NAME)

    def url(self, port: int) -> str:
        """Return the URL of the server at a port."""
        return f"http://{in_url(self.host)}:{port}{ENDPOINT}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The options of the tools: verifier, evidence and configuration.

    Attributes:
        file: The configuration: its sections verify, detector, explain and similarity. Environment
            variables override it, and options override both.
        verifier: The verifier of claims: local, openai or service. With the last two, claims and
            evidence can leave this machine.  [default: local]
        verifier_model: The model to ask, if an agent names none.
        base_url: The URL of the endpoint for the verifier openai.  [default:
            OPENAI_BASE_URL, or OpenAI's]
        service_url: The URL of the service for the verifier service.  [default: BERRY_SERVICE_URL]
        plain_http_host: The host to which plain HTTP is allowed, besides this machine.
        holds_evidence: Whether agents can store evidence in the server.  [default: --evidence]
        held_only: Refuse evidence that comes with a call: only evidence stored in the server
            counts.
        roots: A folder; agents may use all files in it as evidence. Can be repeated.
            [default: none]
    """

    file: Path | None = option("--config", type=TEXT_FILE)
    verifier: object = option("--verifier", "NAME", setting="verify.verifier")
    verifier_model: object = option("--verifier-model", "NAME", setting="verify.model")
    base_url: object = option("--base-url", "URL", setting="verify.base_url")
    service_url: object = option("--service-url", "URL", setting="verify.service_url")
    plain_http_host: object = option("--plain-http-host", "HOST", setting="verify.plain_http_host")
    holds_evidence: bool = option("--evidence/--no-evidence", default=True)
    held_only: bool = option("--held-only")
    roots: tuple[Path, ...] = option(
        "--root", "DIR", click.Path(exists=True, file_okay=False, path_type=Path)
    )

    def command(self) -> list[str]:
        """Return the command line that starts this server from any folder."""
        # -P: Python must not import modules from the folder in which a client starts the server.
        words = [sys.executable, "-P", "-m", "groundwire", "mcp"]
        words += [] if self.file is None else ["--config", str(self.file.resolve())]
        for name, value in given_options(self).items():
            words += [name, str(value)]
        words += [] if self.holds_evidence else ["--no-evidence"]
        words += ["--held-only"] if self.held_only else []
        for root in self.roots:
            words += ["--root", str(root.resolve())]
        return words

    def _config(self, ctx: click.Context) -> "Config":
        return read_settings(ctx, self.file, given_settings(self))

    def environment(self, ctx: click.Context) -> tuple[dict[str, str], str | None]:
        """Return environment variables that a client must set when it starts the server.

        Returns:
            A pair: the variables without a secret that give settings of the sections
            :data:`_SECTIONS`, with their values; and the name of the variable that holds a secret,
            or ``None`` if the server needs no secret from a variable. If the verifier is a service
            whose URL is not configured, the value of the URL's variable is a placeholder.
        """
        from groundwire.config.tree import SETTINGS
        from groundwire.verify.backends import KEY_VARIABLE, URL_VARIABLES

        config = self._config(ctx)
        values, secret = dict[str, str](), None
        for path, origin in config.origins.items():
            if path.partition(".")[0] in _SECTIONS and origin.source in os.environ:
                if SETTINGS[path].kind.is_secret:
                    secret = origin.source
                else:
                    values[origin.source] = os.environ[origin.source]
        verify = config.verify
        if verify.verifier != "local" and verify.api_key is None:
            secret = KEY_VARIABLE
        if verify.verifier == "service" and verify.service_url is None:
            values[URL_VARIABLES["service_url"]] = "<URL of the service>"
        return values, secret

    @contextmanager
    def opened(self, ctx: click.Context, *, has_sessions: bool) -> Iterator["Backend"]:
        """Open the backend of the tools, and close its models at the end of the ``with`` block.

        ``has_sessions`` says whether each client has a session of its own, as over stdio.

        Raises:
            MissingExtraError: If the extra that the chosen verifier needs is not installed.
        """
        from groundwire.mcp.backend import Backend
        from groundwire.mcp.files import Roots
        from groundwire.mcp.models import Models
        from groundwire.mcp.sessions import Stores

        config = self._config(ctx)
        if config.verify.verifier != "local":
            require(("openai",), f"The verifier {config.verify.verifier}", "verify")
        with closing(Models(config)) as models:
            yield Backend(
                config=config,
                models=models,
                stores=Stores(forgets=not has_sessions) if self.holds_evidence else None,
                roots=Roots.of(self.roots),
                needs_handle=not has_sessions,
                held_only=self.held_only,
            )


@command()
def mcp(
    ctx: click.Context,
    /,
    *,
    transport: str = option("--transport", "NAME", click.Choice([STDIO, HTTP]), default=STDIO),
    http: HttpOptions,
    server: ServerOptions,
    client: str | None = option(
        "--print-config",
        "CLIENT",
        click.Choice(CLIENTS),
        help=f"Print the configuration for a client, and end: {', '.join(CLIENTS)}.",
    ),
) -> None:
    r"""Serve agents: verify answers, check citations, hold evidence.

    A server for the Model Context Protocol. Agents call detect_hallucination,
    audit_trace_budget, check_answer and check_citations. The verifier is chosen here; agents
    cannot choose it.

    Args:
        transport: stdio, for a client that starts this command; streamable-http, for several
            clients.

    Examples:
        groundwire mcp --root .
        groundwire mcp --print-config claude-code --root .
        groundwire mcp --verifier openai --verifier-model gpt-4o-mini
        groundwire mcp --transport streamable-http
        groundwire mcp --transport streamable-http --host 0.0.0.0 --token-env MCP_TOKEN \
          --allowed-host mcp.example.com

    Exit status:
        0  the client went away, or the server over HTTP was told to stop
        2  the server could not start, or the command was wrong
    """
    if server.file == STDIN:
        raise click.UsageError("--config must name a file: standard input belongs to the client.")
    if server.held_only and not server.holds_evidence:
        raise click.UsageError("--held-only needs evidence that is held: leave --no-evidence out.")
    if transport == STDIO:
        refuse_options(ctx, names_of(HttpOptions), f"goes with --transport {HTTP}.")
    if client is not None:
        print_config(ctx, client, server, http if transport == HTTP else None)
        return
    require(PACKAGES, "The MCP server", "mcp")
    if transport == STDIO:
        run_stdio(ctx, server)
    else:
        run_http(ctx, server, http)


def print_config(
    ctx: click.Context, name: str, start: ServerOptions, http: HttpOptions | None
) -> None:
    """Print the configuration for a client, and say on standard error which file it belongs in.

    ``http`` has the options of a server over HTTP; ``None`` for a server over stdio.
    """
    from groundwire.mcp.clients import CLIENTS as KNOWN
    from groundwire.mcp.clients import local_config, remote_config

    client = KNOWN[name]
    if http is None:
        environment, secret = start.environment(ctx)
        text = local_config(client, start.command(), environment=environment, secret_env=secret)
    else:
        text = remote_config(client, http.url(http.port), token_env=http.token_env)
    click.echo(text)
    say(f"This belongs in {client.file}.")
    if "<" in text:
        say("Write your own values in place of what stands in <>.")


def describe(backend: "Backend") -> list[str]:
    """Return the lines that describe the server at its start.

    They say which verifier is used, what leaves this machine, and whether evidence is stored.
    """
    from groundwire.render.html import render_text

    return render_text("mcp_start.txt", backend=backend, environ=os.environ).split("\n")


def started(backend: "Backend") -> "ToolServer":
    """Log to standard error, describe the server there, and return the server with its tools."""
    from groundwire.config.tree import Log
    from groundwire.gateway.logs import log_to_stderr
    from groundwire.mcp.server import ToolServer
    from groundwire.mcp.toolbox import tools_of

    log_to_stderr(Log(level="warning"))
    say(*describe(backend))
    return ToolServer(tools_of(backend))


def run_stdio(ctx: click.Context, start: ServerOptions) -> None:
    """Serve the client that started this process, over standard input and output."""
    from groundwire.mcp.stdio import serve_stdio

    with start.opened(ctx, has_sessions=True) as backend:
        serve_stdio(started(backend), says=say)


def run_http(ctx: click.Context, start: ServerOptions, own: HttpOptions) -> None:
    """Serve several clients over HTTP, until SIGTERM or Ctrl-C."""
    from groundwire.mcp.http import app_of, listen, serve_http
    from groundwire.mcp.store import StoreLimits

    access = read_access(own)
    with (
        start.opened(ctx, has_sessions=False) as backend,
        closing(listen(own.host, own.port)) as sock,
    ):
        app = app_of(started(backend), access, path=ENDPOINT, limits=StoreLimits())
        serve_http(app, sock, address=own.url(sock.getsockname()[1]), says=say)


def read_access(own: HttpOptions) -> "Access":
    """Convert the options to the conditions under which the server accepts requests.

    Raises:
        UsageError: If the token cannot be read; if other machines can reach the server and there is
            no token; or if ``--host`` means all addresses and there is no ``--allowed-host``.
    """
    from groundwire.config.keys import KeyText, hash_of
    from groundwire.config.kinds import is_loopback_host
    from groundwire.mcp.http import Access

    name = own.token_env
    token_hash = None if name is None else hash_of(read_variable(name, KeyText, what="token"))
    if is_loopback_host(own.host):
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
    hosts = own.hosts or (in_url(own.host),)
    return Access(token_hash=token_hash, hosts=hosts, origins=own.origins, is_local=False)

"""Configurations of usual clients, with which they find this server."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundwire.errors import InputError

NAME = "groundwire"

#: Name of the token where a client asks for it itself.
_INPUT = "groundwire-token"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentClient:
    """A client, and the form of its configuration.

    Attributes:
        file: Path of its configuration.
        key: The object in it that holds the servers.
        kind: Type names of a local and a remote server; ``None`` if the keys tell them apart.
        url_key: The key of a remote server's address; ``None`` if this file has no such servers.
        token: The text that stands for a token in an environment variable, or asks for it.
        inputs: Further keys of a client that asks.
    """

    file: str
    key: str = "mcpServers"
    kind: tuple[str, str] | None = None
    url_key: str | None = "url"
    token: Callable[[str], str] = field(default=lambda name: f"${{{name}}}")
    inputs: tuple[Mapping[str, Any], ...] = ()


CLIENTS: Mapping[str, AgentClient] = {
    "claude-desktop": AgentClient(file="claude_desktop_config.json", url_key=None),
    "claude-code": AgentClient(file=".mcp.json of the project", kind=("stdio", "http")),
    "cursor": AgentClient(
        file=".cursor/mcp.json of the project, or ~/.cursor/mcp.json",
        token=lambda name: f"${{env:{name}}}",
    ),
    "vscode": AgentClient(
        file=".vscode/mcp.json of the project",
        key="servers",
        kind=("stdio", "http"),
        token=lambda _: f"${{input:{_INPUT}}}",
        inputs=(
            {
                "type": "promptString",
                "id": _INPUT,
                "description": "Token of the Groundwire server",
                "password": True,
            },
        ),
    ),
    "windsurf": AgentClient(
        file="~/.codeium/windsurf/mcp_config.json",
        url_key="serverUrl",
        token=lambda name: f"${{env:{name}}}",
    ),
    "gemini-cli": AgentClient(file="~/.gemini/settings.json", url_key="httpUrl"),
}


def local_config(client: AgentClient, command: Sequence[str]) -> str:
    """The configuration of a client that starts the server itself."""
    program, *args = command
    kind = {"type": client.kind[0]} if client.kind else {}
    return _written({client.key: {NAME: {**kind, "command": program, "args": args}}})


def remote_config(client: AgentClient, url: str, *, token_env: str | None) -> str:
    """The configuration for a server that runs already.

    Raises:
        InputError: If the client has no such servers.
    """
    if client.url_key is None:
        raise InputError(
            f"{client.file} has no servers with a URL: the client starts its servers. Leave "
            "--transport out."
        )
    server: dict[str, Any] = {"type": client.kind[1]} if client.kind else {}
    server[client.url_key] = url
    found: dict[str, Any] = {client.key: {NAME: server}}
    if token_env is not None:
        server["headers"] = {"Authorization": f"Bearer {client.token(token_env)}"}
        if client.inputs:
            found["inputs"] = list(client.inputs)
    return _written(found)


def _written(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)

"""Makes the configuration with which a client, such as an editor, finds this server.

``clients.json`` describes the known clients.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.errors import InputError

#: Name of this server in configurations.
NAME = "groundwire"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentClient:
    """A client, and the form of its configuration file.

    Attributes:
        file: Where the configuration file is, in words for users: ".mcp.json of the project".
        key: Key, in that file, of the object that lists the servers.
        kind: Values of ``type`` for a local and for a remote server; ``None``: no ``type``.
        url_key: Key of a remote server's URL; ``None`` if the client supports no remote servers.
        token: Text that is written in the place of a secret. ``NAME`` in this text is replaced by
            the name of the secret's environment variable. Some clients replace the text with the
            secret; for other clients, the user must do this.
        inputs: Questions with which the client asks for secrets; empty for clients that do not ask.
    """

    file: str
    key: str = "mcpServers"
    kind: tuple[str, str] | None = None
    url_key: str | None = "url"
    token: str = "${NAME}"
    inputs: Sequence[Mapping[str, Any]] = ()


_FILE = Path(__file__).with_suffix(".json")
#: The known clients by name.
CLIENTS = {name: AgentClient(**own) for name, own in json.loads(_FILE.read_bytes()).items()}


def local_config(
    client: AgentClient,
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    secret_env: str | None = None,
) -> str:
    """Return the configuration of a client that starts the server itself.

    Args:
        client: The client.
        command: The command line of the server.
        environment: Environment variables that the server needs, with their values.
        secret_env: Name of an environment variable with a secret that the server needs; ``None``:
            no secret.
    """
    program, *args = command
    server: dict[str, Any] = {"type": client.kind[0]} if client.kind else {}
    server |= {"command": program, "args": args}
    variables = dict(environment or {})
    if secret_env is not None:
        variables[secret_env] = client.token.replace("NAME", secret_env)
    if variables:
        server["env"] = variables
    return _written(client, server, secret_env)


def remote_config(client: AgentClient, url: str, *, token_env: str | None) -> str:
    """Return the configuration of a client that connects to a running server.

    Args:
        client: The client.
        url: URL of the server.
        token_env: Name of the environment variable with the server's token; ``None``: no token.

    Raises:
        InputError: If the client supports no remote servers.
    """
    if client.url_key is None:
        raise InputError(
            f"{client.file} has no servers with a URL: the client starts its servers. Leave "
            "--transport out."
        )
    server: dict[str, Any] = {"type": client.kind[1]} if client.kind else {}
    server[client.url_key] = url
    if token_env is not None:
        server["headers"] = {"Authorization": f"Bearer {client.token.replace('NAME', token_env)}"}
    return _written(client, server, token_env)


def _written(client: AgentClient, server: Mapping[str, Any], secret: str | None) -> str:
    """Return the text of a client's configuration file that lists this server."""
    found: dict[str, Any] = {client.key: {NAME: server}}
    if secret is not None and client.inputs:
        found["inputs"] = [
            {**each, "description": each["description"].replace("NAME", secret)}
            for each in client.inputs
        ]
    return json.dumps(found, indent=2, ensure_ascii=False)

"""Configurations by which usual clients find this server; ``clients.json`` has the clients."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.errors import InputError

NAME = "groundwire"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentClient:
    """A client, and the form of its configuration.

    Attributes:
        file: Path of its configuration.
        key: The object in it that holds the servers.
        kind: Type names of a local and a remote server; ``None`` if the keys tell them apart.
        url_key: The key of a remote server's address; ``None`` if this file has no such servers.
        token: The text that stands for a secret in the environment variable ``NAME``, asks for it,
            or is to be replaced by it.
        inputs: Further keys of a client that asks.
    """

    file: str
    key: str = "mcpServers"
    kind: tuple[str, str] | None = None
    url_key: str | None = "url"
    token: str = "${NAME}"
    inputs: Sequence[Mapping[str, Any]] = ()


def _read() -> dict[str, AgentClient]:
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    return {name: AgentClient(**client) for name, client in json.loads(text).items()}


CLIENTS = _read()


def local_config(
    client: AgentClient,
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    secret_env: str | None = None,
) -> str:
    """The configuration of a client that starts the server itself.

    Args:
        client: The client.
        command: The command line of the server.
        environment: Variables that the server needs, with their values.
        secret_env: A variable that the server needs and whose value is a secret.
    """
    program, *args = command
    kind = {"type": client.kind[0]} if client.kind else {}
    server: dict[str, Any] = {**kind, "command": program, "args": args}
    if environment or secret_env:
        server["env"] = dict(environment or {})
    found: dict[str, Any] = {client.key: {NAME: server}}
    if secret_env is not None:
        server["env"][secret_env] = client.token.replace("NAME", secret_env)
        found |= _inputs(client, secret_env)
    return _written(found)


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
        server["headers"] = {"Authorization": f"Bearer {client.token.replace('NAME', token_env)}"}
        found |= _inputs(client, token_env)
    return _written(found)


def _inputs(client: AgentClient, variable: str) -> dict[str, Any]:
    """The keys by which a client asks for the secret that a variable holds elsewhere."""
    inputs = [
        {**each, "description": each["description"].replace("NAME", variable)}
        for each in client.inputs
    ]
    return {"inputs": inputs} if inputs else {}


def _written(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)

"""The clients that are installed."""

import json
import shutil
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tests.gateway.clients.asked import Client

#: Packages that a module needs, beside ours. The official clients are asked where the newest are.
_NEEDED = {
    "by_openai": ["anthropic", "langchain_openai"],
    "by_instructor": ["instructor"],
    "by_pydantic_ai": ["pydantic_ai"],
    "by_langchain": ["langchain_openai", "langchain_anthropic"],
    "by_litellm": ["litellm"],
}
NODE_MODULES = Path(__file__).parent / "node_modules"


def installed() -> list[Client]:
    """All ways to ask the clients that are installed."""
    names = [name for name, packages in _NEEDED.items() if all(map(find_spec, packages))]
    if NODE_MODULES.is_dir() and shutil.which("node"):
        names.append("by_node")
    clients: list[Client] = []
    for name in names:
        clients += import_module(f"{__package__}.{name}").CLIENTS
    if version("openai").startswith("2."):
        clients += import_module(f"{__package__}.by_openai").OLDER
    return clients


def version_of(client: Client) -> str:
    """The version of a client; that of an AI SDK's provider comes with the kit's."""
    if client.name == "openai (node)":
        return _node_version("openai")
    if client.name.startswith("@ai-sdk/"):
        return f"{_node_version(client.name)}, ai {_node_version('ai')}"
    return version(client.name.removesuffix(" 2"))


def _node_version(package: str) -> str:
    told = json.loads((NODE_MODULES / package / "package.json").read_text(encoding="utf-8"))
    return str(told["version"])

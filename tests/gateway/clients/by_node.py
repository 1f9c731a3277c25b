"""``openai`` for Node and the AI SDK: a script beside this file asks them."""

import atexit
import json
import subprocess
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.gateway.clients.asked import (
    COMPLETIONS,
    MESSAGES,
    PROMPT,
    RESPONSES,
    Asking,
    Client,
    Got,
)

FOLDER = Path(__file__).parent


@cache
def _script() -> subprocess.Popen[str]:
    """The script, which runs until the tests end."""
    script = subprocess.Popen(
        ["node", "--no-warnings", "ask.mjs"],
        cwd=FOLDER,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(script.communicate)  # its standard input ends, and so does it
    return script


def ask(client: dict[str, Any], asking: Asking, got: Got) -> None:
    """Ask a client, by the fields that name it."""
    script = _script()
    assert script.stdin is not None
    assert script.stdout is not None
    script.stdin.write(json.dumps({**client, **asdict(asking), "prompt": PROMPT}) + "\n")
    script.stdin.flush()
    for name, value in json.loads(script.stdout.readline()).items():
        setattr(got, name, value)


def _client(name: str, path: str, wants: str, streams: bool) -> Client:
    fields = {"name": name, "path": path, "wants": wants, "streams": streams}
    return Client(name, path, wants, streams, partial(ask, fields))


CLIENTS = tuple(
    _client(name, path, wants, streams)
    for name, path in (
        ("openai (node)", COMPLETIONS),
        ("openai (node)", RESPONSES),
        ("@ai-sdk/openai", COMPLETIONS),
        ("@ai-sdk/openai", RESPONSES),
        ("@ai-sdk/openai-compatible", COMPLETIONS),
        ("@ai-sdk/anthropic", MESSAGES),
    )
    for wants in ("text", "object")
    for streams in (False, True)
)

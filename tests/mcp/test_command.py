"""``groundwire mcp`` on the command line: what it refuses, what it imports, how it ends."""

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from groundwire.cli.mcp import describe
from groundwire.config import parse
from groundwire.mcp.backend import Backend
from groundwire.mcp.models import Models
from groundwire.mcp.sessions import Stores
from tests.cli.conftest import invoke
from tests.cli.test_main import python

pytestmark = pytest.mark.merge

HTTP = ("--transport", "streamable-http")
OPEN = (*HTTP, "--host", "0.0.0.0")

has_mcp = pytest.mark.skipif(find_spec("mcp_types") is None, reason="needs the mcp extra")


@pytest.mark.parametrize("args", [["--help"], ["mcp", "--help"]])
def test_help_imports_neither_the_sdk_nor_numpy(args: list[str]) -> None:
    code = (
        "import sys\n"
        "from groundwire.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "except SystemExit as done:\n"
        "    heavy = ('mcp', 'mcp_types', 'anyio', 'pydantic', 'starlette', 'numpy')\n"
        "    print(done.code, [name for name in heavy if name in sys.modules], file=sys.stderr)\n"
    )
    result = python(code, *args)
    assert result.stderr == "0 []\n"
    assert "mcp" in result.stdout


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.cli.settings.find_spec", lambda _: None)
    for args in ((), HTTP):
        result = invoke("mcp", *args)
        assert result.exit_code == 2
        assert "pip install '.[mcp]'" in result.stderr


def test_an_older_sdk_is_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "groundwire.cli.settings.find_spec", lambda name: None if name == "mcp_types" else object()
    )
    assert "pip install '.[mcp]'" in invoke("mcp").stderr


@has_mcp
def test_a_verifier_whose_extra_is_missing_stops_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "groundwire.cli.settings.find_spec", lambda name: None if name == "openai" else object()
    )
    result = invoke("mcp", *HTTP, "--port", 0, "--verifier", "openai")
    assert result.exit_code == 2
    assert "pip install '.[verify]'" in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("--host", "127.0.0.1"),
        ("--port", 0),
        ("--token-env", "X"),
        ("--allowed-host", "a"),
        ("--allowed-origin", "https://a"),
    ],
)
def test_what_concerns_http_needs_http(args: tuple[object, ...]) -> None:
    result = invoke("mcp", *args)
    assert result.exit_code == 2
    assert f"{args[0]} goes with --transport streamable-http" in result.stderr


@has_mcp
@pytest.mark.parametrize(
    ("args", "environ", "said"),
    [
        (OPEN, {}, "can be reached from other machines, so clients need a token"),
        ((*HTTP, "--host", "::"), {}, "can be reached from other machines"),
        ((*OPEN, "--allowed-host", "a"), {}, "can be reached from other machines"),
        ((*OPEN, "--token-env", "T"), {}, "'T' is not set. It must be a key of 16 to 512"),
        ((*OPEN, "--token-env", "T"), {"T": "short"}, "'T' holds no token"),
        ((*HTTP, "--token-env", "T"), {"T": "with a space in it"}, "'T' holds no token"),
        ((*OPEN, "--token-env", "T"), {"T": "x" * 16}, "--allowed-host mcp.example.com"),
    ],
)
def test_nobody_else_is_served_without_a_token_and_a_name(
    args: tuple[str, ...], environ: dict[str, str], said: str
) -> None:
    result = invoke("mcp", *args, environ={"T": None, **environ})  # type: ignore[dict-item]
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    for value in environ.values():
        assert value not in result.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--verifier", "gemini"), "local, openai, service"),
        (("--base-url", "http://llm.example/v1"), "https://"),
        (("--service-url", "ftp://x"), "https://"),
        (("--root", "/no/such/folder"), "/no/such/folder"),
        (("--config", "-"), "standard input belongs to the client"),
        (("--print-config", "emacs"), "emacs"),
        ((*HTTP, "--token-env", ""), "it is empty"),
        ((*HTTP, "--allowed-host", ""), "it is empty"),
    ],
)
def test_wrong_options_are_refused(args: tuple[str, ...], said: str) -> None:
    result = invoke("mcp", *args)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("config", "environ", "expected"),
    [
        ("", {}, ["verifier  local: nothing leaves this machine", "evidence  held; no files"]),
        (
            "verify: {verifier: openai}",
            {},
            [
                "verifier  openai: claims and the evidence they are read with leave this machine",
                "          OPENAI_API_KEY is not set: until it is, all is flagged.",
                "evidence  held; no files",
            ],
        ),
        (
            "verify: {verifier: service}",
            {"OPENAI_API_KEY": "sk-1"},
            [
                "verifier  service: answers and all their evidence leave this machine",
                "          BERRY_SERVICE_URL is not set: until it is, all is flagged.",
                "evidence  held; no files",
            ],
        ),
        (
            "verify: {verifier: service}",
            {"OPENAI_API_KEY": "sk-1", "BERRY_SERVICE_URL": "https://berry.example.com"},
            [
                "verifier  service: answers and all their evidence leave this machine",
                "evidence  held; no files",
            ],
        ),
        (
            "verify: {verifier: service, service_url: 'https://berry.example.com'}",
            {"OPENAI_API_KEY": "sk-1"},
            [
                "verifier  service: answers and all their evidence leave this machine",
                "evidence  held; no files",
            ],
        ),
    ],
)
def test_the_start_says_what_leaves_the_machine(
    config: str, environ: dict[str, str], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "BERRY_SERVICE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    own = parse(config, name="c.yaml")
    backend = Backend(config=own, models=Models(own), stores=Stores())
    assert list(describe(backend)) == expected


@has_mcp
def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = invoke("mcp", *HTTP, "--port", taken.getsockname()[1])
    assert result.exit_code == 2
    assert "cannot be had" in result.stderr
    assert "--port" in result.stderr


@has_mcp
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_over_http_it_says_where_it_listens_asks_for_its_token_and_ends_when_told(
    tmp_path: Path,
) -> None:
    from tests.mcp.test_http import INITIALIZE, post

    token = "a-token-of-some-length"
    process = subprocess.Popen(
        [sys.executable, "-m", "groundwire", "mcp", *HTTP, "--port", "0", "--token-env", "T"],
        env=os.environ | {"T": token},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert process.stderr is not None
        line = [process.stderr.readline() for _ in range(3)][-1]
        assert line.startswith("Listening on http://127.0.0.1:")
        url = line.split()[2]
        assert post(url).status_code == 401
        answered = post(url, authorization=f"Bearer {token}")
        assert answered.status_code == 200
        assert json.dumps(INITIALIZE["params"]["protocolVersion"]) in answered.text  # type: ignore[index]
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "")
    assert token not in said

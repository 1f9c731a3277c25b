"""What usual clients want in their configuration."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from groundwire.cli.mcp import CLIENTS as NAMES
from groundwire.mcp.clients import CLIENTS
from tests.cli.conftest import invoke

PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"


def printed(*args: object) -> Any:  # noqa: ANN401
    result = invoke("mcp", *args)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_the_command_knows_the_clients_that_there_are() -> None:
    assert tuple(CLIENTS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_client_that_starts_the_server_gets_a_command(name: str, tmp_path: Path) -> None:
    found = printed("--print-config", name, "--root", tmp_path)
    own = found["servers" if name == "vscode" else "mcpServers"]["groundwire"]
    assert own["command"] == sys.executable
    assert own["args"] == ["-P", "-m", "groundwire", "mcp", "--root", str(tmp_path.resolve())]


def test_options_go_into_the_command_and_keys_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    config = tmp_path / "groundwire.yaml"
    config.write_text("verify: {api_key: sk-secret}\n")
    found = printed(
        *("--print-config", "cursor", "--config", config, "--verifier", "openai"),
        *("--verifier-model", "m", "--base-url", "https://llm.example/v1", "--no-evidence"),
    )
    assert found["mcpServers"]["groundwire"]["args"][4:] == [
        *("--config", str(config.resolve()), "--verifier", "openai", "--verifier-model", "m"),
        *("--base-url", "https://llm.example/v1", "--no-evidence"),
    ]
    assert "sk-secret" not in json.dumps(found)


@pytest.mark.parametrize(
    ("yaml", "options", "keeps"),
    [
        ("base_url: 'https://a.example/v1'", ("--base-url", "https://b.example/v1"), False),
        ("base_url: 'https://a.example/v1'", ("--base-url", "https://a.example/v1/"), True),
        ("verifier: service, service_url: 'https://a.example'", (), False),
        ("verifier: openai", (), True),
    ],
)
def test_a_key_of_the_configuration_is_not_sent_elsewhere(
    tmp_path: Path, yaml: str, options: tuple[str, ...], keeps: bool
) -> None:
    config = tmp_path / "groundwire.yaml"
    config.write_text(f"verify: {{api_key: sk-file, {yaml}}}")
    command = ("mcp", "--print-config", "cursor", "--config", config, "--verifier", "openai")
    result = invoke(*command, *options)
    own = json.loads(result.stdout)["mcpServers"]["groundwire"]
    assert ("groundwire.yaml:1 is for another server: not used." in result.stderr) is not keeps
    assert ("env" in own) is not keeps


def test_settings_of_the_similarity_detector_reach_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GROUNDWIRE_SIMILARITY_THRESHOLD", "0.4")
    own = printed("--print-config", "cursor")["mcpServers"]["groundwire"]
    assert own["env"] == {"GROUNDWIRE_SIMILARITY_THRESHOLD": "0.4"}


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("claude-desktop", "<OPENAI_API_KEY>"),
        ("claude-code", "${OPENAI_API_KEY}"),
        ("cursor", "${env:OPENAI_API_KEY}"),
        ("vscode", "${input:groundwire-token}"),
    ],
)
def test_the_environment_that_a_verifier_needs_is_printed_and_keys_never(
    name: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://llm.example/v1")
    monkeypatch.setenv("GROUNDWIRE_VERIFY_TARGET", "0.9")
    found = printed("--print-config", name, "--verifier", "openai")
    own = found["servers" if name == "vscode" else "mcpServers"]["groundwire"]
    assert own["env"] == {
        "OPENAI_BASE_URL": "https://llm.example/v1",
        "GROUNDWIRE_VERIFY_TARGET": "0.9",
        "OPENAI_API_KEY": key,
    }
    if name == "vscode":
        assert found["inputs"][0]["description"] == "OPENAI_API_KEY, for Groundwire"


def test_plain_http_goes_with_the_host_that_may_have_it() -> None:
    options = ("--print-config", "cursor", "--base-url", "http://llm.svc/v1")
    refused = invoke("mcp", *options)
    assert refused.exit_code == 2
    assert "http:// on this machine or on verify.plain_http_host" in refused.stderr
    args = printed(*options, "--plain-http-host", "llm.svc")["mcpServers"]["groundwire"]["args"]
    assert args[4:] == ["--base-url", "http://llm.svc/v1", "--plain-http-host", "llm.svc"]


@pytest.mark.parametrize("more", [(), ("--print-config", "cursor")])
def test_the_server_reads_the_variables_that_its_printed_configuration_names(
    more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://llm.svc/v1")
    refused = invoke("mcp", "--verifier", "openai", *more)
    assert refused.exit_code == 2
    assert "OPENAI_BASE_URL = 'http://llm.svc/v1' is not possible" in refused.stderr


def test_a_service_whose_address_is_not_known_is_told() -> None:
    result = invoke("mcp", "--print-config", "claude-code", "--verifier", "service")
    env = json.loads(result.stdout)["mcpServers"]["groundwire"]["env"]
    assert env == {
        "BERRY_SERVICE_URL": "<URL of the service>",
        "OPENAI_API_KEY": "${OPENAI_API_KEY}",
    }
    assert "Write your own values in place of what stands in <>." in result.stderr


def test_where_it_belongs_is_said_beside_it() -> None:
    result = invoke("mcp", "--print-config", "vscode")
    assert result.stderr == "This belongs in .vscode/mcp.json of the project.\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "claude-code",
            {
                "mcpServers": {
                    "groundwire": {
                        "type": "http",
                        "url": "http://127.0.0.1:8765/mcp",
                        "headers": {"Authorization": "Bearer ${MCP_TOKEN}"},
                    }
                }
            },
        ),
        (
            "cursor",
            {
                "mcpServers": {
                    "groundwire": {
                        "url": "http://127.0.0.1:8765/mcp",
                        "headers": {"Authorization": "Bearer ${env:MCP_TOKEN}"},
                    }
                }
            },
        ),
        (
            "windsurf",
            {
                "mcpServers": {
                    "groundwire": {
                        "serverUrl": "http://127.0.0.1:8765/mcp",
                        "headers": {"Authorization": "Bearer ${env:MCP_TOKEN}"},
                    }
                }
            },
        ),
        (
            "gemini-cli",
            {
                "mcpServers": {
                    "groundwire": {
                        "httpUrl": "http://127.0.0.1:8765/mcp",
                        "headers": {"Authorization": "Bearer ${MCP_TOKEN}"},
                    }
                }
            },
        ),
    ],
)
def test_a_client_of_a_running_server_gets_its_address_and_no_token(
    name: str, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_TOKEN", "a-token-of-some-length")
    options = ("--transport", "streamable-http", "--token-env", "MCP_TOKEN")
    assert printed("--print-config", name, *options) == expected


def test_vs_code_asks_for_the_token_itself() -> None:
    options = ("--transport", "streamable-http", "--token-env", "MCP_TOKEN")
    found = printed("--print-config", "vscode", *options)
    assert found["servers"]["groundwire"]["headers"] == {
        "Authorization": "Bearer ${input:groundwire-token}"
    }
    assert found["inputs"][0]["id"] == "groundwire-token"
    assert found["inputs"][0]["password"] is True


def test_a_client_without_remote_servers_says_so() -> None:
    options = ("--transport", "streamable-http")
    result = invoke("mcp", "--print-config", "claude-desktop", *options)
    assert result.exit_code == 2
    assert "Leave --transport out" in result.stderr


@pytest.mark.merge
def test_what_is_printed_starts_a_server() -> None:
    pytest.importorskip("mcp_types", reason="needs the mcp extra")
    from mcp import StdioServerParameters

    from tests.mcp.agent import Agent, talk

    own = printed("--print-config", "claude-code")["mcpServers"]["groundwire"]

    async def conversation(agent: Agent) -> int:
        return len((await agent.client.list_tools()).tools)

    parameters = StdioServerParameters(
        command=own["command"], args=own["args"], env=dict(os.environ)
    )
    assert talk(parameters, conversation) == 9


@pytest.mark.skipif(not PAGE.exists(), reason="this is no checkout")
def test_the_documentation_shows_what_is_printed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(
        r"^\$ groundwire (mcp [^\n]*--print-config[^\n]*)\n```\n\n```json\n(.*?)```",
        text,
        re.M | re.S,
    )
    assert len(shown) >= 3
    for command, expected in shown:
        result = invoke(*command.split())
        assert result.exit_code == 0, result.stderr
        found = result.stdout.replace(sys.executable, "/opt/venv/bin/python")
        found = found.replace(str(Path.cwd()), "/srv/project")
        assert found == expected

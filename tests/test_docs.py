"""The documentation agrees with the code: examples run, generated parts are up to date.

These tests need a checkout with the embedded model.
"""

import doctest
import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

import groundwire
from groundwire.engine.models import BASE_PACKAGE, READER_VARIABLE, list_models
from groundwire.verify.backends import local_verifier
from tests.gateway.page import examples_of, gateway_with

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
#: Pages whose examples need a running gateway.
GATEWAY_PAGES = (
    *("admin-api.md", "gateway.md", "migrate-dvara.md", "migrate-halugate.md", "rollout.md"),
    *("dialects.md", "operations.md", "tenants.md"),
)
#: Programs that the shell examples of these pages need.
COMMANDS = ("bash", "curl", "jq", "shuf")

pytestmark = [
    pytest.mark.skipif(not list_models(), reason="the embedded model is not built"),
    pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="this is no checkout"),
]

_LINK = re.compile(r"(?<!`)\[[^\]\n]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.fixture(autouse=True)
def default_reader(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Use the default reader of an installation with both packages, as the pages do."""
    if request.node.get_closest_marker("merge"):
        pytest.importorskip(BASE_PACKAGE, reason="pip install ./models/reader-base")
    monkeypatch.delenv(READER_VARIABLE, raising=False)
    # A process caches its verifier with the reader that was the default when it was made.
    local_verifier.cache_clear()
    yield
    local_verifier.cache_clear()


def slug(title: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def run(script: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(script), *arguments],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=os.environ | {"PYTHONUTF8": "1"} | environ,
    )


@pytest.mark.merge
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in GATEWAY_PAGES], ids=lambda page: page.name
)
def test_the_examples_of_a_page_are_true(page: Path) -> None:
    for example in Sybil([PythonCodeBlockParser(), SkipParser()]).parse(page).examples():
        example.evaluate()


@pytest.mark.merge
@pytest.mark.skipif(
    not all(map(shutil.which, COMMANDS)), reason=f"needs the commands {', '.join(COMMANDS)}"
)
@pytest.mark.parametrize("name", GATEWAY_PAGES)
def test_the_examples_of_a_page_about_the_gateway_are_true(name: str, tmp_path: Path) -> None:
    for example in examples_of(ROOT / "docs" / name, tmp_path):
        example.evaluate()


@pytest.mark.merge
def test_the_examples_of_docstrings_are_true() -> None:
    found = doctest.TestResults(0, 0)
    for module in pkgutil.walk_packages(groundwire.__path__, "groundwire."):
        assert isinstance(module.module_finder, importlib.machinery.FileFinder)
        path = Path(module.module_finder.path, *module.name.rpartition(".")[2:])
        source = path / "__init__.py" if module.ispkg else path.with_suffix(".py")
        if ">>> " in source.read_text(encoding="utf-8"):
            result = doctest.testmod(importlib.import_module(module.name))
            found = doctest.TestResults(found[0] + result[0], found[1] + result[1])
    result = doctest.testmod(groundwire)
    assert found.failed + result.failed == 0
    assert found.attempted + result.attempted > 3


@pytest.mark.merge
def test_the_generated_parts_are_what_would_be_generated() -> None:
    result = run(ROOT / "docs" / "generate.py", "--check")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            assert target == "https://..." or urlsplit(target).hostname, target
            continue
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        assert path.exists(), target
        if anchor:
            titles = _HEADING.findall(path.read_text(encoding="utf-8"))
            assert anchor in map(slug, titles), target


def test_every_page_is_on_the_map() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    missing = [page.name for page in (ROOT / "docs").glob("*.md") if f"]({page.name})" not in index]
    assert missing == ["index.md"]


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    names = {page.name for page in (ROOT / "docs").glob("*.md")}
    names |= {f"notebook-{page.stem}.md" for page in (ROOT / "docs").glob("notebooks/*.ipynb")}
    assert sorted(name for name in names if f": {name}\n" not in site) == []


def test_every_room_is_on_the_map_of_the_architecture() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "groundwire"
    names = {path.name for path in package.glob("[!_]*.py")}
    names |= {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    names |= {f"{path.parent.name}/" for path in package.glob("gateway/*/__init__.py")}
    assert sorted(name for name in names if name not in page) == []


@pytest.mark.merge
@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("rag_check.py", ["hallucinated, 100% of the answer read", "2010", "guide: "]),
        ("stream.py", ["It was painted green in 2010.", "stopped"]),
        ("batch.py", ['"hallucinated", "marked": [', '{"outcome": "partial", "marked": []}']),
    ],
)
def test_an_example_runs_and_shows_what_it_should(script: str, shown: list[str]) -> None:
    result = run(ROOT / "examples" / script)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    for text in shown:
        assert text in result.stdout


@pytest.mark.merge
@pytest.mark.parametrize(
    ("action", "shown"),
    [
        ("log", ["outcome: not told", "It was built in 1950.", "finished: stop"]),
        ("header", ["outcome: hallucinated", "It was built in 1950.", "finished: stop"]),
        ("block", ["withheld: hallucination_detected", "330 metres", "finished: content_filter"]),
    ],
)
def test_the_example_of_a_client_of_the_gateway_shows_what_it_should(
    action: str, shown: list[str], tmp_path: Path
) -> None:
    with gateway_with(f"check: {{action: {action}}}", tmp_path) as environ:
        result = run(ROOT / "examples" / "gateway_openai_client.py", "wrong", **environ)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    for text in shown:
        assert text in result.stdout
    assert ("1950" in result.stdout) is (action != "block")


def test_every_example_is_run() -> None:
    scripts = {path.name for path in (ROOT / "examples").glob("*.py")}
    here = {"rag_check.py", "stream.py", "batch.py", "gateway_openai_client.py"}
    assert scripts == here

"""The package as a whole has the right names and version, and importing it loads nothing heavy."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata, resources
from pathlib import Path

import pytest

import groundwire

ROOT = Path(__file__).parents[1]
PYPROJECT = ROOT / "pyproject.toml"

checkout = pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="this is no checkout")

NAMES = [
    "Claim",
    "Coverage",
    "Detection",
    "Detector",
    "Edit",
    "EvidenceRef",
    "Example",
    "Gate",
    "GroundwireError",
    "Label",
    "Outcome",
    "Pipeline",
    "Reason",
    "Repair",
    "Source",
    "Span",
    "Stream",
    "audit_trace_budget",
    "detect_hallucination",
    "repair",
    "wrap",
]
#: Modules that importing the package, or showing the help of the command line, must not import.
HEAVY = (
    "numpy",
    "onnxruntime",
    "tokenizers",
    "rich",
    "ruamel",
    "re2",
    "huggingface_hub",
    "jinja2",
    "torch",
    "transformers",
    "fastapi",
    "starlette",
    "uvicorn",
    "aiohttp",
    "pydantic",
    "msgspec",
    "prometheus_client",
    "asyncio",
    "groundwire.gateway",
    "groundwire.verify",
    "groundwire.compat",  # some of its modules import frameworks
    "openai",
)


def modules_after(code: str) -> set[str]:
    """Return the names of the modules that a new interpreter has imported after running code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return set(done.stdout.splitlines()[-1].split())


def test_the_package_exports_these_names() -> None:
    assert groundwire.__all__ == NAMES


@checkout
def test_nothing_but_its_entry_points_imports_the_command_line() -> None:
    package = ROOT / "src" / "groundwire"
    others = [path for path in package.rglob("*.py") if package / "cli" not in path.parents]
    imports = {path.name for path in others if "from groundwire.cli" in path.read_text("utf-8")}
    assert imports == {"__main__.py"}


@pytest.mark.parametrize("name", NAMES)
def test_an_exported_name_is_there(name: str) -> None:
    assert getattr(groundwire, name).__name__ == name
    assert name in dir(groundwire)


def test_a_name_that_is_not_exported_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Segmenter'"):
        groundwire.Segmenter  # noqa: B018


def test_types_are_published() -> None:
    assert resources.files("groundwire").joinpath("py.typed").is_file()


def test_the_installed_version_is_that_of_the_package() -> None:
    assert metadata.version("groundwire") == groundwire.__version__


@checkout
def test_pyproject_package_and_changelog_name_the_same_version() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)
    assert project["version"] == groundwire.__version__ == entries[0]


@pytest.mark.parametrize(
    "code",
    [
        "import groundwire",
        "from groundwire.cli import cli\ntry: cli.main(['--help'])\nexcept SystemExit: print()",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code: str) -> None:
    assert modules_after(code).isdisjoint(HEAVY)


def test_the_detector_needs_neither_torch_nor_the_hub() -> None:
    modules = modules_after("from groundwire import Detector; Detector.load().close()")
    assert modules.isdisjoint({"torch", "transformers", "huggingface_hub", "onnx"})


def test_a_pipeline_needs_nothing_of_the_gateway() -> None:
    modules = modules_after("from groundwire import Pipeline; Pipeline.load().close()")
    gateway = {"fastapi", "starlette", "uvicorn", "aiohttp", "pydantic", "groundwire.gateway"}
    assert modules.isdisjoint(gateway)


@checkout
def test_the_main_job_is_installed_without_torch() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[^\w-]", need)[0] for need in project["dependencies"]}
    assert names.isdisjoint({"torch", "transformers", "onnx", "scikit-learn"})


@checkout
def test_only_the_engine_and_the_training_import_an_inference_library() -> None:
    imports = re.compile(r"^\s*(?:import|from) (?:onnxruntime|torch|transformers)\b", re.MULTILINE)
    package = ROOT / "src" / "groundwire"
    found = {
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        if imports.search(path.read_text(encoding="utf-8"))
    }
    assert found <= {"engine", "training"}


@checkout
def test_nothing_refers_to_the_machine_it_was_written_on() -> None:
    elsewhere = re.compile(r"(?<![\w.])/(?:work|root|tmp|home)/|\bshared/")
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", PYPROJECT]
    texts += (path for path in (ROOT / ".ci").rglob("*") if path.is_file())
    for folder in ("src", "tests", "docs", "examples", "benchmarks"):
        for kind in ("*.py", "*.md", "*.json"):
            texts += (ROOT / folder).rglob(kind)
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in texts
        if path != Path(__file__)
        and path.name != "tokenizer.json"
        and "node_modules" not in path.parts  # what others wrote
        for match in elsewhere.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@checkout
def test_nothing_tells_people_to_install_it_from_an_index() -> None:
    from_index = re.compile(
        r"(?:pip|uvx?|pipx) (?:install |add )?(?:-\S+ )*'?groundwire\b(?![-\w]*\.whl)"
    )
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder in ("src", "docs", "examples", "models", "training"):
        for kind in ("*.py", "*.md", "*.html", "*.ipynb"):
            texts += (ROOT / folder).rglob(kind)
    found = [path.name for path in texts if from_index.search(path.read_text(encoding="utf-8"))]
    assert found == []


@checkout
def test_pages_name_extras_that_exist() -> None:
    extras = set(tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"])
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    named = {
        (page.name, extra)
        for page in pages
        for group in re.findall(r"(?:'\.|whl)\[([\w,]+)\]'", page.read_text(encoding="utf-8"))
        for extra in group.split(",")
    }
    assert len(named) > 5
    assert {extra for _, extra in named} <= extras, named

"""Builds the documentation as a site: ``python docs/pages.py``, with the extra ``docs`` installed.

Pages are written for readers of the repository, so they link to each other by the paths of its
folders. This module copies them into one folder, README as the front page, with links that lead to
the copies. Then ``zensical build --strict`` makes ``build/site``; a broken link makes it fail.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import groundwire
import notebooks

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "build" / "pages"
#: Pages outside of docs/, and pages that have another name on the site, with that name.
PAGES = {
    "README.md": "index.md",
    "docs/index.md": "pages.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples": "examples.md",
    "models/reader-base/src/groundwire_reader_base/MODEL_CARD.md": "card-reader-base.md",
    "src/groundwire/engine/models/gate/MODEL_CARD.md": "card-gate.md",
    "src/groundwire/engine/models/reader/MODEL_CARD.md": "card-reader-small.md",
}
#: Public modules that the reference of the Python API shows, besides the names of ``groundwire``.
MODULES = ("groundwire.testing", "groundwire.errors")
_LINK = re.compile(r"(?<=\]\()(?!\w+:)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?(?=\))")
_IMAGE = re.compile(r'(?P<name>src(?:set)?=")(?!\w+:)(?P<path>[^"]+)')
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
_FRONT = "---\ntitle: Groundwire\nhide: [navigation]\n---\n\n# Groundwire\n\n"


def stage() -> None:
    """Copy all pages into one folder, with their links changed to lead to the copies."""
    shutil.rmtree(STAGE, ignore_errors=True)
    STAGE.mkdir(parents=True)
    shutil.copytree(ROOT / "docs" / "images", STAGE / "images")
    shutil.copy(ROOT / "docs" / "site.css", STAGE)
    names = {ROOT / path: name for path, name in PAGES.items()}
    names |= {page: page.name for page in (ROOT / "docs").glob("*.md") if page not in names}
    names |= {
        page: f"notebook-{page.stem}.md" for page in (ROOT / "docs" / "notebooks").glob("*.ipynb")
    }
    for page, name in names.items():
        text = "".join(
            part if part.startswith("```") else _relink(part, page, names)
            for part in _FENCE.split(_markdown(page))
        )
        (STAGE / name).write_text((_FRONT if name == "index.md" else "") + text, encoding="utf-8")
    (STAGE / "api.md").write_text("\n".join(_api()), encoding="utf-8")


def _markdown(page: Path) -> str:
    if page.is_dir():
        return "\n".join(_examples(page))
    if page.suffix == ".ipynb":
        return notebooks.markdown(page)
    return page.read_text(encoding="utf-8")


def _relink(text: str, page: Path, names: dict[Path, str]) -> str:
    """Change the links of a page to lead to the copies, and copy linked files that are no pages."""
    folder = page if page.is_dir() else page.parent

    def link(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / found["path"]))
        if target in names:
            return names[target] + (found["anchor"] or "")
        return _file(target)

    def image(found: re.Match[str]) -> str:
        return found["name"] + _file(Path(os.path.normpath(folder / found["path"])))

    return _IMAGE.sub(image, _LINK.sub(link, text))


def _file(target: Path) -> str:
    """Copy a linked file of the repository, and return its address on the site.

    A folder has no address of its own: the page about its contents is returned.
    """
    if target.is_relative_to(ROOT / "docs"):
        return str(target.relative_to(ROOT / "docs"))
    if target.is_dir():
        return PAGES["examples"] if target.is_relative_to(ROOT / "examples") else "benchmarks.md"
    # Without the suffix .txt, the file might be taken for a page, or be run by a browser.
    name = f"files/{target.relative_to(ROOT)}.txt"
    (STAGE / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(target, STAGE / name)
    return name


def _examples(folder: Path) -> Iterator[str]:
    """Yield the lines of a page with all examples."""
    yield "# Examples\n\nScripts to copy from. The tests run them.\n"
    for path in sorted(folder.glob("*.py")):
        yield f"## {path.name}\n\n```python\n{path.read_text(encoding='utf-8').rstrip()}\n```\n"


def _api() -> Iterator[str]:
    """Yield the lines of the reference of the Python API."""
    yield "# Python API\n\n## groundwire\n\n`from groundwire import ...` has these names.\n"
    for name in groundwire.__all__:
        found = getattr(groundwire, name)
        yield f"::: {found.__module__}.{found.__qualname__}\n"
    for module in MODULES:
        yield f"## {module}\n\n::: {module}\n    options:\n      show_root_heading: false\n"


def main() -> int:
    """Copy the pages, build the site, return the exit status of the build."""
    stage()
    build = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    return subprocess.run(build, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

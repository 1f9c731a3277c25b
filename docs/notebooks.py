"""Runs the notebooks of docs/notebooks and stores what they print: ``python docs/notebooks.py``.

``--check`` compares the output instead, and shows what differs. It ignores what may differ between
machines: times, ports and numbers with a decimal point. Both need the extra ``notebooks`` and the
package ``models/reader-base``.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat

FOLDER = Path(__file__).parent / "notebooks"
_VARIES = re.compile(r"\d+\.\d+|\d+(?= ms)|(?<=127\.0\.0\.1:)\d+|\b[0-9a-f]{12,32}\b|\s+")


def run(path: Path) -> nbformat.NotebookNode:
    """Execute a notebook from top to bottom, in an empty folder."""
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what each code cell of a notebook printed when it was last run."""
    return ["".join(_texts(cell)) for cell in notebook.cells if cell.cell_type == "code"]


def markdown(path: Path) -> str:
    """Return a notebook as a Markdown page: its texts, its code, and what the code last printed."""
    notebook = nbformat.read(path, as_version=4)
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts += [f"```text\n{text.rstrip()}\n```" for text in ["".join(_texts(cell))] if text]
    return "\n\n".join(parts) + "\n"


def _texts(cell: nbformat.NotebookNode) -> Iterator[str]:
    for output in cell.outputs:
        yield output.text if "text" in output else output.data["text/plain"]


def main() -> None:
    """Run all notebooks, and write or compare what they print."""
    stale = []
    for path in sorted(FOLDER.glob("*.ipynb")):
        old, new = printed(nbformat.read(path, as_version=4)), run(path)
        if "--check" not in sys.argv:
            nbformat.write(new, path)
            continue
        for before, now in zip(old, printed(new), strict=True):
            if _VARIES.sub("", before) != _VARIES.sub("", now):
                stale.append(f"{path.name} prints\n{now}\nand not\n{before}")
    if stale:
        raise SystemExit("\n".join([*stale, "Run: python docs/notebooks.py"]))


if __name__ == "__main__":
    main()

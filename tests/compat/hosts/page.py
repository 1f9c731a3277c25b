"""What the tests with frameworks share: skips, and the snippets of docs/frameworks.md."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "frameworks.md"


def needs(module: str, *, extra: str) -> None:
    """Skip the tests of a file if a framework is not installed; one that is broken is an error."""
    if find_spec(module) is None:
        pytest.skip(f"needs the extra {extra}", allow_module_level=True)


def snippet(title: str, **names: Any) -> dict[str, Any]:
    """Run the snippet of a section, and return the names that it defines.

    Args:
        title: The title of the section.
        names: What the snippet uses and does not define.
    """
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    code = re.search(r"^```py\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert code is not None, title
    exec(code.group(1), names)
    return names

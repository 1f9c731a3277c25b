"""The snippets of docs/frameworks.md, which the tests run with the frameworks."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "frameworks.md"


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

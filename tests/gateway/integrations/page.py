"""The examples of docs/integrations.md."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "integrations.md"


def examples(heading: str = "") -> list[str]:
    """The fenced examples of a section, or those before the first section, without what follows."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.split(f"\n## {heading}\n")[1] if heading else text
    return re.findall(r"^```\w+\n(.*?)^```$", section.split("\n## ")[0], re.DOTALL | re.MULTILINE)

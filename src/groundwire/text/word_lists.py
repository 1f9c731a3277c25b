"""Word lists that are kept in text files, beside the code that uses them."""

import re
from pathlib import Path

_LIST = re.compile(r"^([^\s#:][^:\n]*): (.*(?:\n[ ].*)*)", re.MULTILINE)


def read_lists(path: Path) -> dict[str, str]:
    """Read the lists of a file, each under its name.

    Args:
        path: The file. A list is ``name: words``; indented lines continue it, and lines that begin
            with ``#`` are comments.
    """
    return dict(_LIST.findall(path.read_text(encoding="utf-8")))

"""Makes the entry of a file in the manifest of a model folder."""

import hashlib
from pathlib import Path
from typing import Any


def file_entry(path: Path) -> dict[str, Any]:
    """Return the entry of a file in a manifest: its hash and its size."""
    content = path.read_bytes()
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}

"""What a manifest says of a file."""

import hashlib
from pathlib import Path
from typing import Any


def described(path: Path) -> dict[str, Any]:
    """What a manifest says of a file: its hash and its size."""
    content = path.read_bytes()
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}

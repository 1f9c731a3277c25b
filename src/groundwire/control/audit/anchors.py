"""Anchors: a signed file that says where all chains stood at some time.

It is kept where those who can write to the trail cannot, and proves the newest ends, too.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from groundwire.control.audit.chain import anchors_mac
from groundwire.control.audit.claims import is_same
from groundwire.control.audit.record import Head
from groundwire.errors import GroundwireError
from groundwire.text.files.writing import replacing

_VERSION = 1
_MAX_BYTES = 100_000_000


class AnchorsError(GroundwireError):
    """A file of anchors cannot be used."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return (
            f"{self.path}: the anchors cannot be used: {self.problem}. Give a file that "
            "groundwire audit verify --write-anchors wrote, and the key of that time."
        )


def write_anchors(path: Path, heads: Sequence[Head], key: bytes) -> None:
    """Write a file of anchors, all at once.

    Raises:
        OSError: If it cannot be written.
    """
    data = {
        "version": _VERSION,
        "heads": [each.to_dict() for each in heads],
        "mac": anchors_mac(key, heads),
    }
    with replacing(path) as file:
        file.write(f"{json.dumps(data, indent=1)}\n")


def read_anchors(path: Path, keys: Sequence[bytes]) -> Sequence[Head]:
    """Read a file of anchors.

    Raises:
        AnchorsError: If it cannot be read, or none of the keys has signed it.
    """
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(_MAX_BYTES))
        heads, mac = [Head.of(each) for each in data["heads"]], str(data["mac"])
    except OSError as error:
        raise AnchorsError(path, error.strerror or type(error).__name__) from error
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise AnchorsError(path, "it is not as we write it") from error
    if not any(is_same(anchors_mac(key, heads), mac) for key in keys):
        raise AnchorsError(path, "none of the keys has signed it")
    return heads

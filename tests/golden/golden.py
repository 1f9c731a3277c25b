"""Golden files: what was looked at once and found right, compared with what the code does now."""

import json
from collections.abc import Iterator
from math import isclose
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "files"

#: Numbers of models may be this far apart: some processors add up int8 products in 16 bits, others
#: in 32. All else is exact.
TOLERANCE = 0.04
#: The names of these numbers.
_SIMILARITIES = ("similarity", "overall_similarity")
_ENTAILMENT = ("entailment", "neutral", "contradiction", "confidence")
APPROXIMATE = frozenset({"probability", "threshold", *_SIMILARITIES, *_ENTAILMENT})


def read(name: str) -> Any:  # noqa: ANN401 - JSON
    """The data of a golden file, such as ``detections/reader``."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def write(name: str, data: object) -> Path:
    """Make a golden file, or change one; where it is."""
    path = FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")
    return path


def differences(kept: object, found: object, *, place: str = "") -> list[str]:
    """What differs, and where; nothing if both are the same within :data:`TOLERANCE`."""
    return list(_differences(kept, found, place, is_approximate=False))


def _differences(kept: object, found: object, place: str, *, is_approximate: bool) -> Iterator[str]:
    if isinstance(kept, dict) and isinstance(found, dict):
        for key in kept.keys() - found.keys():
            yield f"{place}.{key} is missing"
        for key in found.keys() - kept.keys():
            yield f"{place}.{key} is new: {found[key]!r}"
        for key in (each for each in kept if each in found):
            yield from _differences(
                kept[key], found[key], f"{place}.{key}", is_approximate=key in APPROXIMATE
            )
    elif isinstance(kept, list) and isinstance(found, list):
        if len(kept) != len(found):
            yield f"{place} has {len(found)} entries, not {len(kept)}: {found!r}, not {kept!r}"
        for i, (one, other) in enumerate(zip(kept, found, strict=False)):
            yield from _differences(one, other, f"{place}[{i}]", is_approximate=is_approximate)
    elif is_approximate and isinstance(kept, float) and isinstance(found, float):
        if not isclose(kept, found, rel_tol=0, abs_tol=TOLERANCE):
            yield f"{place} is {found}, not {kept}"
    elif type(kept) is not type(found) or kept != found:
        yield f"{place} is {found!r}, not {kept!r}"

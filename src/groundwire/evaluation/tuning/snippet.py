"""Configuration lines that run a tuned threshold."""

import json
import re
from collections.abc import Iterator

from groundwire.detection.values import Score
from groundwire.engine.models import EMBEDDERS
from groundwire.evaluation.adapters.names import is_adapter
from groundwire.evaluation.tuning.tuning import Tuning

_COMMIT = re.compile("[0-9a-f]{40}")
#: The column that names tenants of a configuration.
TENANT = "tenant"


def to_yaml(tuning: Tuning) -> str:
    """Write the lines, with thresholds of tenants; empty if there is no threshold.

    They are also empty for detectors of other projects, which a configuration cannot name.
    """
    if is_adapter(tuning.header.detector.name):
        return ""
    return "".join(f"{line}\n" for line in [*_detector(tuning), *_tenants(tuning)])


def tenant_field(score: Score) -> str:
    """Name the field of a tenant's threshold."""
    return "similarity_threshold" if score is Score.SIMILARITY else "operating_point"


def _detector(tuning: Tuning) -> Iterator[str]:
    detector, threshold = tuning.header.detector, tuning.groups[0].threshold
    if threshold is None:
        return
    is_compared = detector.score is Score.SIMILARITY
    lines = []
    if is_compared:
        lines.append("name: similarity")
    elif detector.name != "reader":
        lines.append(f"name: {quoted(detector.name)}")
        if _COMMIT.fullmatch(detector.revision):
            lines.append(f'revision: "{detector.revision}"')
    if not is_compared:
        lines.append(f"operating_point: {threshold:g}")
    yield "detector:"
    yield from (f"  {line}" for line in lines)
    if is_compared:
        yield "similarity:"
        yield f"  threshold: {threshold:g}"
        yield f"  embedder: {EMBEDDERS.get(detector.name, 'neural')}"


def _tenants(tuning: Tuning) -> Iterator[str]:
    known = [each for each in tuning.groups[1:] if each.threshold is not None and each.group]
    if tuning.by != TENANT or not known:
        return
    field = tenant_field(tuning.header.detector.score)
    yield "tenants:"
    for each in known:
        yield f"  {quoted(each.group)}:"
        yield f"    {field}: {each.threshold:g}"


def quoted(text: str) -> str:
    r"""Quote a text for YAML.

    >>> print(quoted('a"b\u2028'))
    "a\"b\u2028"
    """
    escaped = (
        each
        if each.isprintable()
        else f"\\u{ord(each):04x}"
        if ord(each) < 0x10000
        else f"\\U{ord(each):08x}"
        for each in json.dumps(text, ensure_ascii=False)
    )
    return "".join(escaped)

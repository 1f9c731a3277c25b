"""Makes the lines that set tuned thresholds in a configuration."""

import re
from io import StringIO
from typing import Any

from ruamel.yaml import YAML

from groundwire.detection.values import Score
from groundwire.engine import models
from groundwire.evaluation.tuning.tuning import Tuning

_COMMIT = re.compile("[0-9a-f]{40}")
#: Placeholder for the folder of a reader (a model of this project) that has the name of the
#: installed reader, but another revision. The name alone would select the installed reader.
_FOLDER = "FOLDER-OF-THE-TUNED-READER"
#: Name of the column of labelled data that has ids of tenants.
TENANT = "tenant"


def to_yaml(tuning: Tuning) -> str:
    """Return lines of YAML that set the detector's threshold, and tuned thresholds of tenants.

    The text is empty if there is no threshold.
    """
    settings = _detector(tuning) | _tenants(tuning)
    if not settings:
        return ""
    stream, yaml = StringIO(), YAML(pure=True)
    yaml.dump(settings, stream)
    return stream.getvalue()


def tenant_field(score: Score) -> str:
    """Return the name of the field that holds a tenant's threshold in a configuration."""
    return "similarity_threshold" if score is Score.SIMILARITY else "operating_point"


def _detector(tuning: Tuning) -> dict[str, Any]:
    detector, threshold = tuning.header.detector, tuning.groups[0].threshold
    if threshold is None:
        return {}
    if detector.score is Score.SIMILARITY:
        embedder = models.EMBEDDERS.get(detector.name, "neural")
        compared = {"threshold": threshold, "embedder": str(embedder)}
        return {"detector": {"name": "similarity"}, "similarity": compared}
    settings: dict[str, Any] = {}
    if detector.name == models.DEFAULT_MODEL:
        is_shipped = detector.revision == models.find_model().revision
        settings["name"] = models.READER_SMALL if is_shipped else _FOLDER
    elif detector.name != models.READER_BASE:
        settings["name"] = detector.name
        if _COMMIT.fullmatch(detector.revision):
            settings["revision"] = detector.revision
    return {"detector": {**settings, "operating_point": threshold}}


def _tenants(tuning: Tuning) -> dict[str, Any]:
    known = [each for each in tuning.groups[1:] if each.threshold is not None and each.group]
    if tuning.by != TENANT or not known:
        return {}
    field = tenant_field(tuning.header.detector.score)
    return {"tenants": {each.group: {field: each.threshold} for each in known}}

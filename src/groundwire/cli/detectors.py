"""The functions with which commands load detectors, pipelines and explainers.

They are in click's context, so that tests can replace them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundwire.evaluation.loading import (
    AnyDetector,
    DetectorChoice,
    load_detector,
    load_explainer,
    load_pipeline,
)

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.explain import Explainer
    from groundwire.pipeline import Pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The functions that load detectors, pipelines and explainers; it is click's context object.

    Attributes:
        load: Loads the detector that a command's options choose.
        load_pipeline: Makes the pipeline of a configuration.
        load_explainer: Loads the explainer that a command's options choose.
    """

    load: Callable[[DetectorChoice], AnyDetector] = load_detector
    load_pipeline: Callable[["Config"], "Pipeline"] = load_pipeline
    load_explainer: Callable[..., "Explainer"] = load_explainer

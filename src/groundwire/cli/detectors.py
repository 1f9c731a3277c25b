"""The functions by which commands load detectors and explainers; tests pass others."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundwire.evaluation.loading import (
    AnyDetector,
    AnyExplainer,
    DetectorChoice,
    ExplainerChoice,
    load_detector,
    load_explainer,
    load_pipeline,
)

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.pipeline import Pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The loaders of detectors, pipelines and explainers, as click's context object."""

    load: Callable[[DetectorChoice], AnyDetector] = load_detector
    load_pipeline: Callable[["Config"], "Pipeline"] = load_pipeline
    load_explainer: Callable[[ExplainerChoice], AnyExplainer] = load_explainer

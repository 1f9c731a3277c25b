"""The options that choose a detector, and functions that load detectors, pipelines and explainers.

Commands find the functions in click's context object, where tests replace them with fakes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.inputs import NAME
from groundwire.cli.options import option
from groundwire.detection.any_detector import AnyDetector
from groundwire.detection.values import read_operating_point

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.explain import Explainer
    from groundwire.pipeline import Pipeline


def _read_point(ctx: click.Context, param: click.Parameter, value: str) -> str | float:
    try:
        return read_operating_point(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorChoice:
    """The options that choose a detector.

    Attributes:
        operating_point: precision, balanced, recall, or a threshold above 0 and at most 1. Words
            are marked if the probability that they are unsupported reaches the threshold; with the
            detector similarity, sentences with a similarity below the threshold are marked.
        model: reader, similarity, similarity:hash, a folder, or the id of a hub model.  [default:
            reader]
        revision: The commit of a hub model.
        threads: CPU threads to use.
        device: cpu or cuda:N, for models from a folder or the hub.
        cache_mb: Limit on the size of all caches together, in megabytes; None for the default.
            Commands set it; it is no option.
    """

    operating_point: str | float = option(
        "--operating-point", "POINT", callback=_read_point, default="balanced"
    )
    model: str | None = option("--detector", "NAME_OR_PATH", NAME)
    revision: str | None = option("--revision", "COMMIT", NAME)
    threads: int | None = option("--threads", "N", click.IntRange(1, 256))
    device: str = option("--device", "DEVICE", NAME, default="cpu")
    cache_mb: float | None = None


def load_detector(choice: DetectorChoice) -> AnyDetector:
    """Load the chosen detector."""
    # Imported here, since the import of the inference library takes 200 ms, and --help does not
    # need it.
    from groundwire.detector import CACHE_MB, Detector

    return Detector.load(
        choice.model,
        revision=choice.revision,
        operating_point=choice.operating_point,
        threads=choice.threads,
        device=choice.device,
        cache_mb=CACHE_MB if choice.cache_mb is None else choice.cache_mb,
    )


def load_pipeline(config: "Config") -> "Pipeline":
    """Load the pipeline of a configuration."""
    from groundwire.pipeline import Pipeline  # imported here, since this import is slow

    return Pipeline.load(config)


def load_explainer(**options: Any) -> "Explainer":  # noqa: ANN401
    """Load the explainer; the options are the arguments of ``Explainer.load``."""
    from groundwire.explain import Explainer

    return Explainer.load(**options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The functions that load detectors, pipelines and explainers; it is click's context object."""

    load: Callable[[DetectorChoice], AnyDetector] = load_detector
    load_pipeline: Callable[["Config"], "Pipeline"] = load_pipeline
    load_explainer: Callable[..., "Explainer"] = load_explainer

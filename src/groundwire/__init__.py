"""Groundwire checks whether an LLM's answer is supported by the sources it was given.

>>> from groundwire import Detector
>>> detector = Detector.load()
>>> detection = detector.detect(sources=["The tower is 330 m tall."], answer="It is 500 m tall.")

The public names are imported when they are first used, so importing the package reads no model and
imports no inference library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.compat.clients import wrap
    from groundwire.detection.example import Example, Source
    from groundwire.detection.values import (
        Claim,
        Coverage,
        Detection,
        EvidenceRef,
        Label,
        Outcome,
        Reason,
        Span,
    )
    from groundwire.detector import Detector
    from groundwire.errors import GroundwireError
    from groundwire.explain.repair import Edit, Repair, repair
    from groundwire.pipeline import Pipeline
    from groundwire.policy.gate import Gate
    from groundwire.stream import Stream
    from groundwire.verify.detect import audit_trace_budget, detect_hallucination

__version__ = "0.1.0"

__all__ = [
    "Claim",
    "Coverage",
    "Detection",
    "Detector",
    "Edit",
    "EvidenceRef",
    "Example",
    "Gate",
    "GroundwireError",
    "Label",
    "Outcome",
    "Pipeline",
    "Reason",
    "Repair",
    "Source",
    "Span",
    "Stream",
    "audit_trace_budget",
    "detect_hallucination",
    "repair",
    "wrap",
]

_HOMES = {
    "Detector": "detector",
    "Edit": "explain.repair",
    "Example": "detection.example",
    "Gate": "policy.gate",
    "GroundwireError": "errors",
    "Pipeline": "pipeline",
    "Repair": "explain.repair",
    "Source": "detection.example",
    "Stream": "stream",
    "audit_trace_budget": "verify.detect",
    "detect_hallucination": "verify.detect",
    "repair": "explain.repair",
    "wrap": "compat.clients",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attribute may be anything
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'detection.values')}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

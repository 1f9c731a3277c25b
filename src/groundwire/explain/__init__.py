"""Explains why words were marked: each span of a detection against its best evidence.

``explain`` walks over the spans. The three probabilities of a claim (entailment, neutral,
contradiction) come from outside; everything else it does is rules over texts: no model, no network,
the same result on every machine. ``Explainer`` loads a model that gives them, and drops the spans
that the evidence entails.

``nearby`` finds the lines of evidence of a span, ``premise`` those of a text without spans.
``groundwire.detection.comparison`` compares a span with its lines. ``references`` finds references
to what does not exist, ``wording`` writes the text, ``explanations`` joins these, and
``explainer`` adds the model.
"""

from groundwire.detection.comparison.finding import Category, Explanation, Subtype
from groundwire.detection.values import Entailment
from groundwire.explain.explainer import Explained, Explainer
from groundwire.explain.explanations import ENTAILMENT_THRESHOLD, explain, is_false_positive
from groundwire.explain.premise import best_lines

__all__ = [
    "ENTAILMENT_THRESHOLD",
    "Category",
    "Entailment",
    "Explained",
    "Explainer",
    "Explanation",
    "Subtype",
    "best_lines",
    "explain",
    "is_false_positive",
]

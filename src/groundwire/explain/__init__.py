"""Why words were marked: each span of a detection against its best evidence.

``explain`` walks over the spans. The three probabilities of a claim (entailment, neutral,
contradiction) come from outside; everything else it does is rules over texts: no model, no network,
the same result on every machine. ``Explainer`` loads a model that gives them, and drops what the
evidence entails.

One module a concept: ``finding`` has the values; ``words`` reads words, names, what is negated;
``held`` lays a span beside its lines; ``nearby`` finds these, ``premise`` those of a text without
spans; ``differences`` compares what both
state; ``subtype`` says what differs, ``counterpart`` which words of the evidence correct it,
``references`` what is referred to and does not exist; ``wording`` writes it down; ``explainer``
joins them, ``loaded`` puts a model in.
"""

from groundwire.detection.comparison.counterpart import counterpart
from groundwire.detection.comparison.finding import Category, Explanation, Subtype
from groundwire.detection.comparison.subtype import subtype_of
from groundwire.detection.values import Entailment
from groundwire.explain.explainer import Explained, Explainer
from groundwire.explain.explanations import (
    ENTAILMENT_THRESHOLD,
    THRESHOLD,
    JudgeEntailment,
    explain,
    is_false_positive,
    severity,
)
from groundwire.explain.premise import MAX_PREMISE_CHARS, best_lines
from groundwire.explain.references import Reference, fabricated_reference
from groundwire.explain.wording import MAX_TEXT_CHARS

__all__ = [
    "ENTAILMENT_THRESHOLD",
    "MAX_PREMISE_CHARS",
    "MAX_TEXT_CHARS",
    "THRESHOLD",
    "Category",
    "Entailment",
    "Explained",
    "Explainer",
    "Explanation",
    "JudgeEntailment",
    "Reference",
    "Subtype",
    "best_lines",
    "counterpart",
    "explain",
    "fabricated_reference",
    "is_false_positive",
    "severity",
    "subtype_of",
]

"""Explains why words were marked: compares each span of a detection with its best evidence.

``explain`` makes an explanation for each span, from probabilities of the claim (entailment,
neutral, contradiction) and by rules over texts. ``compare`` explains by these rules alone.
``Explainer`` has a model that computes the probabilities, and can drop spans whose claims the
evidence entails.

``nearby`` finds the lines of evidence to compare a span with, and ``premise`` the lines to judge a
claim by if there is no detection. ``groundwire.detection.comparison`` compares a span with its
lines. ``references`` finds references to source ids, links and works that no source has.
``wording`` writes the text of an explanation.

``repair`` corrects the marked words of an answer. ``replacements`` finds words of the evidence for
this, ``ranking`` ranks them, and ``removal`` finds what can be taken out instead.
"""

from groundwire.detection.comparison.finding import Category, Explanation, Subtype
from groundwire.detection.values import Entailment
from groundwire.explain.explainer import Explained, Explainer
from groundwire.explain.explanations import compare, explain
from groundwire.explain.premise import best_lines

__all__ = [
    "Category",
    "Entailment",
    "Explained",
    "Explainer",
    "Explanation",
    "Subtype",
    "best_lines",
    "compare",
    "explain",
]

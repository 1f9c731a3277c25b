"""The pipeline: all stages of a check, from a chat request and its response to the action.

A request is opened before its answer exists. The result is a frozen context: the question, the
evidence, the result of the gate (a classifier that finds prompts that need a fact check), the
decision rule that applies, and the policy. Answers are checked against the context, when they are
complete or while they arrive.

``asker`` defines the tenant of a request, and the settings that tenant and request ask for;
``context`` defines everything known about the request before its answer, and ``checked`` defines
the results for its answers. ``policy_resolver`` finds the decision rule and the policy,
``explaining`` calls the explainer, ``answer_stream`` checks an answer while it arrives,
``concluding`` makes the result, ``pipeline`` joins the stages, and ``load`` builds the stages from
a configuration.
"""

from groundwire.pipeline.answer_stream import Flow, Review
from groundwire.pipeline.checked import Checked, CheckedResponse
from groundwire.pipeline.context import DUE, CheckPath, GateReport, GateStatus, RequestContext
from groundwire.pipeline.pipeline import Pipeline

__all__ = [
    "DUE",
    "CheckPath",
    "Checked",
    "CheckedResponse",
    "Flow",
    "GateReport",
    "GateStatus",
    "Pipeline",
    "RequestContext",
    "Review",
]

"""From a chat request and its response to what is done about it: all stages, joined.

A request is opened before its answer exists; what comes of that is one frozen context that carries
question, evidence, what the gate said, the decision and the policy to the time of the response.
Then answers are checked against it, at rest or while they arrive.

``context`` and ``checked`` have the values that are known of a request and of its answers.
``policy_resolver`` says which policy holds, ``explaining`` calls the explainer, ``answer_stream``
checks an answer that arrives, ``concluding`` makes its result, ``pipeline`` joins the stages,
``load`` makes them from a configuration.
"""

from groundwire.pipeline.answer_stream import Flow, Review
from groundwire.pipeline.checked import Checked, CheckedResponse
from groundwire.pipeline.context import DUE, CheckPath, GateReport, GateStatus, RequestContext
from groundwire.pipeline.explaining import AnyExplainer
from groundwire.pipeline.pipeline import Pipeline

__all__ = [
    "DUE",
    "AnyExplainer",
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

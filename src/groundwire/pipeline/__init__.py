"""From a chat request and its response to what is done about it: all stages, joined.

A request is opened before its answer exists; what comes of that is one frozen context that carries
question, evidence, what the gate said, the decision and the policy to the time of the response.
Then answers are checked against it, at rest or while they arrive.

One module a concept: ``context`` is what is known of a request, ``checked`` what is known of its
answers, ``deciding`` which policy holds, ``explaining`` what an explainer has to offer, ``flow``
checks an answer in flight, ``pipeline`` joins the stages, ``load`` makes them from a configuration.
"""

from groundwire.pipeline.answer_stream import Flow, Review
from groundwire.pipeline.checked import Checked, CheckedResponse
from groundwire.pipeline.context import CheckPath, GateReport, GateStatus, RequestContext
from groundwire.pipeline.explaining import AnyExplainer
from groundwire.pipeline.pipeline import Pipeline

__all__ = [
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

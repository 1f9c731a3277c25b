"""The configurations of the demo's gateways: each a file as a user would write it."""

from collections.abc import Mapping

#: The first example of HaluGate's documentation, as it stands there.
HALUGATE = """\
decisions:
  - name: "factual-query-with-verification"
    priority: 100
    rules:
      operator: "AND"
      conditions:
        - {type: "fact_check", name: "needs_fact_check"}
        - {type: "domain", name: "general"}
    plugins:
      - type: "hallucination"
        configuration: {enabled: true, use_nli: true, hallucination_action: "header"}
"""

BODY = """\
check: {action: body, include_details: true}
"""

#: DVARA's names, but for the detector: its own compares sentences, ours reads them.
DVARA = """\
dvara:
  llm-gateway:
    guardrail:
      grounding: {enabled: true, action: BLOCK}
detector: {name: reader}
"""

DEFERRED = """\
check: {action: block}
gateway: {release: deferred}
"""

#: Name of a file → its text, in the order in which the walk comes to them.
SETTINGS: Mapping[str, str] = {
    "halugate.yaml": HALUGATE,
    "body.yaml": BODY,
    "dvara.yaml": DVARA,
    "deferred.yaml": DEFERRED,
}

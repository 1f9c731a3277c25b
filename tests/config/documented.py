"""The two HaluGate files of its documentation, as they stand there."""

SNIPPET = """\
decisions:                                  # first documented snippet
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

REFERENCE = """\
hallucination_mitigation:                   # complete documented reference
  fact_check_model:    {model_id: "models/halugate-sentinel",  threshold: 0.6, use_cpu: true}
  hallucination_model: {model_id: "models/halugate-detector",  threshold: 0.8, use_cpu: true}
  nli_model:           {model_id: "models/halugate-explainer", threshold: 0.9, use_cpu: true}
fact_check_rules:
  - {name: needs_fact_check, description: "..."}
  - {name: no_fact_check_needed, description: "..."}
decisions:
  - name: "verified-factual"
    priority: 100
    rules: {operator: "AND", conditions: [{type: "fact_check", name: "needs_fact_check"}]}
    plugins:
      - type: "hallucination"
        configuration:
          enabled: true
          use_nli: true
          hallucination_action: "header"        # header | body | block | none
          unverified_factual_action: "header"
          include_hallucination_details: true
"""

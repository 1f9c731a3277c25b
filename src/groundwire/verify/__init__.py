"""Claims with citations, verified one by one, with an information budget in bits.

:func:`groundwire.detect_hallucination` joins the stages: ``claims`` reads what an answer claims and
cites, ``hygiene`` keeps the lines of a span that are evidence, a verifier (``local``, ``openai`` or
``service``) reads each claim with its evidence and without, ``budget`` measures the difference,
``rule`` decides, and ``report`` holds the result.
"""

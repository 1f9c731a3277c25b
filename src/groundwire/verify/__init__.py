"""Claims with citations, verified one by one, with an information budget in bits.

:func:`groundwire.detect_hallucination` joins the stages: ``claims`` reads what an answer claims and
cites, ``hygiene`` says which lines of a span are evidence, a :class:`~groundwire.verify.verifier.
Verifier` reads each claim with its evidence and without, ``budget`` measures the difference,
``rule`` decides, ``report`` tells. ``openai``, ``service`` and ``local`` are the verifiers.
"""

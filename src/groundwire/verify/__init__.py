"""Verifies the claims of an answer one by one against the spans of evidence that they cite.

:func:`groundwire.detect_hallucination` joins the stages: ``claims`` divides an answer into claims
and reads their citations, ``hygiene`` keeps the sentences of a span that are evidence, a verifier
(``local``, ``openai`` or ``service``) reads each claim with its evidence and without, ``budget``
measures the difference in bits of information, ``rule`` decides, and ``report`` defines the result.
"""

"""Verifies the claims of an answer against spans of evidence.

In this package, a span is one passage of the evidence, with an id that the answer can cite.

``run`` joins the stages: ``claims`` divides an answer into claims and reads their citations,
``hygiene`` keeps the sentences of a span that are evidence, a verifier such as ``local`` reads
claims with their evidence and without, ``budget`` measures the difference, ``rule`` decides, and
``report`` defines the result. ``service`` instead asks a server, which returns a report of its own.
"""

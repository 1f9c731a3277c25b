"""How often a language model hallucinates: questions, answers, verdicts, severities, rates.

Each step reads the file of the step before and writes its own: ``questions.py`` and ``hub.py``
load, ``generate.py`` asks (``model.py`` at the wire, ``kept.py`` on disk), the detector judges
``answers.py``, ``classify.py`` says how bad it is, ``aggregate.py`` counts what ``rows.py`` reads,
``compare.py`` pairs, ``table.py`` tells. ``stage.py`` is what their files have in common.
"""

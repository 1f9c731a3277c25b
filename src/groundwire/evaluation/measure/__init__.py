"""Measures how often language models hallucinate.

``questions.py`` draws a sample of questions. ``generate.py`` puts these questions to the models and
writes a table of answers. A detector judges these answers as in ``groundwire evaluate``;
``explained.py`` adds an explainer to the detector. ``verdicts.py`` reads the results, ``rates.py``
computes the rates, and ``table.py`` lays them out as a table.
"""

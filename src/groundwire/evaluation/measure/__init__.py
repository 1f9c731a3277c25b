"""How often a language model hallucinates: questions, answers, verdicts, rates.

``questions.py`` draws some of the questions, ``generate.py`` asks the models and writes a table of
answers. The detector judges it as ``groundwire evaluate`` judges any table; ``explained.py``
adds the explainer. ``verdicts.py`` reads the results, ``rates.py`` counts them, ``compare.py``
pairs two models, ``table.py`` prints.
"""

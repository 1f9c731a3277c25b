"""``groundwire playground``: a browser page that checks answers on this machine.

``app.py`` serves the page, ``kept_scores.py`` applies another threshold, usually without running
the model again, ``snippets.py`` writes a check as code, and ``examples.toml`` has examples.
Templates, styles and scripts are in ``render/templates``, like those of all pages.
"""

"""``groundwire playground``: checks in a browser, on this machine.

``app.py`` serves the page, ``kept_scores.py`` applies another threshold without reading again,
``snippets.py`` writes a check as code, and ``examples.toml`` has examples. Templates, styles and
scripts are in ``render/templates``, as those of all pages.
"""

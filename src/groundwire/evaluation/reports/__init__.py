"""Reports on a file of results: a page to read, Markdown for a pull request, JUnit for CI.

``summary.py`` reads the results once; ``html.py``, ``markdown.py`` and ``junit.py`` are three views
of what it found. Ids, answers, columns and file names come from models and strangers: in each view
they are text and nothing else.
"""
